#include "protocol.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <stdexcept>

namespace berth::store {

Nonce make_nonce() {
  Nonce nonce;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(nonce.data()), kNonceBytes) != 1) {
    throw std::runtime_error("the system gives no random numbers");
  }
  return nonce;
}

Proof prove(std::string_view secret, std::string_view who, const Nonce& of_store,
            const Nonce& of_client) {
  std::string message(who);
  message.append(of_store.data(), of_store.size());
  message.append(of_client.data(), of_client.size());
  Proof proof;
  unsigned int size = 0;
  if (HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
           reinterpret_cast<const unsigned char*>(message.data()), message.size(),
           reinterpret_cast<unsigned char*>(proof.data()), &size) == nullptr ||
      size != kProofBytes) {
    throw std::runtime_error("OpenSSL cannot compute HMAC-SHA256");
  }
  return proof;
}

bool same(const Proof& a, const Proof& b) {
  return CRYPTO_memcmp(a.data(), b.data(), kProofBytes) == 0;
}

}  // namespace berth::store
