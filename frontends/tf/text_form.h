// Graphs as text: Protobuf's text format, with '#' comments.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "tf/model_file.h"

namespace google::protobuf {
class Message;
}

namespace berth::tf_frontend {

/// Whether `front`, the first bytes of a file, are text.
[[nodiscard]] bool is_text(std::string_view front) noexcept;

/// The first word of a text after blanks and comments, and its line, from 1.
struct FirstWord {
  std::string_view word;  ///< if there is none, what stands in its place
  int line;
};
[[nodiscard]] FirstWord first_word(std::string_view text);

/// The kind of message that has the first field in `text`. Throws Error(invalid_file) naming that
/// field if no kind has it.
[[nodiscard]] MessageKind kind_of_text(std::string_view text, const std::string& file);

/// The same message in binary; fields of no interest are left out. Throws Error(invalid_file) with
/// line and column.
[[nodiscard]] std::string text_to_binary(const std::string& text, MessageKind kind,
                                         const std::string& file);

/// The same for a message of another type, which is filled too.
[[nodiscard]] std::string text_to_binary(const std::string& text,
                                         google::protobuf::Message& message,
                                         const std::string& file);

/// `text` with the devices of its nodes set as `device_of` says and every other character kept. An
/// empty device leaves a node as it is. `function` is empty for the graph's own nodes.
using DeviceOf =
    std::function<std::optional<std::string>(std::string_view function, std::string_view node)>;
[[nodiscard]] std::string set_devices_in_text(const std::string& text, MessageKind kind,
                                              int meta_graph, const std::string& file,
                                              const DeviceOf& device_of);

}  // namespace berth::tf_frontend
