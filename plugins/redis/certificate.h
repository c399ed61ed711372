// TLS between processes that share a secret and nothing else.
//
// The secret becomes an Ed25519 key: the server shows a certificate of it, and a client takes no other.
// So neither side can be played by one that does not know the secret, and no files are handed round.
#pragma once

#include <openssl/evp.h>

#include <memory>
#include <string>
#include <string_view>

namespace berth::redis {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

/// The same for the same secret. It takes some 0.1 s, as guessing a secret should. Throws
/// std::runtime_error.
[[nodiscard]] Key make_key(std::string_view secret);

/// Writes a certificate that the key signs itself, and the key, as PEM, both readable for this user
/// alone. Throws std::runtime_error naming the file that cannot be written.
void write_certificate(std::string_view secret, const std::string& certificate_file,
                       const std::string& key_file);

}  // namespace berth::redis
