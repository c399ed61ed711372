/// @file
/// Compressed files: models, traces and Berth's own formats may all come as .gz.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "berth/export.h"

namespace berth {

/// Whether `bytes` begin like a gzip file.
[[nodiscard]] BERTH_EXPORT bool is_gzip(std::string_view bytes) noexcept;

/// The content of all members of a gzip file. Throws Error(invalid_file) for damage and for content
/// of more than 2 GB (Protobuf's own limit). Content above 64 MB must not exceed 300 times the
/// file: graphs shrink 10 to 50 times, zip bombs 1,000 times.
[[nodiscard]] BERTH_EXPORT std::string gunzip(std::string_view bytes, const std::string& file);
/// At most `limit` bytes of the content. Ignores what follows, and damage.
[[nodiscard]] BERTH_EXPORT std::string gunzip_front(std::string_view bytes, std::size_t limit);

/// `content` as a gzip file. The same content always gives the same bytes.
[[nodiscard]] BERTH_EXPORT std::string gzip(std::string_view content);

}  // namespace berth
