// "rtx4090+rtx4060@pcie3x4+host:64GiB" as a cluster.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/error.h"
#include "berth/machines.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "cluster/links.h"
#include "support/sizes.h"

namespace berth {
namespace {

/// More would need a link for each of millions of pairs; a file can say them with `*`.
constexpr int kMostDevices = 128;
/// Where the words name none: what a desktop has at least.
constexpr std::string_view kDefaultHost = "host";
/// And where a card is a module on a server's board, or one that a desktop neither feeds nor cools. People put
/// others of data centres, such as k80, p40, t4 and l4, into desktops.
constexpr std::string_view kServer = "server";
constexpr std::string_view kOfServers[] = {
    "a10",       "a30",       "a40",    "l20",       "l40",       "l40s",           "p100",
    "v100",      "v100-32gb", "a100",   "a100-40gb", "a100-pcie", "a100-pcie-40gb", "h100",
    "h100-pcie", "h100-nvl",  "h20",    "h200",      "h800",      "b200",           "mi210",
    "mi250",     "mi300x",    "mi325x", "mi350x",    "mi355x"};
/// NVLink-C2C leads to no other.
constexpr std::string_view kGrace = "grace", kC2c = "c2c";
/// Copies through the host's memory are two copies.
constexpr double kThroughHost = 0.5;
/// The share of one memory that a GPU may take. Apple's systems allow it (recommendedMaxWorkingSetSize) two
/// thirds up to 32 GiB, and three quarters above: 10922.67 MiB of 16 GiB (ise-uiuc/magicoder issue 19), 21845.34
/// of 32 (llama.cpp pull request 2011), 49152 of 64 (llama.cpp issue 1870). Others have no such limit, and leave
/// as much to the system: an estimate.
constexpr double kGpuShare = 0.75, kSmallAppleShare = 2.0 / 3;
constexpr std::int64_t kSmallApple = std::int64_t{32} << 30;
/// A copy within one memory reads and writes it.
constexpr double kOneMemoryShare = 0.5;
constexpr double kOneMemoryLatencyUs = 5;  // estimate
/// Into and out of what was compiled for a neural processor: an estimate. Qualcomm's Hexagon SDK says a few
/// hundred where caches are not coherent.
constexpr double kNpuLatencyUs = 100;

/// What the forms of a slot carry in one direction, as reached, and an estimate of the latency of a
/// copy: between the bare link (about 1 us) and the 25 us of Placeto's simulator.
struct Slot {
  double bandwidth;
  double latency_us;
  int generation = 0, lanes = 0;  ///< of PCIe
};
struct NamedSlot {
  std::string_view name;
  Slot slot;
};
// Thunderbolt carries PCIe packets at 22 of 32 Gbit/s (Intel's Thunderbolt 3 brief), version 5 at twice
// that. NVLink-C2C: 450 GB/s in one direction (NVIDIA's Grace Hopper white paper).
constexpr NamedSlot kSlots[] = {{"tb3", {2.75e9, 25}},
                                {"tb4", {2.75e9, 25}},
                                {"tb5", {5.5e9, 25}},
                                {kC2c, {kNvlinkReached * 450e9, 5}}};
constexpr std::string_view kNvlink = "nvlink";

[[noreturn]] void fail(std::string_view words, const std::string& what) {
  throw Error(ErrorCode::invalid_argument, cat("machine '", words, "': ", what));
}

std::optional<double> number_at(std::string_view text, std::string_view& rest) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value) || value < 0) return std::nullopt;
  rest = text.substr(at(end - text.data()));
  return value;
}

std::optional<int> count_of(std::string_view text) {
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && count > 0 ? std::optional(count) : std::nullopt;
}

std::int64_t memory_of(std::string_view words, std::string_view text) {
  const std::optional<std::int64_t> bytes = size_of_text(text);
  // A number alone may be meant in any unit.
  const bool has_unit = text.find_first_of("bBkKmMgGtT") != std::string_view::npos;
  if (bytes && *bytes < std::int64_t{1} << 60 && (has_unit || *bytes == 0)) return *bytes;
  fail(words, cat("'", text, "' is no amount of memory; write one such as 64GiB, 500MB or 0"));
}

Slot pcie(int generation, int lanes) {
  // 0.985 GB/s for a lane of generation 3, twice that for each later one.
  constexpr double kLatencyUs[] = {15, 12, 10};
  return {kPcieReached * 15.75e9 / 16 * lanes * (1 << (generation - 3)), kLatencyUs[generation - 3],
          generation, lanes};
}

/// The bandwidth that a card of the one has to the other.
Slot joined(const Slot& card, const Slot& slot) {
  if (card.generation == 0 || slot.generation == 0) return slot;
  return pcie(std::min(card.generation, slot.generation), std::min(card.lanes, slot.lanes));
}

std::optional<Slot> pcie_of(std::string_view text) {
  if (!text.starts_with("pcie")) return std::nullopt;
  text.remove_prefix(4);
  const std::size_t x = text.find('x');
  const auto generation = count_of(text.substr(0, x));
  const auto lanes = x == std::string_view::npos ? std::optional(16) : count_of(text.substr(x + 1));
  if (!generation || !lanes || *generation < 3 || *generation > 5 || *lanes > 16) {
    return std::nullopt;
  }
  return pcie(*generation, *lanes);
}

std::optional<Slot> slot_of(std::string_view text) {
  for (const NamedSlot& named : kSlots) {
    if (named.name == text) return named.slot;
  }
  if (const auto pcie = pcie_of(text)) return pcie;
  std::string_view unit;
  const std::optional<double> rate = number_at(text, unit);
  if (rate && *rate > 0 && unit == "GBps") return Slot{*rate * 1e9, 12};
  return std::nullopt;
}

/// A word with all that its suffixes say.
struct Part {
  const KnownDevice* known = nullptr;
  bool npu = false;  ///< the neural processor of the chip, not its GPU
  int count = 1;
  std::optional<std::int64_t> memory_bytes;
  Slot slot{0, 0};
  bool bridged = false;
  std::string_view slot_word, nvlink_word;  ///< as given
};

/// Small letters and digits alone: people write "RTX 4090" and "rtx3060-8GB".
std::string folded(std::string_view name) {
  std::string small;
  for (const char c : name) {
    if (c == ' ' || c == '-' || c == '_') continue;
    small += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return small;
}

const KnownDevice* device_of(std::string_view name) {
  const std::string small = folded(name);
  for (const std::string_view before : {"", "rtx", "gtx", "rx"}) {
    const std::string full = cat(before, small);
    for (const KnownDevice& known : known_devices()) {
      if (folded(known.device.name) == full) return &known;
    }
    if (small.empty() || small.front() < '0' || small.front() > '9') break;
  }
  return nullptr;
}

/// The digits of a name, and how many letters are between them.
std::pair<std::string, std::size_t> model_of(std::string_view name) {
  std::pair<std::string, std::size_t> model{{}, 0};
  for (const char c : folded(name)) {
    if (c >= '0' && c <= '9') {
      model.first += c;
    } else {
      ++model.second;
    }
  }
  return model;
}

/// The message for a name that no device has. A name with another number, or with other letters where there are
/// only one or two, is another device and no slip.
std::string unknown_device(std::string_view name) {
  constexpr std::size_t kFewLetters = 2;
  std::vector<std::string> all, alike;
  const auto model = model_of(name);
  for (const KnownDevice& known : known_devices()) {
    all.push_back(known.device.name);
    const auto other = model_of(known.device.name);
    const bool numbered = !other.first.empty();
    if (other.first != model.first) continue;
    if (!numbered || (other.second == model.second && model.second > kFewLetters)) {
      alike.push_back(known.device.name);
    }
  }
  std::sort(all.begin(), all.end());
  const std::string near = closest_name(folded(name), alike);
  return cat("there is no device '", name, "'",
             near.empty() ? "." : cat("; did you mean '", near, "'?"),
             " Known: ", join(all, all.size()), ". ", machine_words_help());
}

/// "4xNAME", "NAMEx4" or "NAME". A name may end in digits and hold an x, and be a number alone.
void find_device(std::string_view words, std::string_view text, Part& part) {
  part.known = device_of(text);
  if (part.known != nullptr) return;
  const std::size_t first = text.find_first_of("xX"), last = text.find_last_of("xX");
  std::string_view name = text;
  if (first != std::string_view::npos) {
    if (const auto count = count_of(text.substr(0, first))) {
      name = text.substr(first + 1);
      part.known = device_of(name);
      part.count = *count;
    }
    const auto behind = count_of(text.substr(last + 1));
    if (part.known == nullptr && behind) {
      part.known = device_of(text.substr(0, last));
      part.count = *behind;
    }
  }
  if (part.known == nullptr) {
    if (name == "here") {
      fail(words,
           "'here', this machine, stands for itself, and the engine does not look at it: the "
           "command, "
           "Lua, Python and C do; elsewhere name the file that `berth devices --cluster here "
           "--json` "
           "prints");
    }
    fail(words, unknown_device(name));
  }
  if (part.count > kMostDevices) {
    fail(words, cat("'", text, "' is more than ", kMostDevices,
                    " devices; describe such a machine in a berth.cluster/1 file"));
  }
}

void once(std::string_view words, std::string_view& known, std::string_view text) {
  if (!known.empty()) {
    fail(words, cat("'", known, "' and '", text, "' say the same of one device; leave one out"));
  }
  known = text;
}

void attach(std::string_view words, std::string_view text, Part& part) {
  const std::string& name = part.known->device.name;
  if (part.known->device.host || !part.known->cores.name.empty()) {
    fail(words, cat("'", name, "' is in no slot; leave '@", text, "' out"));
  }
  if (text == kNvlink) {
    if (part.known->bridge_bytes_per_s == 0) {
      fail(words, cat("'", name, "' has no NVLink; leave '@nvlink' out"));
    }
    once(words, part.nvlink_word, text);
    return;
  }
  const auto slot = slot_of(text);
  if (!slot) {
    fail(words,
         cat("'", text, "' is no slot. Known: pcie3x16, pcie4x8, pcie5x4 and the like, nvlink, ",
             "tb3, tb4, tb5, or a rate such as 12GBps."));
  }
  once(words, part.slot_word, text);
  part.slot = joined(part.slot, *slot);
}

/// Cards in slots have no NVLink unless it is said, whatever others of the name are soldered to.
bool has_bridge(const Part& part) {
  const bool in_slot = part.slot_word.starts_with("pcie") || part.slot_word.starts_with("tb");
  return !part.nvlink_word.empty() || (part.known->bridged && !in_slot);
}

Part parse_part(std::string_view words, std::string_view text) {
  Part part;
  std::string_view name = text.substr(0, text.find_first_of(":@"));
  if (name.empty()) fail(words, cat("a part is empty. ", machine_words_help()));
  find_device(words, name, part);
  std::string_view memory_word;
  if (const auto slot = slot_of(part.known->slot)) part.slot = *slot;
  for (std::string_view rest = text.substr(name.size()); !rest.empty();) {
    const std::size_t end = std::min(rest.find_first_of(":@", 1), rest.size());
    const std::string_view suffix = rest.substr(1, end - 1);
    if (rest.front() == ':') {
      once(words, memory_word, suffix);
      part.memory_bytes = memory_of(words, suffix);
    } else {
      attach(words, suffix, part);
    }
    rest.remove_prefix(end);
  }
  part.bridged = has_bridge(part);
  const bool one_memory = !part.known->cores.name.empty();
  if (one_memory && !part.memory_bytes && part.known->device.memory_bytes == 0) {
    fail(words, cat("'", name, "' is sold with several sizes of memory; say which: ", name,
                    ":NGiB, where N is yours"));
  }
  return part;
}

class Machine {
 public:
  explicit Machine(std::string_view words) : words_(words) {
    for (std::size_t begin = 0; begin <= words.size();) {
      const std::size_t end = std::min(words.find('+', begin), words.size());
      add(parse_part(words, words.substr(begin, end - begin)));
      begin = end + 1;
    }
    if (!host_) {
      assumed_ = find_known_device(default_host());
      Part host;
      host.known = assumed_;
      add(host);
    }
    if (parts_.size() > kMostDevices) {
      fail(words, cat("it has ", parts_.size(), " devices, more than ", kMostDevices,
                      "; describe such a machine in a berth.cluster/1 file"));
    }
    for (std::size_t i = 0; i < parts_.size(); ++i) check_bridge(i);
  }

  [[nodiscard]] std::shared_ptr<const Cluster> cluster() const {
    std::vector<Device> devices{*host_};
    std::vector<LinkSpec> links;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      devices.push_back(parts_[i].npu ? parts_[i].known->npu : parts_[i].known->device);
      Device& device = devices.back();
      device.name = name(i);
      if (parts_[i].memory_bytes) device.memory_bytes = *parts_[i].memory_bytes;
      const Slot& slot = parts_[i].slot;
      const double bandwidth = std::min(slot.bandwidth, host_->memory_bandwidth);
      links.push_back({name(i), host_->name, bandwidth, slot.latency_us, {}});
      links.push_back({host_->name, name(i), bandwidth, slot.latency_us, {}});
      for (std::size_t j = 0; j < parts_.size(); ++j) {
        if (j != i) links.push_back(between(i, j));
      }
    }
    return std::make_shared<const Cluster>(std::string(words_), std::move(devices), links);
  }

  /// Null where the words name one.
  [[nodiscard]] const KnownDevice* assumed_host() const { return assumed_; }

 private:
  [[nodiscard]] std::string_view default_host() const {
    const auto any = [this](auto&& is) { return std::any_of(parts_.begin(), parts_.end(), is); };
    if (any([](const Part& part) {
          return (part.slot_word.empty() ? part.known->slot : part.slot_word) == kC2c;
        })) {
      return kGrace;
    }
    const bool server = any([](const Part& part) {
      return std::find(std::begin(kOfServers), std::end(kOfServers), part.known->device.name) !=
             std::end(kOfServers);
    });
    return server ? kServer : kDefaultHost;
  }

  /// A chip with a neural processor has one, and other parts are GPUs.
  [[nodiscard]] std::string name(std::size_t part) const {
    if (parts_[part].npu) return "npu:0";
    const auto end = parts_.begin() + static_cast<std::ptrdiff_t>(part);
    return cat("gpu:", part - at(std::count_if(parts_.begin(), end,
                                               [](const Part& before) { return before.npu; })));
  }

  void add(Part part) {
    const KnownDevice& known = *part.known;
    const bool one_memory = !known.cores.name.empty();
    if (known.device.host || one_memory) {
      if (host_ || part.count > 1) {
        fail(words_,
             "there are two hosts in it; a machine has one, and a chip with one memory is its "
             "own");
      }
      host_ = one_memory ? known.cores : known.device;
      host_->name = "cpu:0";
      if (part.memory_bytes) host_->memory_bytes = *part.memory_bytes;
    }
    if (one_memory) {
      const std::int64_t whole = part.memory_bytes.value_or(known.device.memory_bytes);
      const bool has_npu = !known.npu.name.empty();
      const bool small = known.maker == "Apple" && whole <= kSmallApple;
      // GPU and neural processor of a phone have equal parts of it.
      const double share = (small ? kSmallAppleShare : kGpuShare) / (has_npu ? 2 : 1);
      part.memory_bytes = static_cast<std::int64_t>(share * static_cast<double>(whole));
      host_->memory_bytes = whole - (has_npu ? 2 : 1) * *part.memory_bytes;
      part.slot = {kOneMemoryShare * known.device.memory_bandwidth, kOneMemoryLatencyUs};
    }
    if (known.device.host) return;
    for (int i = 0; i < part.count; ++i) parts_.push_back(part);
    if (known.npu.name.empty()) return;
    part.npu = true;
    part.slot.latency_us = kNpuLatencyUs;
    parts_.push_back(part);
  }

  /// Whether the links of bridged devices of one word join these two: those of the first ones, then those
  /// of the next, as many as they reach.
  [[nodiscard]] bool linked(std::size_t i, std::size_t j) const {
    const int most = parts_[i].known->linked_in;
    const auto set = [&](std::size_t part) {
      const auto end = parts_.begin() + static_cast<std::ptrdiff_t>(part);
      return std::count_if(parts_.begin(), end,
                           [&](const Part& before) {
                             return before.known == parts_[i].known && before.bridged;
                           }) /
             most;
    };
    return most == 0 || set(i) == set(j);
  }

  /// A bridge that the words name has two ends.
  void check_bridge(std::size_t i) const {
    const Part& part = parts_[i];
    if (part.nvlink_word.empty()) return;
    for (std::size_t j = 0; j < parts_.size(); ++j) {
      const bool other = j != i && parts_[j].known == part.known && parts_[j].bridged;
      if (other && linked(i, j)) return;
    }
    const std::string& word = part.known->device.name;
    fail(words_,
         cat("NVLink of a '", word, "' has no other end: a bridge joins two of them; write 2x",
             word, "@nvlink for such a pair, and leave '@nvlink' out where there is none"));
  }

  [[nodiscard]] LinkSpec between(std::size_t i, std::size_t j) const {
    const Part& a = parts_[i];
    const Part& b = parts_[j];
    if (a.known == b.known && a.bridged && b.bridged) {
      const double rate = linked(i, j) ? a.known->bridge_bytes_per_s : a.known->beyond_bytes_per_s;
      if (rate > 0) return {name(i), name(j), rate, kBridgeLatencyUs, {}};
    }
    const bool one_memory = a.known == b.known && a.npu != b.npu;
    const bool peers = a.known->peer_to_peer && b.known->peer_to_peer;
    const bool direct = one_memory || (peers && a.known->maker == b.known->maker);
    const double slower = std::min(a.slot.bandwidth, b.slot.bandwidth);
    const double latency_us = std::max(a.slot.latency_us, b.slot.latency_us);
    return {
        name(i), name(j), slower * (direct ? 1 : kThroughHost), latency_us * (direct ? 1 : 2), {}};
  }

  static constexpr double kBridgeLatencyUs = 8;  // estimate

  std::string_view words_;
  std::optional<Device> host_;
  const KnownDevice* assumed_ = nullptr;
  std::vector<Part> parts_;  // one entry per device
};

}  // namespace

std::shared_ptr<const Cluster> machine_of_words(std::string_view words) {
  return Machine(words).cluster();
}

const KnownDevice* assumed_host(std::string_view words) {
  return Machine(words).assumed_host();
}

std::string machine_words_help() {
  return "A machine in words: rtx4090+rtx4060+host:64GiB, 2xrtx3090@nvlink, rtx3060:10GiB@pcie3x4, "
         "sd8gen3:12GiB; "
         "`berth devices` lists the devices. `here` is this machine. Any other is a "
         "berth.cluster/1 "
         "file: `berth devices --cluster rtx3060 --json > my.json` writes one to put its figures "
         "in.";
}

}  // namespace berth
