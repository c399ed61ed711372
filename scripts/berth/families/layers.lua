-- The layers of families/network.lua: what each adds forward and what its gradient is.
--
-- All take the network, the name of the forward op (of a layer of several: their prefix) and values,
-- and return values. Images are {batch, height, width, channels}, rows {batch, size}.

local layers = {}

local function with(shape, axis, dim)
  local result = { unpack(shape) }
  result[axis] = dim
  return result
end

-- Elementwise --------------------------------------------------------------------------------------

-- A function whose gradient follows from its output.
local function activation(type, gradient_type)
  return function(net, name, x)
    local y = net:forward(type, name, { x }, { x.shape })
    net:differentiate(name, { y }, function(gradients)
      net:backward(x, gradient_type, { y, gradients[1] })
    end)
    return y
  end
end

layers.relu = activation("Relu", "ReluGrad")
layers.sigmoid = activation("Sigmoid", "SigmoidGrad")
layers.tanh = activation("Tanh", "TanhGrad")

function layers.add(net, name, a, b)
  local y = net:forward("AddV2", name, { a, b }, { a.shape })
  net:differentiate(name, { y }, function(gradients)
    net:pass(a, gradients[1])
    net:pass(b, gradients[1])
  end)
  return y
end

function layers.subtract(net, name, a, b)
  local y = net:forward("Sub", name, { a, b }, { a.shape })
  net:differentiate(name, { y }, function(gradients)
    net:pass(a, gradients[1])
    net:backward(b, "Neg", { gradients[1] })
  end)
  return y
end

function layers.multiply(net, name, a, b)
  local y = net:forward("Mul", name, { a, b }, { a.shape })
  net:differentiate(name, { y }, function(gradients)
    net:backward(a, "Mul", { gradients[1], b })
    net:backward(b, "Mul", { gradients[1], a })
  end)
  return y
end

-- The mean of values of one shape.
function layers.average(net, name, values)
  if #values == 1 then return values[1] end
  local sum = net:forward("AddN", name .. "/AddN", values, { values[1].shape })
  net:differentiate(name .. "/AddN", { sum }, function(gradients)
    for _, value in ipairs(values) do net:pass(value, gradients[1]) end
  end)
  local y = net:forward("RealDiv", name .. "/RealDiv", { sum }, { sum.shape })
  net:differentiate(name .. "/RealDiv", { y }, function(gradients)
    net:backward(sum, "RealDiv", { gradients[1] })
  end)
  return y
end

-- Shapes -------------------------------------------------------------------------------------------

function layers.reshape(net, name, x, shape)
  local y = net:forward("Reshape", name, { x }, { shape })
  net:differentiate(name, { y }, function(gradients) net:backward(x, "Reshape", { gradients[1] }) end)
  return y
end

function layers.concat(net, name, values, axis)
  if #values == 1 then return values[1] end
  local dim = 0
  for _, value in ipairs(values) do dim = dim + value.shape[axis] end
  local y = net:forward("ConcatV2", name, values, { with(values[1].shape, axis, dim) })
  net:differentiate(name, { y }, function(gradients)
    for _, value in ipairs(values) do net:backward(value, "Slice", { gradients[1] }) end
  end)
  return y
end

-- Values of one shape as one with a new dimension, the second.
function layers.stack(net, name, values)
  local batch, size = unpack(values[1].shape)
  local y = net:forward("Pack", name, values, { { batch, #values, size } })
  net:differentiate(name, { y }, function(gradients)
    local shapes = {}
    for i, value in ipairs(values) do shapes[i] = value.shape end
    for i, gradient in ipairs { net:gradient("Unpack", { gradients[1] }, shapes) } do
      net:pass(values[i], gradient)
    end
  end)
  return y
end

-- Rows cut into two halves, both of which must be used.
function layers.halves(net, name, x)
  local shape = with(x.shape, 2, x.shape[2] / 2)
  local a, b = net:forward("Split", name, { x }, { shape, shape })
  net:differentiate(name, { a, b }, function(gradients)
    net:backward(x, "ConcatV2", { gradients[1], gradients[2] })
  end)
  return a, b
end

-- Products -----------------------------------------------------------------------------------------

-- Rows times a weight {in, out}.
function layers.matmul(net, name, x, weight)
  local y = net:forward("MatMul", name, { x, weight }, { { x.shape[1], weight.shape[2] } })
  net:differentiate(name, { y }, function(gradients)
    local dy = gradients[1]
    net:backward(x, "MatMul", { dy, weight }, { transpose_b = true })
    net:backward(weight, "MatMul", { x, dy }, { transpose_a = true })
  end)
  return y
end

function layers.bias(net, name, x, bias)
  local y = net:forward("BiasAdd", name, { x, bias }, { x.shape })
  net:differentiate(name, { y }, function(gradients)
    net:pass(x, gradients[1])
    net:backward(bias, "BiasAddGrad", { gradients[1] })
  end)
  return y
end

-- a {batch, m, k} times b {batch, k, n}; with transposed a is {batch, k, m}.
function layers.batch_matmul(net, name, a, b, transposed)
  local shape = { a.shape[1], a.shape[transposed and 3 or 2], b.shape[3] }
  local y = net:forward("BatchMatMulV2", name, { a, b }, { shape },
                        { attributes = { adj_x = transposed } })
  net:differentiate(name, { y }, function(gradients)
    local dy = gradients[1]
    if transposed then
      net:backward(a, "BatchMatMulV2", { b, dy }, { adj_y = true })
      net:backward(b, "BatchMatMulV2", { a, dy })
    else
      net:backward(a, "BatchMatMulV2", { dy, b }, { adj_y = true })
      net:backward(b, "BatchMatMulV2", { a, dy }, { adj_x = true })
    end
  end)
  return y
end

-- Images -------------------------------------------------------------------------------------------

-- A convolution of stride 1 with its filter {kernel, kernel, in, out}.
function layers.convolution(net, name, x, kernel, channels)
  local filter = net:weight(name, "filter", { kernel, kernel, x.shape[4], channels })
  local y = net:forward("Conv2D", name, { x, filter }, { with(x.shape, 4, channels) })
  net:differentiate(name, { y }, function(gradients)
    net:backward(x, "Conv2DBackpropInput", { false, filter, gradients[1] })
    net:backward(filter, "Conv2DBackpropFilter", { x, false, gradients[1] })
  end)
  return y
end

-- A convolution of each channel by itself, stride 1.
function layers.depthwise(net, name, x, kernel)
  local filter = net:weight(name, "filter", { kernel, kernel, x.shape[4], 1 })
  local y = net:forward("DepthwiseConv2dNative", name, { x, filter }, { x.shape })
  net:differentiate(name, { y }, function(gradients)
    net:backward(x, "DepthwiseConv2dNativeBackpropInput", { false, filter, gradients[1] })
    net:backward(filter, "DepthwiseConv2dNativeBackpropFilter", { x, false, gradients[1] })
  end)
  return y
end

-- Normalises by the statistics of the batch, with scale and offset; moving averages are left out.
function layers.batch_norm(net, name, x)
  local channel = { x.shape[4] }
  local scale, offset = net:weight(name, "scale", channel), net:weight(name, "offset", channel)
  local y, _, _, mean, deviation = net:forward("FusedBatchNorm", name, { x, scale, offset },
                                               { x.shape, channel, channel, channel, channel })
  net:differentiate(name, { y }, function(gradients)
    local dx, dscale, doffset = net:gradient("FusedBatchNormGrad",
      { gradients[1], x, scale, mean, deviation }, { x.shape, channel, channel })
    net:pass(x, dx)
    net:pass(scale, dscale)
    net:pass(offset, doffset)
  end)
  return y
end

local function pool_options(window) return { attributes = { ksize = { 1, window, window, 1 } } } end

-- The maximum of each window, stride 1.
function layers.max_pool(net, name, x, window)
  local options = pool_options(window)
  local y = net:forward("MaxPool", name, { x }, { x.shape }, options)
  net:differentiate(name, { y }, function(gradients)
    net:backward(x, "MaxPoolGrad", { x, y, gradients[1] }, options.attributes)
  end)
  return y
end

-- The mean of each window.
function layers.average_pool(net, name, x, window, stride)
  local batch, height, width, channels = unpack(x.shape)
  local options = pool_options(window)
  local shape = { batch, math.ceil(height / stride), math.ceil(width / stride), channels }
  local y = net:forward("AvgPool", name, { x }, { shape }, options)
  net:differentiate(name, { y }, function(gradients)
    net:backward(x, "AvgPoolGrad", { false, gradients[1] }, options.attributes)
  end)
  return y
end

-- The mean over height and width: rows.
function layers.global_pool(net, name, x)
  local y = net:forward("Mean", name, { x }, { { x.shape[1], x.shape[4] } })
  net:differentiate(name, { y }, function(gradients) net:backward(x, "Tile", { gradients[1] }) end)
  return y
end

-- Sequences ----------------------------------------------------------------------------------------

-- Looks up words step by step in a table of its own, which has sparse gradients.
--   ARGS    words  steps and rows of each
--   RETURN  rows {batch, size} of each step, and the words of each
function layers.embedding(net, name, steps, batch, vocabulary, size)
  local words = net:placeholder(name .. "/words", { steps, batch }, "i32")
  local shapes = {}
  for step = 1, steps do shapes[step] = { batch } end
  local ids = { net:add("Unpack", name .. "/words/Unpack", { words }, shapes, { dtype = "i32" }) }
  local table_name = name .. "/table"
  local weight = net:variable(table_name, { vocabulary, size })
  weight.rows = {}
  weight.indices = net:within(table_name, function()
    return (net:add("Reshape", name .. "/words/Reshape", { words }, { { steps * batch } },
                    { dtype = "i32" }))
  end)
  local rows = {}
  for step = 1, steps do
    local lookup = ("%s/step_%d/lookup"):format(name, step - 1)
    rows[step] = net:forward("GatherV2", lookup, { weight, ids[step] }, { { batch, size } },
                             { class = table_name })
    net:differentiate(lookup, { rows[step] }, function(gradients)
      table.insert(weight.rows, gradients[1])
    end, table_name)
  end
  return rows
end

-- One step of an LSTM in one op.
--   ARGS    x, cell, hidden  rows {batch, size}; cell, hidden {batch, units}
--           kernel, bias     {size + units, 4 * units}, {4 * units}
--   RETURN  the new cell and hidden state
function layers.lstm(net, name, x, cell, hidden, kernel, bias)
  local batch, size, units = x.shape[1], x.shape[2], hidden.shape[2]
  local state = { batch, units }
  local inputs = { x, cell, hidden, kernel, false, false, false, bias }  -- without peepholes
  local i, cs, f, o, ci, co, h = net:forward("LSTMBlockCell", name, inputs,
                                             { state, state, state, state, state, state, state })
  net:differentiate(name, { cs, h }, function(gradients)
    local dcell, dgates = net:gradient("LSTMBlockCellGrad",
      { x, cell, hidden, false, false, false, false, bias, i, cs, f, o, ci, co,
        gradients[1] or false, gradients[2] or false },
      { state, { batch, 4 * units } })
    net:pass(cell, dcell)
    net:backward(bias, "BiasAddGrad", { dgates })
    local joined = { batch, size + units }
    local rows = net:gradient("ConcatV2", { x, hidden }, { joined })
    net:backward(kernel, "MatMul", { rows, dgates }, { transpose_a = true })
    local dinputs = net:gradient("MatMul", { dgates, kernel }, { joined }, { transpose_b = true })
    net:backward(x, "Slice", { dinputs })
    net:backward(hidden, "Slice", { dinputs })
  end)
  return cs, h
end

-- Ends ---------------------------------------------------------------------------------------------

-- Along the last dimension.
function layers.softmax(net, name, x)
  local y = net:forward("Softmax", name, { x }, { x.shape })
  net:differentiate(name, { y }, function(gradients)
    local dy = gradients[1]
    local product = net:gradient("Mul", { dy, y }, { x.shape })
    local sum = net:gradient("Sum", { product }, { with(x.shape, #x.shape, 1) })
    local difference = net:gradient("Sub", { dy, sum }, { x.shape })
    net:backward(x, "Mul", { difference, y })
  end)
  return y
end

-- The loss of each row of logits against labels, which are fed. The op gives its gradient too.
function layers.cross_entropy(net, name, logits)
  local batch = logits.shape[1]
  local labels = net:placeholder(name .. "/labels", { batch }, "i32")
  local loss, backprop = net:forward("SparseSoftmaxCrossEntropyWithLogits", name, { logits, labels },
                                     { { batch }, logits.shape })
  net:differentiate(name, { loss }, function(gradients)
    net:backward(logits, "Mul", { gradients[1], backprop })
  end)
  return loss
end

-- The mean over all elements of all values: a scalar.
function layers.mean(net, name, values)
  local all = layers.concat(net, name .. "/concat", values, 1)
  local y = net:forward("Mean", name .. "/Mean", { all }, { {} })
  net:differentiate(name .. "/Mean", { y }, function(gradients)
    net:backward(all, "Tile", { gradients[1] })
  end)
  return y
end

return layers
