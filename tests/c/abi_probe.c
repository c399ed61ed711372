/* Holds every type and function of berth/c.h, so that its debug information describes the whole ABI. */
#include <berth/c.h>

#define KEEP __attribute__((visibility("default")))

KEEP berth_engine_options* kept_engine_options;
KEEP berth_tensor* kept_tensor;
KEEP berth_work* kept_work;
KEEP berth_op_hints* kept_op_hints;
KEEP berth_problem_options* kept_problem_options;
KEEP berth_option* kept_option;
KEEP berth_place_options* kept_place_options;
KEEP berth_summary* kept_summary;
KEEP berth_transfer* kept_transfer;
KEEP struct berth_search* kept_search;
KEEP berth_policy_option* kept_policy_option;
KEEP berth_policy* kept_policy;

#define FUNCTION(name) KEEP __typeof__(&name) kept_##name
FUNCTION(berth_abi);
FUNCTION(berth_version);
FUNCTION(berth_message);
FUNCTION(berth_release);
FUNCTION(berth_engine_new);
FUNCTION(berth_engine_describe);
FUNCTION(berth_engine_register);
FUNCTION(berth_builder_new);
FUNCTION(berth_builder_op);
FUNCTION(berth_builder_output);
FUNCTION(berth_builder_parameter);
FUNCTION(berth_builder_input);
FUNCTION(berth_builder_after);
FUNCTION(berth_builder_cost);
FUNCTION(berth_builder_work);
FUNCTION(berth_builder_hints);
FUNCTION(berth_builder_attribute);
FUNCTION(berth_builder_ops);
FUNCTION(berth_builder_edges);
FUNCTION(berth_builder_finish);
FUNCTION(berth_graph_load);
FUNCTION(berth_graph_op_count);
FUNCTION(berth_graph_op_name);
FUNCTION(berth_graph_op_work);
FUNCTION(berth_cluster_new);
FUNCTION(berth_cluster_device_count);
FUNCTION(berth_cluster_device);
FUNCTION(berth_problem_new);
FUNCTION(berth_place);
FUNCTION(berth_compare);
FUNCTION(berth_evaluate);
FUNCTION(berth_result_summary);
FUNCTION(berth_result_devices);
FUNCTION(berth_result_text);
FUNCTION(berth_result_explain);
FUNCTION(berth_result_transfers);

/* libabigail looks no further into a struct that was appended to: its first fields keep their places.
 * Both headers must say so. */
#define FIELD(type, field, offset, size)                                                     \
  _Static_assert(offsetof(type, field) == (offset) && sizeof(((type*)0)->field) == (size),   \
                 #type "." #field " was changed")
FIELD(berth_engine_options, size, 0, 8);
FIELD(berth_engine_options, settings, 8, 16);
FIELD(berth_engine_options, no_environment, 24, 4);
FIELD(berth_engine_options, plugin_folders, 32, 8);
FIELD(berth_engine_options, plugin_folder_count, 40, 8);
FIELD(berth_place_options, size, 0, 8);
FIELD(berth_place_options, policy, 8, 16);
FIELD(berth_place_options, options, 24, 8);
FIELD(berth_place_options, option_count, 32, 8);
FIELD(berth_place_options, fallbacks, 40, 8);
FIELD(berth_place_options, fallback_count, 48, 8);
FIELD(berth_place_options, budget_s, 56, 8);
FIELD(berth_place_options, moves, 64, 8);
FIELD(berth_place_options, seed, 72, 8);
FIELD(berth_place_options, threads, 80, 4);
FIELD(berth_place_options, initial, 88, 8);
FIELD(berth_place_options, should_stop, 96, 8);
FIELD(berth_place_options, progress, 104, 8);
FIELD(berth_place_options, user, 112, 8);
FIELD(berth_work, size, 0, 8);
FIELD(berth_work, flops, 8, 8);
FIELD(berth_work, bytes, 16, 8);
FIELD(berth_work, launches, 24, 8);
FIELD(berth_work, op_class, 32, 16);
FIELD(berth_work, dtype, 48, 16);
