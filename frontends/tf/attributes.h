// Attributes of a node: views of the file, decoded when asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tf/graph_def.h"
#include "tf/value.h"

namespace berth::tf_frontend {

class Attributes;

/// One decoded AttrValue; the fields of its kind are set.
struct Attr {
  enum class Kind : std::uint8_t {
    none,
    text,
    integer,
    real,
    boolean,
    type,
    shape,
    tensor,
    placeholder,
    function,
    list,
  };
  Kind kind = Kind::none;
  std::int64_t integer = 0;  ///< also of boolean and type
  double real = 0;
  std::string_view
      bytes;  ///< of text and placeholder; the message of shape, tensor, function, list
};

/// Attributes by name. In a function's body, one may stand for an attribute of the call. A missing
/// attribute, or one of another kind, gives the fallback, because files leave out defaults.
class Attributes {
 public:
  Attributes() = default;
  /// `call` may be null; it and `entries` must outlive this.
  Attributes(std::span<const AttrEntry> entries, const Attributes* call, const WireSource& source)
      : entries_(entries), call_(call), source_(&source) {}
  /// The attributes of a call, followed by the function's own defaults.
  Attributes(std::span<const AttrEntry> entries, std::span<const AttrEntry> defaults,
             const Attributes* call, const WireSource& source)
      : entries_(entries), defaults_(defaults), call_(call), source_(&source) {}

  [[nodiscard]] bool has(std::string_view key) const { return find(key).kind != Attr::Kind::none; }
  [[nodiscard]] Attr find(std::string_view key) const;
  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t fallback) const;
  [[nodiscard]] bool boolean(std::string_view key, bool fallback) const;
  [[nodiscard]] std::string_view text(std::string_view key, std::string_view fallback = {}) const;
  /// Without the offset of references.
  [[nodiscard]] int type(std::string_view key, int fallback = kUnknownType) const;
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view key) const;
  [[nodiscard]] std::vector<double> reals(std::string_view key) const;
  [[nodiscard]] std::vector<std::string_view> texts(std::string_view key) const;
  [[nodiscard]] std::vector<int> types(std::string_view key) const;
  /// False if there is none.
  bool shape(std::string_view key, Value& value) const;
  [[nodiscard]] std::vector<Value> shapes(std::string_view key) const;

  /// A function by name, with the attributes that it is called with.
  struct Function {
    std::string_view name;
    std::vector<AttrEntry> attrs;
  };
  [[nodiscard]] Function function(std::string_view key) const;
  [[nodiscard]] std::vector<Function> functions(std::string_view key) const;

  [[nodiscard]] std::span<const AttrEntry> entries() const noexcept { return entries_; }
  [[nodiscard]] const WireSource& source() const noexcept { return *source_; }

  [[nodiscard]] Attr decode(std::string_view value) const;

 private:
  std::span<const AttrEntry> entries_;
  std::span<const AttrEntry> defaults_;
  const Attributes* call_ = nullptr;
  const WireSource* source_ = nullptr;
};

/// A TensorShapeProto. A negative or absurd dimension counts as not known; for a constant, named by
/// `node`, it is an Error(invalid_file).
[[nodiscard]] Value read_shape(std::string_view bytes, const WireSource& source,
                               std::string_view node = {});

/// A TensorProto: its type and shape, and its content if that is small and of integers. Throws
/// Error(invalid_file) naming `node` for an impossible shape and for content that does not fit it.
[[nodiscard]] Value read_tensor(std::string_view bytes, const WireSource& source,
                                std::string_view node);

}  // namespace berth::tf_frontend
