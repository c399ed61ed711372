-- SVG text as a PNG file, by librsvg and cairo, which are opened when the first picture is drawn.

local ffi = require "ffi"
local libraries = require "berth.library"

local png = {}

ffi.cdef [[
typedef struct { double x, y, width, height; } berth_rectangle;
typedef struct { uint32_t domain; int code; char* message; } berth_gerror;
void* rsvg_handle_new_from_data(const char*, size_t, berth_gerror**);
int rsvg_handle_get_intrinsic_size_in_pixels(void*, double*, double*);
int rsvg_handle_render_document(void*, void*, const berth_rectangle*, berth_gerror**);
void g_object_unref(void*);
void* cairo_image_surface_create(int, int, int);
void* cairo_create(void*);
int cairo_surface_write_to_png(void*, const char*);
int cairo_surface_status(void*);
const char* cairo_status_to_string(int);
void cairo_destroy(void*);
void cairo_surface_destroy(void*);
]]

local ARGB32 = 0

local library
local function loaded()
  -- Cairo and GObject are found through it, being what it is linked to.
  library = library or libraries.open({ "librsvg-2.so.2", "rsvg-2" },
    "PNG needs librsvg, which is not here: install librsvg2-2 (Debian's name), or name the picture .svg")
  return library
end

local function text_of(problem, otherwise)
  return problem[0] ~= nil and problem[0].message ~= nil and ffi.string(problem[0].message) or otherwise
end

-- ARGS    path, svg  the file; SVG text
--         scale      pixels per unit of the picture
function png.save(path, svg, scale)
  if type(scale) ~= "number" or not (scale > 0 and scale <= 20) then
    error(("plots.save: the scale is %s; give a number above 0, up to 20"):format(tostring(scale)), 3)
  end
  local it = loaded()
  local problem = ffi.new "berth_gerror*[1]"
  local handle = it.rsvg_handle_new_from_data(svg, #svg, problem)
  if handle == nil then
    error(("%s: the picture cannot be drawn: %s"):format(path, text_of(problem, "it is no SVG")), 0)
  end
  local width, height = ffi.new "double[1]", ffi.new "double[1]"
  it.rsvg_handle_get_intrinsic_size_in_pixels(handle, width, height)
  local pixels = { math.ceil(width[0] * scale), math.ceil(height[0] * scale) }
  local surface = it.cairo_image_surface_create(ARGB32, pixels[1], pixels[2])
  local drawing = it.cairo_create(surface)
  local area = ffi.new("berth_rectangle", { 0, 0, pixels[1], pixels[2] })
  local drawn = it.rsvg_handle_render_document(handle, drawing, area, problem) ~= 0
  local status = it.cairo_surface_status(surface)
  if drawn and status == 0 then status = it.cairo_surface_write_to_png(surface, path) end
  it.cairo_destroy(drawing)
  it.cairo_surface_destroy(surface)
  it.g_object_unref(handle)
  if not drawn then
    error(("%s: the picture cannot be drawn: %s"):format(path, text_of(problem, "librsvg failed")), 0)
  end
  if status ~= 0 then
    error(("%s: the picture cannot be written: %s; name a file in a folder that may be written"):format(
      path, ffi.string(it.cairo_status_to_string(status))), 0)
  end
end

return png
