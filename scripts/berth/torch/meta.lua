---@meta berth.torch
-- The operations of `require "berth.torch"`, for editors and people. Written by
-- scripts/docs/torch_meta.lua from the table of plugins/torch; a test holds both equal. Those whose
-- first parameter is `self` are methods of tensors too. Dimensions and positions count from 1.

---@alias torch.dtype "float32" | "float64" | "int64" | "int32" | "uint8" | "bool"
---@class torch.Tensor
local torch = {}

---self + other; shapes are broadcast.
---@param self torch.Tensor
---@param other torch.Tensor | number
---@return torch.Tensor
function torch.add(self, other) end

---self - other; shapes are broadcast.
---@param self torch.Tensor
---@param other torch.Tensor | number
---@return torch.Tensor
function torch.sub(self, other) end

---other - self; shapes are broadcast.
---@param self torch.Tensor
---@param other torch.Tensor | number
---@return torch.Tensor
function torch.rsub(self, other) end

---self * other; shapes are broadcast.
---@param self torch.Tensor
---@param other torch.Tensor | number
---@return torch.Tensor
function torch.mul(self, other) end

---self / other; shapes are broadcast.
---@param self torch.Tensor
---@param other torch.Tensor | number
---@return torch.Tensor
function torch.div(self, other) end

---other / self; shapes are broadcast.
---@param self torch.Tensor
---@param other torch.Tensor | number
---@return torch.Tensor
function torch.rdiv(self, other) end

---self to the power of exponent; shapes are broadcast.
---@param self torch.Tensor
---@param exponent torch.Tensor | number
---@return torch.Tensor
function torch.pow(self, exponent) end

---the larger of both, value by value; shapes are broadcast.
---@param self torch.Tensor
---@param other torch.Tensor | number
---@return torch.Tensor
function torch.maximum(self, other) end

---the smaller of both, value by value; shapes are broadcast.
---@param self torch.Tensor
---@param other torch.Tensor | number
---@return torch.Tensor
function torch.minimum(self, other) end

---self where condition holds, else other; shapes are broadcast.
---@param condition torch.Tensor
---@param self torch.Tensor | number
---@param other torch.Tensor | number
---@return torch.Tensor
function torch.where(condition, self, other) end

---values below min become min, above max become max.
---@param self torch.Tensor
---@param min number
---@param max number
---@return torch.Tensor
function torch.clamp(self, min, max) end

----self.
---@param self torch.Tensor
---@return torch.Tensor
function torch.neg(self) end

---without sign.
---@param self torch.Tensor
---@return torch.Tensor
function torch.abs(self) end

----1, 0 or 1.
---@param self torch.Tensor
---@return torch.Tensor
function torch.sign(self) end

---e to the power of self.
---@param self torch.Tensor
---@return torch.Tensor
function torch.exp(self) end

---exp(self) - 1.
---@param self torch.Tensor
---@return torch.Tensor
function torch.expm1(self) end

---natural logarithm.
---@param self torch.Tensor
---@return torch.Tensor
function torch.log(self) end

---log(1 + self).
---@param self torch.Tensor
---@return torch.Tensor
function torch.log1p(self) end

---logarithm to the base 2.
---@param self torch.Tensor
---@return torch.Tensor
function torch.log2(self) end

---square root.
---@param self torch.Tensor
---@return torch.Tensor
function torch.sqrt(self) end

---1 / sqrt(self).
---@param self torch.Tensor
---@return torch.Tensor
function torch.rsqrt(self) end

---self * self.
---@param self torch.Tensor
---@return torch.Tensor
function torch.square(self) end

---1 / self.
---@param self torch.Tensor
---@return torch.Tensor
function torch.reciprocal(self) end

---sine.
---@param self torch.Tensor
---@return torch.Tensor
function torch.sin(self) end

---cosine.
---@param self torch.Tensor
---@return torch.Tensor
function torch.cos(self) end

---rounded down.
---@param self torch.Tensor
---@return torch.Tensor
function torch.floor(self) end

---rounded; halves to even.
---@param self torch.Tensor
---@return torch.Tensor
function torch.round(self) end

---1 / (1 + exp(-self)).
---@param self torch.Tensor
---@return torch.Tensor
function torch.sigmoid(self) end

---hyperbolic tangent.
---@param self torch.Tensor
---@return torch.Tensor
function torch.tanh(self) end

---negative values become 0.
---@param self torch.Tensor
---@return torch.Tensor
function torch.relu(self) end

---negative values times negative_slope.
---@param self torch.Tensor
---@param negative_slope? number default 0.01
---@return torch.Tensor
function torch.leaky_relu(self, negative_slope) end

---exp(self) - 1 for negative values.
---@param self torch.Tensor
---@return torch.Tensor
function torch.elu(self) end

---self times the normal distribution.
---@param self torch.Tensor
---@return torch.Tensor
function torch.gelu(self) end

---self * sigmoid(self).
---@param self torch.Tensor
---@return torch.Tensor
function torch.silu(self) end

---log(1 + exp(self)).
---@param self torch.Tensor
---@return torch.Tensor
function torch.softplus(self) end

---where both are equal.
---@param self torch.Tensor
---@param other torch.Tensor | number
---@return torch.Tensor
function torch.eq(self, other) end

---where they differ.
---@param self torch.Tensor
---@param other torch.Tensor | number
---@return torch.Tensor
function torch.ne(self, other) end

---where self < other.
---@param self torch.Tensor
---@param other torch.Tensor | number
---@return torch.Tensor
function torch.lt(self, other) end

---where self <= other.
---@param self torch.Tensor
---@param other torch.Tensor | number
---@return torch.Tensor
function torch.le(self, other) end

---where self > other.
---@param self torch.Tensor
---@param other torch.Tensor | number
---@return torch.Tensor
function torch.gt(self, other) end

---where self >= other.
---@param self torch.Tensor
---@param other torch.Tensor | number
---@return torch.Tensor
function torch.ge(self, other) end

---where self is 0.
---@param self torch.Tensor
---@return torch.Tensor
function torch.logical_not(self) end

---where neither is 0.
---@param self torch.Tensor
---@param other torch.Tensor
---@return torch.Tensor
function torch.logical_and(self, other) end

---where one is not 0.
---@param self torch.Tensor
---@param other torch.Tensor
---@return torch.Tensor
function torch.logical_or(self, other) end

---where values are finite numbers.
---@param self torch.Tensor
---@return torch.Tensor
function torch.isfinite(self) end

---the sum of all values, or along dim.
---@param self torch.Tensor
---@param dim? integer
---@param keepdim? boolean default false
---@return torch.Tensor
function torch.sum(self, dim, keepdim) end

---the mean of all values, or along dim.
---@param self torch.Tensor
---@param dim? integer
---@param keepdim? boolean default false
---@return torch.Tensor
function torch.mean(self, dim, keepdim) end

---the sample's standard deviation, of all values or along dim.
---@param self torch.Tensor
---@param dim? integer
---@param keepdim? boolean default false
---@return torch.Tensor
function torch.std(self, dim, keepdim) end

---the sample's variance, of all values or along dim.
---@param self torch.Tensor
---@param dim? integer
---@param keepdim? boolean default false
---@return torch.Tensor
function torch.var(self, dim, keepdim) end

---the product of all values.
---@param self torch.Tensor
---@return torch.Tensor
function torch.prod(self) end

---the square root of the sum of squares.
---@param self torch.Tensor
---@return torch.Tensor
function torch.norm(self) end

---the largest value, of all or along dim.
---@param self torch.Tensor
---@param dim? integer
---@param keepdim? boolean default false
---@return torch.Tensor
function torch.amax(self, dim, keepdim) end

---the smallest value, of all or along dim.
---@param self torch.Tensor
---@param dim? integer
---@param keepdim? boolean default false
---@return torch.Tensor
function torch.amin(self, dim, keepdim) end

---where along dim the largest value is, from 1.
---@param self torch.Tensor
---@param dim? integer default -1
---@param keepdim? boolean default false
---@return torch.Tensor
function torch.argmax(self, dim, keepdim) end

---where along dim the smallest value is, from 1.
---@param self torch.Tensor
---@param dim? integer default -1
---@param keepdim? boolean default false
---@return torch.Tensor
function torch.argmin(self, dim, keepdim) end

---whether no value is 0.
---@param self torch.Tensor
---@return torch.Tensor
function torch.all(self) end

---whether a value is not 0.
---@param self torch.Tensor
---@return torch.Tensor
function torch.any(self) end

---sums from the first value on, along dim.
---@param self torch.Tensor
---@param dim? integer default -1
---@return torch.Tensor
function torch.cumsum(self, dim) end

---log(sum(exp(self))) along dim, without overflow.
---@param self torch.Tensor
---@param dim? integer default -1
---@param keepdim? boolean default false
---@return torch.Tensor
function torch.logsumexp(self, dim, keepdim) end

---exp(self) / sum(exp(self)) along dim.
---@param self torch.Tensor
---@param dim? integer default -1
---@return torch.Tensor
function torch.softmax(self, dim) end

---log(softmax(self)) along dim, without overflow.
---@param self torch.Tensor
---@param dim? integer default -1
---@return torch.Tensor
function torch.log_softmax(self, dim) end

---the product [.., n, k] x [.., k, m] -> [.., n, m].
---@param self torch.Tensor
---@param other torch.Tensor
---@return torch.Tensor
function torch.matmul(self, other) end

---the product [n] x [m] -> [n, m].
---@param self torch.Tensor
---@param other torch.Tensor
---@return torch.Tensor
function torch.outer(self, other) end

---sums of products by an equation, such as 'bij,bjk->bik'.
---@param equation string
---@param tensors torch.Tensor[]
---@return torch.Tensor
function torch.einsum(equation, tensors) end

---the same values in another shape; -1 = what is left.
---@param self torch.Tensor
---@param shape integer[]
---@return torch.Tensor
function torch.reshape(self, shape) end

---the dimensions from start_dim to end_dim become one.
---@param self torch.Tensor
---@param start_dim? integer default 1
---@param end_dim? integer default -1
---@return torch.Tensor
function torch.flatten(self, start_dim, end_dim) end

---two dimensions change places.
---@param self torch.Tensor
---@param dim0? integer default -2
---@param dim1? integer default -1
---@return torch.Tensor
function torch.transpose(self, dim0, dim1) end

---dimensions in another order.
---@param self torch.Tensor
---@param dims integer[]
---@return torch.Tensor
function torch.permute(self, dims) end

---a new dimension of size 1 at dim.
---@param self torch.Tensor
---@param dim integer
---@return torch.Tensor
function torch.unsqueeze(self, dim) end

---dim goes where its size is 1.
---@param self torch.Tensor
---@param dim integer
---@return torch.Tensor
function torch.squeeze(self, dim) end

---dimensions of size 1 in a larger size, without copying.
---@param self torch.Tensor
---@param shape integer[]
---@return torch.Tensor
function torch.expand(self, shape) end

---as many copies along each dimension.
---@param self torch.Tensor
---@param dims integer[]
---@return torch.Tensor
function torch.tile(self, dims) end

---values row by row in memory, copied where they are not.
---@param self torch.Tensor
---@return torch.Tensor
function torch.contiguous(self) end

---one after the other along dim.
---@param tensors torch.Tensor[]
---@param dim? integer default 1
---@return torch.Tensor
function torch.cat(tensors, dim) end

---side by side along a new dimension.
---@param tensors torch.Tensor[]
---@param dim? integer default 1
---@return torch.Tensor
function torch.stack(tensors, dim) end

---parts of `size` along dim, as several results; up to 64.
---@param self torch.Tensor
---@param size integer
---@param dim? integer default 1
---@return torch.Tensor
function torch.split(self, size, dim) end

---the slices along dim, as several results; up to 64.
---@param self torch.Tensor
---@param dim? integer default 1
---@return torch.Tensor
function torch.unbind(self, dim) end

---the slice number index (from 1, or from -1 for the last) along dim.
---@param self torch.Tensor
---@param dim integer
---@param index integer
---@return torch.Tensor
function torch.select(self, dim, index) end

---`length` slices from number start (from 1) on, along dim.
---@param self torch.Tensor
---@param dim integer
---@param start integer
---@param length integer
---@return torch.Tensor
function torch.narrow(self, dim, start, length) end

---the slices at the positions [n] (from 1) along dim.
---@param self torch.Tensor
---@param dim integer
---@param index torch.Tensor | integer[]
---@return torch.Tensor
function torch.index_select(self, dim, index) end

---along dim the value at each position (from 1); index has as many dimensions as self.
---@param self torch.Tensor
---@param dim integer
---@param index torch.Tensor | integer[]
---@return torch.Tensor
function torch.gather(self, dim, index) end

---self with values put at the positions (from 1) along dim.
---@param self torch.Tensor
---@param dim integer
---@param index torch.Tensor | integer[]
---@param values torch.Tensor
---@return torch.Tensor
function torch.scatter(self, dim, index, values) end

---self with values added at the positions (from 1) along dim.
---@param self torch.Tensor
---@param dim integer
---@param index torch.Tensor | integer[]
---@param values torch.Tensor
---@return torch.Tensor
function torch.scatter_add(self, dim, index, values) end

---self with the slices of source added at the positions [n] (from 1) along dim.
---@param self torch.Tensor
---@param dim integer
---@param index torch.Tensor | integer[]
---@param source torch.Tensor
---@return torch.Tensor
function torch.index_add(self, dim, index, source) end

---value where mask holds; shapes are broadcast.
---@param self torch.Tensor
---@param mask torch.Tensor
---@param value number
---@return torch.Tensor
function torch.masked_fill(self, mask, value) end

---the values where mask holds, in one dimension.
---@param self torch.Tensor
---@param mask torch.Tensor
---@return torch.Tensor
function torch.masked_select(self, mask) end

---the positions (from 1) of values that are not 0, [n, dimensions].
---@param self torch.Tensor
---@return torch.Tensor
function torch.nonzero(self) end

---backwards along dims.
---@param self torch.Tensor
---@param dims integer[]
---@return torch.Tensor
function torch.flip(self, dims) end

---0 above the diagonal.
---@param self torch.Tensor
---@param diagonal? integer default 0
---@return torch.Tensor
function torch.tril(self, diagonal) end

---0 below the diagonal.
---@param self torch.Tensor
---@param diagonal? integer default 0
---@return torch.Tensor
function torch.triu(self, diagonal) end

---values in order along dim, and where they were, from 1.
---@param self torch.Tensor
---@param dim? integer default -1
---@param descending? boolean default false
---@return torch.Tensor
function torch.sort(self, dim, descending) end

---the k largest values along dim, and where they are, from 1.
---@param self torch.Tensor
---@param k integer
---@param dim? integer default -1
---@return torch.Tensor
function torch.topk(self, k, dim) end

---values of another type: float32, float64, int64, int32, uint8, bool.
---@param self torch.Tensor
---@param dtype torch.dtype
---@return torch.Tensor
function torch.to(self, dtype) end

---the same values without a gradient.
---@param self torch.Tensor
---@return torch.Tensor
function torch.detach(self) end

---a copy.
---@param self torch.Tensor
---@return torch.Tensor
function torch.clone(self) end

---all 0.
---@param shape integer[]
---@param dtype? torch.dtype default 'float32'
---@return torch.Tensor
function torch.zeros(shape, dtype) end

---all 1.
---@param shape integer[]
---@param dtype? torch.dtype default 'float32'
---@return torch.Tensor
function torch.ones(shape, dtype) end

---all value.
---@param shape integer[]
---@param value number
---@param dtype? torch.dtype default 'float32'
---@return torch.Tensor
function torch.full(shape, value, dtype) end

---0 in self's shape.
---@param self torch.Tensor
---@return torch.Tensor
function torch.zeros_like(self) end

---1 in self's shape.
---@param self torch.Tensor
---@return torch.Tensor
function torch.ones_like(self) end

---first, first + 1, .. last, as a loop of Lua counts.
---@param first number
---@param last number
---@param dtype? torch.dtype default 'float32'
---@return torch.Tensor
function torch.arange(first, last, dtype) end

---the identity matrix [n, n].
---@param n integer
---@return torch.Tensor
function torch.eye(n) end

---1 at each position (from 1) of a new last dimension of that size, else 0.
---@param self torch.Tensor | integer[]
---@param classes integer
---@return torch.Tensor
function torch.one_hot(self, classes) end

---self takes other's values.
---@param self torch.Tensor
---@param other torch.Tensor
---@return torch.Tensor
function torch.copy_(self, other) end

---self becomes value everywhere.
---@param self torch.Tensor
---@param value number
---@return torch.Tensor
function torch.fill_(self, value) end

---self becomes self + alpha * other.
---@param self torch.Tensor
---@param other torch.Tensor | number
---@param alpha? number default 1
---@return torch.Tensor
function torch.add_(self, other, alpha) end

---self becomes self * other.
---@param self torch.Tensor
---@param other torch.Tensor | number
---@return torch.Tensor
function torch.mul_(self, other) end

---[.., in] x weight [out, in] + bias [out] -> [.., out].
---@param self torch.Tensor
---@param weight torch.Tensor
---@param bias? torch.Tensor
---@return torch.Tensor
function torch.linear(self, weight, bias) end

---the rows of weight [rows, width] at the positions (from 1) -> [.., width].
---@param weight torch.Tensor
---@param index torch.Tensor | integer[]
---@return torch.Tensor
function torch.embedding(weight, index) end

---the last dimensions of weight's shape with mean 0 and variance 1, times weight, plus bias.
---@param self torch.Tensor
---@param weight torch.Tensor
---@param bias torch.Tensor
---@param epsilon? number default 1e-5
---@return torch.Tensor
function torch.layer_norm(self, weight, bias, epsilon) end

---x [batch, length, in], hidden and cell [layers, batch, width], by layer input weight [4 width, in], hidden weight [4 width, width] and two biases [4 width] -> outputs [batch, length, width], hidden, cell.
---@param self torch.Tensor
---@param hidden torch.Tensor
---@param cell torch.Tensor
---@param weights torch.Tensor[]
---@return torch.Tensor
function torch.lstm(self, hidden, cell, weights) end

---over a graph's edges, sources [edges] to targets [edges] (from 1): for each of `nodes` the sum of its sources' rows of self [.., nodes, width].
---@param self torch.Tensor
---@param sources torch.Tensor | integer[]
---@param targets torch.Tensor | integer[]
---@param nodes integer
---@return torch.Tensor
function torch.edge_sum(self, sources, targets, nodes) end

---values 0 with probability p, the rest divided by 1 - p; nothing changes where training is false.
---@param self torch.Tensor
---@param p? number default 0.5
---@param training? boolean default true
---@return torch.Tensor
function torch.dropout(self, p, training) end

---the mean of the squared differences; both of one shape.
---@param self torch.Tensor
---@param target torch.Tensor
---@return torch.Tensor
function torch.mse_loss(self, target) end

---mean difference, squared below beta; both of one shape.
---@param self torch.Tensor
---@param target torch.Tensor
---@param beta? number default 1
---@return torch.Tensor
function torch.smooth_l1_loss(self, target, beta) end

---mean of -log softmax of self [n, classes] at the classes target [n] (from 1).
---@param self torch.Tensor
---@param target torch.Tensor | integer[]
---@return torch.Tensor
function torch.cross_entropy(self, target) end

---the mean loss of logits against probabilities; both of one shape.
---@param self torch.Tensor
---@param target torch.Tensor
---@return torch.Tensor
function torch.binary_cross_entropy_with_logits(self, target) end

---drawn uniformly from [0, 1).
---@param shape integer[]
---@return torch.Tensor
function torch.rand(shape) end

---drawn from the normal distribution.
---@param shape integer[]
---@return torch.Tensor
function torch.randn(shape) end

---1 to n in random order.
---@param n integer
---@return torch.Tensor
function torch.randperm(n) end

---positions (from 1) drawn with the probabilities [.., n], which need not add up to 1 -> [.., samples].
---@param self torch.Tensor
---@param samples? integer default 1
---@param replacement? boolean default true
---@return torch.Tensor
function torch.multinomial(self, samples, replacement) end

---1 with probability self, else 0.
---@param self torch.Tensor
---@return torch.Tensor
function torch.bernoulli(self) end

---self becomes uniform draws; no gradient.
---@param self torch.Tensor
---@param low? number default 0
---@param high? number default 1
---@return torch.Tensor
function torch.uniform_(self, low, high) end

---self becomes normal draws; no gradient.
---@param self torch.Tensor
---@param mean? number default 0
---@param std? number default 1
---@return torch.Tensor
function torch.normal_(self, mean, std) end

---self after step number `step` of Adam against the gradient; mean and square change too; all of one shape.
---@param self torch.Tensor
---@param gradient torch.Tensor
---@param mean torch.Tensor
---@param square torch.Tensor
---@param step integer
---@param rate number
---@param beta1? number default 0.9
---@param beta2? number default 0.999
---@param epsilon? number default 1e-8
---@param decay? number default 0
---@param decoupled? boolean default false
---@return torch.Tensor
function torch.adam_step_(self, gradient, mean, square, step, rate, beta1, beta2, epsilon, decay, decoupled) end

return torch
