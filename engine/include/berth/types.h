/// @file
/// Conventions of all headers, and the ids and units they share.
///
/// **Units.** Time is in microseconds (`_us`, `double`). Sizes are in bytes (`_bytes`, `int64_t`).
/// Bandwidth is in bytes per second and compute in FLOP/s. Unless a comment says otherwise, every
/// such number is finite and >= 0.
///
/// **Thread safety.** Each class carries one of these tags:
///  - `[thread-safe]`: any number of threads may call any member of one object at the same time.
///  - `[thread-safe: immutable]`: thread-safe because nothing changes after construction. Share such
///    objects freely.
///  - `[thread-compatible]`: different threads may use different objects at the same time. Two
///    threads must not use one object at the same time without a lock of the caller's.
///
/// Text after the colon of a tag narrows it. Plain structs are thread-compatible. Free functions
/// are thread-safe as long as their arguments are.
///
/// **Errors.** The engine reports every failure as berth::Error, whose code says what kind it is.
/// `std::bad_alloc` may pass through.
///
/// **Ownership.** A `std::shared_ptr` or `std::unique_ptr` owns. A reference, pointer, span or view
/// never does. As a parameter it is used during the call only; as a result it is valid as long as
/// the object that returned it. Comments name the exceptions.
///
/// **Ids as indices.** An id or index passed to an accessor must be in range. Accessors marked
/// `noexcept` do not check it.
#pragma once

#include <cstdint>
#include <limits>

namespace berth {

/// Dense ids, from 0. Negative means "none"; each id type has a named constant for it.
using OpId = std::int32_t;
using TensorId = std::int32_t;
using DeviceId = std::int32_t;
using GroupId = std::int32_t;
using KindId = std::int32_t;     ///< a device kind ("cpu", "k80", ...); dense within one Cluster
using ChannelId = std::int32_t;  ///< a resource shared by several links; dense within one Cluster

inline constexpr OpId kNoOp = -1;
inline constexpr TensorId kNoTensor = -1;
inline constexpr DeviceId kNoDevice = -1;
inline constexpr GroupId kNoGroup = -1;
inline constexpr KindId kNoKind = -1;

inline constexpr std::int64_t kUnknownBytes = -1;
inline constexpr std::int64_t kUnknownDim = -1;
/// Memory of a device without a memory limit.
inline constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
/// The cost of an op on a device kind that cannot run it.
inline constexpr double kCannotRun = std::numeric_limits<double>::infinity();

}  // namespace berth
