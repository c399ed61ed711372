// Ids and units used by every other header.
//
// Units, here and everywhere: time in microseconds (`_us`, double), size in bytes (`_bytes`,
// int64_t), bandwidth in bytes per second, compute in FLOP/s.
#pragma once

#include <cstdint>
#include <limits>

namespace berth {

/// Dense ids, from 0. A negative id means "none" and has a name of its own.
using OpId = std::int32_t;
using TensorId = std::int32_t;
using DeviceId = std::int32_t;
using GroupId = std::int32_t;
using KindId = std::int32_t;     ///< a device kind ("cpu", "k80", ...), dense within one Cluster
using ChannelId = std::int32_t;  ///< a resource that several links share, dense within one Cluster

inline constexpr OpId kNoOp = -1;
inline constexpr TensorId kNoTensor = -1;
inline constexpr DeviceId kNoDevice = -1;
inline constexpr GroupId kNoGroup = -1;
inline constexpr KindId kNoKind = -1;

inline constexpr std::int64_t kUnknownBytes = -1;
inline constexpr std::int64_t kUnknownDim = -1;
/// Memory of a device without a limit.
inline constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
/// The cost of an op on a device kind that cannot run it.
inline constexpr double kCannotRun = std::numeric_limits<double>::infinity();

}  // namespace berth
