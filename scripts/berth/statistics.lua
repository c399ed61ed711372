-- Summaries of measurements.

local statistics = {}

-- The value below which `share` (0 to 1) of the sorted values lie, interpolated between neighbours; nil
-- of nothing.
--   ARGS    values  array of numbers, left as it is
function statistics.quantile(values, share)
  if #values == 0 then return nil end
  local sorted = {}
  for i, value in ipairs(values) do sorted[i] = value end
  table.sort(sorted)
  local at = 1 + share * (#sorted - 1)
  local below = math.floor(at)
  local above = math.min(below + 1, #sorted)
  return sorted[below] + (at - below) * (sorted[above] - sorted[below])
end

-- The middle value, or the mean of the two in the middle; nil of nothing.
--   ARGS    values  array of numbers, left as it is
function statistics.median(values) return statistics.quantile(values, 0.5) end

-- The mean; nil of nothing.
--   ARGS    values  array of numbers
function statistics.mean(values)
  if #values == 0 then return nil end
  local sum = 0
  for _, value in ipairs(values) do sum = sum + value end
  return sum / #values
end

-- The place of each value in ascending order, 1..; equal values share the mean of their places.
local function ranks(values)
  local order = {}
  for i = 1, #values do order[i] = i end
  table.sort(order, function(a, b) return values[a] < values[b] end)
  local result = {}
  local first = 1
  while first <= #order do
    local last = first
    while last < #order and values[order[last + 1]] == values[order[first]] do last = last + 1 end
    for i = first, last do result[order[i]] = (first + last) / 2 end
    first = last + 1
  end
  return result
end

-- Spearman's rank correlation in [-1, 1]: Pearson's of the ranks; nil where all values of one side are
-- equal.
--   ARGS    xs, ys  arrays of numbers of one length
function statistics.spearman(xs, ys)
  local a, b = ranks(xs), ranks(ys)
  local mean = (#xs + 1) / 2
  local ab, aa, bb = 0, 0, 0
  for i = 1, #xs do
    ab = ab + (a[i] - mean) * (b[i] - mean)
    aa = aa + (a[i] - mean) ^ 2
    bb = bb + (b[i] - mean) ^ 2
  end
  if aa == 0 or bb == 0 then return nil end
  return ab / math.sqrt(aa * bb)
end

return statistics
