// What the store and its clients say to each other.
//
// A connection begins with a greeting. Nothing but these fixed sizes is read before it is over:
//
//   store   "BERTHST1", a nonce of 32 bytes
//   client  "BERTHST1", a nonce of 32 bytes, HMAC-SHA256(secret, "client", both nonces)
//   store   1 and HMAC-SHA256(secret, "store", both nonces), or 0 and nothing more
//
// The secret is never sent, and neither side can be played by one that does not know it. What
// follows is neither encrypted nor signed: the network must be trusted with it, as with MPI.
//
// Then the client sends requests, one at a time, and gets a reply to each. All numbers are
// little-endian:
//
//   length of the rest, 4 bytes | operation or status, 1 | number, 8 | wait in ms, 4
//   length of the key, 4 | key | value (what is left)
#pragma once

#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace berth::store {

static_assert(std::endian::native == std::endian::little, "numbers are sent as they lie in memory");

/// The last digit is the version.
inline constexpr std::string_view kMagic = "BERTHST1";
inline constexpr std::size_t kNonceBytes = 32;
inline constexpr std::size_t kProofBytes = 32;
inline constexpr std::size_t kGreetingBytes = kMagic.size() + kNonceBytes;
inline constexpr std::size_t kMostKeyBytes = 1024;
inline constexpr std::size_t kMostReplyBytes = std::size_t{1} << 30;

enum class Operation : std::uint8_t {
  hello = 1,        ///< key: the member's name; value: who it is
  set = 2,          ///< key, value, number
  get = 3,          ///< waits until the key is there with a number of at least `number`
  add = 4,          ///< adds to the key's number; replies with the sum
  compare_set = 5,  ///< value: the new value; number: length of the expected one before it, or -1
  erase = 6,        ///< every key that begins with this one
  submit = 7,       ///< key: "queue\ntask"; value: what to do; number: how often at most
  take = 8,         ///< key: the queue; number: ms for which the task is the taker's
  done = 9,         ///< key: "queue\ntask"; value: the result
  result = 10,      ///< key: "queue\ntask"; waits for it; it is then gone
  members = 11,     ///< replies with a line for each
  bye = 12,         ///< the member leaves, and is not lost
};

enum class Status : std::uint8_t {
  ok = 0,
  late = 1,       ///< not within the wait
  absent = 2,     ///< no such key or task
  different = 3,  ///< compare_set: the value is another (given); hello: the name is another's
  lost = 4,       ///< result: everyone who took the task was lost; the value says who
  failed = 5,     ///< the value says why
};

struct Head {
  std::uint8_t kind = 0;  ///< Operation or Status
  std::int64_t number = 0;
  std::uint32_t wait_ms = 0;
  std::uint32_t key_bytes = 0;
};
inline constexpr std::size_t kHeadBytes = 1 + 8 + 4 + 4;
inline constexpr std::size_t kFrameBytes = 4 + kHeadBytes;  ///< with the length

inline std::array<char, kFrameBytes> frame_of(const Head& head, std::size_t value_bytes) {
  std::array<char, kFrameBytes> bytes{};
  const auto length = static_cast<std::uint32_t>(kHeadBytes + head.key_bytes + value_bytes);
  std::memcpy(bytes.data(), &length, 4);
  std::memcpy(bytes.data() + 4, &head.kind, 1);
  std::memcpy(bytes.data() + 5, &head.number, 8);
  std::memcpy(bytes.data() + 13, &head.wait_ms, 4);
  std::memcpy(bytes.data() + 17, &head.key_bytes, 4);
  return bytes;
}

/// Of at least kHeadBytes.
inline Head head_of(const char* bytes) {
  Head head;
  std::memcpy(&head.kind, bytes, 1);
  std::memcpy(&head.number, bytes + 1, 8);
  std::memcpy(&head.wait_ms, bytes + 9, 4);
  std::memcpy(&head.key_bytes, bytes + 13, 4);
  return head;
}

/// Of the steady clock.
[[nodiscard]] inline std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

using Nonce = std::array<char, kNonceBytes>;
using Proof = std::array<char, kProofBytes>;

/// From the system's generator. Throws std::runtime_error.
[[nodiscard]] Nonce make_nonce();
/// That `who` ("client" or "store") knows the secret.
[[nodiscard]] Proof prove(std::string_view secret, std::string_view who, const Nonce& of_store,
                          const Nonce& of_client);
/// In a time that does not depend on where they differ.
[[nodiscard]] bool same(const Proof& a, const Proof& b);

}  // namespace berth::store
