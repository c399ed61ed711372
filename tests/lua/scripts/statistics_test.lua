local check = require "check"
local statistics = require "berth.statistics"

-- Darwin's cross- and self-fertilised maize: differences in eighths of an inch (The Effects of Cross and
-- Self Fertilisation, 1876; the example of SciPy's own page of scipy.stats.wilcoxon).
local MAIZE = { 6, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75 }

local function against_zero(differences)
  local zeros = {}
  for i = 1, #differences do zeros[i] = 0 end
  return differences, zeros
end

check.test("quantiles of what is infinite, and of what is no number", function()
  local inf = math.huge
  check.equal({ statistics.median { inf }, statistics.median { inf, inf }, statistics.median { 1, inf, inf } }, { inf, inf, inf })
  check.equal({ statistics.median { 3, 1, inf }, statistics.median { 1, 2 } }, { 3, 1.5 })
  check.fails("statistics: value 2 is nan", statistics.median, { 1, 0 / 0 })
end)

check.test("arguments of another type are refused by name", function()
  check.fails("statistics.median: argument 1 %(values%): table expected, got nil", statistics.median)
  check.fails("statistics.mean: argument 1 %(values%): entry 2: number expected, got string", statistics.mean, { 1, "2" })
  check.fails("statistics.wilcoxon: argument 2 %(ys%): table expected, got nil", statistics.wilcoxon, { 1 })
  check.fails("statistics_test.lua:%d+: statistics.quantile: argument 2 %(share%): number",
    function() local value = statistics.quantile { 1 } return value end)
end)

check.test("options have names", function()
  check.fails("statistics.bootstrap: unknown option 'draw'; did you mean 'draws'", statistics.bootstrap, { 1, 2 },
    { draw = 10 })
  check.fails("statistics.sign_test: unknown option 'alternativ'", statistics.sign_test, { 1 }, { 2 }, { alternativ = "less" })
end)

check.test("a rank correlation is of pairs of numbers", function()
  check.near(statistics.spearman({ 1, 2, 3 }, { 10, 30, 20 }), 0.5)
  check.fails("statistics.spearman: 3 values against 2; give pairs", statistics.spearman, { 1, 2, 3 }, { 1, 2 })
  check.fails("statistics.spearman: pair 2 is 5 and nan", statistics.spearman, { 1, 5 }, { 1, 0 / 0 })
end)

check.test("the signed-rank test gives SciPy's figures", function()
  local xs, ys = against_zero(MAIZE)
  local both = statistics.wilcoxon(xs, ys)
  check.equal({ both.p, both.n, both.positive, both.exact }, { 0.041259765625, 15, 96, true })
  check.equal(statistics.wilcoxon(xs, ys, { alternative = "greater" }).p, 0.0206298828125)
  check.equal(statistics.wilcoxon(xs, ys, { alternative = "less" }).p, 0.982330322265625)
  -- Ties and an equal pair: scipy.stats.wilcoxon 1.17, which permutes them.
  local tied = statistics.wilcoxon({ 125, 115, 130, 140, 140, 115, 140, 125, 140, 135 },
    { 110, 122, 125, 120, 140, 124, 123, 137, 135, 145 })
  check.equal({ tied.p, tied.n, tied.positive }, { 0.6328125, 9, 27 })
end)

check.test("a pair of equal infinities is a tie", function()
  local huge = math.huge
  for _, test in ipairs { statistics.wilcoxon, statistics.sign_test } do
    local found = test({ 1, huge, 3, -huge, huge }, { 2, huge, 5, -huge, 4 })
    check.equal({ found.n, found.p }, { 3, test({ 1, 3, 9 }, { 2, 5, 4 }).p })
  end
end)

check.test("many pairs have the normal approximation of SciPy", function()
  local xs, ys = {}, {}
  for i = 1, 300 do
    xs[i] = i * 37 % 101 + 0.5 * (i * i % 7)
    ys[i] = i * 53 % 97 + 3
  end
  -- scipy.stats.wilcoxon(xs, ys, method = "approx"), 1.17
  local both = statistics.wilcoxon(xs, ys)
  check.equal({ both.n, both.positive, both.exact }, { 298, 22387, false })
  check.near(both.p, 0.9402978660187521, 1e-12)
  check.near(statistics.wilcoxon(xs, ys, { alternative = "greater" }).p, 0.47014893300937605, 1e-12)
  -- A difference that all share: z = 14.8, where only the tail's own expansion has digits.
  for i = 1, 300 do xs[i] = ys[i] + i / 1000 end
  local p = statistics.wilcoxon(xs, ys, { alternative = "greater" }).p
  check.equal(p > 0 and p < 1e-48, true)
end)

check.test("the sign test is the binomial test", function()
  -- binom.test(13, 15) of R and scipy.stats.binomtest
  local both = statistics.sign_test(against_zero(MAIZE))
  check.equal({ both.p, both.n, both.positive }, { 0.00738525390625, 15, 13 })
  local nine = { 1, 1, 1, 1, 1, -1, 1, 1, 1, 1, 0 }
  local xs, ys = against_zero(nine)
  check.near(statistics.sign_test(xs, ys, { alternative = "greater" }).p, 0.0107421875, 1e-15)
  check.near(statistics.sign_test(ys, xs, { alternative = "less" }).p, 0.0107421875, 1e-15)
  -- Many pairs, by fractions of whole numbers.
  for _, case in ipairs { { 600, 1200, 1 }, { 560, 1200, 0.02253662756750957 }, { 900, 2000, 8.457089535503927e-06 },
    { 2300, 5000, 1.6458781103442193e-08 }, { 0, 1100, 0 } } do
    local signs = {}
    for i = 1, case[2] do signs[i] = i <= case[1] and 1 or -1 end
    check.near(statistics.sign_test(against_zero(signs)).p, case[3], 1e-11)
  end
end)

check.test("pairs that are all equal differ in nothing", function()
  for _, test in ipairs { statistics.sign_test, statistics.wilcoxon } do
    local result = test({ 1, 2 }, { 1, 2 })
    check.equal({ result.p, result.n }, { 1, 0 })
  end
end)

check.test("what is no pair is told", function()
  check.fails("2 values against 1; give pairs", statistics.wilcoxon, { 1, 2 }, { 1 })
  check.fails("no alternative 'more'; known: greater, less, two%-sided", statistics.sign_test, { 1 },
    { 2 }, { alternative = "more" })
  check.fails("pair 2 is %-?nan and 1; give numbers", statistics.wilcoxon, { 1, 0 / 0 }, { 2, 1 })
end)

check.test("values of one key are one value, their mean", function()
  check.equal(statistics.means_by({ "b", "a", "b" }, { 1, 5, 2 }), { 1.5, 5 })
  check.equal(statistics.means_by({}, {}), {})
end)

check.test("keys and values that are no pairs are told", function()
  check.fails("statistics.means_by: 3 keys for 2 values; give pairs", statistics.means_by, { 1, 2, 3 }, { 1, 2 })
  check.fails("statistics.means_by: 2 keys for 3 values; give pairs", statistics.means_by, { 1, 2 }, { 1, 2, 3 })
  check.fails("statistics.means_by: key 2 is nan", statistics.means_by, { 1, 0 / 0 }, { 1, 2 })
end)

check.test("shares and draws have ranges", function()
  check.fails("statistics.bootstrap: share is 95; give a number from 0 to 1", statistics.bootstrap, { 1, 2 }, { share = 95 })
  check.fails("statistics.bootstrap: share is 1.5", statistics.bootstrap, {}, { share = 1.5 })
  check.fails("statistics.bootstrap: draws is 0; give a whole number, at least 1", statistics.bootstrap, { 1, 2 },
    { draws = 0 })
  check.fails("statistics.bootstrap: value 2 is nan", statistics.bootstrap, { 5, 0 / 0, 1 })
  check.fails("statistics.quantile: share is 2; give a number from 0 to 1", statistics.quantile, { 1, 2, 3 }, 2)
  check.fails("statistics.quantile: share is %-?nan", statistics.quantile, {}, 0 / 0)
end)

check.test("ratios count by unit: six of one graph are one", function()
  local found = statistics.ratios({ "a", "a", "a", "a", "a", "b", "c" }, { -1, -1, -1, -1, -1, 0.5, 0 })
  check.equal({ found.n, found.better, found.worse, found.p, found.median }, { 3, 1, 1, 1, 0 })
  check.near(found.mean, -1 / 6)
  check.equal({ found.low, found.high }, { -1, 0.5 })
  local one = statistics.ratios({ "a", "a" }, { -1, -2 })
  check.equal({ one.n, one.median, one.low or "none", one.high or "none" }, { 1, -1.5, "none", "none" })
  check.equal(statistics.ratios({}, {}), nil)
end)

check.test("Holm's correction gives R's figures, and never more than 1", function()
  -- p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm")
  local corrected = statistics.holm { 0.01, 0.04, 0.03, 0.005 }
  for i, p in ipairs { 0.03, 0.06, 0.06, 0.02 } do check.near(corrected[i], p) end
  check.equal(statistics.holm { 0.8, 0.6 }, { 1, 1 })
  check.equal(statistics.holm {}, {})
  check.fails("statistics.holm: p%-value 2 is 1.5", statistics.holm, { 0.1, 1.5 })
end)

check.test("a bootstrap interval covers what it should as often as it says", function()
  -- The mean of 20 uniform numbers: its percentile interval of 90 % covers 0.5 about 87 times of 100.
  local random, covered = require "berth".random(5), 0
  for k = 1, 200 do
    local values = {}
    for i = 1, 20 do values[i] = random:uniform() end
    local low, high = statistics.bootstrap(values, { estimate = statistics.mean, share = 0.9,
      draws = 300, seed = k })
    if low <= 0.5 and 0.5 <= high then covered = covered + 1 end
  end
  check.equal(covered >= 160 and covered <= 190, true)
end)

check.test("a bootstrap is the same for one seed, lies within the values, and is nil of nothing", function()
  local values = { 5, 1, 4, 2, 3 }
  local low, high = statistics.bootstrap(values)
  check.equal({ statistics.bootstrap(values) }, { low, high })
  check.equal(1 <= low and low <= 3 and 3 <= high and high <= 5, true)
  check.equal(values, { 5, 1, 4, 2, 3 })
  check.equal({ statistics.bootstrap { 7 } }, { 7, 7 })
  check.equal(statistics.bootstrap {}, nil)
end)

check.finish()
