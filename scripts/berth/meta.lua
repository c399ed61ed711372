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

---The result of evaluating a placement. `tostring` gives a summary.
---@class berth.Evaluation
---@field objective_us number the figure to minimise: runtime_us or max_load_us
---@field runtime_us number runtime of one step; 0 for the objective throughput
---@field max_load_us number the largest load of a device or channel; 0 for the objective latency
---@field feasible boolean true if every device's peak is within its memory
---@field worst_device integer? the device that exceeds its memory by most
---@field excess_bytes number by how much; 0 if feasible
---@field peak_bytes number[] peak memory by device
---@field busy_us number[] compute time by device

---What `policy:place` returns besides the placement: its evaluation with these fields.
---@class berth.Outcome: berth.Evaluation
---@field policy string name of the policy
---@field seed integer
---@field evaluations integer placements that the policy judged, in full or by what a move changes
---@field simulated_ops integer ops simulated for that, and for estimates by smaller steps
---@field wall_s number seconds that it took
---@field bound_us number? a proven lower bound of the objective; nil if runtimes are measured
---@field bound_source string? the argument that gives the bound
---@field gap number? objective / bound - 1
---@field cuts integer pieces of the graph that lie on one device and hang together, less those that there are
---on a single device
---@field transfers integer tensors, times the other devices that receive them
---@field ended string why the search ended: "done", "proven", "budget", "cancelled", "gave up": it did
---everything it does, no placement is better, its time or another limit was used up, it was stopped, or
---it cannot search such a problem (a note says why)
---@field notes string[] what a user should know about the placement
---@field single berth.Single? the runtime on one device; nil if no device is feasible
---@field whose string? of a policy that learns, whose the placement is: "own" (the policy's alone), "passed" (a
---state on the way, or a draw while it learned), "start" (an episode began there), "given" (it was given to
---start from), "search" (of a search around the policy's), "repaired" (made of one that did not fit)
---@field weights string? of a policy that learns, the weights it began with: "fresh" (random), "shipped" (with
---Berth), "file", "given" (by a program)
---@field updates integer? of those weights since then
---@field own { placement: berth.Placement, evaluation: berth.Evaluation }? what is called the policy's: with
---which its last greedy episode ended; nil where the time ended before
---@field start { name: string, evaluation: berth.Evaluation }? the best of its starts
---@field replicas string? of `berth.place` with `replicate`: the plan, as that setting says it; nil where the
---plain step is faster
---@field replica_lines string[]? the replicas in words, and what the step waits for in their reduction
---@field plan string? of `berth.place` with a `tool`: the placement in its form; empty where that is the
---model's own format

---One device for all that it can run, a host for the rest.
---@class berth.Single
---@field device integer
---@field text string "gpu:0", or "gpu:0 for all that it can run, cpu:0 for 12 ops"
---@field placement berth.Placement
---@field evaluation berth.Evaluation

---A policy that learns, as functions of its agent, which is any value that holds the network. `act`
---returns three arrays by episode: the devices, their log-probabilities, the entropies (of episodes that
---are done anything); `tape` is a table that lives as long as the rollout. `update` gets that table and the
---advantages, an array by episode of arrays by step. `whole` instead of `act` decides all groups at once: it
---returns, by episode (`samples` of each problem), a placement as an array of devices by group, the
---log-probability of all of it and the entropy; each is simulated once, and is an episode of one step. The
---environment it is lent shows one state per problem, in which nothing is decided; `able` of `torch.observe` says
---which device can run which group.
---@class berth.Learns
---@field observe? { groups?: string[], devices?: string[], look_ahead?: boolean }
---@field make fun(options: table): any the agent
---@field act? fun(agent: any, environment: berth.Environment, options: { greedy: boolean, seed: integer, epsilon: number, noise: number, samples: integer }, tape: table): integer[], number[]?, number[]?
---@field whole? fun(agent: any, environment: berth.Environment, options: { greedy: boolean, seed: integer, epsilon: number, noise: number, samples: integer }, tape: table): integer[][], number[]?, number[]? instead of `act`
---@field update fun(agent: any, tape: table, advantages: number[][], options: { learning_rate: number, entropy_weight: number, max_norm: number }): { loss: number, entropy: number, gradient_norm: number }
---@field save fun(agent: any, path: string, note: string)
---@field load fun(agent: any, path: string): string the note
---@field parameters fun(agent: any): integer
---@field weights? fun(agent: any): string for training by many processes, as `policy:weights`, with `set_weights` and one of the two pairs below
---@field set_weights? fun(agent: any, weights: string)
---@field gradient? fun(agent: any, tape: table, advantages: number[][], options: table): string, { loss: number, entropy: number } what `update` would follow
---@field step? fun(agent: any, gradient: string, options: table): number a step by it; its norm
---@field pack? fun(agent: any, tape: table, advantages: number[][]): string where an update is more than a step by a gradient: what it learns from, for the process in which `update` runs
---@field unpack? fun(agent: any, packed: string[], problems: berth.Problem[][]): table, number[][] one tape and its advantages from what several processes packed; the problems of each

---A tensor that an op consumes. Without `tensor` it is a control edge.
---@class berth.Edge
---@field src integer op
---@field dst integer op
---@field tensor integer?

---The tensors that one group sends to another, each counted once.
---@class berth.GroupEdge
---@field src integer group
---@field dst integer group
---@field bytes number total size
---@field tensors integer number of tensors; 0 = control edges only

---What is known of a tensor.
---@class berth.TensorInfo
---@field dtype? string "f32", "i64", ...
---@field shape? integer[] -1 for an unknown dimension
---@field bytes? integer size; default: derived from dtype and shape

---The work of one execution of an op.
---@class berth.Work
---@field flops? number floating-point operations
---@field bytes? number bytes read and written, including parameters
---@field class? string "matmul", "convolution", "elementwise", ...
---@field dtype? string the type the arithmetic runs in; default "f32"
---@field launches? number number of kernels; default 1

---A device of a cluster.
---@class berth.Device
---@field name string unique in the cluster
---@field kind string devices of one kind run every op at the same cost
---@field memory_bytes? number default: no limit (math.huge)
---@field flops? number peak FLOP/s in f32
---@field flops_16? number peak in 16-bit types; default: as flops
---@field flops_8? number peak in 8-bit types; default: as flops
---@field flops_64? number peak in f64; default: half of flops
---@field flops_tf32? number peak of matrix units that take f32 in TF32; default 0: none
---@field memory_bandwidth? number bytes per second
---@field op_overhead_us? number fixed cost of starting an op; default 0
---@field multiprocessors? number that run thread blocks; default 0: every kernel fills the device
---@field host? boolean whether it is the CPU of the machine; default false
---@field engine_per_link? boolean whether each of its links has an engine that sends and one that receives; default false: one of each for all
---@field runs? { types?: string[], dtypes?: string[] } the op types that it runs, and the element types of what such an op reads and writes; default: every op

---A directed link between devices.
---@class berth.Link
---@field src string the name of a device, or "*" for any
---@field dst string the name of a device, or "*" for any
---@field bandwidth_bytes_per_s number > 0
---@field latency_us? number default 0
---@field shares? string[] channels that it occupies; each carries one transfer at a time
---@field parallel? boolean whether transfers on it wait for nothing; default false
---@field receiver_us? number given, the receiver copies between two of its ops, for so long and bytes / bandwidth

---The methods that all objects have.
---@class berth.Object
local object = {}

---Frees what the object holds now, without waiting for the garbage collector. Any later use of the
---object raises an error; releasing it again does nothing.
function object:release() end

-- The module ---------------------------------------------------------------------------------------

---Loads a model file: a `.graph.json`, or any file that a frontend claims.
---@param path string
---@param options? { dims?: table<string, integer>, batch?: integer, shapes?: table<string, integer[]>, fetches?: string[], fold?: boolean, states?: string[], arguments?: "inputs" | "parameters" | "guess", experts?: string, op_rules?: string }
---`dims`: values of named dynamic dimensions. `batch`: the first dimension of every input that leaves it
---open. `shapes`: shapes of inputs whose dimensions have no name, and of tensors whose size is not told.
---`fetches`: ops or tensors to compute; only what they need is loaded. `fold` = false: what depends on
---parameters alone stays in the step. `states`: results that are inputs of the next step, as "RESULT=INPUT";
---others are found by name, unless one of them is "none".
---`arguments`: whether inputs are weights. `experts`: "2/8" where a token chooses two of eight.
---`op_rules`: a berth.ops/1 file.
---@return berth.Graph graph
---@return string[] notes what a user should know of the model but can live with
function berth.load(path, options) end

---The graph reduced to the ops that the fetches need.
---@param graph berth.Graph
---@param fetches? string[] names of ops or outputs; default: all that no op consumes
---@return berth.Graph
function berth.prune(graph, fetches) end

---The graph in which ops that read anything from outside of their co-location class are free of it: gradients need no
---longer be beside their ops (colocate_gradients_with_ops of TensorFlow 1) nor updates beside their variables, which
---leaves no grouping without cycles. Placements of it are not what TensorFlow runs.
---@param graph berth.Graph
---@return berth.Graph
function berth.free_gradients(graph) end

---Starts a new graph.
---@param name string
---@param dialect? string vocabulary of the op types: "onnx", "tf", "berth" (default)
---@return berth.GraphBuilder
function berth.graph_builder(name, dialect) end

---A cluster: words such as "rtx4090+rtx4060", "here" for this machine, a preset by name, a berth.cluster/1 file by
---path (anything with a '/' or a '.'), or a table.
---@param cluster string | { name: string, devices: berth.Device[], links: berth.Link[] }
---@return berth.Cluster
function berth.cluster(cluster) end

---The presets of `berth.cluster`, each with the source of its numbers.
---@return { name: string, description: string, source: string }[]
function berth.cluster_presets() end

---Compute times of every op on every kind of device. They come from one of these: the roofline model;
---the costs that the graph states; a file (any text with a '/' or a '.': berth.costs/1, berth.graph/1,
---or a profile that a frontend reads, such as TensorFlow's RunMetadata); a table with the cost of every
---op by kind, math.huge if the kind cannot run it.
---@param source "roofline" | "stated" | string | { us: table<string, number[]>, workspace_bytes?: integer[] }
---@param graph berth.Graph
---@param cluster berth.Cluster
---@return berth.Costs costs
---@return string[] notes what a user should know of them: how many ops were measured
function berth.costs(source, graph, cluster) end

---Groups by label: ops with the same label form a group. Groups are renumbered in topological order.
---@param graph berth.Graph
---@param group_of integer[] a label >= 0 for every op
---@return berth.Groups
function berth.groups(graph, group_of) end

---The finest groups: ops that must share a device form a group, and every other op is its own group.
---@param graph berth.Graph
---@return berth.Groups
function berth.colocation(graph) end

---At most `count` groups of similar size, merged along the heaviest edges without making a cycle.
---@param graph berth.Graph
---@param costs berth.Costs
---@param count integer
---@return berth.Groups
function berth.coarsen(graph, costs, count) end

---Groups by a named method. "colocation" and "icml2017" find the number of groups themselves.
---"placeto" and "balanced" (`berth.coarsen`) merge until at most `count` are left.
---@param graph berth.Graph
---@param costs berth.Costs
---@param grouping "colocation" | "icml2017" | "placeto" | "balanced"
---@param count? integer
---@return berth.Groups
function berth.make_groups(graph, costs, grouping, count) end

---Selects ops: a regular expression that must match the whole name, or a table whose fields must all
---hold.
---@alias berth.Selector string | { name?: string, regex?: string, type?: string, requested_device?: string }

---A rule that every placement must obey. It has exactly one of pin (with `to`), forbid (with `on`),
---colocate, separate, respect_devices and memory_margin ("10%", "2GiB" or bytes; with `on`, or on all
---devices). `to` and `on` name devices or kinds. With several selectors, `separate` keeps the ops of
---one apart from those of the others. With one selector, it keeps all its ops apart from each other.
---@class berth.Rule
---@field pin? berth.Selector | berth.Selector[]
---@field to? string | string[]
---@field forbid? berth.Selector | berth.Selector[]
---@field on? string | string[]
---@field colocate? berth.Selector | berth.Selector[]
---@field separate? berth.Selector | berth.Selector[]
---@field respect_devices? true | berth.Selector | berth.Selector[]
---@field memory_margin? string | integer

---Places a model as settings say: the keys of berth.settings/1, over those of BERTH_CONFIG and of
---`berth run --config`. The policy is "auto" where none is named. It raises an error for a key that
---a script serves itself, such as `output`. With `tool = "llama.cpp"` the placement is one that the tool
---can run as it is, and `plan` of the outcome is what to hand to it.
---@param model string a file
---@param settings? table
---@return integer[] placement
---@return berth.Found
function berth.place(model, settings) end

---A placement problem. Defaults: `costs` are those that the graph states, or "roofline" if it states
---none; `groups` are the finest; `objective` is latency; `semantics` is dataflow. A number of `groups`
---merges ops, by `grouping` as in `berth.make_groups`. The gaps belong to placeto semantics.
---@param problem { graph: berth.Graph, cluster: berth.Cluster | string, costs?: berth.Costs | string, groups?: berth.Groups | integer, grouping?: string, objective?: "latency" | "throughput", semantics?: "dataflow" | "placeto", device_gap_us?: number, transfer_gap_us?: number, inputs?: string, in_flight?: integer, constraints?: berth.Rule[] }
---@return berth.Problem
function berth.problem(problem) end

---An evaluator for a problem. Without a session it simulates on `threads` threads (default 0 = one per
---core). With a session, which must have the problem's graph and devices, it executes placements: the
---result is the mean runtime of `repeats` steps (default 5) after `warm_up` steps (default 5).
---@param problem berth.Problem
---With `evaluate`, that function gives the evaluations of an array of placements: only `objective_us` is
---required, and `feasible` = false says that a placement does not fit; a field that no evaluation has is an error.
---`measures` says whether its runtimes are measured; a function that simulates other costs or another machine than the
---problem's measures too, for bounds are those of the problem.
---@param options? { threads?: integer, session?: berth.Session, warm_up?: integer, repeats?: integer, precision?: number, seed?: integer, evaluate?: (fun(placements: berth.Placement[]): berth.Evaluation[]), measures?: boolean }
---@return berth.Evaluator
function berth.evaluator(problem, options) end

---Loads a model with everything that executing it needs. `program:graph()` is the graph that
---`berth.load` returns for the same options.
---@param path string
---@param options? { dims?: table<string, integer>, batch?: integer, shapes?: table<string, integer[]>, fetches?: string[], fold?: boolean, states?: string[], arguments?: "inputs" | "parameters" | "guess", experts?: string, op_rules?: string }
---@return berth.Program program
---@return string[] notes what a user should know of the model but can live with
function berth.program(path, options) end

---Devices of this machine that execute programs, such as "cpu". `options` are those of the backend (see
---`berth.plugins`).
---@param name string
---@param options? table<string, boolean | number | string>
---@return berth.Backend
function berth.backend(name, options) end

---"placeto:weights=none:groups=64", as `berth compare --policies` and auto's option `from` take it: the name and the
---options behind colons, as texts. The policy need not exist.
---@param text string
---@return string name
---@return table<string, string> options
function berth.named_policy(text) end

---A policy by name: one that a script registered, or a plugin. A name that ends in ".lua" is a script
---that registers a policy.
---@param name string
---@param options? table<string, boolean | number | string> of the policy (see `berth.plugins`), and
---`seed`, the default seed of `policy:place`. Where they name none, seed and `moves` are those of BERTH_CONFIG
---and --config
---@return berth.Policy
function berth.policy(name, options) end

---Makes a policy written in Lua available by name to everything in this host. It replaces an earlier
---one of the same name and hides a plugin of that name. `place` returns a placement. It may keep the
---problem, but evaluator and context end with the call. An option's type defaults to that of its
---default value; a number without a fraction is an integer. With `learns` instead of `place` it is a policy
---that learns, as those in C++ are: the host runs the episodes, places with greedy ones, and repairs what
---constraints or memory forbid. It has the options of those in C++, which the host reads (weights, groups, passes,
---episodes, samples, learning_rate, entropy, starts, repair); one of its own of that name changes the default.
---`torch.learner` makes a `learns` from a network. A value that is out of range or not among the choices is refused
---when the policy is made. Policies that run others, as `auto` does with its option `from`, run those in Lua too.
---@param policy { name: string, description?: string, version?: string, options?: { name: string, default: boolean | number | string, meaning: string, type?: "boolean" | "integer" | "real" | "text", at_least?: number, above?: number, at_most?: number, below?: number, multiple_of?: integer, choices?: string[] }[], place?: fun(problem: berth.Problem, evaluator: berth.Evaluator, context: berth.Context): berth.Placement, learns?: berth.Learns }
---@return string name
function berth.register_policy(policy) end

---Episodes that a script steps: each starts from a complete placement of the groups and visits them in
---order, a device for one group at each step (the decisions of Placeto). Several episodes of each of
---several problems step together; those of smaller problems are done earlier. `groups` and `devices` name
---the features to observe (see `berth.features`); `look_ahead` simulates the step with the current group on
---every device.
---@param problems berth.Problem | berth.Problem[]
---@param options? { groups?: string[], devices?: string[], look_ahead?: boolean, evaluators?: berth.Evaluator[] }
---@return berth.Environment
function berth.environment(problems, options) end

---The features that environments observe, and what each says.
---@return table<string, string> groups of every group, in the state
---@return table<string, string> devices of every device the current group could go to
function berth.features() end

---A seeded generator of random numbers. Its stream is the same on every machine.
---@param seed integer 0 .. 2^53
---@return berth.Random
function berth.random(seed) end

---Every plugin and every policy registered by a script.
---@return { kind: "frontend" | "policy", name: string, version: string, description: string, file: string, options: { name: string, type: string, default: string, meaning: string, allowed: string, at_least?: number, above?: number, at_most?: number, below?: number, multiple_of?: integer, choices?: string[] }[] }[] plugins
---@return string[] problems files that look like plugins but were refused, with the reason
function berth.plugins() end

---The library module_NAME.so that a module of Lua loads by LuaJIT's FFI, such as berth.torch. It is found
---where plugins are.
---@param name string
---@return string path
function berth.module_file(name) end

---The file that a new one written as `path` takes the place of: the one behind its links, there or not.
---@param path string
---@return string? file nil where nothing can: `path` is written in place, as a pipe, a device or standard output is
function berth.replaced_file(path) end

---The Lua files that this host has run, in order: the script, then those of policies by file name.
---@return string[] paths
function berth.scripts_run() end

---Lets the script go on, and fail in the end with this message and an exit status of 1. The first call counts.
---@param message string
function berth.end_with_failure(message) end

---Seconds on a clock that never goes back, for measuring durations.
---@return number
function berth.clock() end

---Whether the user asked to stop (Ctrl-C). Then end with the best result so far: a search that a script begins
---from then on raises an error.
---@return boolean
function berth.should_stop() end

---Reports where the script stands, in the line that `berth run` keeps up to date on a terminal.
---@param text string
function berth.progress(text) end

---Raises an error. For a policy that knows that nothing it can produce fits.
---@param message string what is short
function berth.infeasible(message) end

---Number of C++ objects that Lua values hold now, for finding what keeps memory.
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

---Number of data and control edges together.
---@return integer
function graph:edge_count() end

---Total size of the parameters, each counted once.
---@return number
function graph:total_param_bytes() end

---Parameters that several ops read: once on every device that has one of them.
---@return { bytes: number, consumers: integer[] }[]
function graph:shared_parameters() end

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

---Tensors read, in the op's own order; 0 for an omitted optional input.
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

---Total size of the outputs; unknown sizes count as 0.
---@param op integer
---@return number
function graph:output_bytes(op) end

---Bytes of parameters that must reside where this op runs.
---@param op integer
---@return number
function graph:param_bytes(op) end

---The op's co-location class. Ops of one class must share a device.
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

---The work of one execution. If `has_rule` is false, only bytes are counted.
---@param op integer
---@return berth.Work
function graph:work(op) end

---Compute times stated with the graph, by device kind; "*" is any kind.
---@param op integer
---@return table<string, number>
function graph:stated_costs(op) end

---Whether the op is computed once, when the model is loaded: the step does not run it, and its outputs
---are parameters.
---@param op integer
---@return boolean
function graph:is_constant(op) end

---The op that produces a tensor in the step; nil for a parameter, and for what a constant makes.
---@param tensor integer
---@return integer? op
function graph:producer(tensor) end

---@param tensor integer
---@return string?
function graph:tensor_name(tensor) end

---@param tensor integer
---@return string "f32", "i64", ..., "unknown"
function graph:dtype(tensor) end

---Dimensions, -1 for an unknown one; nil if not even their number is known.
---@param tensor integer
---@return integer[]?
function graph:shape(tensor) end

---The size; nil if it is not known.
---@param tensor integer
---@return number?
function graph:tensor_bytes(tensor) end

---All ops, each after its producers.
---@return integer[] ops
function graph:topological_order() end

---Writes a berth.graph/1 file with the costs. It can be placed without the model. A parameter that several
---ops read is a pure op of its own, and so is a constant that none reads.
---@param path string
---@param costs berth.Costs
---@param cluster berth.Cluster
function graph:save(path, costs, cluster) end

---Builds a graph. Methods without another result return the builder.
---@class berth.GraphBuilder: berth.Object
local graph_builder = {}

---@param name string unique in the graph
---@param type string
---@return integer op
function graph_builder:add_op(name, type) end

---Adds the op's next output.
---@param op integer
---@param tensor? berth.TensorInfo
---@param name? string
---@return integer tensor
function graph_builder:add_output(op, tensor, name) end

---Adds a tensor without a producer: a weight, which resides where its consumers run.
---@param tensor? berth.TensorInfo
---@param name? string
---@return integer tensor
function graph_builder:add_parameter(tensor, name) end

---Adds the op's next input.
---@param op integer
---@param tensor? integer nil = an omitted optional input
---@return berth.GraphBuilder
function graph_builder:add_input(op, tensor) end

---Adds a control edge: `dst` starts after `src` has ended. It carries no data.
---@param src integer op
---@param dst integer op
---@return berth.GraphBuilder
function graph_builder:add_control_edge(src, dst) end

---Replaces everything known of a tensor.
---@param tensor integer
---@param info berth.TensorInfo
---@return berth.GraphBuilder
function graph_builder:set_tensor(tensor, info) end

---Sets bytes of weights besides the parameter tensors that the op reads. Unless its work is stated, or its type's rule
---reads a part of them (as Gather), each step reads them all.
---@param op integer
---@param bytes integer
---@return berth.GraphBuilder
function graph_builder:set_param_bytes(op, bytes) end

---Sets the op's co-location class. Ops of one class must share a device.
---@param op integer
---@param class string
---@return berth.GraphBuilder
function graph_builder:set_colocation(op, class) end

---The step returns the tensor, which lives to its end. Where nothing is named, what ops without
---consumers give is returned.
---@param tensor integer
---@return berth.GraphBuilder
function graph_builder:add_result(tensor) end

---The op gives the same outputs for the same inputs and does nothing else.
---@param op integer
---@return berth.GraphBuilder
function graph_builder:set_pure(op) end

---@param op integer
---@param device string
---@return berth.GraphBuilder
function graph_builder:set_requested_device(op, device) end

---`view`, 1, of the dialect "berth": the op copies nothing, as a reshape; its outputs take no memory, and what it
---reads stays on its device as long as they do.
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
---@param kind? string device kind; default: any
---@return berth.GraphBuilder
function graph_builder:set_cost(op, us, kind) end

---@return integer
function graph_builder:op_count() end

---Checks the whole graph and freezes it. The builder is empty afterwards, for another graph of the same
---name and dialect. Pure ops that depend on parameters alone become constants of the step, unless `fold` = false.
---@param options? { fold?: boolean }
---@return berth.Graph
function graph_builder:build(options) end

-- Machines, costs, groups --------------------------------------------------------------------------

---An immutable cluster.
---@class berth.Cluster: berth.Object
local cluster = {}

---@return string
function cluster:name() end

---@return integer
function cluster:device_count() end

---A device's figures, as a copy.
---@param device integer
---@return berth.Device
function cluster:device(device) end

---The device of this name.
---@param name string
---@return integer? device
function cluster:find(name) end

---The kinds of the devices.
---@return string[]
function cluster:kinds() end

---The link from one device to another, as a copy that `berth.cluster` takes.
---@param src integer device
---@param dst integer another device
---@return berth.Link
function cluster:route(src, dst) end

---Duration of a transfer that has the route to itself.
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
---@return number us math.huge if the kind cannot run it
function costs:op_us(op, kind) end

---Memory that an op needs while it runs.
---@param op integer
---@return number
function costs:workspace_bytes(op) end

---Writes a berth.costs/1 file.
---@param path string
---@param graph berth.Graph
---@param cluster berth.Cluster whose kinds they are for
function costs:save(path, graph, cluster) end

---Immutable groups of ops, in topological order if their graph is acyclic.
---@class berth.Groups: berth.Object
local groups = {}

---@return integer
function groups:count() end

---True if the graph of the groups has no cycle.
---@return boolean
function groups:acyclic() end

---The group of an op.
---@param op integer
---@return integer group
function groups:of(op) end

---The ops of a group, in topological order.
---@param group integer
---@return integer[] ops
function groups:members(group) end

---@param group integer
---@return berth.GroupEdge[]
function groups:in_edges(group) end

---@param group integer
---@return berth.GroupEdge[]
function groups:out_edges(group) end

---The device of every op, from the device of every group.
---@param device_of_group integer[]
---@return berth.Placement
function groups:expand(device_of_group) end

-- Problems and evaluators --------------------------------------------------------------------------

---An immutable problem.
---@class berth.Problem: berth.Object
local problem = {}

---What one should know of how it was made: device kinds without any costs, how many ops a file of
---costs measured.
---@return string[]
function problem:notes() end

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

---The same problem with other figures: its groups, constraints and options.
---@param costs berth.Costs
---@param cluster? berth.Cluster of the same devices; default: the problem's
---@return berth.Problem
function problem:with(costs, cluster) end

---Compute time of an op, without the device's per-op overhead.
---@param op integer
---@param device integer
---@return number us math.huge if the device cannot run it
function problem:cost_us(op, device) end

---Sum of cost_us over the ops of a group.
---@param group integer
---@param device integer
---@return number us math.huge if the device cannot run it
function problem:group_cost_us(group, device) end

---Whether a device can run all ops of a group.
---@param group integer
---@param device integer
---@return boolean
function problem:can_run(group, device) end

---@param group integer
---@return number
function problem:group_param_bytes(group) end

---What the constraints keep apart: groups of different parts must not share a device.
---@return integer[][][] separations an array of parts for each rule, a part an array of groups
function problem:separations() end

---Memory of a device after the constraints' margins; math.huge without a limit.
---@param device integer
---@return number bytes
function problem:memory_bytes(device) end

---Raises an error that names the op and the fix unless the placement is valid: it has a device per op
---that can run it, and keeps co-location. Memory is not checked; see `feasible` of an evaluation.
---@param placement berth.Placement
---@return berth.Problem
function problem:validate(placement) end

---Evaluates one placement.
---@param placement berth.Placement
---@return berth.Evaluation
function problem:evaluate(placement) end

---What a framework does by default: all that a device can run on it, and the rest on a host or, if no
---host can run it, on the device that computes it fastest. Memory is not checked.
---@param device integer
---@return berth.Placement
function problem:one_device(device) end

---The best of those placements; nil if none is feasible.
---@return berth.Single?
function problem:single() end

---The largest lower bound of the objective over all placements. For a graph of ten thousand ops the
---first call takes seconds; the problem keeps it. `policy:place` computes it for `outcome.bound_us`.
---@return number us
---@return string source the argument that gives it
function problem:bound() end

---All lower bounds, largest first; takes as long.
---@return { us: number, source: string }[]
function problem:bounds() end

---Everything that happens in one simulated step. In placeto semantics a transfer has no `dst`: it goes
---to all receivers. An element of the critical path has either `op` or `transfer`, an index into
---`transfers`.
---@param placement berth.Placement
---@return { runtime_us: number, op_start_us: number[], op_end_us: number[], transfers: { tensor: integer?, producer: integer, src: integer, dst: integer?, bytes: number, queued_us: number, start_us: number, end_us: number }[], devices: { busy_us: number, idle_us: number, peak_bytes: number, param_bytes: number, peak_us: number, peak_op: integer? }[], links: { src: integer, dst: integer?, bytes: number, transfers: integer, busy_us: number }[], critical_path: { op: integer?, transfer: integer?, start_us: number, end_us: number, reason: "start" | "input" | "device_busy" | "link_busy" }[] }
function problem:trace(placement) end

---What the step waits for. A stretch is a part of the critical path: ops that one device runs one after
---another, or a transfer (then `transfer` is an index into problem:trace's `transfers`, `device` the
---sender, and `first` the producer). The texts are those of `berth explain`.
---@class berth.Explanation
---@field runtime_us number
---@field gap string how far it is from the lower bound, and what the bound follows from
---@field waits string the shares of what the step waited for
---@field advice string what would make the placement better
---@field compute_us number of the critical path; with the next two the whole of it
---@field transfer_us number
---@field pause_us number overheads between two steps of the path
---@field contended_us number the part of compute_us in ops that waited for a busy device
---@field full_devices integer[] devices whose memory is nearly full, the fullest first
---@field stretches { device: integer, receiver: integer?, transfer: integer?, first: integer, last: integer?, ops: integer, start_us: number, end_us: number, waited_us: number }[]

---Why an op is where it is. `bound` names what keeps it there, `why` says so in words. An alternative is
---another device: why the op may not be there (`refused`), or what the step would be with it, and all ops
---that must share its device, there (`evaluation`; `group_evaluation` with all of its group).
---@class berth.OpExplanation
---@field op integer
---@field device integer
---@field together integer[] ops that must share its device, the op included
---@field rules string[] the constraints that are about them
---@field start_us number
---@field end_us number
---@field critical boolean
---@field runner_up integer? the best of the other devices that fits
---@field bound "constraint" | "memory" | "communication" | "contention" | "compute" | "order" | "nothing"
---@field why string
---@field alternatives { device: integer, refused: string?, evaluation: berth.Evaluation?, group_evaluation: berth.Evaluation? }[]

---Why the placement is as good as it is; with an op, why that is where it is.
---@param placement berth.Placement
---@param op? integer
---@return berth.Explanation | berth.OpExplanation
function problem:explain(placement, op) end

---Writes the step as an SVG: a row per device and per link, the critical path on top.
---@param path string
---@param placement berth.Placement
function problem:save_timeline(path, placement) end

---Writes the step as a Chrome trace, which Perfetto opens.
---@param path string
---@param placement berth.Placement
function problem:save_trace(path, placement) end

---Writes a page that shows the placement: graph, step, memory, transfers, constraints, and for an op
---where it is, why, and what elsewhere would cost. It needs no network. With `other` it shows both
---side by side, and what moved.
---@param path string
---@param placement berth.Placement
---@param other? berth.Placement
---@param labels? string[] what the two are called there; default: { "the first", "the second" }
function problem:save_report(path, placement, other, labels) end

---Writes the placement in another tool's form; what the tool cannot express is an error.
---@param format "csv" | "deepspeed" | "device_map" | "graphviz" | "llama.cpp" | "onnx-mlir" | "onnxruntime" | "openvino" | "torch-pipelining" | "vllm"
---@param path string
---@param placement berth.Placement
function problem:save_plan(format, path, placement) end

---Writes a berth.placement/1 file with its evaluation and the problem's settings, which the commands
---that read it take: machine, objective, rules. What the graph was loaded with is not among them.
---@param path string
---@param placement berth.Placement
---@param provenance? { policy: string, seed?: integer, options?: table<string, boolean | number | string> }
function problem:save_placement(path, placement, provenance) end

---Reads a berth.placement/1 file of this graph and cluster.
---@param path string
---@return berth.Placement
function problem:load_placement(path) end

---A random division of the problem's groups into about `count`, none of which is on two devices of the
---placement: what a learned policy with the option `neighbourhood` decides next around its best
---placement. A problem with these groups trains it for that.
---@param placement berth.Placement
---@param count integer
---@param seed integer
---@return berth.Groups
function problem:neighbourhood(placement, count, seed) end

---Turns placements into evaluations. Made by `berth.evaluator`, or lent to a Lua policy.
---@class berth.Evaluator: berth.Object
local evaluator = {}

---@return berth.Problem
function evaluator:problem() end

---Whether it executes placements, so that no two figures of one are alike; else it simulates.
---@return boolean
function evaluator:measures() end

---Number of placements evaluated so far.
---@return integer
function evaluator:evaluations() end

---Ops whose run was simulated for them, and for estimates by smaller steps; 0 if runtimes are
---measured.
---@return integer
function evaluator:simulated_ops() end

---@param placement berth.Placement
---@return berth.Evaluation
function evaluator:evaluate(placement) end

---Evaluates into a table that an earlier call returned, or an empty one. With a used table, nothing is
---allocated.
---@param result table
---@param placement berth.Placement
---@return berth.Evaluation result the same table
function evaluator:evaluate_into(result, placement) end

---Evaluates many placements at once, on all threads of the evaluator.
---@param placements berth.Placement[]
---@return berth.Evaluation[]
function evaluator:batch(placements) end

---The placement of the ops with these devices of groups, after the moves that device kinds, constraints
---and memory force; a valid one stays as it is. An error where nothing fits.
---@param devices integer[] by group
---@param options? { memory?: boolean } memory = false: kinds and constraints alone
---@return berth.Placement
function evaluator:repair(devices, options) end

-- Execution ----------------------------------------------------------------------------------------

---A placement that is kept evaluated, and what moves away from it would cost: the inner step of a local
---search, many times as fast as evaluating whole placements, and to the same figures. It simulates.
---The caller keeps co-location and separations: problem:validate checks a placement.
---@class berth.Moves: berth.Object
local moves = {}

---For the problem. From the evaluator that a policy was given, it counts as that evaluator's work.
---@param problem berth.Problem | berth.Evaluator
---@return berth.Moves
function berth.moves(problem) end

---Evaluates a placement in full and keeps it.
---@param placement berth.Placement
---@return berth.Moves self
function moves:reset(placement) end

---The figures with one op moved, or several at once: arrays of ops and of their devices, or of ops and
---the device of all. Nothing is changed. With a cutoff it stops as soon as the objective is proven to be
---no better than that: then `rejected` is true and the objective a lower bound.
---@param op integer | integer[]
---@param device integer | integer[]
---@param cutoff_us? number
---@return number objective_us
---@return integer excess_bytes of the most overfull device; 0: it fits
---@return boolean rejected
function moves:propose(op, device, cutoff_us) end

---The same with all ops of a group on the device.
---@param group integer
---@param device integer
---@param cutoff_us? number
---@return number objective_us
---@return integer excess_bytes
---@return boolean rejected
function moves:propose_group(group, device, cutoff_us) end

---Keeps what was proposed last.
---@return berth.Moves self
function moves:accept() end

---Of the kept placement, like all that follow.
---@return number
function moves:objective_us() end

---@return integer
function moves:excess_bytes() end

---@return boolean
function moves:feasible() end

---Of the objective throughput, the load of every device under what was proposed last; empty for latency.
---@return number[]
function moves:loads_us() end

---@return berth.Placement
function moves:placement() end

---@param op integer
---@return integer device
function moves:device(op) end

---What all calls so far have taken.
---@return integer evaluations placements judged
---@return integer simulated_ops
function moves:work() end

---A model that can be executed. Made by `berth.program`.
---@class berth.Program: berth.Object
local program = {}

---@return berth.Graph
function program:graph() end

---Devices of this machine that execute programs. Made by `berth.backend`.
---@class berth.Backend: berth.Object
local backend = {}

---Its devices and links, with nominal figures. `session:profile` measures real ones.
---@return berth.Cluster
function backend:cluster() end

---The machine in one line.
---@return string
function backend:description() end

---The ops that it cannot execute, with the reasons.
---@param program berth.Program
---@return { op: integer, reason: string }[]
function backend:cannot_run(program) end

---Loads a program on the devices. `seed` draws the parameters that the file does not hold. With a
---problem, ready ops are scheduled as in its simulation.
---@param program berth.Program
---@param options? { seed?: integer, problem?: berth.Problem }
---@return berth.Session
function backend:open(program, options) end

---A program on the devices of a backend. Made by `backend:open`.
---@class berth.Session: berth.Object
local session = {}

---Measures every op on one device of each kind, and every link. The results are for `berth.problem`.
---@param options? { warm_up?: integer, repeats?: integer, seed?: integer } defaults: 3, 10, 0
---@return berth.Costs costs
---@return berth.Cluster cluster
function session:profile(options) end

---Executes a placement: `warm_up` steps (default 5), then `repeats` steps that count (default 5), and
---more of them until the mean is known to the share `precision` with 95 % confidence (default 0: none;
---1,000 at most). `interval_us` is half of that interval, `notes` are reasons to doubt the figures. The
---trace (as from `problem:trace`) is that of the step nearest to the median.
---@param placement berth.Placement
---@param options? { warm_up?: integer, repeats?: integer, precision?: number, seed?: integer }
---@return { mean_us: number, median_us: number, deviation_us: number, interval_us: number, notes: string[], min_us: number, max_us: number, steps_us: number[], peak_bytes: integer[], trace: table }
function session:measure(placement, options) end

---Checks that the outputs under a placement are those of one device, and that every op ran where it was
---placed.
---@param placement berth.Placement
---@param options? { relative_tolerance?: number, absolute_tolerance?: number, seed?: integer }
---@return boolean verified
---@return string[] differences
function session:verify(placement, options) end

-- Policies -----------------------------------------------------------------------------------------

---Finds placements. Made by `berth.policy`.
---@class berth.Policy: berth.Object
local policy = {}

---@return string
function policy:name() end

---The options that it was made with.
---@return table<string, boolean | number | string>
function policy:options() end

---Finds a placement, checks it and evaluates it. `initial` are placements to start from; only some
---policies use them (auto does). `budget_s` is in seconds. `evaluator` must be one of this problem.
---`threads` bounds the policy's own (default 0 = one per core); an evaluator has its bound from its making.
---`progress` is not called for reports from a policy's own threads.
---@param problem berth.Problem
---@param options? { seed?: integer, budget_s?: number, threads?: integer, evaluator?: berth.Evaluator, initial?: berth.Placement[], progress?: fun(best_us: number, text: string) }
---@return berth.Placement
---@return berth.Outcome
function policy:place(problem, options) end

---Whether it has weights that learn. Only such policies have the methods below.
---@return boolean
function policy:learns() end

---Samples `samples` episodes (default 1) for each problem, all together, and measures them.
---
---`seed` is the only source of randomness. `greedy` takes the most likely device every time. `epsilon`
---is the probability of a uniform draw. `noise` is the standard deviation of noise on the logits of
---policies that place a sequence, in units of the logits' root mean square.
---
---For policies that place one group per step, `traversal` is "topological", "reverse", "breadth_first",
---"depth_first" or "random". `initial` says where episodes start: "random", "shared" (one random
---placement for all samples of a problem), "zero", "single" (all on
---the best device), "contiguous" (one run of groups per fast device), "earliest" (list scheduling in
---topological order), or for every problem an array of placements, taken in turn.
---
---`evaluators`, one per problem, replace the problems' own simulations. `into` is a rollout to reuse.
---@param problems berth.Problem | berth.Problem[]
---@param options? { samples?: integer, seed?: integer, greedy?: boolean, epsilon?: number, noise?: number, traversal?: string, initial?: string | berth.Placement[][], evaluators?: berth.Evaluator[], into?: berth.Rollout }
---@return berth.Rollout
function policy:rollout(problems, options) end

---One step of Adam to increase the sum over decisions of advantage * log(probability) +
---entropy_weight * entropy. `advantages` has one entry for every decision of every episode, in order.
---`learning_rate` defaults to 1e-3. `max_norm` clips the gradient (default 1.25; 0 = no clipping).
---@param rollout berth.Rollout of this policy, from before the weights changed
---@param advantages number[]
---@param options? { learning_rate?: number, entropy_weight?: number, max_norm?: number }
---@return { loss: number, entropy: number, gradient_norm: number } report with the gradient's norm before clipping
function policy:update(rollout, advantages, options) end

---Saves the weights, the optimizer's state and a note of the caller's. The file is written completely
---or not at all.
---@param path string
---@param note? string
function policy:save(path, note) end

---Loads everything that was saved. Raises an error for a file that is damaged or of another policy,
---version or shape.
---@param path string
---@return string note
function policy:load(path) end

---Number of trained values; 0 before the first problem is seen.
---@return integer
function policy:parameters() end

---Makes the weights for such problems, where there are none yet. Nothing, where the policy makes its weights
---otherwise.
---@param problems berth.Problem | berth.Problem[]
function policy:prepare(problems) end

---The weights without the optimiser's state: the bytes of single-precision numbers, in an order that
---policies of the same options and problems share.
---@return string
function policy:weights() end

---Replaces the weights, and leaves the optimiser as it is. Rollouts before it teach nothing any more.
---@param weights string of `policy:weights`
function policy:set_weights(weights) end

---The gradient that `policy:update` would follow, for `policy:step` here or elsewhere.
---@param rollout berth.Rollout
---@param advantages number[]
---@param options? { learning_rate?: number, entropy_weight?: number, max_norm?: number }
---@return string gradient its bytes, in the order of the weights
---@return { loss: number, entropy: number, gradient_norm: number } report without the norm
function policy:gradient(rollout, advantages, options) end

---The rest of `policy:update`: clips the gradient and takes a step of Adam.
---@param gradient string of `policy:gradient`
---@param options? { learning_rate?: number, entropy_weight?: number, max_norm?: number }
---@return number norm before clipping
function policy:step(gradient, options) end

---What processes exchange that train such a policy together: "gradients" (`policy:gradient`, `policy:step`), or
---"episodes" (`policy:pack`, `policy:learn`) where its `update` is more than a step by a gradient.
---@return "gradients" | "episodes"
function policy:exchanges() end

---What `policy:update` would learn from, for `policy:learn` here or elsewhere.
---@param rollout berth.Rollout
---@param advantages number[]
---@return string
function policy:pack(rollout, advantages) end

---One update by all that was packed, wherever that was.
---@param packed string[] of `policy:pack`
---@param problems berth.Problem[][] those of each rollout
---@param options? { learning_rate?: number, entropy_weight?: number, max_norm?: number }
---@return { loss: number, entropy: number, gradient_norm: number } report
function policy:learn(packed, problems, options) end

---Episodes that a policy sampled, with their measurements. Made by `policy:rollout`.
---@class berth.Rollout: berth.Object
local rollout = {}

---Number of episodes.
---@return integer count
function rollout:episodes() end

---Number of decisions of an episode; 1 for policies that decide a whole placement at once.
---@param episode integer
---@return integer
function rollout:steps(episode) end

---The same for episodes of a problem that began with one placement; 0 where nothing is placed before the
---first decision.
---@param episode integer
---@return integer
function rollout:start(episode) end

---Number of placements that were measured for an episode.
---@param episode integer
---@return integer
function rollout:measured(episode) end

---The problem of an episode, as an index into the problems of the call.
---@param episode integer
---@return integer problem
function rollout:problem(episode) end

---The measurement after a step; step 0 is before the first. If the policy decides a whole placement at
---once, step 0 is that of the best single device. `result` is a table to reuse.
---@param episode integer
---@param step integer 0 .. steps
---@param result? table
---@return berth.Evaluation
function rollout:evaluation(episode, step, result) end

---The best placement among an episode's states: feasible ones first, then by objective.
---@param episode integer
---@return berth.Placement
---@return berth.Evaluation
function rollout:best(episode) end

---Only the measurement of the best placement. `result` is a table to reuse.
---@param episode integer
---@param result? table
---@return berth.Evaluation
function rollout:best_evaluation(episode, result) end

---The last placement of an episode.
---@param episode integer
---@return berth.Placement
---@return berth.Evaluation
function rollout:last(episode) end

---Whether returns, the sums of rewards from a decision on, teach anything: false where episodes of a problem that ended
---with different objectives have the same ones, as under a reward with a clamp that all of them exceed, and no problem's
---episodes differ.
---@param returns number[] one entry for every decision of every episode, in order
---@return boolean
function rollout:tells_apart(returns) end

---Entropy of the policy's distribution at a decision, in nats. What `epsilon` mixes into the draws is not counted.
---@param episode integer
---@param step integer 1 .. steps
---@return number
function rollout:entropy(episode, step) end

---Logarithm of the policy's probability of the device that was chosen, also where `epsilon` chose it.
---@param episode integer
---@param step integer 1 .. steps
---@return number
function rollout:log_probability(episode, step) end

---What a Lua policy is given for one call. It ends with the call.
---@class berth.Context: berth.Object
local context = {}

---The only source of randomness; exact below 2^53.
---@return integer
function context:seed() end

---A generator made from the seed.
---@return berth.Random
function context:random() end

---All options that the policy declared, with their values or defaults.
---@return table<string, boolean | number | string>
function context:options() end

---Whether to return the best placement so far now: the budget is used up, or the user asked to stop. A policy
---that does not ask is ended by its evaluator some seconds later; the best that it evaluated is then its answer.
---@return boolean
function context:should_stop() end

---Placements to start from: `initial` of policy:place. Empty if none were given.
---@return berth.Placement[]
function context:initial() end

---Reports progress.
---@param best_us number the best objective so far, of a placement that fits
---@param text? string
function context:progress(best_us, text) end

---Adds a note to the outcome: something a user should know about the placement.
---@param text string a sentence without a full stop
function context:note(text) end

---Says that the policy has proven a lower bound of the objective, for all feasible placements of ops
---and not only of its groups. The largest counts. `policy:place` refuses a bound above its own answer.
---@param bound_us number
---@param source string the argument that gives it
function context:prove(bound_us, source) end

---A seeded generator of random numbers. Made by `berth.random`.
---@class berth.Random: berth.Object
local random = {}

---Uniform in [0, 1).
---@return number
function random:uniform() end

---Uniform in 1 .. most.
---@param most integer
---@return integer
function random:integer(most) end

---A generator for an independent stream.
---@return berth.Random
function random:split() end


---@class berth.Environment
local environment = {}

---Starts new episodes. The first `samples` are those of the first problem, and so on.
---@param options? { samples?: integer, seed?: integer, traversal?: string, initial?: string | berth.Placement[][] }
---`initial` as of `policy:rollout`: "random" (the default), "shared", "zero", "single", "contiguous", "earliest",
---or for every problem an array of placements
---@return berth.Environment self
function environment:reset(options) end

---Moves the current group of every episode that is not done to its device, and measures.
---@param devices integer[] by episode
---@return boolean done
function environment:step(devices) end

---@return boolean done whether every episode has visited all of its groups
function environment:done() end

---@return integer count
function environment:episodes() end

---The evaluation of an episode's state.
---@param episode integer
---@param result? table to fill instead of a new one
---@return berth.Evaluation
function environment:evaluation(episode, result) end

---The device of every op in an episode's state.
---@param episode integer
---@return berth.Placement
function environment:placement(episode) end

---@return integer count
function environment:problem_count() end

---@param index? integer default 1
---@return berth.Problem
function environment:problem(index) end

---What is seen of the episodes of a problem; every step writes it anew. `torch.observe` makes tensors of
---it without copying.
---@param index? integer of the problem; default 1
---@return berth.Observation
function environment:observation(index) end

---@class berth.Observation
local observation = {}

---An array for LuaJIT's FFI, valid as long as this object: "groups" [episodes, groups, features],
---"devices" [episodes, devices, features], "able" [groups, devices] (which can run which), "allowed" [episodes,
---devices] (the same of the current group), "current" [episodes],
---"placement" [episodes, groups], "objective_us", "excess_bytes" [episodes], "alternatives" [episodes,
---devices] (the objective with the current group there; infinite where it is not looked at, or more than 1.1 times as
---long as now).
---@param name string
---@return lightuserdata address
---@return string type of a value, in C
---@return integer[] shape
function observation:view(name) end

return berth
