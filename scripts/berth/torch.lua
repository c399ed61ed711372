-- Tensors, gradients and networks: LibTorch in Lua, under PyTorch's names.
--
--   local torch = require "berth.torch"
--   torch.manual_seed(1)
--   local net = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
--   local optimizer = torch.optim.Adam(net, { lr = 1e-3 })
--   local loss = net(torch.randn { 16, 8 }):square():mean()
--   loss:backward()
--   optimizer:step()
--
-- As everywhere in Berth, positions and dimensions count from 1 (-1 is the last dimension): what argmax
-- and multinomial give indexes Lua's arrays, and the devices of a placement index embeddings.
-- Operations are functions (torch.matmul(a, b)) and methods (a:matmul(b)); the table they come from is
-- plugins/torch/operations_*.cpp, and the build lists them in share/berth/types/torch.lua.
--
-- LuaJIT's FFI calls a C interface (plugins/torch/module.h): compiled code stays compiled, which a
-- function of Lua's C API would end.

local ffi = require "ffi"
local berth = require "berth"
local known = require "berth.known"

local INTERFACE = 1
ffi.cdef [[
typedef struct { double number; void* tensor; void* const* tensors; const double* numbers;
  const char* text; int32_t count; int32_t is_number; } berth_torch_argument;
typedef struct { void* tensors[64]; int32_t count; } berth_torch_result;
typedef struct { const char* name; const char* parameters; const char* kinds; const char* doc; }
  berth_torch_operation;
typedef struct { int64_t shape[16]; int32_t dimensions; int32_t type; int64_t count; void* data;
  int32_t requires_grad; } berth_torch_info;
typedef struct { int64_t bytes; int64_t tensors; int64_t owners; } berth_torch_memory;
typedef struct berth_torch_file berth_torch_file;
typedef struct { void* impl; } berth_torch_tensor;
int berth_torch_interface(void);
const char* berth_torch_error(void);
const volatile berth_torch_memory* berth_torch_allocated(void);
int berth_torch_operation_at(int row, berth_torch_operation* out);
int berth_torch_call(int row, const berth_torch_argument* arguments, int count,
                     berth_torch_result* result);
void berth_torch_release(void* tensor);
int berth_torch_inspect(void* tensor, berth_torch_info* out);
int berth_torch_read(void* tensor, double* out);
int berth_torch_make(const double* values, const int64_t* shape, int dimensions, const char* type,
                     void** out);
int berth_torch_wrap(void* data, const int64_t* shape, int dimensions, const char* type,
                     int64_t owner, void** out);
int berth_torch_released(int64_t* owners, int capacity);
int berth_torch_require_grad(void* tensor, int required);
int berth_torch_backward(void* tensor, void* gradient, int retain);
int berth_torch_grad(void* tensor, void** out);
int berth_torch_set_grad(void* tensor, void* gradient);
int berth_torch_grad_mode(int enabled);
int berth_torch_seed(double seed);
int berth_torch_threads(int count);
int berth_torch_save(const char* path, const char* kind, const char* note,
                     const char* const* names, void* const* tensors, int count);
int berth_torch_open(const char* path, const char* kind, berth_torch_file** out);
const char* berth_torch_note(const berth_torch_file* file, int64_t* length);
const char* berth_torch_name(const berth_torch_file* file, int index);
int berth_torch_tensor_of(const berth_torch_file* file, int index, void** out);
void berth_torch_close(berth_torch_file* file);
]]

local found, C = pcall(ffi.load, berth.module_file "torch")
if not found then
  error("berth.torch: LibTorch cannot be loaded (Debian: apt install libtorch-dev): " .. C, 0)
end
if C.berth_torch_interface() ~= INTERFACE then
  error("berth.torch: module_torch.so and scripts/berth/torch.lua are of two versions of Berth; build or "
    .. "install both together", 0)
end

local torch = { operations = {} }
local methods = {}
local Tensor
local TYPES = { [0] = "float32", "float64", "int64", "int32", "uint8", "bool" }
local C_TYPES = { float32 = "float", float64 = "double", int64 = "int64_t", int32 = "int32_t",
  uint8 = "uint8_t", bool = "bool" }

-- The text of the C interface's last failure, as an error of the caller's caller.
local function raise(what)
  local text = ffi.string(C.berth_torch_error())
  error((what and what .. ": " or "") .. text, 3)
end

local function bad(name, parameter, expected, value)
  error(("torch.%s: %s: %s expected, got %s"):format(name, parameter, expected,
    ffi.istype("berth_torch_tensor", value) and "a tensor" or type(value)), 3)
end

-- Lua drops arguments that a function does not take, such as the options of another library's.
local function refuse_surplus(name, parameters, value)
  error(("torch.%s: it takes (%s), and another argument is given, a %s"):format(name, parameters,
    ffi.istype("berth_torch_tensor", value) and "tensor" or type(value)), 3)
end

-- A text for C, which takes nil for an address of nothing and ends a text at its first NUL.
local function text_of(name, parameter, value)
  if type(value) ~= "string" or value:find("%z") then
    error(("torch.%s: %s: a text without NUL characters expected, got %s"):format(name, parameter,
      type(value) == "string" and "one with" or type(value) == "nil" and "nothing" or "a " .. type(value)), 3)
  end
  return value
end

-- Memory --------------------------------------------------------------------------------------------

-- Lua's collector sees 16 bytes of a tensor. What LibTorch holds is compared with what was left after the
-- last collection, as the engine does with its own objects.
local LEAST_BYTES, TENSOR_BYTES = 64 * 2 ^ 20, 512
local allocated = C.berth_torch_allocated()
local collect_at = LEAST_BYTES
local owners, next_owner = {}, 0
local freed = ffi.new "int64_t[64]"

local function held_bytes()
  return tonumber(allocated.bytes) + TENSOR_BYTES * tonumber(allocated.tensors)
end

local function forget_owners()
  local count
  repeat
    count = C.berth_torch_released(freed, 64)
    for i = 0, count - 1 do owners[tonumber(freed[i])] = nil end
  until count < 64
end

local function collect()
  collectgarbage()
  collect_at = math.max(LEAST_BYTES, 2 * held_bytes())
end

-- Returns the result of a call of C. Arguments behind it are in use until then: LuaJIT's collector may free what is not used
-- again once its address was read.
local function after(value) return value end

-- The tensor that C gave out.
local function wrap(impl)
  local tensor = Tensor(impl)
  if held_bytes() > collect_at then collect() end
  return tensor
end

-- Bytes that LibTorch holds in this process, and tensors that Lua holds.
function torch.memory()
  return tonumber(allocated.bytes), tonumber(allocated.tensors)
end

-- From and to Lua -------------------------------------------------------------------------------------

local shape_buffer = ffi.new "int64_t[16]"
local out = ffi.new "void*[1]"

local function read_shape(shape, what)
  if #shape > 16 then error(("%s: a shape of %d dimensions; at most 16"):format(what, #shape), 3) end
  local count = 1
  for d, size in ipairs(shape) do
    if type(size) ~= "number" or size < 0 or size % 1 ~= 0 then
      error(("%s: size %s of dimension %d; whole numbers from 0 on expected"):format(what,
        tostring(size), d), 3)
    end
    shape_buffer[d - 1], count = size, count * size
  end
  return count
end

local function shape_of_table(value, shape, depth)
  if type(value) ~= "table" then return shape end
  shape[depth] = #value
  return shape_of_table(value[1], shape, depth + 1)
end

local function fill(buffer, at, value, shape, depth)
  if depth > #shape then
    if type(value) == "boolean" then value = value and 1 or 0 end
    if type(value) ~= "number" then
      error(("torch.tensor: a number expected, got a %s at depth %d"):format(type(value), depth - 1), 0)
    end
    buffer[at] = value
    return at + 1
  end
  if type(value) ~= "table" or #value ~= shape[depth] then
    error(("torch.tensor: rows of different lengths: %d at depth %d, where others have %d"):format(
      type(value) == "table" and #value or 0, depth, shape[depth]), 0)
  end
  if depth == #shape then
    for i = 1, #value do at = fill(buffer, at, value[i], shape, depth + 1) end
    return at
  end
  for i = 1, #value do at = fill(buffer, at, value[i], shape, depth + 1) end
  return at
end

-- A tensor of a number or of nested arrays, copied.
--   ARGS  value; options  dtype (default "float32"), requires_grad (default false)
function torch.tensor(value, options)
  options = known.check("torch.tensor", options, { "dtype", "requires_grad" })
  local shape = shape_of_table(value, {}, 1)
  local count = read_shape(shape, "torch.tensor")
  local buffer = ffi.new("double[?]", math.max(count, 1))
  local ok, message = pcall(fill, buffer, 0, value, shape, 1)
  if not ok then error(message, 2) end
  read_shape(shape, "torch.tensor")
  local dtype = text_of("tensor", "dtype", options.dtype or "float32")
  if C.berth_torch_make(buffer, shape_buffer, #shape, dtype, out) ~= 0 then
    raise "torch.tensor"
  end
  local tensor = wrap(out[0])
  if options.requires_grad then tensor:requires_grad_() end
  return tensor
end

local function element_type(value)
  local name = type(value) == "cdata" and tostring(ffi.typeof(value)) or ""
  for dtype, c_type in pairs(C_TYPES) do
    local canonical = tostring(ffi.typeof(c_type)):match "^ctype<(.*)>$"
    local rest = name:gsub("^ctype<const ", "ctype<"):match("^ctype<(.*)>$")
    if rest and rest:sub(1, #canonical) == canonical and rest:sub(#canonical + 1):match "^ [%[%*%(]" then
      return dtype, c_type
    end
  end
end

-- A tensor over the memory of an array or pointer of LuaJIT's, without copying: both see what the other
-- writes. The array is kept alive as long as a tensor uses it.
--   ARGS    values  cdata, such as ffi.new("float[?]", n); shape  array; default { number of values }
--           owner   of a pointer: what keeps its memory alive
function torch.from_cdata(values, shape, owner)
  local dtype, c_type = element_type(values)
  if not dtype then
    error(("torch.from_cdata: an array or pointer of float, double, int64_t, int32_t, uint8_t or bool "
      .. "expected, got %s"):format(type(values) == "cdata" and tostring(ffi.typeof(values))
      or type(values)), 2)
  end
  local is_array = tostring(ffi.typeof(values)):find("[", 1, true) ~= nil
  if is_array then
    local has = ffi.sizeof(values) / ffi.sizeof(c_type)
    shape = shape or { has }
    if read_shape(shape, "torch.from_cdata") > has then
      error(("torch.from_cdata: shape [%s] needs more than the %d values there are"):format(
        table.concat(shape, ", "), has), 2)
    end
  elseif not shape then
    error("torch.from_cdata: a pointer needs a shape", 2)
  end
  -- Nothing is shared where there is nothing, and LibTorch would not say when it forgets it.
  if read_shape(shape, "torch.from_cdata") == 0 then return torch.zeros(shape, dtype) end
  next_owner = next_owner + 1
  owners[next_owner] = { values, owner }
  if C.berth_torch_wrap(ffi.cast("void*", values), shape_buffer, #shape, dtype, next_owner, out) ~= 0 then
    owners[next_owner] = nil
    raise "torch.from_cdata"
  end
  return wrap(out[0])
end

local info = ffi.new "berth_torch_info"
local function inspect(self, name)
  if not ffi.istype(Tensor, self) then bad(name, "self", "a tensor before the colon", self) end
  if after(C.berth_torch_inspect(self.impl, info), self) ~= 0 then raise("torch." .. name) end
  return info
end

-- The shape as an array; size(d) of one dimension, from 1 or from -1 for the last.
function methods:shape()
  local shape = {}
  inspect(self, "shape")
  for d = 1, info.dimensions do shape[d] = tonumber(info.shape[d - 1]) end
  return shape
end

function methods:size(d)
  if d == nil then return methods.shape(self) end
  inspect(self, "size")
  local at = d < 0 and info.dimensions + d or d - 1
  if at < 0 or at >= info.dimensions then
    error(("torch.size: dimension %s of a tensor that has %d"):format(d, info.dimensions), 2)
  end
  return tonumber(info.shape[at])
end

function methods:dim() return inspect(self, "dim").dimensions end
function methods:numel() return tonumber(inspect(self, "numel").count) end
function methods:dtype() return TYPES[inspect(self, "dtype").type] end

-- The one value of a tensor.
local one = ffi.new "double[1]"
function methods:item()
  if inspect(self, "item").count ~= 1 then
    error(("torch.item: a tensor of one value expected, got %s"):format(tostring(self)), 2)
  end
  if after(C.berth_torch_read(self.impl, one), self) ~= 0 then raise "torch.item" end
  return one[0]
end

-- All values as nested arrays; a number where there are no dimensions.
function methods:totable()
  local shape = methods.shape(self)
  local buffer = ffi.new("double[?]", math.max(methods.numel(self), 1))
  if after(C.berth_torch_read(self.impl, buffer), self) ~= 0 then raise "torch.totable" end
  local is_bool, at = methods.dtype(self) == "bool", 0
  local function rows(depth)
    if depth > #shape then
      at = at + 1
      if is_bool then return buffer[at - 1] ~= 0 end
      return buffer[at - 1]
    end
    local row = {}
    for i = 1, shape[depth] do row[i] = rows(depth + 1) end
    return row
  end
  return rows(1)
end

-- A pointer to the values, row by row, and their number, without copying. As long as the pointer itself
-- lives, so does the tensor; pointers computed from it do not count. LuaJIT takes a NaN that is read through it for a
-- number only if its bits are those of 0 / 0: read what may be none by `item` or `totable`.
local pointed = setmetatable({}, { __mode = "k" })
function methods:cdata()
  inspect(self, "cdata")
  if info.data == nil and info.count > 0 then
    error("torch.cdata: the values do not lie row by row; call :contiguous() first", 2)
  end
  local pointer = ffi.cast(C_TYPES[TYPES[info.type]] .. "*", info.data)
  pointed[pointer] = self
  return pointer, tonumber(info.count)
end

-- Gradients -------------------------------------------------------------------------------------------

function methods:requires_grad() return inspect(self, "requires_grad").requires_grad ~= 0 end

function methods:requires_grad_(required)
  inspect(self, "requires_grad_")
  if after(C.berth_torch_require_grad(self.impl, required == false and 0 or 1), self) ~= 0 then
    raise "torch.requires_grad_"
  end
  return self
end

-- Adds the gradient of self to that of everything that requires one.
--   ARGS  gradient  of the same shape; may be missing where self is one value
--         options   retain_graph (default false)
function methods:backward(gradient, options)
  inspect(self, "backward")
  if gradient ~= nil and not ffi.istype(Tensor, gradient) then
    bad("backward", "gradient", "a tensor", gradient)
  end
  local retain = known.check("torch.backward", options, { "retain_graph" }).retain_graph and 1 or 0
  local status = C.berth_torch_backward(self.impl, gradient ~= nil and gradient.impl or nil, retain)
  if after(status, self, gradient) ~= 0 then raise() end
end

-- The gradient, or nil.
function methods:grad()
  inspect(self, "grad")
  if after(C.berth_torch_grad(self.impl, out), self) ~= 0 then raise "torch.grad" end
  if out[0] ~= nil then return wrap(out[0]) end
end

function methods:set_grad(gradient)
  inspect(self, "set_grad")
  if gradient ~= nil and not ffi.istype(Tensor, gradient) then
    bad("set_grad", "gradient", "a tensor or nil", gradient)
  end
  local status = C.berth_torch_set_grad(self.impl, gradient ~= nil and gradient.impl or nil)
  if after(status, self, gradient) ~= 0 then raise "torch.set_grad" end
end

function methods:zero_grad() methods.set_grad(self, nil) end

local function restored(before, ok, ...)
  C.berth_torch_grad_mode(before)
  if not ok then error((...), 0) end
  return ...
end

-- Calls f(...) and returns what it does; nothing in it is kept for gradients.
function torch.no_grad(f, ...)
  return restored(C.berth_torch_grad_mode(0), pcall(f, ...))
end

-- Settings of a session -----------------------------------------------------------------------------------

-- Seeds all that draws: a whole number, or a berth.random that is asked for one.
function torch.manual_seed(seed)
  if type(seed) == "userdata" then seed = seed:integer(2 ^ 53) end
  if type(seed) ~= "number" or seed < 0 or seed % 1 ~= 0 then
    error("torch.manual_seed: a whole number from 0 on, or a berth.random, expected", 2)
  end
  C.berth_torch_seed(seed)
end

-- Threads that operations of this module use; 1 at first, which is fastest for small networks. Policies
-- and backends in C++ have their own.
function torch.set_num_threads(count)
  if type(count) ~= "number" or count < 1 or count > 1024 or count % 1 ~= 0 then
    error("torch.set_num_threads: a whole number from 1 to 1024 expected", 2)
  end
  C.berth_torch_threads(count)
end

function torch.get_num_threads() return C.berth_torch_threads(0) end

-- Files ---------------------------------------------------------------------------------------------------

-- Writes tensors of float32 by name, whole or not at all, in the format of the learned policies.
--   ARGS  path; tensors  table; options  kind (whose: load asks for the same; default "torch"), note
function torch.save(path, tensors, options)
  options = known.check("torch.save", options, { "kind", "note" })
  text_of("save", "path", path)
  if type(tensors) ~= "table" then
    error(("torch.save: a table of tensors by name expected, got a %s"):format(type(tensors)), 2)
  end
  local kind, note = text_of("save", "kind", options.kind or "torch"), text_of("save", "note", options.note or "")
  local names = {}
  for name, tensor in pairs(tensors) do
    if type(name) ~= "string" or not ffi.istype(Tensor, tensor) then
      error(("torch.save: tensors by name expected, got a %s under %s"):format(type(tensor),
        tostring(name)), 2)
    end
    names[#names + 1] = name
  end
  table.sort(names)
  local texts, impls = ffi.new("const char*[?]", #names + 1), ffi.new("void*[?]", #names + 1)
  for i, name in ipairs(names) do texts[i - 1], impls[i - 1] = name, tensors[name].impl end
  local status = C.berth_torch_save(path, kind, note, texts, impls, #names)
  if after(status, names, tensors) ~= 0 then raise "torch.save" end
end

-- The tensors by name, and the note.
--   ARGS  path; kind  that it was saved with (default "torch"); "" takes any, weights of policies in C++ too
function torch.load(path, kind)
  local handle = ffi.new "berth_torch_file*[1]"
  text_of("load", "path", path)
  if C.berth_torch_open(path, text_of("load", "kind", kind or "torch"), handle) ~= 0 then raise "torch.load" end
  local file = ffi.gc(handle[0], C.berth_torch_close)
  local tensors, index = {}, 0
  while true do
    local name = C.berth_torch_name(file, index)
    if name == nil then break end
    if C.berth_torch_tensor_of(file, index, out) ~= 0 then raise "torch.load" end
    tensors[ffi.string(name)], index = wrap(out[0]), index + 1
  end
  local length = ffi.new "int64_t[1]"
  local text = C.berth_torch_note(file, length)
  return tensors, after(ffi.string(text, tonumber(length[0])), file)
end

-- The operations ----------------------------------------------------------------------------------------

-- Source that puts parameter `p` of a kind into argument A[i].
local READ = {
  tensor = [[
    if not istype(Tensor, $p) then bad(NAME, "$p", "a tensor", $p) end
    A[$i].tensor = $p.impl]],
  ["tensor?"] = [[
    if $p == nil then A[$i].tensor = nil
    else
      if not istype(Tensor, $p) then bad(NAME, "$p", "a tensor or nil", $p) end
      A[$i].tensor = $p.impl
    end]],
  operand = [[
    if type($p) == "number" then
      A[$i].is_number, A[$i].number, A[$i].tensor = 1, $p, nil
    else
      if not istype(Tensor, $p) then bad(NAME, "$p", "a tensor or number", $p) end
      A[$i].is_number, A[$i].tensor = 0, $p.impl
    end]],
  index = [[
    if not istype(Tensor, $p) then bad(NAME, "$p", "a tensor or array of positions", $p) end
    A[$i].tensor = $p.impl]],
  tensors = [[
    A[$i].tensor, A[$i].tensors, A[$i].count = nil, T, read_tensors(NAME, "$p", $p)]],
  number = [[
    if type($p) ~= "number" then bad(NAME, "$p", "a number", $p) end
    A[$i].tensor, A[$i].number = nil, $p]],
  boolean = [[
    if type($p) ~= "boolean" then bad(NAME, "$p", "a boolean", $p) end
    A[$i].tensor, A[$i].number = nil, $p and 1 or 0]],
  ["dim?"] = [[
    A[$i].tensor = nil
    if $p == nil then A[$i].is_number = 0
    else
      if type($p) ~= "number" then bad(NAME, "$p", "a dimension or nil", $p) end
      A[$i].is_number, A[$i].number = 1, $p
    end]],
  shape = [[
    A[$i].tensor, A[$i].numbers, A[$i].count = nil, N, read_numbers(NAME, "$p", $p)]],
  text = [[
    if type($p) ~= "string" then bad(NAME, "$p", "a text", $p) end
    A[$i].tensor, A[$i].text = nil, $p]],
}
READ.integer, READ.dim, READ.dims, READ.type = READ.number, READ.number, READ.shape, READ.text

local MOST_TENSORS, MOST_NUMBERS = 4096, 16
local scope = { A = ffi.new "berth_torch_argument[16]", R = ffi.new "berth_torch_result",
  T = ffi.new("void*[?]", MOST_TENSORS), N = ffi.new("double[?]", MOST_NUMBERS), C = C,
  istype = ffi.istype, type = type, wrap = wrap, raise = raise, bad = bad,
  refuse_surplus = refuse_surplus, tensor = torch.tensor, after = after,
  -- An operation itself refuses positions that are fractions, which int64 would cut.
  POSITIONS = { dtype = "float64" } }

function scope.read_tensors(name, parameter, value)
  if type(value) ~= "table" or #value == 0 or #value > MOST_TENSORS then
    bad(name, parameter, "an array of 1 to " .. MOST_TENSORS .. " tensors", value)
  end
  for i = 1, #value do
    if not ffi.istype(Tensor, value[i]) then bad(name, parameter .. "[" .. i .. "]", "a tensor", value[i]) end
    scope.T[i - 1] = value[i].impl
  end
  return #value
end

function scope.read_numbers(name, parameter, value)
  if type(value) == "number" then value = { value } end
  if type(value) ~= "table" or #value > MOST_NUMBERS then bad(name, parameter, "an array of sizes", value) end
  for i = 1, #value do
    if type(value[i]) ~= "number" then bad(name, parameter .. "[" .. i .. "]", "a number", value[i]) end
    scope.N[i - 1] = value[i]
  end
  return #value
end

function scope.several()
  local results = {}
  for i = 0, scope.R.count - 1 do results[i + 1] = Tensor(scope.R.tensors[i]) end
  if held_bytes() > collect_at then collect() end
  return unpack(results)
end

-- The function of a row: written out, so that LuaJIT compiles each for its own arguments.
local function bind(row, operation)
  local names, first, lines = {}, {}, {}
  for i, parameter in ipairs(operation.parameters) do
    local p = parameter.name
    names[i] = p
    if parameter.default and parameter.default ~= "nil" then
      lines[#lines + 1] = ("if %s == nil then %s = %s end"):format(p, p, parameter.default)
    end
    -- Anything that may collect garbage comes before the first tensor's address is taken.
    if parameter.kind == "index" then
      first[#first + 1] = ("if type(%s) == 'table' then %s = tensor(%s, POSITIONS) end"):format(p, p, p)
    end
    lines[#lines + 1] = (READ[parameter.kind]:gsub("%$p", p):gsub("%$i", tostring(i - 1)))
  end
  local parameters = table.concat(names, ", ")
  local source = ([[
local A, R, T, N, C, istype, type, wrap, raise, bad, tensor, after, POSITIONS = s.A, s.R, s.T, s.N, s.C, s.istype,
  s.type, s.wrap, s.raise, s.bad, s.tensor, s.after, s.POSITIONS
local read_tensors, read_numbers, several, Tensor = s.read_tensors, s.read_numbers, s.several, s.Tensor
local refuse_surplus, NAME = s.refuse_surplus, %q
return function(%s)
if surplus_ ~= nil then refuse_surplus(NAME, %q, surplus_) end
%s
%s
if after(C.berth_torch_call(%d, A, %d, R), %s) ~= 0 then raise() end
if R.count ~= 1 then return several() end
return wrap(R.tensors[0])
end]]):format(operation.name, table.concat({ parameters, "surplus_" }, ", "), parameters, table.concat(first, "\n"),
    table.concat(lines, "\n"), row, #operation.parameters,
    parameters)
  local chunk = assert(loadstring("local s = ...\n" .. source, "=torch." .. operation.name))
  return chunk(scope)
end

local function read_operation(raw)
  local operation = { name = ffi.string(raw.name), doc = ffi.string(raw.doc), parameters = {} }
  local kinds = {}
  for kind in ffi.string(raw.kinds):gmatch "%S+" do kinds[#kinds + 1] = kind end
  for text in (ffi.string(raw.parameters) .. ","):gmatch "%s*(.-)," do
    local name, default = text:match "^(%S+) = (.+)$"
    operation.parameters[#operation.parameters + 1] =
      { name = name or text, default = default, kind = kinds[#operation.parameters + 1] }
  end
  assert(#kinds == #operation.parameters, operation.name)
  return operation
end

local function describe(self)
  local ok, shape = pcall(methods.shape, self)
  if not ok then return "torch.Tensor" end
  local text = ("%s [%s]"):format(methods.dtype(self), table.concat(shape, ", "))
  if methods.numel(self) > 32 then return text end
  local function shown(value)
    if type(value) == "number" then return ("%.5g"):format(value) end
    if type(value) ~= "table" then return tostring(value) end
    local parts = {}
    for i, each in ipairs(value) do parts[i] = shown(each) end
    return "{ " .. table.concat(parts, ", ") .. " }"
  end
  return text .. " " .. shown(methods.totable(self))
end

-- The arithmetic of Lua's operators; `swapped` is for a number on the left.
local function operator(name, swapped)
  return function(a, b)
    if type(a) == "number" then return torch[swapped](b, a) end
    return torch[name](a, b)
  end
end

Tensor = ffi.metatype("berth_torch_tensor", {
  __index = methods,
  __gc = function(self)
    C.berth_torch_release(self.impl)
    if allocated.owners ~= 0 then forget_owners() end
  end,
  __tostring = describe,
  __add = operator("add", "add"), __mul = operator("mul", "mul"),
  __sub = operator("sub", "rsub"), __div = operator("div", "rdiv"),
  __unm = function(a) return torch.neg(a) end,
  __pow = operator("pow", "rpow"),
})
scope.Tensor = Tensor

local raw, row = ffi.new "berth_torch_operation", 0
while C.berth_torch_operation_at(row, raw) ~= 0 do
  local operation = read_operation(raw)
  torch.operations[row + 1] = operation
  torch[operation.name] = bind(row, operation)
  local first = operation.parameters[1]
  if first and first.name == "self" then methods[operation.name] = torch[operation.name] end
  row = row + 1
end

-- Whether a value is a tensor.
function torch.is_tensor(value) return ffi.istype(Tensor, value) end

-- Says which name was meant, where there is none; not which there are, for they are hundreds.
local function hinted(of, what)
  return setmetatable(of, { __index = function(_, name)
    if type(name) ~= "string" then return nil end
    local names = {}
    for each in pairs(of) do names[#names + 1] = each end
    table.sort(names)
    local meant = known.nearest(name, names)
    error(("%s has no '%s'; %s"):format(what, name,
      meant and ("did you mean '%s'?"):format(meant) or "share/berth/types/torch.lua lists what there is"), 2)
  end })
end
hinted(methods, "a tensor")

torch.nn = require "berth.torch.nn" (torch)
torch.optim = require "berth.torch.optim" (torch)
torch.distributions = known.only(require "berth.torch.distributions" (torch),
  "torch.distributions")
require "berth.torch.interchange" (torch)
torch.observe = require "berth.torch.observe" (torch)
torch.learner = require "berth.torch.learner" (torch)

return hinted(torch, "torch")
