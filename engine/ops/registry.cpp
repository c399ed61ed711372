// The tables of all families, by dialect and type.
#include <algorithm>
#include <cassert>
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>

#include "berth/error.h"
#include "berth/sdk/ops/dialects.h"
#include "berth/sdk/ops/element_types.h"
#include "berth/support/text.h"
#include "ops/mlir/rules.h"
#include "ops/onnx/rules.h"
#include "ops/tables.h"

namespace berth::ops {
namespace {

struct Entry {
  OpInfo info;
  WorkRule work;
};
using Table = std::unordered_map<std::string_view, Entry>;

void add(Table& table, std::string_view type, Entry entry) {
  [[maybe_unused]] const bool is_new = table.emplace(type, std::move(entry)).second;
  assert(is_new && "two rows for one type");
}

void set_work(Entry& entry, const WorkRule& work) {
  entry.work = work;
  entry.info.has_work = work.estimate != nullptr;
  entry.info.no_work_because = work.free_because;
}

// --- TensorFlow ---------------------------------------------------------------------------------

OutputSpec parse_output(std::string_view text) {
  OutputSpec output;
  const std::size_t colon = text.find(':');
  output.name = text.substr(0, colon);
  std::string_view type = text.substr(colon + 1);
  if (const std::size_t star = type.find('*'); star != std::string_view::npos) {
    output.number_attr = type.substr(star + 1);
    type = type.substr(0, star);
  }
  if (type.front() == '@') {
    output.type_list_attr = type.substr(1);
    return output;
  }
  const std::size_t equals = std::min(type.find('='), type.size());
  output.type_attr = type.substr(0, equals);
  if (equals < type.size()) output.type = tf::type_from_name(type.substr(equals + 1));
  return output;
}

/// Families that hold state, draw, send or run bodies.
bool is_pure_among_others(std::string_view type) {
  constexpr std::string_view kTypes[] = {"Const", "GuaranteeConst", "Identity", "IdentityN",
                                         "StopGradient"};
  return std::find(std::begin(kTypes), std::end(kTypes), type) != std::end(kTypes);
}

Table make_tf_table() {
  struct Family {
    std::span<const tf::Row> rows;
    bool pure;
  };
  Table table;
  for (const auto& [rows, pure] :
       {Family{tf::diagonal_ops(), true}, Family{tf::elementwise_ops(), true},
        Family{tf::indexing_ops(), true}, Family{tf::layout_ops(), true},
        Family{tf::normalization_ops(), true}, Family{tf::product_ops(), true},
        Family{tf::quantized_ops(), true}, Family{tf::recurrent_ops(), true},
        Family{tf::reduction_ops(), true}, Family{tf::shape_ops(), true},
        Family{tf::sparse_ops(), true}, Family{tf::window_ops(), true},
        Family{tf::collective_ops(), false}, Family{tf::control_flow_ops(), false},
        Family{tf::data_ops(), false}, Family{tf::list_ops(), false},
        Family{tf::random_ops(), false}, Family{tf::variable_ops(), false}}) {
    for (const tf::Row& row : rows) {
      Entry entry;
      entry.info.pure = pure || is_pure_among_others(row.type);
      entry.info.shape = row.shape;
      entry.info.fold = row.fold;
      entry.info.dtype_of = tf::dtype_of;
      set_work(entry, row.work);
      for_each_word(row.outputs, [&entry](std::string_view output) {
        entry.info.outputs.push_back(parse_output(output));
      });
      add(table, row.type, std::move(entry));
    }
  }
  return table;
}

/// Every op that makes a dataset gives one handle to it.
bool makes_dataset(std::string_view type) {
  const std::size_t at = type.rfind("Dataset");
  if (at == std::string_view::npos) return false;
  const std::string_view rest = type.substr(at + 7);
  return rest.empty() || (rest.size() == 2 && rest[0] == 'V');
}

const Entry& dataset() {
  static const Entry made = [] {
    Entry entry;
    entry.info.outputs = {parse_output("handle:=variant")};
    entry.info.shape = [](OpContext& op) { op.set(0, {}); };
    set_work(entry, kHandle);
    return entry;
  }();
  return made;
}

// --- ONNX ---------------------------------------------------------------------------------------

Table make_onnx_table() {
  // Shapes of the first kind follow from the inputs' shapes and from lists of whole numbers among the inputs,
  // those of the second also from what others hold.
  struct Family {
    std::span<const onnx::Row> rows;
    bool shape_from_shapes;
    bool pure = true;
  };
  Table table;
  for (const auto& [rows, shape_from_shapes, pure] :
       {Family{onnx::attention_ops(), true}, Family{onnx::elementwise_ops(), true},
        Family{onnx::normalization_ops(), true}, Family{onnx::product_ops(), true},
        Family{onnx::quantized_ops(), true}, Family{onnx::recurrent_ops(), true},
        Family{onnx::window_ops(), true}, Family{onnx::generation_ops(), false, false},
        Family{onnx::indexing_ops(), false}, Family{onnx::layout_ops(), true},
        Family{onnx::machine_learning_ops(), false}, Family{onnx::random_ops(), false, false},
        Family{onnx::reduction_ops(), false}, Family{onnx::shape_ops(), false},
        Family{onnx::training_ops(), false, false}}) {
    for (const onnx::Row& row : rows) {
      Entry entry;
      entry.info.pure = pure;
      entry.info.shape = row.shape;
      entry.info.fold = row.fold;
      entry.info.dtype_of = onnx::dtype_of;
      // ONNX Runtime's own ops may take more forms than their rules know.
      entry.info.shape_from_shapes =
          shape_from_shapes && row.type.find('.') == std::string_view::npos;
      set_work(entry, row.work);
      add(table, row.type, std::move(entry));
    }
  }
  return table;
}

/// Contributed operators that only widen the types of a standard one, and previews of the others.
std::string_view standard_type(std::string_view type) {
  for (const std::string_view domain : {"com.microsoft.", "ai.onnx.preview."}) {
    const std::string_view bare = type.substr(std::min(domain.size(), type.size()));
    if (type.substr(0, domain.size()) == domain && bare.find('.') == std::string_view::npos) {
      return bare;
    }
  }
  return {};
}

// --- MLIR ---------------------------------------------------------------------------------------

Table make_mlir_table(const Table& tf_table, const Table& onnx_table) {
  static std::deque<std::string> types;  // which the table's keys are part of
  Table table;
  const auto insert = [&table](std::string type, bool pure, const WorkRule& work) {
    Entry entry;
    entry.info.pure = pure;
    set_work(entry, work);
    add(table, types.emplace_back(std::move(type)), std::move(entry));
  };
  for (const mlir::NamedWork& row : mlir::all_ops()) insert(row.type, true, row.work);
  // Dialects of whole models have the model's own types. Their shapes are in the module.
  for (const auto& [type, entry] : tf_table) {
    insert(cat("tf.", type), entry.info.pure, entry.work);
  }
  for (const auto& [type, entry] : onnx_table) {
    insert(cat("onnx.", type), entry.info.pure, entry.work);
  }
  return table;
}

/// The type in whose row it is: of mhlo and CHLO's broadcasting ops StableHLO's, of onnx-mlir's versions
/// and variants ("onnx.SqueezeV11", "onnx.MaxPoolSingleOut") the standard's, of torch-mlir's overloads
/// the one without.
std::string mlir_type(std::string_view type) {
  for (const std::string_view front : {"mhlo.", "chlo.broadcast_"}) {
    if (type.starts_with(front)) return cat("stablehlo.", type.substr(front.size()));
  }
  if (!type.starts_with("onnx.")) return mlir::torch_type(type);
  for (const std::string_view end : {"SingleOut", "InferenceMode"}) {
    if (type.ends_with(end)) return std::string(type.substr(0, type.size() - end.size()));
  }
  const std::size_t digits = type.find_last_not_of("0123456789");
  const bool versioned = digits + 1 < type.size() && type[digits] == 'V';
  return std::string(versioned ? type.substr(0, digits) : std::string_view());
}

// --- All ----------------------------------------------------------------------------------------

const Table* table_of(std::string_view dialect) {
  static const Table tf_table = make_tf_table();
  static const Table onnx_table = make_onnx_table();
  static const Table mlir_table = make_mlir_table(tf_table, onnx_table);
  if (dialect == "tf") return &tf_table;
  if (dialect == "onnx") return &onnx_table;
  return dialect == "mlir" ? &mlir_table : nullptr;
}

const Entry* find(std::string_view dialect, std::string_view type) {
  const Table* const table = table_of(dialect);
  if (table == nullptr) return nullptr;
  auto found = table->find(type);
  if (found == table->end() && dialect == "onnx") found = table->find(standard_type(type));
  if (found == table->end() && dialect == "mlir") {
    const std::string standard = mlir_type(type);
    found = table->find(standard);
    // StableHLO leaves some to CHLO: "mhlo.erf", "chlo.broadcast_zeta".
    constexpr std::string_view kFront = "stablehlo.";
    if (found == table->end() && standard.starts_with(kFront)) {
      found = table->find(cat("chlo.", standard.substr(kFront.size())));
    }
  }
  if (found != table->end()) return &found->second;
  return dialect == "tf" && makes_dataset(type) ? &dataset() : nullptr;
}

}  // namespace

const OpInfo* find_op(std::string_view dialect, std::string_view type) {
  const Entry* const entry = find(dialect, type);
  return entry != nullptr ? &entry->info : nullptr;
}

const WorkRule* find_work(std::string_view dialect, std::string_view type) {
  const Entry* const entry = find(dialect, type);
  return entry != nullptr && entry->info.has_work ? &entry->work : nullptr;
}

std::vector<std::string_view> known_ops(std::string_view dialect) {
  std::vector<std::string_view> types;
  if (const Table* const table = table_of(dialect)) {
    for (const auto& [type, entry] : *table) types.push_back(type);
  }
  std::sort(types.begin(), types.end());
  return types;
}

}  // namespace berth::ops

namespace berth {

void check_dialect(std::string_view dialect) {
  const std::vector<std::string> known = {"berth", "mlir", "onnx", "tf"};
  if (std::find(known.begin(), known.end(), dialect) != known.end()) return;
  throw Error(ErrorCode::invalid_argument,
              cat("no dialect '", dialect, "'", known_names(dialect, known)));
}

}  // namespace berth
