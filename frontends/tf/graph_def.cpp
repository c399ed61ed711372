#include "tf/graph_def.h"

#include "berth/error.h"
#include "support/text.h"

namespace berth::tf_frontend {

using frontend::readable;
using frontend::WireType;

namespace {

// Field numbers; the messages are in proto/graph.proto.
namespace node_field {
constexpr std::uint32_t kName = 1, kOp = 2, kInput = 3, kDevice = 4, kAttr = 5;
}
namespace graph_field {
constexpr std::uint32_t kNode = 1, kLibrary = 2, kVersions = 4;
}
namespace library_field {
constexpr std::uint32_t kFunction = 1;
}
namespace function_field {
constexpr std::uint32_t kSignature = 1, kNode = 3, kRet = 4, kAttr = 5, kControlRet = 6;
}
namespace op_field {
constexpr std::uint32_t kName = 1, kInput = 2, kOutput = 3, kAttr = 4;
}
namespace arg_field {
constexpr std::uint32_t kName = 1, kType = 3, kTypeAttr = 4, kNumberAttr = 5, kTypeListAttr = 6;
}

AttrEntry read_attr(std::string_view bytes, const WireSource& source) {
  AttrEntry entry;
  for (WireReader reader(bytes, source); reader.next();) {
    if (reader.is_bytes(1)) entry.key = reader.payload();
    if (reader.is_bytes(2)) entry.value = reader.payload();
  }
  return entry;
}

ArgDef read_arg(std::string_view bytes, const WireSource& source) {
  ArgDef arg;
  for (WireReader reader(bytes, source); reader.next();) {
    if (reader.field() == arg_field::kType && reader.type() == WireType::varint) {
      arg.type = static_cast<int>(reader.value() & 0xFFFF);
    } else if (reader.is_bytes(arg_field::kName)) {
      arg.name = reader.payload();
    } else if (reader.is_bytes(arg_field::kTypeAttr)) {
      arg.type_attr = reader.payload();
    } else if (reader.is_bytes(arg_field::kNumberAttr)) {
      arg.number_attr = reader.payload();
    } else if (reader.is_bytes(arg_field::kTypeListAttr)) {
      arg.type_list_attr = reader.payload();
    }
  }
  return arg;
}

FunctionDef read_function(std::string_view bytes, const WireSource& source) {
  FunctionDef function;
  for (WireReader reader(bytes, source); reader.next();) {
    if (reader.type() != WireType::bytes) continue;
    switch (reader.field()) {
      case function_field::kSignature:
        function.signature = read_op_def(reader.payload(), source);
        break;
      case function_field::kNode:
        function.body.add(reader.payload(), source);
        break;
      case function_field::kRet:
        function.results.push_back(read_pair(reader.payload(), source));
        break;
      case function_field::kControlRet:
        function.control_results.push_back(read_pair(reader.payload(), source));
        break;
      case function_field::kAttr:
        function.attrs.push_back(read_attr(reader.payload(), source));
        break;
      default:
        break;
    }
  }
  return function;
}

}  // namespace

NamePair read_pair(std::string_view bytes, const WireSource& source) {
  NamePair pair;
  for (WireReader reader(bytes, source); reader.next();) {
    if (reader.is_bytes(1)) pair.key = reader.payload();
    if (reader.is_bytes(2)) pair.value = reader.payload();
  }
  return pair;
}

OpDef read_op_def(std::string_view bytes, const WireSource& source) {
  OpDef op;
  for (WireReader reader(bytes, source); reader.next();) {
    if (reader.is_bytes(op_field::kName)) {
      op.name = reader.payload();
    } else if (reader.is_bytes(op_field::kInput)) {
      op.inputs.push_back(read_arg(reader.payload(), source));
    } else if (reader.is_bytes(op_field::kOutput)) {
      op.outputs.push_back(read_arg(reader.payload(), source));
    } else if (reader.is_bytes(op_field::kAttr)) {
      AttrEntry entry;
      for (WireReader attr(reader.payload(), source); attr.next();) {
        if (attr.is_bytes(1)) entry.key = attr.payload();
        if (attr.is_bytes(3)) entry.value = attr.payload();
      }
      if (!entry.value.empty()) op.defaults.push_back(entry);
    }
  }
  return op;
}

void NodeList::add(std::string_view bytes, const WireSource& source) {
  NodeDef node;
  node.bytes = bytes;
  node_inputs_.clear();
  node_attrs_.clear();
  for (WireReader reader(bytes, source); reader.next();) {
    if (reader.field() <= node_field::kAttr && reader.type() != WireType::bytes) {
      reader.refuse(cat("field ", reader.field(), " of a node has wire type ",
                        static_cast<int>(reader.type()), " and must have 2"));
    }
    switch (reader.field()) {
      case node_field::kName:
        node.name = reader.payload();
        break;
      case node_field::kOp:
        node.op = reader.payload();
        break;
      case node_field::kInput:
        node_inputs_.push_back(reader.payload());
        break;
      case node_field::kDevice:
        node.device = reader.payload();
        break;
      case node_field::kAttr:
        node_attrs_.push_back(read_attr(reader.payload(), source));
        break;
      default:
        break;
    }
  }
  if (node.name.empty() || node.op.empty()) {
    throw Error(ErrorCode::invalid_file,
                cat(source.file, ": node #", nodes_.size(), node.name.empty() ? "" : " '",
                    readable(node.name), node.name.empty() ? "" : "'", " has no ",
                    node.name.empty() ? "name" : "op",
                    "; every node needs both: export or download the file again"));
  }
  node.inputs = inputs_.add(node_inputs_);
  node.attrs = attrs_.add(node_attrs_);
  nodes_.push_back(node);
}

const FunctionDef* GraphDef::function(std::string_view name) const noexcept {
  const auto found = function_by_name.find(name);
  return found == function_by_name.end() ? nullptr : found->second;
}

void read_graph_def(std::string_view bytes, const WireSource& source, GraphDef& graph) {
  for (WireReader reader(bytes, source); reader.next();) {
    if (reader.is_bytes(graph_field::kNode)) {
      graph.list.add(reader.payload(), source);
    } else if (reader.is_bytes(graph_field::kLibrary)) {
      for (WireReader library(reader.payload(), source); library.next();) {
        if (library.is_bytes(library_field::kFunction)) {
          graph.functions.push_back(read_function(library.payload(), source));
        }
      }
    } else if (reader.is_bytes(graph_field::kVersions)) {
      for (WireReader versions(reader.payload(), source); versions.next();) {
        if (versions.field() == 1 && versions.type() == WireType::varint) {
          graph.producer = static_cast<std::int64_t>(versions.value());
        }
      }
    } else if (reader.field() <= graph_field::kLibrary) {
      reader.refuse(cat("field ", reader.field(), " of a graph has wire type ",
                        static_cast<int>(reader.type()), " and must have 2"));
    }
  }
  for (const FunctionDef& function : graph.functions) {
    const std::string_view name = function.signature.name;
    if (!graph.function_by_name.emplace(name, &function).second) {
      throw Error(ErrorCode::invalid_graph, cat(source.file, ": two functions are named '",
                                                readable(name), "'; remove one of them"));
    }
  }
}

}  // namespace berth::tf_frontend
