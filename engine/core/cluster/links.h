// What copies reach of a link's data-sheet rate.
#pragma once

namespace berth {

/// An estimate for packet headers and flow control.
inline constexpr double kPcieReached = 0.8;
/// Dell measured 0.91 on P100 and 0.96 on V100 with p2pBandwidthLatencyTest ("Ready Solutions for AI,
/// Deep Learning with NVIDIA", table 3).
inline constexpr double kNvlinkReached = 0.9;

}  // namespace berth
