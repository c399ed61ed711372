-- Summaries of measurements, their uncertainty, and tests of whether two sets of them differ.

local berth = require "berth"
local known = require "berth.known"

local statistics = {}

local function check_share(what, share)
  if type(share) == "number" and share >= 0 and share <= 1 then return end
  error(("statistics.%s: share is %s; give a number from 0 to 1, such as 0.95 for 95 %%"):format(what,
    tostring(share)), 3)
end

-- The value below which `share` (0 to 1) of the sorted values lie, interpolated between neighbours; nil
-- of nothing.
--   ARGS    values  array of numbers, left as it is
function statistics.quantile(values, share)
  check_share("quantile", share)
  if #values == 0 then return nil end
  local sorted = {}
  for i, value in ipairs(values) do
    if value ~= value then error(("statistics: value %d is nan; give numbers"):format(i), 2) end
    sorted[i] = value
  end
  table.sort(sorted)
  local at = 1 + share * (#sorted - 1)
  local below = math.floor(at)
  local low, high = sorted[below], sorted[math.min(below + 1, #sorted)]
  -- The sum below may be infinite, and from -infinity on it would be nan.
  if at == below or low == high or low == -math.huge then return low end
  return low + (at - below) * (high - low)
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

-- The means of the values with equal keys, in the order in which keys come first. Runs of one graph with several seeds
-- are not independent, as the bootstrap and the tests below ask: their mean is one value.
--   ARGS    keys, values  arrays of one length
function statistics.means_by(keys, values)
  if #keys ~= #values then
    error(("statistics.means_by: %d keys for %d values; give pairs"):format(#keys, #values), 2)
  end
  local groups, of = {}, {}
  for i, key in ipairs(keys) do
    if key ~= key then error(("statistics.means_by: key %d is nan; give numbers or texts"):format(i), 2) end
    if not of[key] then
      of[key] = {}
      groups[#groups + 1] = of[key]
    end
    table.insert(of[key], values[i])
  end
  for i, group in ipairs(groups) do groups[i] = statistics.mean(group) end
  return groups
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
  if #xs ~= #ys then
    error(("statistics.spearman: %d values against %d; give pairs"):format(#xs, #ys), 2)
  end
  for i = 1, #xs do
    if xs[i] ~= xs[i] or ys[i] ~= ys[i] then
      error(("statistics.spearman: pair %d is %s and %s; give numbers"):format(i, tostring(xs[i]), tostring(ys[i])), 2)
    end
  end
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

-- An interval for a figure of the values, by drawing them again with replacement (Efron's percentile
-- bootstrap). With fewer than about eight values it is too narrow: say how many there are.
--   ARGS    values   array of numbers
--           options  table, all optional: estimate (a function of an array; default the median), share
--                    (of the interval, from 0 to 1, 0.95), draws (at least 1, 2000), seed (1)
--   RETURN  the ends of the interval; nil of nothing
function statistics.bootstrap(values, options)
  options = known.check("statistics.bootstrap", options, { "estimate", "share", "draws", "seed" })
  local estimate, share, draws = options.estimate or statistics.median, options.share or 0.95, options.draws or 2000
  check_share("bootstrap", share)
  if type(draws) ~= "number" or draws < 1 or draws % 1 ~= 0 then
    error(("statistics.bootstrap: draws is %s; give a whole number, at least 1"):format(tostring(draws)), 2)
  end
  for i, value in ipairs(values) do
    if value ~= value then error(("statistics.bootstrap: value %d is nan; give numbers"):format(i), 2) end
  end
  if #values == 0 then return nil end
  local random, found, drawn = berth.random(options.seed or 1), {}, {}
  for k = 1, draws do
    for i = 1, #values do drawn[i] = values[random:integer(#values)] end
    found[k] = estimate(drawn)
  end
  return statistics.quantile(found, (1 - share) / 2), statistics.quantile(found, (1 + share) / 2)
end

local ALTERNATIVES = { ["two-sided"] = true, less = true, greater = true }

-- The differences x - y of pairs, without those that are 0, and the alternative.
local function differences_of(xs, ys, options, what)
  if #xs ~= #ys then
    error(("statistics.%s: %d values against %d; give pairs"):format(what, #xs, #ys), 3)
  end
  local alternative = known.check("statistics." .. what, options, { "alternative" }, 4).alternative or "two-sided"
  if not ALTERNATIVES[alternative] then
    error(("statistics.%s: no alternative '%s'; known: greater, less, two-sided"):format(what,
      tostring(alternative)), 3)
  end
  local differences = {}
  for i = 1, #xs do
    local difference = xs[i] == ys[i] and 0 or xs[i] - ys[i]  -- two that are infinite are equal
    if difference ~= difference then
      error(("statistics.%s: pair %d is %s and %s; give numbers"):format(what, i, tostring(xs[i]),
        tostring(ys[i])), 3)
    end
    if difference ~= 0 then differences[#differences + 1] = difference end
  end
  return differences, alternative
end

-- The p-value of a statistic: P(S <= s) and P(S >= s) to that of the alternative.
local function p_value(at_most, at_least, alternative)
  if alternative == "less" then return at_most end
  if alternative == "greater" then return at_least end
  return math.min(1, 2 * math.min(at_most, at_least))
end

local HUGE_EXPONENT = 500
local HUGE_POWER = 2 ^ HUGE_EXPONENT

-- The sign test of pairs: exact, from the binomial distribution. It asks for nothing but that the pairs
-- are independent.
--   ARGS    xs, ys   arrays of one length, pair by pair
--           options  table, optional: alternative ("two-sided"; "less": xs tend to be smaller; "greater")
--   RETURN  table: p; n (pairs that differ); positive (of them, those where x > y)
function statistics.sign_test(xs, ys, options)
  local differences, alternative = differences_of(xs, ys, options, "sign_test")
  local n, positive = #differences, 0
  for _, difference in ipairs(differences) do
    if difference > 0 then positive = positive + 1 end
  end
  -- In units of 2^-exponent, since 2^-n is 0 from n = 1,075 on.
  local at_most, at_least, ways, exponent = 0, 0, 1, n
  for k = 0, n do
    if k <= positive then at_most = at_most + ways end
    if k >= positive then at_least = at_least + ways end
    ways = ways * (n - k) / (k + 1)
    if ways > HUGE_POWER then
      at_most, at_least, ways = at_most / HUGE_POWER, at_least / HUGE_POWER, ways / HUGE_POWER
      exponent = exponent - HUGE_EXPONENT
    end
  end
  at_most, at_least = at_most * 0.5 ^ exponent, at_least * 0.5 ^ exponent
  return { p = p_value(math.min(1, at_most), math.min(1, at_least), alternative), n = n,
    positive = positive }
end

-- P(S <= s) and P(S >= s) of the sum of those ranks whose sign is drawn to be positive. Ranks of ties
-- are halves, so twice the ranks are counted.
local function exact_tails(rank_of, sum)
  local ways, most = { [0] = 1 }, 0
  for _, rank in ipairs(rank_of) do
    local twice = 2 * rank
    most = most + twice
    for s = most, 0, -1 do
      ways[s] = 0.5 * ((ways[s] or 0) + (ways[s - twice] or 0))
    end
  end
  local at_most, at_least = 0, 0
  for s = 0, most do
    if s <= 2 * sum then at_most = at_most + ways[s] end
    if s >= 2 * sum then at_least = at_least + ways[s] end
  end
  return math.min(1, at_most), math.min(1, at_least)
end

-- The normal distribution function, by the continued fraction of erfc beyond 3 and its series below.
local function normal_below(z)
  local x = math.abs(z) / math.sqrt(2)
  local tail
  if x < 3 then
    local term, sum, k = x, x, 0
    while math.abs(term) > 1e-17 * math.abs(sum) do
      k = k + 1
      term = -term * x * x / k
      sum = sum + term / (2 * k + 1)
    end
    tail = 0.5 - sum / math.sqrt(math.pi)
  else
    local fraction = 0
    for k = 60, 1, -1 do fraction = k / 2 / (x + fraction) end
    tail = 0.5 * math.exp(-x * x) / math.sqrt(math.pi) / (x + fraction)
  end
  return z < 0 and tail or 1 - tail
end

-- The normal approximation with the variance corrected for ties, without a correction for continuity.
local function normal_tails(rank_of, sum)
  local n, squares = #rank_of, 0
  for _, rank in ipairs(rank_of) do squares = squares + rank * rank end
  local z = (sum - n * (n + 1) / 4) / math.sqrt(squares / 4)
  return normal_below(z), normal_below(-z)
end

-- Pairs up to which the distribution is counted out.
local EXACT_UP_TO = 200

-- The signed-rank test of pairs (Wilcoxon, 1945). Pairs that are equal are left out, as he did; tied
-- differences share the mean of their ranks. Up to 200 pairs the distribution is exact, with ties too.
--   ARGS    as of sign_test
--   RETURN  table: p; n (pairs that differ); positive (the sum of the ranks where x > y); exact
function statistics.wilcoxon(xs, ys, options)
  local differences, alternative = differences_of(xs, ys, options, "wilcoxon")
  local sizes, sum = {}, 0
  for i, difference in ipairs(differences) do sizes[i] = math.abs(difference) end
  local rank_of = ranks(sizes)
  for i, difference in ipairs(differences) do
    if difference > 0 then sum = sum + rank_of[i] end
  end
  local exact = #differences <= EXACT_UP_TO
  local at_most, at_least = (exact and exact_tails or normal_tails)(rank_of, sum)
  return { p = p_value(at_most, at_least, alternative), n = #differences, positive = sum,
    exact = exact }
end

-- Sums up ratios of runtimes by units that are independent of each other, graphs mostly.
--   ARGS    units  array; equal ones, such as the seeds or the machines of one graph, are one value, the mean of theirs
--           logs   array of the logarithms of the ratios; below 0 is better
--   RETURN  table: n (units), median, mean, better, worse, p (of the sign test), values (by unit), and low, high
--           (the bootstrap interval of the median, 95 %; nil of one unit); nil of nothing
function statistics.ratios(units, logs)
  local values, zeros = statistics.means_by(units, logs), {}
  if #values == 0 then return nil end
  for i = 1, #values do zeros[i] = 0 end
  local test = statistics.sign_test(values, zeros)
  local found = { n = #values, values = values, median = statistics.median(values), mean = statistics.mean(values),
    better = test.n - test.positive, worse = test.positive, p = test.p }
  if #values > 1 then found.low, found.high = statistics.bootstrap(values) end
  return found
end

-- p-values of several tests, each raised so that the chance of any below 0.05 is at most 0.05 where nothing differs
-- (Holm, 1979).
--   ARGS    ps  array of numbers
--   RETURN  array in the same order
function statistics.holm(ps)
  local order, corrected, least = {}, {}, 0
  for i, p in ipairs(ps) do
    if not (p >= 0 and p <= 1) then error(("statistics.holm: p-value %d is %s; give numbers from 0 to 1"):format(i, p), 2) end
    order[i] = i
  end
  table.sort(order, function(a, b) return ps[a] < ps[b] end)
  for place, i in ipairs(order) do
    least = math.max(least, math.min(1, (#ps + 1 - place) * ps[i]))
    corrected[i] = least
  end
  return corrected
end

local PAIRS = "xs: numbers, ys: numbers"

return known.arguments(statistics, "statistics", {
  quantile = "values: numbers, share: number", median = "values: numbers", mean = "values: numbers",
  bootstrap = "values: numbers", spearman = PAIRS, sign_test = PAIRS, wilcoxon = PAIRS,
  means_by = "keys: table, values: numbers", ratios = "units: table, logs: numbers", holm = "ps: numbers",
})
