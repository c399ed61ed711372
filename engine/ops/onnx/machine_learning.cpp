// Classical models (the domain ai.onnx.ml): trees, linear models, support vectors, what feeds them;
// and texts. Their parameters are attributes.
#include <algorithm>
#include <cmath>

#include "ops/formulas.h"
#include "ops/onnx/rules.h"

namespace berth::ops::onnx {
namespace {

constexpr double kExp = kTranscendentalFlops;

/// Rows of input 0: a vector is one row.
std::int64_t rows_of(const OpContext& op) {
  const Dims* const x = op.shape(0);
  if (x == nullptr || x->empty()) return kUnknownDim;
  return x->size() == 1 ? 1 : x->front();
}

std::int64_t count_of(std::size_t count) {
  return count > 0 ? static_cast<std::int64_t>(count) : kUnknownDim;
}

/// A label for each row, and a score for each of its classes.
void classify(OpContext& op, std::string_view integers, std::string_view texts) {
  const std::size_t by_number = op.attributes.integers(integers).size();
  const std::size_t by_text = op.attributes.text_count(texts);
  op.set(0, by_text > 0 ? kString : kInt64, {rows_of(op)});
  op.set(1, kFloat, {rows_of(op), count_of(by_text > 0 ? by_text : by_number)});
}
void tree_classifier(OpContext& op) {
  classify(op, "classlabels_int64s", "classlabels_strings");
}
void linear_classifier(OpContext& op) {
  classify(op, "classlabels_ints", "classlabels_strings");
}

/// Rows and targets.
void regress(OpContext& op, std::int64_t targets, int type) {
  op.set(0, type, {rows_of(op), valid_dim(targets)});
}
void tree_regressor(OpContext& op) {
  regress(op, op.attributes.integer("n_targets", 1), kFloat);
}
void tree_ensemble(OpContext& op) {
  regress(op, op.attributes.integer("n_targets", 1), op.type_of(0));
}
void linear_regressor(OpContext& op) {
  regress(op, op.attributes.integer("targets", 1), kFloat);
}
void support_vector_regressor(OpContext& op) {
  regress(op, 1, kFloat);
}

void to_float(OpContext& op) {
  op.set_like(0, 0);
  op.out(0).type = kFloat;
}

/// A new last dimension, of the categories.
void one_hot_encoder(OpContext& op) {
  op.give(0, tensor_type(kFloat));
  const Dims* const x = op.shape(0);
  if (x == nullptr) return;
  Dims dims = *x;
  const std::size_t numbers = op.attributes.integers("cats_int64s").size();
  dims.push_back(count_of(numbers > 0 ? numbers : op.attributes.text_count("cats_strings")));
  op.set(0, std::move(dims));
}

/// Texts to numbers or numbers to texts.
void map_categories(OpContext& op) {
  op.set_like(0, 0);
  op.out(0).type = op.type_of(0) == kString ? kInt64 : kString;
}

void label_encoder(OpContext& op) {
  op.set_like(0, 0);
  for (const auto& [name, type] :
       {std::pair{"values_floats", kFloat}, std::pair{"values_int64s", kInt64},
        std::pair{"values_strings", kString}, std::pair{"classes_strings", kInt64}}) {
    if (op.attributes.has(name)) op.out(0).type = type;
  }
  if (op.attributes.has("values_tensor")) {
    op.out(0).type = op.attributes.tensor("values_tensor").type;
  }
  if (op.attributes.has("classes_strings") && op.type_of(0) == kInt64) op.out(0).type = kString;
}

/// data, indices: those of the last dimension.
void extract_features(OpContext& op) {
  op.give(0, tensor_type(op.type_of(0)));
  const Dims* const x = op.shape(0);
  const Dims* const indices = op.shape(1);
  if (x == nullptr || x->empty() || indices == nullptr) return;
  Dims dims = *x;
  dims.back() = product(*indices);
  if (dims.size() == 1) dims.insert(dims.begin(), 1);
  op.set(0, std::move(dims));
}

void feature_vector(OpContext& op) {
  std::int64_t features = 0;
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    const Dims* const x = op.shape(i);
    features = add_dims(features, x != nullptr && !x->empty() ? x->back() : kUnknownDim);
  }
  op.set(0, kFloat, {rows_of(op), features});
}

// --- Texts --------------------------------------------------------------------------------------

/// The words of each text, as many as the longest has, and how many there are.
void split_text(OpContext& op) {
  op.give(0, tensor_type(kString));
  op.set_like(1, 0);
  op.out(1).type = kInt64;
  if (op.shape(0) == nullptr) return;
  Dims dims = *op.shape(0);
  dims.push_back(kUnknownDim);
  op.set(0, std::move(dims));
}
void normalize_text(OpContext& op) {
  op.give(0, tensor_type(kString));
  const Dims* const x = op.shape(0);
  if (x == nullptr || x->empty()) return;
  Dims dims = *x;
  // Words on the list are taken out.
  if (op.attributes.text_count("stopwords") > 0) dims.back() = op.chosen(dims.back());
  op.set(0, std::move(dims));
}
/// One dimension for the entries of the pool.
void count_grams(OpContext& op) {
  op.give(0, tensor_type(kFloat));
  const Dims* const x = op.shape(0);
  const auto indexes = op.listed("ngram_indexes");
  if (x == nullptr || !indexes) return;
  Dims dims = *x;
  if (dims.empty()) dims.push_back(0);
  dims.back() = add_dims(*std::max_element(indexes->begin(), indexes->end()), 1);
  op.set(0, std::move(dims));
}

// --- Work ---------------------------------------------------------------------------------------

/// Each row goes down every tree: a comparison and a choice at each node on its way, and of the tables it reads those
/// nodes alone.
Estimate tree_work(const OpView& op, const WorkRule& rule) {
  const double rows = op.input(0).elements(0, -1);
  double nodes = static_cast<double>(op.integers("nodes_treeids").size());
  double trees = nodes > 0 ? static_cast<double>(op.integers("nodes_treeids").back()) + 1
                           : static_cast<double>(op.integers("tree_roots").size());
  // TreeEnsemble lists inner nodes alone; long lists are not kept, and a tree is then one of many.
  nodes = std::max(nodes, static_cast<double>(op.integers("nodes_featureids").size()));
  constexpr double kTreesUnlisted = 100, kDepthUnlisted = 10;
  trees = trees > 0 ? trees : kTreesUnlisted;
  const double depth = nodes > 0 ? std::log2(nodes / trees + 1) : kDepthUnlisted;
  return work::make_estimate(op, rule, rule.flops * rows * trees * std::max(1.0, depth),
                             op.inputs_read() + op.bytes_written());
}

/// A product of each row with as many coefficients as there are features, for each score.
Estimate linear_work(const OpView& op, const WorkRule& rule) {
  const TensorView scores = op.output(op.output(1).present() ? 1 : 0);
  return work::make_estimate(op, rule,
                             matmul_flops(scores.elements(), op.input(0).dim(-1), /*bias=*/true),
                             work::all_bytes(op));
}

/// The distance of each row from each support vector, a kernel, and their weighted sum.
Estimate support_vector_work(const OpView& op, const WorkRule& rule) {
  const double rows = op.input(0).elements(0, -1);
  double vectors = static_cast<double>(op.integer("n_supports", 0));
  for (const std::int64_t of_class : op.integers("vectors_per_class")) {
    vectors += static_cast<double>(of_class);
  }
  const double products = rows * std::max(1.0, vectors);
  return work::make_estimate(op, rule, products * (2 * op.input(0).dim(-1) + kExp + 2),
                             work::all_bytes(op));
}

constexpr WorkRule kTrees{tree_work, OpClass::data_movement, 2};
constexpr WorkRule kLinear{linear_work, OpClass::matmul};
constexpr WorkRule kSupportVectors{support_vector_work, OpClass::matmul};

constexpr Row kOps[] = {
    {"RegexFullMatch", rule::to_bool, copies(1)},
    {"StringConcat", rule::broadcast_all, copies()},
    {"StringNormalizer", normalize_text, copies()},
    {"StringSplit", split_text, copies()},
    {"TfIdfVectorizer", count_grams, copies(1)},
    {"ai.onnx.ml.ArrayFeatureExtractor", extract_features, gathers()},
    {"ai.onnx.ml.Binarizer", rule::like_first, elementwise(1)},
    {"ai.onnx.ml.CastMap", nullptr, copies()},
    {"ai.onnx.ml.CategoryMapper", map_categories, copies(1)},
    {"ai.onnx.ml.DictVectorizer", nullptr, copies()},
    {"ai.onnx.ml.FeatureVectorizer", feature_vector, copies()},
    {"ai.onnx.ml.Imputer", rule::like_first, elementwise(1)},
    {"ai.onnx.ml.LabelEncoder", label_encoder, copies(1)},
    {"ai.onnx.ml.LinearClassifier", linear_classifier, kLinear},
    {"ai.onnx.ml.LinearRegressor", linear_regressor, kLinear},
    {"ai.onnx.ml.Normalizer", to_float, normalization(5)},
    {"ai.onnx.ml.OneHotEncoder", one_hot_encoder, writes()},
    {"ai.onnx.ml.SVMClassifier", linear_classifier, kSupportVectors},
    {"ai.onnx.ml.SVMRegressor", support_vector_regressor, kSupportVectors},
    {"ai.onnx.ml.Scaler", to_float, elementwise(2)},
    {"ai.onnx.ml.TreeEnsemble", tree_ensemble, kTrees},
    {"ai.onnx.ml.TreeEnsembleClassifier", tree_classifier, kTrees},
    {"ai.onnx.ml.TreeEnsembleRegressor", tree_regressor, kTrees},
    {"ai.onnx.ml.ZipMap", nullptr, kHandle},
    {"com.microsoft.Tokenizer", split_text, copies(1)},
};

}  // namespace

std::span<const Row> machine_learning_ops() {
  return kOps;
}

}  // namespace berth::ops::onnx
