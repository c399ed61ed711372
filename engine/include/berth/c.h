/**
 * @file
 * Berth for programs in any language: C11, no exceptions, an ABI that lasts.
 *
 * **What lasts.** A program that was compiled against one version of this header runs with every
 * later library of the same soname (libberth_c.so.1). Functions and constants are only added.
 * Structs that are passed in begin with their size and are only appended to: set `size`, zero the
 * rest, fill in what you need. The initialisers BERTH_..._INIT do the first two. A struct of a later
 * header works with an earlier library as long as what that does not know is zero.
 *
 * **Failures.** A function that can fail returns a status. Anything but BERTH_OK leaves its outputs
 * as they were, and berth_message() says what happened, where, and how to fix it. The message is of
 * the calling thread and stays until its next call that fails. Nothing throws, prints or exits.
 *
 * **Texts** are UTF-8, a pointer and a length, and need no 0 at their end. As arguments they are used
 * during the call only. A text that is given out stays valid until the same thread asks for another
 * text, unless a comment says more; each has a 0 behind its end.
 *
 * **Objects** are opaque. Whoever is given one owns it and ends that with berth_release. Objects keep
 * alive what they were made from, so that they may be released in any order. A null object is
 * BERTH_INVALID_ARGUMENT. An object that was released, or is of another type, is undefined
 * behaviour; a library that was built without NDEBUG tells it in words.
 *
 * **Threads.** Different objects may be used on different threads at the same time. Engines, graphs,
 * clusters, problems and results may be shared: any number of threads may use one. A builder is for
 * one thread at a time, and so are an environment and an evaluator, which refuse a second one
 * (BERTH_INVALID_ARGUMENT). Callbacks are called on the thread that made the call, before it returns,
 * and may call everything here except on the builder or the search that called them. They must
 * not throw, and must return: longjmp out of them is undefined. Policies of other plugins may ask
 * `should_stop` on threads of their own.
 *
 * **Units.** Times are microseconds, sizes bytes. Ids are dense, from 0; -1 is none.
 */
#ifndef BERTH_C_H
#define BERTH_C_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define BERTH_C_API __attribute__((visibility("default")))
#else
#define BERTH_C_API
#endif

/** Raised with every addition. berth_abi() is that of the library. */
#define BERTH_C_ABI 5

typedef int32_t berth_status;
enum {
  BERTH_OK = 0,
  BERTH_INVALID_ARGUMENT = 1, /**< a value out of range, an unknown name or option, a null object */
  BERTH_INVALID_GRAPH = 2,    /**< a cycle, duplicate names, bad sizes */
  BERTH_INVALID_FILE = 3,     /**< the content of a file or text breaks the rules of its format */
  BERTH_NOT_FOUND = 4,        /**< a file, plugin or preset does not exist */
  BERTH_IO = 5,               /**< the system refused a read or a write */
  BERTH_UNSUPPORTED = 6,      /**< understood, but this part cannot do it */
  BERTH_INCOMPATIBLE = 7,     /**< a plugin of another ABI */
  BERTH_INFEASIBLE = 8,       /**< no placement satisfies memory, device kinds and constraints */
  BERTH_CANCELLED = 9,        /**< stopped on request before there was a result */
  BERTH_OUT_OF_MEMORY = 10,   /**< a device cannot hold what it was asked to execute */
  BERTH_EXECUTION = 11,       /**< an op failed on a device */
  BERTH_NO_HOST_MEMORY = 12,  /**< this process has no memory left */
  BERTH_INTERNAL = 13,        /**< a defect of Berth's or of a plugin's; please report it */
  BERTH_CALLBACK = 14         /**< a callback of yours said that it failed */
};

typedef struct berth_text {
  const char* data; /**< may be null where size is 0 */
  size_t size;
} berth_text;
/** A literal. */
#ifdef __cplusplus
#define BERTH_TEXT(literal) (berth_text{"" literal, sizeof(literal) - 1})
#else
#define BERTH_TEXT(literal) ((berth_text){"" literal, sizeof(literal) - 1})
#endif
/** The same where static data are initialised. Since 2. */
#define BERTH_TEXT_INIT(literal) \
  { "" literal, sizeof(literal) - 1 }

typedef struct berth_engine berth_engine;
typedef struct berth_builder berth_builder;
typedef struct berth_graph berth_graph;
typedef struct berth_cluster berth_cluster;
typedef struct berth_problem berth_problem;
typedef struct berth_result berth_result;

/** Numbers of an object of the library, since 3. They are its own, valid as long as it unless a
 *  comment says more, and nobody writes there. Rows lie one behind the other. */
typedef struct berth_array {
  size_t size; /**< set by the caller */
  const void* data;
  berth_text dtype; /**< "f32", "f64", "i32", "i64", "u8" */
  int32_t rank;     /**< 1 to 3; shape is 1 behind that */
  int64_t shape[3];
} berth_array;
#define BERTH_ARRAY_INIT                 \
  {                                      \
    sizeof(berth_array), 0, {0, 0}, 0, { \
      0, 0, 0                            \
    }                                    \
  }

/** BERTH_C_ABI of the library that runs. */
BERTH_C_API uint32_t berth_abi(void);
/** Its version, such as "0.1.0". Valid for ever. */
BERTH_C_API berth_text berth_version(void);
/** Why the last call on this thread that failed did so. Empty before the first. */
BERTH_C_API berth_text berth_message(void);
/** Ends the caller's ownership of any object of this header. Null is allowed. */
BERTH_C_API void berth_release(void* object);

/* --- Engine ------------------------------------------------------------------------------------*/

typedef struct berth_engine_options {
  size_t size;
  /** The settings of the program (berth.settings/1): JSON text, which begins with '{', or the name
   *  of a file. What BERTH_CONFIG names is stronger, unless no_environment. Empty = none. */
  berth_text settings;
  int32_t no_environment; /**< not 0 = BERTH_CONFIG is not read */
  /** Where plugins are looked for, instead of the settings' folders. 0 of them = those; where they
   *  name none either, lib/berth beside the library, then BERTH_PLUGIN_PATH. */
  const berth_text* plugin_folders;
  size_t plugin_folder_count;
  /** Settings that are stronger than BERTH_CONFIG: what a user said to the program. JSON text or a
   *  file's name; empty = none. Since 3. */
  berth_text overrides;
} berth_engine_options;
#define BERTH_ENGINE_OPTIONS_INIT                    \
  {                                                  \
    sizeof(berth_engine_options), {0, 0}, 0, 0, 0, { \
      0, 0                                           \
    }                                                \
  }

/** Finds plugins and keeps the settings. `options` null = none. */
BERTH_C_API berth_status berth_engine_new(const berth_engine_options* options, berth_engine** out);
/** What is in force, one JSON object: "settings" by key, each with its "value" and where it comes
 *  "from"; "plugins", each with kind, name, version, description and options; "problems". Opens all
 *  plugins. */
BERTH_C_API berth_status berth_engine_describe(berth_engine* engine, berth_text* json);
/** The value of one setting that is in force, as JSON text, as berth_engine_describe has it; empty where nothing says it.
 *  Opens no plugin. Since 5. */
BERTH_C_API berth_status berth_engine_setting(berth_engine* engine, berth_text key,
                                              berth_text* json);

/* --- Graph -------------------------------------------------------------------------------------*/

/** Element types by their names: "f32", "bf16", "i64", "bool", ... */
typedef struct berth_tensor {
  size_t size;
  berth_text name;      /**< for messages; may be empty */
  berth_text dtype;     /**< empty = not known */
  const int64_t* shape; /**< -1 = a dimension that is not known */
  int32_t rank;         /**< -1 = no shape is known; 64 at most */
  int64_t bytes;        /**< -1 = from dtype and shape */
} berth_tensor;
#define BERTH_TENSOR_INIT \
  { sizeof(berth_tensor), {0, 0}, {0, 0}, 0, -1, -1 }

/** The work of one execution of an op, for the roofline model. */
typedef struct berth_work {
  size_t size;
  double flops;    /**< a fused multiply-add counts as two */
  double bytes;    /**< read and written, parameters included */
  double launches; /**< kernels; the device's overhead is paid for each. Usually 1 */
  /** "none", "convolution", "pointwise_convolution", "grouped_convolution",
   *  "depthwise_convolution", "matmul", "attention", "recurrent", "normalization", "pooling",
   *  "reduction", "elementwise", "data_movement", "other". Empty = "other". */
  berth_text op_class;
  berth_text dtype; /**< in which the arithmetic runs; empty = f32 */
  /** Held while the op runs, besides its inputs and outputs: of an op with a body what that makes.
   *  At most 1e18. */
  double workspace_bytes;
} berth_work;
#define BERTH_WORK_INIT \
  { sizeof(berth_work), 0, 0, 1, {0, 0}, {0, 0}, 0 }

typedef struct berth_op_hints {
  size_t size;
  berth_text colocation;       /**< ops with the same text share a device */
  berth_text requested_device; /**< for constraints that respect it */
  /** Of weights beside the parameters that the op reads. Unless its work is stated, or its type's rule reads a part of
   *  them (as Gather), each step reads them all. */
  int64_t param_bytes;
} berth_op_hints;
#define BERTH_OP_HINTS_INIT \
  { sizeof(berth_op_hints), {0, 0}, {0, 0}, 0 }

/** `dialect` says what op types mean: "onnx", "tf", "mlir" (stablehlo.add, linalg.matmul, ...), or
 *  "" where it does not matter. */
BERTH_C_API berth_status berth_builder_new(berth_text name, berth_text dialect,
                                           berth_builder** out);
BERTH_C_API berth_status berth_builder_op(berth_builder* builder, berth_text name, berth_text type,
                                          int32_t* op);
/** The op's next output. */
BERTH_C_API berth_status berth_builder_output(berth_builder* builder, int32_t op,
                                              const berth_tensor* tensor, int32_t* out);
/** A tensor that no op gives: a weight, which resides where its readers run. */
BERTH_C_API berth_status berth_builder_parameter(berth_builder* builder, const berth_tensor* tensor,
                                                 int32_t* out);
/** The op's next input; -1 = one that is left out. */
BERTH_C_API berth_status berth_builder_input(berth_builder* builder, int32_t op, int32_t tensor);
/** `op` waits for `before`, without data. */
BERTH_C_API berth_status berth_builder_after(berth_builder* builder, int32_t op, int32_t before);
/** Compute time on the devices of a kind; empty = any kind. An op that has a cost for other kinds
 *  only cannot run on this one. */
BERTH_C_API berth_status berth_builder_cost(berth_builder* builder, int32_t op, berth_text kind,
                                            double us);
BERTH_C_API berth_status berth_builder_work(berth_builder* builder, int32_t op,
                                            const berth_work* work);
BERTH_C_API berth_status berth_builder_hints(berth_builder* builder, int32_t op,
                                             const berth_op_hints* hints);
/** Attributes that work rules ask for: lists of whole numbers (one is a list too), or a text where
 *  `numbers` is null. "body_types", of an op with a body whose work you sum and state: the types in it, with commas
 *  between, so that a note names those without a work rule. "view", 1, of the dialect "berth": the op copies nothing, as a reshape; its
 *  outputs take no memory, and what it reads stays on its device as long as they do. */
BERTH_C_API berth_status berth_builder_attribute(berth_builder* builder, int32_t op,
                                                 berth_text name, const int64_t* numbers,
                                                 size_t count, berth_text text);
/** Many ops with one output each, from arrays of `count`; the first op's id is given out. A null
 *  array = nothing is known. `cost_us` holds for any kind of device, `param_bytes` as in berth_op_hints. All are checked
 *  before any is added. */
BERTH_C_API berth_status berth_builder_ops(berth_builder* builder, size_t count,
                                           const berth_text* names, const berth_text* types,
                                           const double* cost_us, const int64_t* output_bytes,
                                           const int64_t* param_bytes, int32_t* first);
/** Many edges: `dst[i]` reads the first output of `src[i]`. All are checked before any is added. */
BERTH_C_API berth_status berth_builder_edges(berth_builder* builder, size_t count,
                                             const int32_t* src, const int32_t* dst);
/** The step returns the tensor, which lives to its end. Where nothing is named, what ops without
 *  readers give is returned. */
BERTH_C_API berth_status berth_builder_result(berth_builder* builder, int32_t tensor);
/** `tensor` is what the next step finds in `input`, an op of the type "Input": both are on one device. A
 *  result no larger takes the input's place in memory, and so does one that its kernel appends to. */
BERTH_C_API berth_status berth_builder_state(berth_builder* builder, int32_t tensor, int32_t input);
/** The op gives the same outputs for the same inputs and does nothing else; of the dialects above that
 *  is known. */
BERTH_C_API berth_status berth_builder_pure(berth_builder* builder, int32_t op);
/** Ops that depend on parameters alone stay in the step. Otherwise they are constants of it: pure ops
 *  that read nothing else take no time, and what they give resides where it is read. */
BERTH_C_API berth_status berth_builder_no_fold(berth_builder* builder);
/** Checks and freezes the graph. The builder is empty afterwards, whatever the outcome, for another graph of the same
 *  name and dialect. */
BERTH_C_API berth_status berth_builder_finish(berth_builder* builder, berth_graph** out);

/** A model file that a frontend knows, or a .graph.json. */
BERTH_C_API berth_status berth_graph_load(berth_engine* engine, berth_text path, berth_graph** out);
/** Number of ops; 0 for null. */
BERTH_C_API int32_t berth_graph_op_count(const berth_graph* graph);
/** Valid as long as the graph. */
BERTH_C_API berth_status berth_graph_op_name(const berth_graph* graph, int32_t op,
                                             berth_text* name);
/** The work as it is stated, else by the rule of the op's type, else by its bytes. `work->size` is
 *  the caller's; its texts are valid for ever. */
BERTH_C_API berth_status berth_graph_op_work(const berth_graph* graph, int32_t op,
                                             berth_work* work);

/* --- Cluster -----------------------------------------------------------------------------------*/

/** JSON text of berth.cluster/1, which begins with '{'; a file's name, with a '/' or a '.'; words such as
 *  "rtx4090+rtx4060"; a preset such as "k80x4"; or "here", this machine, which a process looks at once, for a
 *  fraction of a second. Empty = as the engine's settings say; `engine` may be null otherwise. */
BERTH_C_API berth_status berth_cluster_new(berth_engine* engine, berth_text description,
                                           berth_cluster** out);
/** 0 for null. */
BERTH_C_API int32_t berth_cluster_device_count(const berth_cluster* cluster);
/** Valid as long as the cluster. `kind` may be null. */
BERTH_C_API berth_status berth_cluster_device(const berth_cluster* cluster, int32_t device,
                                              berth_text* name, berth_text* kind);

/* --- Problem -----------------------------------------------------------------------------------*/

typedef struct berth_problem_options {
  size_t size;
  /* Each of these: empty or 0 = as the engine's settings say. */
  berth_text objective; /**< "latency", "throughput" */
  berth_text semantics; /**< "dataflow", "placeto" */
  berth_text costs;     /**< "stated", "roofline", or a file */
  berth_text grouping;  /**< "colocation", "icml2017", "placeto", "balanced" */
  int32_t group_count;
  /** A JSON list of rules, as "constraints" of berth.settings/1; those of the settings hold too. */
  berth_text constraints;
  /** Asked for every op and device kind, in order. `us` holds Berth's own estimate: leave it, or set
   *  your cost; INFINITY = devices of this kind cannot run the op. Anything but BERTH_OK ends the
   *  call with BERTH_CALLBACK. Null = Berth's own. */
  berth_status (*cost)(void* user, int32_t op, berth_text kind, double* us);
  void* user;
} berth_problem_options;
#define BERTH_PROBLEM_OPTIONS_INIT \
  { sizeof(berth_problem_options), {0, 0}, {0, 0}, {0, 0}, {0, 0}, 0, {0, 0}, 0, 0 }

/** `options` null = as the engine's settings say. Settings that say how a model is loaded, such as "dims" and
 *  "op_rules", are BERTH_UNSUPPORTED with a graph that was not loaded with them. */
BERTH_C_API berth_status berth_problem_new(berth_engine* engine, const berth_graph* graph,
                                           const berth_cluster* cluster,
                                           const berth_problem_options* options,
                                           berth_problem** out);

/** Facts of the problem, by name, since 3; a list of the names is in the message for one that is none.
 *  "groups": i32 [ops], the group of each op. "cost_us": f64 [groups, devices], compute time, infinite
 *  where it cannot be. "param_bytes": i64 [groups], what stays through the step or to its end: parameters,
 *  and inputs and results that last. "memory_bytes": i64 [devices], INT64_MAX = no limit.
 *  "edges": i32 [edges, 2], sender and receiver; "edge_bytes": i64 [edges]. */
BERTH_C_API berth_status berth_problem_array(const berth_problem* problem, berth_text name,
                                             berth_array* array);
/** Reads berth.placement/1, JSON text, into the devices of `count` ops. Since 3. */
BERTH_C_API berth_status berth_problem_read(const berth_problem* problem, berth_text placement,
                                            int32_t* devices, size_t count);

/* --- Placing -----------------------------------------------------------------------------------*/

typedef struct berth_option {
  berth_text name;
  berth_text value; /**< as a user writes it: "8", "true", "1e-3" */
} berth_option;

typedef struct berth_place_options {
  size_t size;
  /* Each of these: empty, 0 or negative as said = as the engine's settings say. */
  berth_text policy;           /**< empty everywhere = "auto" */
  const berth_option* options; /**< of the policy, each once */
  size_t option_count;
  const berth_text* fallbacks; /**< policies to ask in order where one fails or gives up */
  size_t fallback_count;
  double budget_s; /**< negative = the settings'; INFINITY = none. Not deterministic */
  int64_t moves;   /**< of policies that count them: a limit that is deterministic. 0 = settings' */
  int64_t seed;    /**< negative = the settings', else 0. The only source of randomness */
  int32_t threads; /**< of evaluator and policy; 0 = the settings', else one per core */
  /** A placement to start from, a device for every op; null = none. A policy may ignore it. */
  const int32_t* initial;
  /** Not 0 = end now with the best so far. Asked again and again; null = never. */
  int32_t (*should_stop)(void* user);
  /** The best objective so far, and what the policy does. Null = nobody looks. */
  void (*progress)(void* user, double best_us, berth_text text);
  void* user;
  /** How much work the bound of the result is worth: "strong" (about a second for 10,000 ops),
   *  "quick", "none". Since 2. */
  berth_text bound;
  /** `should_stop` is asked at most once in so many seconds, for callers whose answer is dear, as an
   *  interpreter's; 0 = whenever the policy asks. Since 3. */
  double ask_every_s;
} berth_place_options;
#define BERTH_PLACE_OPTIONS_INIT \
  { sizeof(berth_place_options), {0, 0}, 0, 0, 0, 0, -1, 0, -1, 0, 0, 0, 0, 0, {0, 0}, 0 }

/** Places by one policy, or by its fallbacks. A result may not fit in memory: see
 *  berth_summary.feasible. `options` null = as the engine's settings say. */
BERTH_C_API berth_status berth_place(berth_engine* engine, const berth_problem* problem,
                                     const berth_place_options* options, berth_result** out);
/** Places by each of `count` policies with its default options; all else by `options`. `results` and
 *  `statuses` have `count` entries: a policy that failed has a null result, and its message in
 *  `messages`, one per line ("name: message"), which may be null. */
BERTH_C_API berth_status berth_compare(berth_engine* engine, const berth_problem* problem,
                                       const berth_text* policies, size_t count,
                                       const berth_place_options* options, berth_result** results,
                                       berth_status* statuses, berth_text* messages);
/** Shares the batch of a training step among replicas, since 4. `path` is the model's file, which is
 *  loaded at the sizes that shares ask for, with the engine's settings (its batch is the setting "batch");
 *  `cluster` is a preset's name or a file; `plan` is "auto", a number of equal replicas, or
 *  "gpu:0=27,gpu:1+gpu:2=37". The ops of the result are those of all replicas, "replica_0/...". With "auto" it
 *  may be of the plain step, where that is faster; then it has no BERTH_TEXT_REPLICAS. `options` have
 *  no initial placement. */
BERTH_C_API berth_status berth_replicate(berth_engine* engine, berth_text path, berth_text cluster,
                                         berth_text plan, const berth_place_options* options,
                                         berth_result** out);
/** A placement and its figures: a device for every op. Its bound is as the settings say with which the
 *  problem was made. */
BERTH_C_API berth_status berth_evaluate(const berth_problem* problem, const int32_t* devices,
                                        size_t count, berth_result** out);

/* --- Results -----------------------------------------------------------------------------------*/

enum {                          /* berth_summary.end */
       BERTH_END_DONE = 0,      /**< the policy did everything it does */
       BERTH_END_PROVEN = 1,    /**< no placement is better */
       BERTH_END_BUDGET = 2,    /**< the time, or another limit, was used up */
       BERTH_END_CANCELLED = 3, /**< should_stop said so */
       BERTH_END_GAVE_UP = 4    /**< the policy cannot search such a problem; the notes say why */
};

/** berth_summary.whose: the best placement that a policy which learns saw. berth_place gives that one, to
 *  use it; berth_compare the policy's own. */
enum {
  BERTH_WHOSE_NONE = 0,   /**< the policy does not learn */
  BERTH_WHOSE_OWN = 1,    /**< decided by the policy alone, with the weights it has in the end */
  BERTH_WHOSE_PASSED = 2, /**< a state on the way, or a draw while it learned */
  BERTH_WHOSE_START =
      3, /**< an episode began there: not the policy's merit, though it left all there */
  BERTH_WHOSE_GIVEN = 4,   /**< one that was given to start from */
  BERTH_WHOSE_SEARCH = 5,  /**< found by a search around the policy's */
  BERTH_WHOSE_REPAIRED = 6 /**< made of one that did not fit in memory */
};

typedef struct berth_summary {
  size_t size; /**< set by the caller */
  int32_t feasible;
  int32_t end;
  double objective_us;
  double runtime_us;     /**< of one simulated step */
  double bound_us;       /**< nothing below exists; 0 = no bound is known */
  double best_single_us; /**< of the best single device; 0 = none holds everything */
  int32_t best_single_device;
  int32_t worst_device; /**< lacks most memory; -1 = all hold what they should */
  int64_t excess_bytes;
  int64_t evaluations; /**< by the policy */
  double wall_s;
  int64_t transfer_count;
  int64_t transfer_bytes;
  double own_us;   /**< of the own placement of a policy that learns; 0 = it had no time for one */
  double best_us;  /**< of the best placement that it saw */
  double start_us; /**< of the best of its starts; 0 = it has none that fits */
  int32_t whose;   /**< the best: BERTH_WHOSE_... */
} berth_summary;
#define BERTH_SUMMARY_INIT \
  { sizeof(berth_summary), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/** `summary->size` is the caller's. */
BERTH_C_API berth_status berth_result_summary(const berth_result* result, berth_summary* summary);
/** The device of every op, valid as long as the result; null for a null result. `count` may be
 *  null. */
BERTH_C_API const int32_t* berth_result_devices(const berth_result* result, size_t* count);

enum {                           /* kinds of texts */
       BERTH_TEXT_POLICY = 0,    /**< who found it; empty for berth_evaluate */
       BERTH_TEXT_NOTES = 1,     /**< what a user should know, a sentence a line */
       BERTH_TEXT_PLACEMENT = 2, /**< berth.placement/1 */
       BERTH_TEXT_TRACE = 3,     /**< of the step, for Perfetto and chrome://tracing */
       BERTH_TEXT_SVG = 4,       /**< a drawing of the step */
       BERTH_TEXT_REPORT = 5,    /**< figures, gap to the bound, what the step waits for, advice */
       BERTH_TEXT_BOUND_SOURCE = 6, /**< the argument behind bound_us */
       BERTH_TEXT_PLAN = 7, /**< in the form of the setting "tool"; empty where there is none */
       BERTH_TEXT_REPLICAS =
           8 /**< of berth_replicate: berth.replicas/1, shares and devices. Since 4 */
};
BERTH_C_API berth_status berth_result_text(const berth_result* result, int32_t kind,
                                           berth_text* text);
/** Why `op` is where it is: what shares its device, and every other device it could be on, with what
 *  the step would take. A few sentences. */
BERTH_C_API berth_status berth_result_explain(const berth_result* result, int32_t op,
                                              berth_text* text);

/** Numbers by name, since 3: "devices": i32 [ops]; "op_start_us", "op_end_us": f64 [ops], of the simulated
 *  step; "busy_us": f64 [devices]; "peak_bytes": i64 [devices]. */
BERTH_C_API berth_status berth_result_array(const berth_result* result, berth_text name,
                                            berth_array* array);
/** The placement in the form of another tool, since 3: "device_map", "vllm", "llama.cpp", "csv", ... A form
 *  that cannot say it is BERTH_UNSUPPORTED, and the message says what and how to place for it. */
BERTH_C_API berth_status berth_result_plan(const berth_result* result, berth_text form,
                                           berth_text* text);
/** A page that shows the first of `count` results, as `berth report` writes it, with a table of all, since
 *  3: one HTML text that needs no network. */
BERTH_C_API berth_status berth_report(const berth_result* const* results, size_t count,
                                      berth_text* html);

typedef struct berth_transfer {
  int32_t tensor; /**< -1 = a control edge */
  int32_t producer;
  int32_t src;
  int32_t dst; /**< -1 = all receivers at once ("placeto") */
  int64_t bytes;
  double start_us;
  double end_us;
} berth_transfer;

/** Sorted by start time. Fills in up to `capacity` entries of `entry_size` (sizeof(berth_transfer)) bytes
 *  and gives out how many there are. `out` may be null. */
BERTH_C_API berth_status berth_result_transfers(const berth_result* result, size_t entry_size,
                                                berth_transfer* out, size_t capacity,
                                                size_t* count);

/* --- Learning, since 3 -------------------------------------------------------------------------*/

/** Placements to figures, many at a time, on threads of its own. For one thread at a time. */
typedef struct berth_evaluator berth_evaluator;
/** `threads`: 0 = one per core. */
BERTH_C_API berth_status berth_evaluator_new(const berth_problem* problem, int32_t threads,
                                             berth_evaluator** out);
/** `count` placements of `width` devices each: one per op, or per group where `by_group` is not 0. The three
 *  outputs have `count` entries each and may be null. What does not fit lacks `excess_bytes` on a device.
 *  All are checked before any is evaluated. */
BERTH_C_API berth_status berth_evaluator_batch(berth_evaluator* evaluator, int32_t by_group,
                                               const int32_t* devices, size_t count, size_t width,
                                               double* objective_us, int64_t* excess_bytes,
                                               uint8_t* feasible);

/** Episodes of one problem, stepped together: the state is a whole placement of its groups, and every
 *  step moves one group, in an order that visits each once. For one thread at a time. */
typedef struct berth_environment berth_environment;
typedef struct berth_environment_options {
  size_t size;
  /** Features of groups and of devices that are observed, by name; berth_features lists them. */
  const berth_text* group_features;
  size_t group_feature_count;
  const berth_text* device_features;
  size_t device_feature_count;
  /** Not 0 = "alternatives" is filled in: one more simulation per step and device. Features that need
   *  it ask for it themselves. */
  int32_t look_ahead;
  int32_t threads; /**< 0 = one per core */
} berth_environment_options;
#define BERTH_ENVIRONMENT_OPTIONS_INIT \
  { sizeof(berth_environment_options), 0, 0, 0, 0, 0, 0 }

/** All features: {"groups": {name: meaning}, "devices": {name: meaning}}. */
BERTH_C_API berth_status berth_features(berth_text* json);
/** `options` null = no features. */
BERTH_C_API berth_status berth_environment_new(const berth_problem* problem,
                                               const berth_environment_options* options,
                                               berth_environment** out);

typedef struct berth_episodes {
  size_t size;
  int32_t count; /**< 1 to 2^20 */
  uint64_t seed; /**< the only source of randomness */
  berth_text
      traversal; /**< "topological" (empty), "reverse", "breadth_first", "depth_first", "random" */
  berth_text start; /**< "random" (empty), "zero", "contiguous", "earliest" */
  /** Instead of `start`: `initial_count` placements, a device by group; episode i starts from
   *  number i modulo that. */
  const int32_t* initial;
  size_t initial_count;
} berth_episodes;
#define BERTH_EPISODES_INIT \
  { sizeof(berth_episodes), 1, 0, {0, 0}, {0, 0}, 0, 0 }

/** Starts `episodes` anew and observes them. */
BERTH_C_API berth_status berth_environment_reset(berth_environment* environment,
                                                 const berth_episodes* episodes);
/** Moves the current group of every episode to `devices[episode]`, measures, and observes. `done` is 1
 *  when all groups have been visited, by all episodes at the same step; it may be null. A device that
 *  cannot run the group is refused before any episode has moved. */
BERTH_C_API berth_status berth_environment_step(berth_environment* environment,
                                                const int32_t* devices, size_t count,
                                                int32_t* done);
/** What the last reset or step left, by name; n = episodes. The place of an array stays the same until a
 *  reset for another number of episodes; its values change with every step.
 *  "groups": f32 [n, groups, features]; "devices": f32 [n, devices, features]; "allowed": u8 [n, devices], 1
 *  where the current group can be; "current": i32 [n], the group to place now, -1 when all are placed;
 *  "placement": i32 [n, groups]; "objective_us": f64 [n]; "excess_bytes": i64 [n]; "feasible": u8 [n];
 *  "alternatives": f64 [n, devices], the objective with the current group there; infinite where it
 *  cannot be, is hopeless, or nobody looked ahead. */
BERTH_C_API berth_status berth_environment_array(const berth_environment* environment,
                                                 berth_text name, berth_array* array);

/* --- Policies in any language ------------------------------------------------------------------*/

typedef struct berth_search berth_search;

/** The input of a policy: groups of ops to place, in a topological order where there is one.
 *  Everything is valid during the call of `place`. A later library appends fields. */
struct berth_search {
  size_t size;
  int32_t group_count;
  int32_t device_count;
  /** Compute time by group, then device, without overheads per op; INFINITY = it cannot be there. */
  const double* cost_us;
  const int64_t* param_bytes;  /**< by group: parameters, and inputs and results that last */
  const int64_t* memory_bytes; /**< that may be used, by device; INT64_MAX = no limit */
  /** The data that groups send each other: `edge_count` entries, by sender. */
  size_t edge_count;
  const int32_t* edge_src;
  const int32_t* edge_dst;
  const int64_t* edge_bytes;
  uint64_t seed; /**< the only source of randomness */
  void* host;    /**< not yours */
  /** Evaluates devices by group. `feasible` may be null. */
  berth_status (*evaluate)(berth_search* search, const int32_t* devices, double* objective_us,
                           int32_t* feasible);
  /** Not 0 = return the best so far, now. 1 for null. */
  int32_t (*should_stop)(berth_search* search);
  /** The value of an option, as text; empty = no such option, or no search. Valid during the call of `place`. */
  berth_text (*option)(berth_search* search, berth_text name);
  /** Gives the reason why `place` fails; if it does not fail, a note for the user. */
  void (*say)(berth_search* search, berth_text text);
};

typedef struct berth_policy_option {
  berth_text name;          /**< lower_snake_case, once in a table */
  berth_text default_value; /**< any text */
  berth_text meaning;       /**< one line */
} berth_policy_option;

/** A policy as a table. It is copied, and so are its texts. */
typedef struct berth_policy {
  size_t size;
  berth_text name; /**< a-z, 0-9, '-', '_' */
  berth_text version;
  berth_text description; /**< one line */
  const berth_policy_option* options;
  size_t option_count;
  /** Fills in a device for every group; `devices` begins with -1 everywhere. Several searches may
   *  run at the same time, on several threads. */
  berth_status (*place)(void* user, berth_search* search, int32_t* devices);
  /** Called once, when the last engine or search that may call `place` is gone. May be null. */
  void (*destroy)(void* user);
  void* user;
} berth_policy;
#define BERTH_POLICY_INIT \
  { sizeof(berth_policy), {0, 0}, {0, 0}, {0, 0}, 0, 0, 0, 0, 0 }

/** From now on this engine makes the policy by its name. */
BERTH_C_API berth_status berth_engine_register(berth_engine* engine, const berth_policy* policy);

/** A policy as a plugin's file, since 2. A shared library named policy_NAME.so that exports one
 *  initialised object of this type, called berth_c_plugin, is found as every plugin is: by command,
 *  Lua, C++ and C. It need not be linked against Berth, and any compiler of any language will do.
 *  Engines read it before anything of the library runs, and older ones than 2 refuse it. Its texts
 *  are static; `destroy` is null, because libraries stay loaded until the process ends. */
typedef struct berth_policy_plugin {
  uint32_t magic; /**< BERTH_C_PLUGIN_MAGIC */
  uint32_t abi;   /**< BERTH_C_ABI of the header that it was compiled with; 2 is the least */
  berth_policy policy;
} berth_policy_plugin;
#define BERTH_C_PLUGIN_MAGIC 0x43545242u

#ifdef __cplusplus
}
#define BERTH_DETAIL_C extern "C"
#else
#define BERTH_DETAIL_C extern
#endif
/** Makes a library a plugin; once, at file scope. The arguments are the fields of berth_policy behind
 *  `size`:
 *
 *      BERTH_POLICY_PLUGIN(BERTH_TEXT_INIT("mine"), BERTH_TEXT_INIT("1.0"),
 *                          BERTH_TEXT_INIT("one line"), options, 2, place, NULL, NULL); */
#define BERTH_POLICY_PLUGIN(...)                                       \
  BERTH_DETAIL_C BERTH_C_API const berth_policy_plugin berth_c_plugin; \
  const berth_policy_plugin berth_c_plugin = {                         \
      BERTH_C_PLUGIN_MAGIC, BERTH_C_ABI, {sizeof(berth_policy), __VA_ARGS__}}

#endif /* BERTH_C_H */
