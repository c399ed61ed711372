// Ops on text. Text lies on the host, whatever device the op is placed on.
#include <ATen/Functions.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "berth/error.h"
#include "runtime/onnx/support.h"
#include "runtime/onnx/tables.h"

namespace berth::runtime::onnx {
namespace {

const Structure& text_at(Inputs inputs, std::size_t i) {
  if (!has(inputs, i) || inputs[i].structure == nullptr ||
      inputs[i].structure->kind != Structure::Kind::text) {
    throw Error(ErrorCode::invalid_argument, "input " + std::to_string(i) + " is no text");
  }
  return *inputs[i].structure;
}

// Of ASCII letters: other letters keep their case, as in the C locale.
std::string in_case(std::string text, bool upper) {
  std::transform(text.begin(), text.end(), text.begin(), [upper](unsigned char c) {
    return static_cast<char>(upper ? std::toupper(c) : std::tolower(c));
  });
  return text;
}

// Removes stop words from [count] or [1, count] texts and changes their case.
Kernel make_normalizer(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  const std::string change = text_attribute(op, "case_change_action", "NONE");
  if (change != "NONE" && change != "LOWER" && change != "UPPER") {
    refuse_attribute("case_change_action", change);
  }
  const bool case_matters = int_attribute(op, "is_case_sensitive", 0) != 0;
  std::vector<std::string> stopwords;
  if (const auto* const stated = op.attribute<std::vector<std::string>>("stopwords")) {
    stopwords = *stated;
  }
  if (!case_matters) {
    for (std::string& word : stopwords) word = in_case(word, false);
  }
  return [=](KernelContext&, Inputs in, Outputs out) {
    const Structure& given = text_at(in, 0);
    auto made = std::make_shared<Structure>();
    made->kind = Structure::Kind::text;
    for (const std::string& text : given.texts) {
      const std::string compared = case_matters ? text : in_case(text, false);
      if (std::find(stopwords.begin(), stopwords.end(), compared) != stopwords.end()) continue;
      made->texts.push_back(change == "NONE" ? text : in_case(text, change == "UPPER"));
    }
    if (made->texts.empty()) made->texts.emplace_back();  // one empty text stands for none
    made->dims = given.dims;
    if (made->dims.empty()) made->dims.push_back(1);
    made->dims.back() = static_cast<std::int64_t>(made->texts.size());
    out[0].structure = std::move(made);
  };
}

// --- n-grams -------------------------------------------------------------------------------------

struct Ngrams {
  std::map<std::vector<std::string>, std::size_t> index;  // of an n-gram in the output
  std::vector<std::int64_t> columns;
  std::vector<double> weights;
  std::int64_t shortest = 1, longest = 1, most_skipped = 0;
  std::int64_t width = 0;
  std::string mode;

  // How often each occurs in one row; elements of an n-gram may lie up to `most_skipped` apart.
  [[nodiscard]] std::vector<double> count(const std::vector<std::string>& row) const {
    std::vector<double> counts(static_cast<std::size_t>(width), 0);
    for (std::int64_t length = shortest; length <= longest; ++length) {
      const std::int64_t strides = length == 1 ? 1 : most_skipped + 1;
      for (std::int64_t stride = 1; stride <= strides; ++stride) {
        const std::int64_t last = static_cast<std::int64_t>(row.size()) - (length - 1) * stride;
        for (std::int64_t from = 0; from < last; ++from) {
          std::vector<std::string> gram;
          for (std::int64_t i = 0; i < length; ++i) {
            gram.push_back(row[static_cast<std::size_t>(from + i * stride)]);
          }
          const auto found = index.find(gram);
          if (found == index.end()) continue;
          double& column = counts[static_cast<std::size_t>(columns[found->second])];
          const double weight = weights.empty() ? 1 : weights[found->second];
          if (mode == "TF") column += 1;
          if (mode == "IDF") column = weight;
          if (mode == "TFIDF") column += weight;
        }
      }
    }
    return counts;
  }
};

std::vector<std::string> pool_of(const Instruction& op) {
  if (const auto* const texts = op.attribute<std::vector<std::string>>("pool_strings")) {
    return *texts;
  }
  std::vector<std::string> pool;
  for (const std::int64_t number : ints_attribute(op, "pool_int64s").value_or(Ints{})) {
    pool.push_back(std::to_string(number));
  }
  return pool;
}

Ngrams ngrams_of(const Instruction& op) {
  Ngrams made;
  made.mode = text_attribute(op, "mode", "TF");
  made.shortest = int_attribute(op, "min_gram_length", 1);
  made.longest = int_attribute(op, "max_gram_length", 1);
  made.most_skipped = int_attribute(op, "max_skip_count", 0);
  made.columns = ints_attribute(op, "ngram_indexes").value_or(Ints{});
  if (const auto* const weights = op.attribute<std::vector<double>>("weights")) {
    made.weights = *weights;
  }
  const std::vector<std::string> pool = pool_of(op);
  const Ints starts = ints_attribute(op, "ngram_counts").value_or(Ints{});
  std::size_t gram = 0;
  for (std::size_t n = 0; n < starts.size(); ++n) {
    const auto end = n + 1 < starts.size() ? static_cast<std::size_t>(starts[n + 1]) : pool.size();
    for (auto from = static_cast<std::size_t>(starts[n]);
         from + n + 1 <= std::min(end, pool.size()); from += n + 1) {
      made.index.emplace(
          std::vector<std::string>(pool.begin() + static_cast<std::ptrdiff_t>(from),
                                   pool.begin() + static_cast<std::ptrdiff_t>(from + n + 1)),
          gram++);
    }
  }
  if (made.columns.size() < gram || (!made.weights.empty() && made.weights.size() < gram)) {
    throw Error(ErrorCode::unsupported, "it has fewer indices or weights than n-grams");
  }
  for (const std::int64_t column : made.columns) {
    if (column < 0) refuse_attribute("ngram_indexes", std::to_string(column));
    made.width = std::max(made.width, column + 1);
  }
  return made;
}

Kernel make_tf_idf(const KernelRequest& request) {
  const auto ngrams = std::make_shared<const Ngrams>(ngrams_of(request.instruction));
  return [ngrams](KernelContext& context, Inputs in, Outputs out) {
    std::vector<std::string> elements;
    Ints dims;
    if (has(in, 0) && in[0].structure != nullptr) {
      elements = text_at(in, 0).texts;
      dims = text_at(in, 0).dims;
    } else {
      for (const std::int64_t number : ints_of(tensor_at(in, 0))) {
        elements.push_back(std::to_string(number));
      }
      dims = tensor_at(in, 0).sizes().vec();
    }
    const std::size_t rows = dims.size() < 2 ? 1 : static_cast<std::size_t>(dims[0]);
    const std::size_t length = rows == 0 ? 0 : elements.size() / rows;
    std::vector<double> counts;
    for (std::size_t r = 0; r < rows; ++r) {
      const auto begin = elements.begin() + static_cast<std::ptrdiff_t>(r * length);
      const auto row = ngrams->count({begin, begin + static_cast<std::ptrdiff_t>(length)});
      counts.insert(counts.end(), row.begin(), row.end());
    }
    dims.resize(dims.size() < 2 ? 0 : 1);
    dims.push_back(ngrams->width);
    out[0].tensor = at::tensor(counts, at::kFloat).reshape(dims).to(context.device);
  };
}

constexpr KernelRow kRows[] = {
    {"StringNormalizer", make_normalizer},
    {"TfIdfVectorizer", make_tf_idf},
};

}  // namespace

std::span<const KernelRow> text_kernels() {
  return kRows;
}

}  // namespace berth::runtime::onnx
