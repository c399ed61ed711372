-- How many of the papers' orderings hold on which machine? The K80 presets, and what-ifs of them in which every
-- copy goes through the host, one after the other.
--
--   berth run scripts/experiments/machines.lua [--bandwidths 7.6,4,2.5,1.5,1,0.5] [--latencies 25,200]
--       [--models FOLDER] [--save FOLDER] [--figures FOLDER] [--seed N] [--format text|markdown]
--
-- Bandwidths in GB/s, latencies in microseconds. --save writes each machine as FOLDER/NAME.cluster.json.
--
-- The what-if "staged": a GPU without peer access to another copies through host memory (CUDA C++ Programming
-- Guide, peer-to-peer memory copy). TensorFlow's log shows no peer access between the boards of a K80 machine
-- (github.com/hclhkbu/dlbench, issue 1) nor between K40 cards on two sockets (TensorFlow issue 2145, 2016); a
-- user of a dual K80 measured a network ten times slower on two GPUs than on one (TensorFlow issue 1397,
-- March 2016). How fast such copies were is not published: it is the axis of the table.

local arguments = require "berth.arguments"
local berth = require "berth"
local columns = require "berth.columns"
local plots = require "berth.plots"
local tables = require "berth.tables"

local options = { bandwidths = { 7.6, 4, 2.5, 1.5, 1, 0.5 }, latencies = { 25, 200 },
                  folder = "examples/models/tf", seed = 0, format = "text" }
local line = arguments.parser()
line.read({ ... }, nil, {
  ["--bandwidths"] = line.numbers_into(options, "bandwidths"),
  ["--latencies"] = line.numbers_into(options, "latencies"),
  ["--models"] = line.text_into(options, "folder"),
  ["--save"] = line.text_into(options, "save"),
  ["--figures"] = line.folder_into(options, "figures"),
  ["--seed"] = line.number_into(options, "seed"),
  ["--format"] = line.format_into(options),
})

-- 1. Machines.

local function preset(gpus) return berth.cluster("k80x" .. gpus) end

-- The devices of the preset; every copy takes the one channel of the host.
local function staged(bandwidth_gb, latency_us)
  return function(gpus)
    local devices = {}
    local like = preset(gpus)
    for device = 1, like:device_count() do devices[device] = like:device(device) end
    return berth.cluster {
      name = ("k80x%d-staged-%g-%g"):format(gpus, bandwidth_gb, latency_us), devices = devices,
      links = { { src = "*", dst = "*", bandwidth_bytes_per_s = bandwidth_gb * 1e9, latency_us = latency_us,
                  shares = { "host" } } },
    }
  end
end

local machines = { { name = "preset", cluster = preset } }
for _, latency in ipairs(options.latencies) do
  for _, bandwidth in ipairs(options.bandwidths) do
    machines[#machines + 1] = { name = "staged", bandwidth = bandwidth, latency = latency,
                                cluster = staged(bandwidth, latency) }
  end
end

-- 2. Orderings on a machine.

local graphs = {}
local function graph_of(name)
  graphs[name] = graphs[name] or (berth.load(("%s/%s.pb.gz"):format(options.folder, name)))
  return graphs[name]
end

local function label(check) return ("%s %s, %d GPUs: %s"):format(check.paper, check.graph, check.gpus, check.ordering) end
local held_by, order = {}, {}

for number, machine in ipairs(machines) do
  local clusters, cells, rows = {}, {}, {}
  for _, published in ipairs(columns.published) do
    local key = ("%s %d %s"):format(published.graph, published.gpus, published.recipe)
    if not cells[key] then
      clusters[published.gpus] = clusters[published.gpus] or machine.cluster(published.gpus)
      cells[key] = columns.of(berth.problem { graph = graph_of(published.graph), cluster = clusters[published.gpus] },
        { recipe = published.recipe, seed = options.seed })
    end
    rows[#rows + 1] = setmetatable({ cells = cells[key] }, { __index = published })
  end
  if options.save then
    for _, cluster in pairs(clusters) do cluster:save(("%s/%s.cluster.json"):format(options.save, cluster:name())) end
  end
  machine.M17, machine.N19, machine.W18, machine.without_cpu, machine.total = 0, 0, 0, 0, 0
  for _, check in ipairs(columns.orderings(rows)) do
    local name = label(check)
    if not held_by[name] then
      held_by[name] = 0
      order[#order + 1] = name
    end
    if check.holds == "yes" then
      held_by[name] = held_by[name] + 1
      machine[check.paper], machine.total = machine[check.paper] + 1, machine.total + 1
      if check.better ~= "cpu" and check.worse ~= "cpu" then machine.without_cpu = machine.without_cpu + 1 end
    end
  end
  io.stderr:write(("machine %d of %d: %d orderings hold\n"):format(number, #machines, machine.total))
end

-- 3. The table, the picture, and what holds nowhere.

io.write(tables[options.format](machines, {
  { key = "name", title = "machine" }, { key = "bandwidth", title = "GB/s" }, { key = "latency", title = "us" },
  { key = "M17" }, { key = "N19" }, { key = "W18" }, { key = "total", title = "in all" },
  { key = "without_cpu", title = "none of them with the CPU" },
}))

local series = {}
for _, paper in ipairs { "M17", "N19" } do
  for _, latency in ipairs(options.latencies) do
    local points = {}
    for _, machine in ipairs(machines) do
      if machine.latency == latency then points[#points + 1] = { machine.bandwidth, machine[paper] } end
    end
    table.sort(points, function(a, b) return a[1] < b[1] end)
    series[#series + 1] = { name = ("%s, %g us"):format(paper, latency), points = points }
  end
end
plots.keep(options.figures, "machines", plots.lines {
  title = "Published orderings that hold, copies staged through the host", x = "copies [GB/s]", x_log = true,
  y = "orderings", series = series })

print "\nOrderings that hold on none of these machines:\n"
for _, name in ipairs(order) do
  if held_by[name] == 0 then print("- " .. name) end
end
