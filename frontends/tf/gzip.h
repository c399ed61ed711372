#pragma once

#include <string>
#include <string_view>

namespace berth::tf_frontend {

/// Whether `bytes` begin as a gzip file does.
[[nodiscard]] bool is_gzip(std::string_view bytes) noexcept;

/// The content of a gzip file, of all its members. Throws Error(invalid_file) for damage, and for
/// content of more than 2 GB (Protobuf's own limit) or of more than 300 times the file where that
/// is over 64 MB: graphs shrink 10 to 50 times, zip bombs 1,000 times.
[[nodiscard]] std::string gunzip(std::string_view bytes, const std::string& file);
/// At most `limit` bytes of the content, without complaint about what follows or about damage.
[[nodiscard]] std::string gunzip_front(std::string_view bytes, std::size_t limit);

/// `content` as a gzip file, the same bytes for the same content.
[[nodiscard]] std::string gzip(std::string_view content);

}  // namespace berth::tf_frontend
