---@meta berth
-- The types of `require "berth"`, for editors and people. A test holds this file equal to what the
-- engine binds; nothing requires it.
--
-- Ids (of ops, tensors, devices, groups) count from 1, so that they index arrays. Times are in
-- microseconds, sizes in bytes, bandwidths in bytes per second, compute in FLOP/s. An error is
-- raised as a text that starts with the script's line and the function's name.

---@class berth
---@field version string of the engine, "0.1.0"
local berth = {}

---An array: the device of every op.
---@alias berth.Placement integer[]

---What an evaluator says of a placement; `tostring` sums it up.
---@class berth.Evaluation
---@field objective_us number what the problem asks to minimise
---@field runtime_us number of one step; 0 where the objective is throughput
---@field max_load_us number the largest load of a device; 0 where the objective is latency
---@field feasible boolean every device's peak is within its memory
---@field worst_device integer? the device that exceeds its memory by most
---@field excess_bytes number by how much; 0 where feasible
---@field peak_bytes number[] peak memory by device
---@field busy_us number[] compute time by device

---What `policy:place` tells beside the placement: its evaluation, and
---@class berth.Outcome: berth.Evaluation
---@field policy string
---@field seed integer
---@field evaluations integer placements that the policy had evaluated
---@field wall_s number seconds it took
---@field bound_us number a proven lower bound of the objective
---@field bound_source string which argument gives it
---@field gap number objective / bound - 1
---@field single berth.Single? the best single device, nil where none can hold everything

---@class berth.Single
---@field device integer
---@field placement berth.Placement
---@field evaluation berth.Evaluation

---A tensor consumed by an op; without `tensor` a control edge.
---@class berth.Edge
---@field src integer op
---@field dst integer op
---@field tensor integer?

---The distinct tensors that one group sends to another.
---@class berth.GroupEdge
---@field src integer group
---@field dst integer group
---@field bytes number
---@field tensors integer 0: control edges only

---@class berth.TensorInfo
---@field dtype? string "f32", "i64", ...
---@field shape? integer[] -1 for an unknown dimension
---@field bytes? integer default: from dtype and shape

---What an op's work consists of.
---@class berth.Work
---@field flops? number
---@field bytes? number read and written, parameters included
---@field class? string "matmul", "convolution", "elementwise", ...
---@field dtype? string the type the arithmetic runs in, default "f32"
---@field launches? number kernels, default 1

---@class berth.Device
---@field name string
---@field kind string devices of one kind run every op at the same cost
---@field memory_bytes? number default: no limit (math.huge)
---@field flops? number peak in f32
---@field flops_16? number
---@field flops_8? number
---@field flops_64? number
---@field memory_bandwidth? number
---@field op_overhead_us? number
---@field host? boolean

---@class berth.Link
---@field src string a device's name, or "*"
---@field dst string
---@field bandwidth_bytes_per_s number
---@field latency_us? number
---@field shares? string[] channels that carry one transfer at a time

---What every object has beside its own methods.
---@class berth.Object
local object = {}

---Frees what the object holds now, instead of when the garbage collector comes by. Any use of it
---afterwards raises an error; releasing it again does nothing.
function object:release() end

-- The module ---------------------------------------------------------------------------------------

---Loads a model file that a frontend claims, or a `.graph.json`.
---@param path string
---@param options? { dims?: table<string, integer>, shapes?: table<string, integer[]>, fetches?: string[] }
---values of named dynamic dimensions; shapes of inputs whose dimensions have no name; ops or tensors
---to compute, so that only what they need is loaded
---@return berth.Graph graph
---@return string[] notes what one should know of it and can live with
function berth.load(path, options) end

---The graph without the ops that the fetches do not need.
---@param graph berth.Graph
---@param fetches? string[] names of ops or outputs; default: all that no op consumes
---@return berth.Graph
function berth.prune(graph, fetches) end

---Starts a graph.
---@param name string
---@param dialect? string vocabulary of the op types: "onnx", "tf", "berth" (default)
---@return berth.GraphBuilder
function berth.graph_builder(name, dialect) end

---A cluster: a preset by name, a berth.cluster/1 file by path (anything with a '/' or a '.'), or a
---table.
---@param cluster string | { name: string, devices: berth.Device[], links: berth.Link[] }
---@return berth.Cluster
function berth.cluster(cluster) end

---The presets of `berth.cluster`, each with where its numbers come from.
---@return { name: string, description: string, source: string }[]
function berth.cluster_presets() end

---Compute time of every op on every kind of device: the roofline model, what the graph states, a
---file with the costs (anything with a '/' or a '.': berth.costs/1, berth.graph/1, or a profile that a
---frontend reads, such as TensorFlow's RunMetadata), or numbers: by kind the cost of every op,
---math.huge where it cannot run it.
---@param source "roofline" | "stated" | string | { us: table<string, number[]>, workspace_bytes?: integer[] }
---@param graph berth.Graph
---@param cluster berth.Cluster
---@return berth.Costs costs
---@return string[] notes what one should know of them: how many ops were measured
function berth.costs(source, graph, cluster) end

---Groups by label: ops with the same label are one group. They are renumbered in topological order.
---@param graph berth.Graph
---@param group_of integer[] a label >= 0 for every op
---@return berth.Groups
function berth.groups(graph, group_of) end

---The finest groups: one per op, ops that must share a device together.
---@param graph berth.Graph
---@return berth.Groups
function berth.colocation(graph) end

---At most `count` groups, merged along the heaviest edges without a cycle.
---@param graph berth.Graph
---@param costs berth.Costs
---@param count integer
---@return berth.Groups
function berth.coarsen(graph, costs, count) end

---Groups by the name of how they are made: "colocation" and "icml2017" find the number of groups
---themselves; "placeto" and "balanced" (which is `berth.coarsen`) merge until at most `count` are left.
---@param graph berth.Graph
---@param costs berth.Costs
---@param grouping "colocation" | "icml2017" | "placeto" | "balanced"
---@param count? integer
---@return berth.Groups
function berth.make_groups(graph, costs, grouping, count) end

---Some ops: an expression that a whole name matches, or a table of which everything given holds.
---@alias berth.Selector string | { name?: string, regex?: string, type?: string, requested_device?: string }

---A demand on every placement: exactly one of pin (with `to`), forbid (with `on`), colocate,
---separate, respect_devices, and memory_margin ("10%", "2GiB" or bytes; with `on`, or everywhere).
---`to` and `on` name devices or kinds. With several selectors, separate keeps the ops of one apart
---from those of the others; with one, each of its ops from the rest.
---@class berth.Rule
---@field pin? berth.Selector | berth.Selector[]
---@field to? string | string[]
---@field forbid? berth.Selector | berth.Selector[]
---@field on? string | string[]
---@field colocate? berth.Selector | berth.Selector[]
---@field separate? berth.Selector | berth.Selector[]
---@field respect_devices? true | berth.Selector | berth.Selector[]
---@field memory_margin? string | integer

---What is to be solved. Costs default to those stated with the graph where it states any, else to
---"roofline"; groups to the finest (a number coarsens, by `grouping` as in `berth.make_groups`); the objective to latency; the semantics to
---dataflow. The gaps are of placeto semantics.
---@param problem { graph: berth.Graph, cluster: berth.Cluster | string, costs?: berth.Costs | string, groups?: berth.Groups | integer, grouping?: string, objective?: "latency" | "throughput", semantics?: "dataflow" | "placeto", device_gap_us?: number, transfer_gap_us?: number, constraints?: berth.Rule[] }
---@return berth.Problem
function berth.problem(problem) end

---An evaluator of one's own: for many simulations on a chosen number of threads (0, the default =
---all cores), or, with a session of the problem's graph and the backend's devices, one that executes
---placements: the mean runtime of `repeats` steps (5) after `warm_up` steps (5).
---@param problem berth.Problem
---@param options? { threads?: integer, session?: berth.Session, warm_up?: integer, repeats?: integer, seed?: integer }
---@return berth.Evaluator
function berth.evaluator(problem, options) end

---A model with all that executing it needs, and the frontend's notes. `program:graph()` is the graph
---that `berth.load` gives for the same options.
---@param path string
---@param options? { dims?: table<string, integer>, shapes?: table<string, integer[]>, fetches?: string[] }
---@return berth.Program
---@return string[] notes
function berth.program(path, options) end

---Devices of this machine that execute programs: "cpu", with the options of the backend (see
---`berth.plugins`).
---@param name string
---@param options? table<string, boolean | number | string>
---@return berth.Backend
function berth.backend(name, options) end

---A policy: one registered by a script, the one that a script "*.lua" registers, or a plugin.
---@param name string
---@param options? table<string, boolean | number | string> of the policy (see `berth.plugins`), and
---`seed`, the default of `policy:place`
---@return berth.Policy
function berth.policy(name, options) end

---Makes a policy written in Lua available by name to everything in this host; a second one of the
---same name replaces it, and it hides a plugin of that name. `place` returns a placement, the device
---of every op; it may keep the problem, while evaluator and context end with the call. An option's
---type is told by its default where not given; a number without fraction is an integer.
---@param policy { name: string, description?: string, version?: string, options?: { name: string, default: boolean | number | string, meaning: string, type?: "boolean" | "integer" | "real" | "text" }[], place: fun(problem: berth.Problem, evaluator: berth.Evaluator, context: berth.Context): berth.Placement }
---@return string name
function berth.register_policy(policy) end

---A seeded generator with the same stream on every machine.
---@param seed integer 0 .. 2^53
---@return berth.Random
function berth.random(seed) end

---Every plugin and every policy registered by a script.
---@return { kind: "frontend" | "policy", name: string, version: string, description: string, file: string, options: { name: string, type: string, default: string, meaning: string }[] }[] plugins
---@return string[] problems files that look like plugins and were refused, with the reason
function berth.plugins() end

---Seconds on a clock that never goes back, for measuring.
---@return number
function berth.clock() end

---Whether the user asked to end (Ctrl-C): end with the best so far.
---@return boolean
function berth.should_stop() end

---Raises the error of a policy that knows that nothing it can produce fits.
---@param message string what is short
function berth.infeasible(message) end

---How many C++ objects Lua values hold now, for finding what keeps memory.
---@return integer
function berth.live_objects() end

-- Graphs -------------------------------------------------------------------------------------------

---An immutable graph.
---@class berth.Graph: berth.Object
local graph = {}

---@return string
function graph:name() end

---The vocabulary of the op types: "onnx", "tf", "berth".
---@return string
function graph:dialect() end

---@return integer
function graph:op_count() end

---@return integer
function graph:tensor_count() end

---Data and control edges together.
---@return integer
function graph:edge_count() end

---Sum over all parameters, each once.
---@return number
function graph:total_param_bytes() end

---The op of this name.
---@param name string
---@return integer? op
function graph:find(name) end

---@param op integer
---@return string
function graph:op_name(op) end

---@param op integer
---@return string
function graph:op_type(op) end

---Tensors read, in the op's own order; 0 for an optional one that is left out.
---@param op integer
---@return integer[] tensors
function graph:inputs(op) end

---Tensors produced, in port order.
---@param op integer
---@return integer[] tensors
function graph:outputs(op) end

---@param op integer
---@return berth.Edge[]
function graph:in_edges(op) end

---@param op integer
---@return berth.Edge[]
function graph:out_edges(op) end

---Sum over all outputs; unknown sizes count as 0.
---@param op integer
---@return number
function graph:output_bytes(op) end

---Bytes of parameters that must live where this op runs.
---@param op integer
---@return number
function graph:param_bytes(op) end

---Ops of one class must share a device.
---@param op integer
---@return string? class
function graph:colocation(op) end

---The device that the model file asks for.
---@param op integer
---@return string? device
function graph:requested_device(op) end

---@param op integer
---@param name string
---@return number | string | number[] | string[] | nil
function graph:attribute(op, name) end

---The work of one execution; `has_rule` is false where only bytes are counted.
---@param op integer
---@return berth.Work
function graph:work(op) end

---Compute times stated with the graph, by device kind; "*" is any kind.
---@param op integer
---@return table<string, number>
function graph:stated_costs(op) end

---The op that makes a tensor; nil for a parameter.
---@param tensor integer
---@return integer? op
function graph:producer(tensor) end

---@param tensor integer
---@return string?
function graph:tensor_name(tensor) end

---@param tensor integer
---@return string "f32", "i64", ..., "unknown"
function graph:dtype(tensor) end

---Dimensions, -1 for an unknown one; nil where not even their number is known.
---@param tensor integer
---@return integer[]?
function graph:shape(tensor) end

---The size, nil where it is not known.
---@param tensor integer
---@return number?
function graph:tensor_bytes(tensor) end

---All ops, each after its producers.
---@return integer[] ops
function graph:topological_order() end

---Writes a berth.graph/1 file with the costs, which can be placed without the model.
---@param path string
---@param costs berth.Costs
---@param cluster berth.Cluster
function graph:save(path, costs, cluster) end

---Builds a graph. Methods without a result of their own return the builder.
---@class berth.GraphBuilder: berth.Object
local graph_builder = {}

---@param name string unique in the graph
---@param type string
---@return integer op
function graph_builder:add_op(name, type) end

---The op's next output.
---@param op integer
---@param tensor? berth.TensorInfo
---@param name? string
---@return integer tensor
function graph_builder:add_output(op, tensor, name) end

---A tensor without producer: a weight, resident where its consumers run.
---@param tensor? berth.TensorInfo
---@param name? string
---@return integer tensor
function graph_builder:add_parameter(tensor, name) end

---The op's next input.
---@param op integer
---@param tensor? integer nil: an optional input that is left out
---@return berth.GraphBuilder
function graph_builder:add_input(op, tensor) end

---`dst` starts after `src` has ended; no data.
---@param src integer op
---@param dst integer op
---@return berth.GraphBuilder
function graph_builder:add_control_edge(src, dst) end

---Replaces what is known of a tensor.
---@param tensor integer
---@param info berth.TensorInfo
---@return berth.GraphBuilder
function graph_builder:set_tensor(tensor, info) end

---Parameter bytes beside the parameter tensors that the op reads.
---@param op integer
---@param bytes integer
---@return berth.GraphBuilder
function graph_builder:set_param_bytes(op, bytes) end

---Ops of one class must share a device.
---@param op integer
---@param class string
---@return berth.GraphBuilder
function graph_builder:set_colocation(op, class) end

---@param op integer
---@param device string
---@return berth.GraphBuilder
function graph_builder:set_requested_device(op, device) end

---@param op integer
---@param name string
---@param value boolean | number | string | number[] | string[]
---@return berth.GraphBuilder
function graph_builder:set_attribute(op, name, value) end

---States the work of an op, for the roofline model.
---@param op integer
---@param work berth.Work
---@return berth.GraphBuilder
function graph_builder:set_work(op, work) end

---States the compute time of an op.
---@param op integer
---@param us number
---@param kind? string of device; default: any
---@return berth.GraphBuilder
function graph_builder:set_cost(op, us, kind) end

---@return integer
function graph_builder:op_count() end

---Checks the whole graph and freezes it; the builder is empty afterwards.
---@return berth.Graph
function graph_builder:build() end

-- Machines, costs, groups --------------------------------------------------------------------------

---An immutable cluster.
---@class berth.Cluster: berth.Object
local cluster = {}

---@return string
function cluster:name() end

---@return integer
function cluster:device_count() end

---A device's figures. Changing the table changes nothing.
---@param device integer
---@return berth.Device
function cluster:device(device) end

---The device of this name.
---@param name string
---@return integer? device
function cluster:find(name) end

---The kinds of device there are.
---@return string[]
function cluster:kinds() end

---How one device reaches another.
---@param src integer device
---@param dst integer another device
---@return { bandwidth_bytes_per_s: number, latency_us: number, channels: string[] }
function cluster:route(src, dst) end

---Duration of one transfer alone on its route.
---@param src integer device
---@param dst integer another device
---@param bytes integer
---@return number us
function cluster:transfer_us(src, dst, bytes) end

---Writes a berth.cluster/1 file.
---@param path string
function cluster:save(path) end

---Immutable costs of one graph's ops on the kinds of one cluster.
---@class berth.Costs: berth.Object
local costs = {}

---"roofline", "stated", a file's name, or "script".
---@return string
function costs:source() end

---@param op integer
---@param kind integer position in `cluster:kinds()`
---@return number us math.huge where the kind cannot run it
function costs:op_us(op, kind) end

---Memory that an op needs while it runs.
---@param op integer
---@return number
function costs:workspace_bytes(op) end

---Immutable groups of ops, in topological order where their graph is acyclic.
---@class berth.Groups: berth.Object
local groups = {}

---@return integer
function groups:count() end

---Whether the graph of the groups has no cycle.
---@return boolean
function groups:acyclic() end

---The group of an op.
---@param op integer
---@return integer group
function groups:of(op) end

---The ops of a group, by topological position.
---@param group integer
---@return integer[] ops
function groups:members(group) end

---@param group integer
---@return berth.GroupEdge[]
function groups:in_edges(group) end

---@param group integer
---@return berth.GroupEdge[]
function groups:out_edges(group) end

---The device of every op from the device of every group.
---@param device_of_group integer[]
---@return berth.Placement
function groups:expand(device_of_group) end

-- Problems and evaluators --------------------------------------------------------------------------

---An immutable problem.
---@class berth.Problem: berth.Object
local problem = {}

---@return berth.Graph
function problem:graph() end

---@return berth.Cluster
function problem:cluster() end

---@return berth.Costs
function problem:costs() end

---@return berth.Groups
function problem:groups() end

---@return "latency" | "throughput"
function problem:objective() end

---@return "dataflow" | "placeto"
function problem:semantics() end

---Compute time of an op, without the device's overhead per op.
---@param op integer
---@param device integer
---@return number us math.huge where the device cannot run it
function problem:cost_us(op, device) end

---The sum over a group's ops.
---@param group integer
---@param device integer
---@return number us math.huge where the device cannot run it
function problem:group_cost_us(group, device) end

---Whether a device can run all ops of a group.
---@param group integer
---@param device integer
---@return boolean
function problem:can_run(group, device) end

---@param group integer
---@return number
function problem:group_param_bytes(group) end

---Raises an error that names the op and the fix where a placement is not valid: a device per op that
---can run it, co-location kept. Memory is not checked: that is an evaluation's `feasible`.
---@param placement berth.Placement
---@return berth.Problem
function problem:validate(placement) end

---Evaluates one placement.
---@param placement berth.Placement
---@return berth.Evaluation
function problem:evaluate(placement) end

---The best single device; nil where none can run and hold everything.
---@return berth.Single?
function problem:single() end

---The largest lower bound of the objective over all placements.
---@return number us
---@return string source which argument gives it
function problem:bound() end

---All of them, largest first.
---@return { us: number, source: string }[]
function problem:bounds() end

---The whole story of one step. In placeto semantics a transfer has no `dst`: it goes to all
---receivers. A step of the critical path has either `op` or `transfer` (its place in `transfers`).
---@param placement berth.Placement
---@return { runtime_us: number, op_start_us: number[], op_end_us: number[], transfers: { tensor: integer?, producer: integer, src: integer, dst: integer?, bytes: number, queued_us: number, start_us: number, end_us: number }[], devices: { busy_us: number, idle_us: number, peak_bytes: number, param_bytes: number, peak_us: number, peak_op: integer? }[], links: { src: integer, dst: integer?, bytes: number, transfers: integer, busy_us: number }[], critical_path: { op: integer?, transfer: integer?, start_us: number, end_us: number, reason: "start" | "input" | "device_busy" | "link_busy" }[] }
function problem:trace(placement) end

---Writes the step as a Chrome trace, which Perfetto opens.
---@param path string
---@param placement berth.Placement
function problem:save_trace(path, placement) end

---Writes a berth.placement/1 file with its evaluation.
---@param path string
---@param placement berth.Placement
---@param provenance? { policy: string, seed?: integer, options?: table<string, boolean | number | string> }
function problem:save_placement(path, placement, provenance) end

---Reads a berth.placement/1 file of this graph and cluster.
---@param path string
---@return berth.Placement
function problem:load_placement(path) end

---Turns placements into evaluations; made by `berth.evaluator`, or lent to a Lua policy.
---@class berth.Evaluator: berth.Object
local evaluator = {}

---@return berth.Problem
function evaluator:problem() end

---Placements evaluated so far.
---@return integer
function evaluator:evaluations() end

---@param placement berth.Placement
---@return berth.Evaluation
function evaluator:evaluate(placement) end

---Evaluates into a table that an earlier call gave, or an empty one: nothing is allocated.
---@param result table
---@param placement berth.Placement
---@return berth.Evaluation result the same table
function evaluator:evaluate_into(result, placement) end

---Evaluates many placements at once, on all the evaluator's threads.
---@param placements berth.Placement[]
---@return berth.Evaluation[]
function evaluator:batch(placements) end

-- Execution ----------------------------------------------------------------------------------------

---A model that can be executed; made by `berth.program`.
---@class berth.Program: berth.Object
local program = {}

---@return berth.Graph
function program:graph() end

---@class berth.Backend: berth.Object
local backend = {}

---Its devices and links, by nominal figures; `session:profile` measures them.
---@return berth.Cluster
function backend:cluster() end

---The machine in one line.
---@return string
function backend:description() end

---The ops that it cannot execute, and why.
---@param program berth.Program
---@return { op: integer, reason: string }[]
function backend:cannot_run(program) end

---Loads a program on the devices. `seed` draws the parameters that the file does not carry. With a
---problem, ready ops are scheduled as a simulation of it does.
---@param program berth.Program
---@param options? { seed?: integer, problem?: berth.Problem }
---@return berth.Session
function backend:open(program, options) end

---A program on the devices of a backend; made by `backend:open`.
---@class berth.Session: berth.Object
local session = {}

---Measures every op on a device of each kind, and every link: for `berth.problem`.
---@param options? { warm_up?: integer, repeats?: integer, seed?: integer } 3, 10, 0
---@return berth.Costs
---@return berth.Cluster
function session:profile(options) end

---Executes a placement: warm-up steps (5), then steps that count (5). The trace (as of
---`problem:trace`) is of the step nearest to the median.
---@param placement berth.Placement
---@param options? { warm_up?: integer, repeats?: integer, seed?: integer }
---@return { mean_us: number, median_us: number, deviation_us: number, min_us: number, max_us: number, steps_us: number[], peak_bytes: integer[], trace: table }
function session:measure(placement, options) end

---Whether the outputs under a placement are those of one device, and every op ran where it was
---placed; what differs.
---@param placement berth.Placement
---@param options? { relative_tolerance?: number, absolute_tolerance?: number, seed?: integer }
---@return boolean
---@return string[] differences
function session:verify(placement, options) end

-- Policies -----------------------------------------------------------------------------------------

---@class berth.Policy: berth.Object
local policy = {}

---@return string
function policy:name() end

---The options it was made with.
---@return table<string, boolean | number | string>
function policy:options() end

---Finds a placement, checks and evaluates it. `initial` are placements to start from, for policies
---that do (auto). The budget is in seconds; the evaluator is one of this
---problem; reports of progress that a policy makes on threads of its own are left out.
---@param problem berth.Problem
---@param options? { seed?: integer, budget_s?: number, evaluator?: berth.Evaluator, initial?: berth.Placement[], progress?: fun(best_us: number, text: string) }
---@return berth.Placement
---@return berth.Outcome
function policy:place(problem, options) end

---Whether it has weights that learn: the methods below are for such policies alone.
---@return boolean
function policy:learns() end

---Samples `samples` episodes (default 1) for each problem, all together, and measures them. `seed`
---is the only source of randomness; `greedy` takes the most likely device every time; `epsilon` is
---the chance of a uniform draw; `noise` is added to the logits of policies that place a sequence, in
---multiples of their root mean square. Policies that place one group per step: `traversal` is
---"topological", "reverse", "breadth_first", "depth_first" or "random", and episodes start from
---`initial`: "random", "zero", "single" (all on the best device), "contiguous" (one run of groups per
---fast device), "earliest" (list scheduling in topological order) or for every problem an array of
---placements taken in turn. `evaluators` measure in the place of the problems' own simulations, one
---for each problem. `into` is a rollout to use again.
---@param problems berth.Problem | berth.Problem[]
---@param options? { samples?: integer, seed?: integer, greedy?: boolean, epsilon?: number, noise?: number, traversal?: string, initial?: string | berth.Placement[][], evaluators?: berth.Evaluator[], into?: berth.Rollout }
---@return berth.Rollout
function policy:rollout(problems, options) end

---One step of Adam along the sum over decisions of advantage * log pi + entropy_weight * entropy.
---`advantages` has every decision of every episode in order. `max_norm` clips the gradient
---(default 1.25, 0 = not); `learning_rate` is 1e-3 where not given.
---@param rollout berth.Rollout its own, of before the weights changed
---@param advantages number[]
---@param options? { learning_rate?: number, entropy_weight?: number, max_norm?: number }
---@return { loss: number, entropy: number, gradient_norm: number } report the gradient's norm is before clipping
function policy:update(rollout, advantages, options) end

---Writes weights, the optimiser's state and a note of the caller, whole or not at all.
---@param path string
---@param note? string
function policy:save(path, note) end

---Takes all that was saved; raises where the file is damaged or of another policy, version or shape.
---@param path string
---@return string note
function policy:load(path) end

---Trained values; 0 before the first problem is seen.
---@return integer
function policy:parameters() end

---Episodes that a policy sampled, with what was measured.
---@class berth.Rollout: berth.Object
local rollout = {}

---@return integer count
function rollout:episodes() end

---Decisions of an episode; 1 for policies that decide a whole placement at once.
---@param episode integer
---@return integer
function rollout:steps(episode) end

---Placements that were measured for an episode.
---@param episode integer
---@return integer
function rollout:measured(episode) end

---@param episode integer
---@return integer index into the problems of the call
function rollout:problem(episode) end

---What was measured after a step, 0 for before the first (of the best single device, where a policy
---decides a whole placement at once); `result` is a table to fill again.
---@param episode integer
---@param step integer 0 .. steps
---@param result? table
---@return berth.Evaluation
function rollout:evaluation(episode, step, result) end

---The best placement of an episode's states: feasible before not, then by objective.
---@param episode integer
---@return berth.Placement
---@return berth.Evaluation
function rollout:best(episode) end

---Its measurement alone; `result` is a table to fill again.
---@param episode integer
---@param result? table
---@return berth.Evaluation
function rollout:best_evaluation(episode, result) end

---@param episode integer
---@return berth.Placement
---@return berth.Evaluation
function rollout:last(episode) end

---Of the distribution that a decision was drawn from, in nats.
---@param episode integer
---@param step integer 1 .. steps
---@return number
function rollout:entropy(episode, step) end

---@param episode integer
---@param step integer 1 .. steps
---@return number
function rollout:log_probability(episode, step) end

---What a Lua policy is told of one call; it ends with the call.
---@class berth.Context: berth.Object
local context = {}

---The only source of randomness; exact below 2^53.
---@return integer
function context:seed() end

---A generator from the seed.
---@return berth.Random
function context:random() end

---Every option the policy declared, with its value or default.
---@return table<string, boolean | number | string>
function context:options() end

---Whether to return the best so far now: the budget is spent, or the user asked to end.
---@return boolean
function context:should_stop() end

---Reports where the policy stands.
---@param best_us number the best objective so far
---@param text? string
function context:progress(best_us, text) end

---@class berth.Random: berth.Object
local random = {}

---Uniform in [0, 1).
---@return number
function random:uniform() end

---Uniform in 1 .. most.
---@param most integer
---@return integer
function random:integer(most) end

---A generator of an independent stream.
---@return berth.Random
function random:split() end

return berth
