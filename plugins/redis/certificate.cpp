#include "certificate.h"

#include <fcntl.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace berth::redis {
namespace {

constexpr std::size_t kSeedBytes = 32;
constexpr int kRounds = 200000;
constexpr std::string_view kSalt = "berth training, Ed25519, 1";

[[noreturn]] void fail() {
  throw std::runtime_error("OpenSSL cannot make an Ed25519 certificate; version 3.0 can");
}

/// A file for this user alone, whatever was there before.
class PrivateFile {
 public:
  explicit PrivateFile(const std::string& path) {
    unlink(path.c_str());
    const int made = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    file_ = made < 0 ? nullptr : fdopen(made, "w");
    if (file_ == nullptr) {
      throw std::runtime_error(path + ": " + std::generic_category().message(errno));
    }
  }
  ~PrivateFile() { std::fclose(file_); }
  PrivateFile(const PrivateFile&) = delete;
  PrivateFile& operator=(const PrivateFile&) = delete;
  [[nodiscard]] std::FILE* get() const { return file_; }

 private:
  std::FILE* file_ = nullptr;
};

}  // namespace

Key make_key(std::string_view secret) {
  std::array<unsigned char, kSeedBytes> seed{};
  if (PKCS5_PBKDF2_HMAC(secret.data(), static_cast<int>(secret.size()),
                        reinterpret_cast<const unsigned char*>(kSalt.data()),
                        static_cast<int>(kSalt.size()), kRounds, EVP_sha256(), kSeedBytes,
                        seed.data()) != 1) {
    fail();
  }
  Key key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, seed.data(), seed.size()),
          &EVP_PKEY_free);
  if (key == nullptr) fail();
  return key;
}

void write_certificate(std::string_view secret, const std::string& certificate_file,
                       const std::string& key_file) {
  const Key key = make_key(secret);
  const std::unique_ptr<X509, decltype(&X509_free)> made(X509_new(), &X509_free);
  if (made == nullptr) fail();
  constexpr long kVersion3 = 2;
  constexpr long kTenYears = 10L * 365 * 86400;
  X509_NAME* const name = X509_get_subject_name(made.get());
  // Clients compare the key: neither names nor dates mean anything to them.
  if (X509_set_version(made.get(), kVersion3) != 1 ||
      ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1) != 1 ||
      X509_gmtime_adj(X509_getm_notBefore(made.get()), -86400) == nullptr ||
      X509_gmtime_adj(X509_getm_notAfter(made.get()), kTenYears) == nullptr ||
      X509_set_pubkey(made.get(), key.get()) != 1 ||
      X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                 reinterpret_cast<const unsigned char*>("berth"), -1, -1, 0) != 1 ||
      X509_set_issuer_name(made.get(), name) != 1 ||
      X509_sign(made.get(), key.get(), nullptr) == 0) {
    fail();
  }
  const PrivateFile certificate(certificate_file);
  const PrivateFile private_key(key_file);
  if (PEM_write_X509(certificate.get(), made.get()) != 1 ||
      PEM_write_PrivateKey(private_key.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) !=
          1) {
    throw std::runtime_error(certificate_file + ": cannot be written");
  }
}

}  // namespace berth::redis
