#include <algorithm>

#include "berth/error.h"
#include "berth/files.h"
#include "berth/sdk/op_rules.h"
#include "berth/sdk/ops/element_types.h"
#include "berth/support/text.h"
#include "files/json_reader.h"

namespace berth {
namespace {

constexpr std::string_view kFormat = "berth.ops/1";
constexpr std::int64_t kMostInputs = 1 << 16;

OpRule::Output read_output(const JsonReader& json) {
  json.expect_object({"like", "shape", "dtype"});
  OpRule::Output output;
  if (json.has("like")) {
    output.like = static_cast<std::size_t>(json.at("like").integer(0, kMostInputs));
  }
  if (json.has("shape")) {
    output.shape.emplace();
    const JsonReader shape = json.at("shape");
    for (std::size_t i = 0; i < shape.size(); ++i) {
      output.shape->push_back(shape.at(i).integer(0, ops::kMaxDim));
    }
    if (output.shape->size() > ops::kMaxRank) {
      shape.fail(cat("a shape has at most ", ops::kMaxRank, " dimensions"));
    }
  }
  if (json.has("dtype")) output.dtype = json.at("dtype").dtype();
  if (!output.like && !output.shape) {
    json.fail("say what the output is: \"like\": the number of an input, from 0, or a \"shape\"");
  }
  return output;
}

OpRule read_rule(const JsonReader& json) {
  json.expect_object({"type", "like", "outputs", "flops"});
  OpRule rule;
  if (json.has("like") == json.has("outputs")) {
    json.fail("give either \"like\", for outputs like one input, or \"outputs\"");
  }
  if (json.has("like")) {
    OpRule::Output output;
    output.like = static_cast<std::size_t>(json.at("like").integer(0, kMostInputs));
    rule.outputs.push_back(std::move(output));
  } else {
    const JsonReader outputs = json.at("outputs");
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      rule.outputs.push_back(read_output(outputs.at(i)));
    }
    if (rule.outputs.empty()) outputs.fail("list at least one output");
  }
  if (json.has("flops")) rule.flops = json.at("flops").amount();
  return rule;
}

DType dtype_of(int type, std::string_view dialect) {
  return dialect == "tf" ? ops::tf::dtype_of(type) : ops::onnx::dtype_of(type);
}

int type_of(DType dtype, std::string_view dialect) {
  constexpr int kMostTypes = 64;
  for (int type = 1; type < kMostTypes; ++type) {
    if (dtype_of(type, dialect) == dtype) return type;
  }
  return ops::kUnknownType;
}

/// -1 if it is not known.
double bytes_of(const ops::Value& value, std::string_view dialect) {
  const std::int64_t count = value.ranked ? ops::product(value.dims) : kUnknownDim;
  const int bits = dtype_bits(dtype_of(value.type, dialect));
  return count == kUnknownDim || bits == 0 ? -1 : static_cast<double>(count) * bits / 8;
}

}  // namespace

OpRules OpRules::load(const std::filesystem::path& file) {
  if (file.empty()) return {};
  return parse(read_text(file), file.string());
}

OpRules OpRules::parse(std::string_view json, const std::string& origin) {
  const Json document = parse_json(json, origin);
  const JsonReader root(document, origin);
  root.expect_object({"format", "ops"}, kFormat);
  OpRules rules;
  const JsonReader ops = root.at("ops");
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const JsonReader entry = ops.at(i);
    OpRule rule = read_rule(entry);
    const std::string& type = entry.at("type").text();
    if (!rules.rules_.emplace(type, std::move(rule)).second) {
      entry.fail(cat("there are two rules for '", type, "'; keep one"));
    }
  }
  return rules;
}

const OpRule* OpRules::find(std::string_view type) const {
  const auto found = rules_.find(type);
  return found == rules_.end() ? nullptr : &found->second;
}

void apply_rule(const OpRule& rule, ops::OpContext& op, std::string_view dialect) {
  for (std::size_t i = 0; i < op.output_count(); ++i) {
    const OpRule::Output& output = rule.outputs[std::min(i, rule.outputs.size() - 1)];
    if (output.like) op.set_like(i, *output.like);
    if (output.shape) op.set(i, *output.shape);
    if (output.dtype) op.out(i).type = type_of(*output.dtype, dialect);
  }
}

std::optional<Work> rule_work(const OpRule& rule, const ops::OpContext& op,
                              std::string_view dialect) {
  Work work;
  work.op_class = OpClass::elementwise;
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    if (!op.has(i)) continue;
    const double bytes = bytes_of(op.in(i), dialect);
    if (bytes < 0) return std::nullopt;
    work.bytes += bytes;
  }
  for (std::size_t i = 0; i < op.output_count(); ++i) {
    const double bytes = bytes_of(op.out(i), dialect);
    if (bytes < 0) return std::nullopt;
    work.bytes += bytes;
  }
  if (op.output_count() > 0) {
    work.flops = rule.flops * static_cast<double>(ops::product(op.out(0).dims));
    work.dtype = dtype_of(op.out(0).type, dialect);
  }
  return work;
}

}  // namespace berth
