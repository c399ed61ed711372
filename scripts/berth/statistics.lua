-- Summaries of measurements.

local statistics = {}

-- The middle value, or the mean of the two in the middle; nil of nothing.
--   ARGS    values  array of numbers, left as it is
function statistics.median(values)
  if #values == 0 then return nil end
  local sorted = {}
  for i, value in ipairs(values) do sorted[i] = value end
  table.sort(sorted)
  local middle = math.floor((#sorted + 1) / 2)
  return #sorted % 2 == 1 and sorted[middle] or (sorted[middle] + sorted[middle + 1]) / 2
end

return statistics
