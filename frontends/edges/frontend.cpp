#include "edges/frontend.h"

#include <fstream>
#include <map>
#include <sstream>

#include "berth/error.h"
#include "berth/support/text.h"

namespace berth::edges_frontend {

bool EdgesFrontend::claims(const std::filesystem::path& model) const {
  return model.extension() == ".edges";
}

LoadedModel EdgesFrontend::load(const std::filesystem::path& model, const LoadOptions&) {
  std::ifstream file(model);
  if (!file) throw Error(ErrorCode::io, cat(model.string(), ": cannot be opened for reading"));
  GraphBuilder builder(model.stem().string());
  std::map<std::string, OpId> ops;
  const auto op_of = [&](const std::string& name) {
    const auto known = ops.find(name);
    if (known != ops.end()) return known->second;
    return ops[name] = builder.add_op(name, "Op");
  };
  std::string text;
  for (int line = 1; std::getline(file, text); ++line) {
    std::istringstream words(text);
    std::string producer;
    std::string consumer;
    TensorInfo tensor;
    if (!(words >> producer >> consumer >> tensor.bytes) || tensor.bytes < 0) {
      throw Error(
          ErrorCode::invalid_file,
          cat(model.string(), ":", line, ": write a producer, a consumer and a number of bytes"));
    }
    const OpId src = op_of(producer);
    builder.add_input(op_of(consumer), builder.add_output(src, tensor));
  }
  try {
    return {builder.build(), {}};
  } catch (const Error& error) {
    throw Error(error.code(), cat(model.string(), ": ", error.what()));
  }
}

}  // namespace berth::edges_frontend
