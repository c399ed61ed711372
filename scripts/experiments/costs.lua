-- How far are estimated costs from measured kernels, by class of op? Before a device's multiprocessors
-- are known, and after.
--
--   berth run scripts/experiments/costs.lua [--deepbench FOLDER] [--pipedream FOLDER]
--       [--format text|markdown]
--
-- --deepbench: `results/train` of github.com/baidu-research/DeepBench, whose sheets are read with `unzip`.
-- --pipedream: profiles of github.com/msr-fiddle/pipedream as FOLDER/pipedream_NAME.txt. Layers that are alike
-- are one, of their median time: single readings are up to thirteen times the median. What the profiler takes for
-- itself, the shortest reading of any layer, is subtracted, and what then is below 0.1 ms is left out.
--
-- "plain": a roofline with one share per class, as if every kernel filled the device. "estimate": the
-- costs of Berth. Both with the pause between two kernels. "off by" is the geometric mean of the factor
-- between measured and estimated, whichever is larger; "bias" that of estimated over measured.

local arguments = require "berth.arguments"
local berth = require "berth"
local tables = require "berth.tables"

-- 1. Devices: data sheets. "settled": the constants of engine/costs were chosen on these.

local devices = {
  { sheet = "DeepBench_NV_M40", name = "M40", settled = true, flops = 6.84e12, bandwidth = 288e9, units = 24 },
  { sheet = "DeepBench_NV_TitanX", name = "Titan X", settled = true, flops = 6.6e12, bandwidth = 336.5e9,
    units = 24 },
  { sheet = "DeepBench_NV_TitanX_Pascal", name = "Titan X Pascal", settled = true, flops = 10.97e12,
    bandwidth = 480e9, units = 28 },
  { sheet = "DeepBench_NV_1080Ti", name = "1080 Ti", settled = true, flops = 11.34e12, bandwidth = 484e9,
    units = 28 },
  { sheet = "DeepBench_NV_TitanXp", name = "Titan Xp", settled = true, flops = 12.15e12, bandwidth = 547.7e9,
    units = 30 },
  { sheet = "DeepBench_NV_P100", name = "P100", settled = true, flops = 10.6e12, bandwidth = 732e9, units = 56 },
  { sheet = "DeepBench_NV_V100", name = "V100", flops = 15.7e12, flops_16 = 125e12, bandwidth = 900e9,
    units = 80 },
}
local v100 = devices[#devices]
-- A second judge: a card that its 70 W keep from its peak, large products reach 0.57 of it.
devices[#devices + 1] = { sheet = "DeepBench_NV_T4", name = "T4", flops = 8.1e12, flops_16 = 65e12, bandwidth = 320e9,
  units = 40 }

local overhead_us = 5
local function cluster_of(device, units)
  return berth.cluster { name = device.name, links = {}, devices = { {
    name = "gpu:0", kind = "gpu", flops = device.flops, flops_16 = device.flops_16,
    memory_bandwidth = device.bandwidth, op_overhead_us = overhead_us, multiprocessors = units } } }
end

-- 2. The command line.

local options = { format = "text" }
local line = arguments.parser()
line.read({ ... }, nil, {
  ["--deepbench"] = line.text_into(options, "deepbench"),
  ["--pipedream"] = line.text_into(options, "pipedream"),
  ["--format"] = line.format_into(options),
})

-- 3. A graph of kernels, one op for each, whose work the rules of TensorFlow's ops count.

local function kernels(name, dtype)
  local builder = berth.graph_builder(name, "tf")
  local list, count = {}, 0
  local function tensor(shape)
    count = count + 1
    local op = builder:add_op("input" .. count, "Placeholder")
    return builder:add_output(op, { dtype = dtype, shape = shape })
  end
  local self = { list = list }
  -- `kernel`: type, inputs (shapes), output (a shape), attributes.
  local function add(kernel)
    local op = builder:add_op(("op%d"):format(count + 1), kernel.type)
    count = count + 1
    for _, shape in ipairs(kernel.inputs) do builder:add_input(op, tensor(shape)) end
    builder:add_output(op, { dtype = dtype, shape = kernel.output })
    for key, value in pairs(kernel.attributes or {}) do builder:set_attribute(op, key, value) end
    return op
  end
  -- Kernels measured together.
  function self.measured(class, ms, ...)
    local ops = {}
    for i, kernel in ipairs { ... } do ops[i] = add(kernel) end
    list[#list + 1] = { class = class, us = ms * 1e3, ops = ops }
  end
  function self.graph() return builder:build() end
  return self
end

local function convolution(shape)
  local attributes = { data_format = "NHWC", strides = { 1, shape.stride[1], shape.stride[2], 1 } }
  local image = { shape.batch, shape.rows, shape.columns, shape.inputs }
  local filter = { shape.window[1], shape.window[2], shape.inputs / (shape.groups or 1), shape.outputs }
  local result = { shape.batch, shape.out_rows, shape.out_columns, shape.outputs }
  return {
    forward = { type = "Conv2D", inputs = { image, filter }, output = result, attributes = attributes },
    data = { type = "Conv2DBackpropInputV2", inputs = { image, filter, result }, output = image,
             attributes = attributes },
    filter = { type = "Conv2DBackpropFilterV2", inputs = { image, filter, result }, output = filter,
               attributes = attributes },
  }
end

local function class_of(shape)
  if (shape.groups or 1) > 1 then return shape.groups == shape.inputs and "depthwise" or "grouped" end
  local rows, columns = shape.window[1], shape.window[2]
  if rows * columns == 1 then return "pointwise" end
  return rows == 3 and columns == 3 and shape.stride[1] == 1 and "3 x 3" or "other windows"
end

-- 4. Errors of one list of kernels.

local plain_share = { MatMul = 0.7 }
local function plain_us(work, type, device)
  local flops = work.dtype == "f16" and device.flops_16 or device.flops
  return math.max(work.flops / (flops * (plain_share[type] or 0.5)), work.bytes / (device.bandwidth * 0.75))
    * 1e6
end

local sums, order = {}, {}
local function note(key, class, estimated, measured)
  local row = sums[key .. class]
  if not row then
    row = { source = key, class = class, n = 0, plain = 0, estimate = 0, plain_bias = 0, bias = 0 }
    sums[key .. class], order[#order + 1] = row, row
  end
  row.n = row.n + 1
  for _, which in ipairs { "plain", "estimate" } do
    local off = math.log(estimated[which] / measured)
    row[which] = row[which] + math.abs(off)
    local bias = which == "plain" and "plain_bias" or "bias"
    row[bias] = row[bias] + off
  end
end

local function compare(key, collected, device)
  local graph = collected.graph()
  local costs = berth.costs("roofline", graph, cluster_of(device, device.units))
  for _, measured in ipairs(collected.list) do
    local estimated = { plain = 0, estimate = 0 }
    for _, op in ipairs(measured.ops) do
      estimated.plain = estimated.plain + plain_us(graph:work(op), graph:op_type(op), device) + overhead_us
      estimated.estimate = estimated.estimate + costs:op_us(op, 1) + overhead_us
    end
    note(key, measured.class, estimated, measured.us)
  end
end

-- 5. DeepBench's sheets.

local function unzipped(path, member)
  local pipe = assert(io.popen(("unzip -p '%s' %s"):format(path, member)))
  local text = pipe:read "*a"
  pipe:close()
  return text
end

-- Rows of the sheet as tables by column letter.
local function sheet(path, number)
  local texts = {}
  for item in unzipped(path, "xl/sharedStrings.xml"):gmatch "<si>(.-)</si>" do
    local text = ""
    for part in item:gmatch "<t[^>]*>(.-)</t>" do text = text .. part end
    texts[#texts + 1] = text
  end
  local rows = {}
  for body in unzipped(path, ("xl/worksheets/sheet%d.xml"):format(number)):gmatch "<row.->(.-)</row>" do
    local row = {}
    for head, cell in body:gmatch "<c ([^>]*[^/>])>(.-)</c>" do
      local value = cell:match "<v>(.-)</v>"
      if value and head:find 't="s"' then value = texts[tonumber(value) + 1] end
      row[head:match 'r="(%a+)'] = value
    end
    rows[#rows + 1] = row
  end
  if #rows == 0 then error("no sheet " .. number .. " in " .. path .. ": give the folder of the .xlsx files") end
  return rows
end

local function read_deepbench(rows, collected)
  local section
  for _, row in ipairs(rows) do
    local title = row.A or ""
    local n = setmetatable({}, { __index = function(_, key) return tonumber(row[key]) end })
    if title:find "^Dense" then
      section = "products"
    elseif title:find "^Convolution" then
      section = "convolutions"
    elseif title:find "^Recurrent" or title:find "^All" then
      section = nil
    elseif section == "products" and n.C and n.I then
      collected.measured("matmul", n.I,
        { type = "MatMul", inputs = { { n.C, n.E }, { n.E, n.D } }, output = { n.C, n.D } })
    elseif section == "convolutions" and n.C and n.N then
      local shape = { columns = n.C, rows = n.D, inputs = n.E, batch = n.F, outputs = n.G,
                      window = { n.I, n.H }, stride = { n.M, n.L }, out_columns = math.floor(n.R), out_rows = math.floor(n.S) }
      local class, made = class_of(shape), convolution(shape)
      collected.measured(class, n.N, made.forward)
      if n.O then collected.measured(class .. ", data gradient", n.O, made.data) end
      if n.P then collected.measured(class .. ", filter gradient", n.P, made.filter) end
    end
  end
end

if options.deepbench then
  for _, device in ipairs(devices) do
    local path = ("%s/%s.xlsx"):format(options.deepbench, device.sheet)
    local collected = kernels(device.name, "f32")
    read_deepbench(sheet(path, 1), collected)
    compare(device.settled and "DeepBench, settled on" or ("DeepBench, %s, f32"):format(device.name), collected, device)
  end
  local collected = kernels("V100 f16", "f16")
  read_deepbench(sheet(("%s/%s.xlsx"):format(options.deepbench, v100.sheet), 2), collected)
  compare("DeepBench, V100, f16", collected, v100)
end

-- 6. PipeDream's layers: a V100 in f32 (its 3 x 3 convolutions reach 1.4 times the peak of a Titan X).

local function pair(text, key, default)
  local a, b = text:match(key .. "=%((%d+), (%d+)%)")
  if a then return { tonumber(a), tonumber(b) } end
  local one = tonumber(text:match(key .. "=(%d+)"))
  return one and { one, one } or default
end

local elementwise = {
  ReLU = { "relu", { "Relu" }, { "ReluGrad" } },
  BatchNorm2d = { "normalization", { "FusedBatchNorm" }, { "FusedBatchNormGrad" } },
}

local function time_of(text, direction) return tonumber(text:match(direction .. "_compute_time=([%d.]+)")) end

-- The shortest time of any layer that has one.
local function shortest(texts, direction)
  local least = math.huge
  for _, text in ipairs(texts) do
    local ms = time_of(text, direction)
    if ms and ms > 0 then least = math.min(least, ms) end
  end
  return least
end

-- Layers that are alike as one: what they are, and the lower median of their times less the profiler's own, in ms,
-- 0 where that is too short.
local function layers_of(texts, own)
  local layers, order = {}, {}
  for _, text in ipairs(texts) do
    local layer, rest = text:match "%-%- (%w+)(.-) %-%- forward"
    local bytes = tonumber(text:match "activation_size=([%d.]+)")
    if layer and bytes then
      local key = layer .. rest .. bytes
      if not layers[key] then
        layers[key] = { layer = layer, rest = rest, bytes = bytes, forward = {}, backward = {} }
        order[#order + 1] = layers[key]
      end
      for direction in pairs(own) do table.insert(layers[key][direction], time_of(text, direction)) end
    end
  end
  for _, each in ipairs(order) do
    for direction, own_ms in pairs(own) do
      local times = each[direction]
      table.sort(times)
      local ms = times[math.ceil(#times / 2)] - own_ms
      each[direction] = ms >= 0.1 and ms or 0
    end
  end
  return order
end

local function read_pipedream(texts, own, collected)
  for _, each in ipairs(layers_of(texts, own)) do
    local layer, rest, bytes, forward, backward = each.layer, each.rest, each.bytes, each.forward, each.backward
    if layer == "Conv2d" then
      local inputs, outputs = rest:match "%((%d+), (%d+)"
      inputs, outputs = tonumber(inputs), tonumber(outputs)
      local window = pair(rest, "kernel_size")
      local stride = pair(rest, "stride", { 1, 1 })
      local points = bytes / 4 / outputs
      local shape = { batch = 1, inputs = inputs, outputs = outputs, groups = tonumber(rest:match "groups=(%d+)"),
                      window = window, stride = stride, out_rows = points, out_columns = 1,
                      rows = points * stride[1] * stride[2], columns = 1 }
      local class, made = class_of(shape), convolution(shape)
      if forward > 0 then collected.measured(class, forward, made.forward) end
      -- The images need no gradient.
      if backward > 0 then
        collected.measured(class .. ", gradients", backward, made.filter, inputs > 3 and made.data or nil)
      end
    elseif elementwise[layer] and bytes > 0 then
      local class, types, gradients = unpack(elementwise[layer])
      local shape = { bytes / 4 }
      if forward > 0 then
        collected.measured(class, forward, { type = types[1], inputs = { shape }, output = shape })
      end
      if backward > 0 then
        collected.measured(class .. ", gradients", backward,
          { type = gradients[1], inputs = { shape, shape }, output = shape })
      end
    end
  end
end

if options.pipedream then
  local profiles, own = {}, { forward = math.huge, backward = math.huge }
  for _, name in ipairs { "resnet50", "vgg16", "squeezenet1_0", "densenet121", "nasnetalarge" } do
    local texts = {}
    for text in io.lines(("%s/pipedream_%s.txt"):format(options.pipedream, name)) do texts[#texts + 1] = text end
    profiles[#profiles + 1] = { name = name, texts = texts }
    for direction, ms in pairs(own) do own[direction] = math.min(ms, shortest(texts, direction)) end
  end
  for _, profile in ipairs(profiles) do
    local collected = kernels(profile.name, "f32")
    read_pipedream(profile.texts, own, collected)
    if #collected.list > 0 then compare("PipeDream, V100", collected, v100) end
  end
end

-- 7. Whole networks: TensorFlow's rows of github.com/soumith/convnet-benchmarks, Titan X, forward and
-- backward in milliseconds; convolutions, dense layers, ReLUs and poolings, as was measured there.

local published = {
  { name = "AlexNet", batch = 128, image = 224, forward = 26, backward = 55,
    { 64, 11, 4, 2 }, "pool", { 192, 5, 1, 2 }, "pool", { 384, 3, 1, 1 }, { 256, 3, 1, 1 }, { 256, 3, 1, 1 },
    "pool", 4096, 4096, 1000, window = 3 },
  { name = "VGG-A", batch = 64, image = 224, forward = 158, backward = 382,
    { 64, 3, 1, 1 }, "pool", { 128, 3, 1, 1 }, "pool", { 256, 3, 1, 1 }, { 256, 3, 1, 1 }, "pool",
    { 512, 3, 1, 1 }, { 512, 3, 1, 1 }, "pool", { 512, 3, 1, 1 }, { 512, 3, 1, 1 }, "pool", 4096, 4096, 1000,
    window = 2 },
}

local function network(net, collected)
  local size, channels, features = net.image, 3, nil
  local forward, backward = {}, {}
  local function relu(shape)
    forward[#forward + 1] = { type = "Relu", inputs = { shape }, output = shape }
    backward[#backward + 1] = { type = "ReluGrad", inputs = { shape, shape }, output = shape }
  end
  for _, layer in ipairs(net) do
    if layer == "pool" then
      local before = { net.batch, size, size, channels }
      size = math.floor((size - net.window) / 2) + 1
      local after = { net.batch, size, size, channels }
      local window = { 1, net.window, net.window, 1 }
      forward[#forward + 1] = { type = "MaxPool", inputs = { before }, output = after,
                                attributes = { ksize = window } }
      backward[#backward + 1] = { type = "MaxPoolGrad", inputs = { before, after, after }, output = before,
                                  attributes = { ksize = window } }
    elseif type(layer) == "table" then
      local outputs, window, stride, padding = unpack(layer)
      local after = math.floor((size + 2 * padding - window) / stride) + 1
      local made = convolution { batch = net.batch, rows = size, columns = size, inputs = channels,
        outputs = outputs, window = { window, window }, stride = { stride, stride }, out_rows = after,
        out_columns = after }
      forward[#forward + 1] = made.forward
      if channels > 3 then backward[#backward + 1] = made.data end
      backward[#backward + 1] = made.filter
      size, channels = after, outputs
      relu { net.batch, size, size, channels }
    else
      features = features or size * size * channels
      local function product(rows, inner, columns)
        return { type = "MatMul", inputs = { { rows, inner }, { inner, columns } }, output = { rows, columns } }
      end
      forward[#forward + 1] = product(net.batch, features, layer)
      backward[#backward + 1] = product(net.batch, layer, features)
      backward[#backward + 1] = product(features, net.batch, layer)
      features = layer
      relu { net.batch, features }
    end
  end
  collected.measured(net.name .. ", forward", net.forward, unpack(forward))
  collected.measured(net.name .. ", backward", net.backward, unpack(backward))
end

for _, net in ipairs(published) do
  local collected = kernels(net.name, "f32")
  network(net, collected)
  compare("convnet-benchmarks, Titan X", collected, devices[2])
end

-- 8. The table.

for _, row in ipairs(order) do
  for _, key in ipairs { "plain", "estimate", "plain_bias", "bias" } do row[key] = math.exp(row[key] / row.n) end
end
io.write(tables[options.format](order, {
  { key = "source" }, { key = "class" }, { key = "n", title = "kernels" },
  { key = "plain", title = "plain: off by", format = "%.2f" },
  { key = "plain_bias", title = "bias", format = "%.2f" },
  { key = "estimate", title = "estimate: off by", format = "%.2f" },
  { key = "bias", title = "bias", format = "%.2f" },
}))
