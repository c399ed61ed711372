// "rtx4090+rtx4060@pcie3x4+host:64GiB" as a cluster.
#include <algorithm>
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
#include "cluster/estimates.h"
#include "cluster/slots.h"
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
// clang-format off
constexpr std::string_view kOfServers[] = {
    "a10", "a10g", "a30", "a40", "l20", "l40", "l40s", "p100", "v100", "v100-32gb", "v100-pcie", "v100-pcie-32gb", "v100s",
    "a100", "a100-40gb", "a100-pcie", "a100-pcie-40gb", "a800", "h100", "h100-pcie", "h100-nvl", "h20", "h200", "h800",
    "b200", "b300", "mi210", "mi250", "mi250x", "mi300x", "mi325x", "mi350x", "mi355x"};
// clang-format on
/// The host that NVLink-C2C leads to.
constexpr std::string_view kGrace = "grace";
/// The share of one memory that Apple's systems give a GPU (recommendedMaxWorkingSetSize), by its size. In logs of
/// llama.cpp on present systems: 11.84 GiB of 16 (M4), 24.96 of 32 (M2 Max), 37.44 of 48 (M4 Pro), 51.84 of 64 (M3 Max)
/// and 107.52 of 128 (M4 Max; M5 Max on macOS 26 in ds4 pull request 893). Before it was two thirds up to 32 GiB and
/// three quarters above, and no newer log of 8 GiB is known.
struct AppleShare {
  std::int64_t up_to_gib;
  double share;
};
constexpr AppleShare kAppleShares[] = {{12, 2.0 / 3}, {24, 0.74}, {48, 0.78}, {96, 0.81}};
constexpr double kLargeAppleShare = 0.84;
/// Into and out of what was compiled for a neural processor: an estimate. Qualcomm's Hexagon SDK says a few
/// hundred where caches are not coherent.
constexpr double kNpuLatencyUs = 100;

constexpr int kChipsetLanes = 4;
constexpr std::string_view kNvlink = "nvlink";

[[noreturn]] void fail(std::string_view words, const std::string& what) {
  throw Error(ErrorCode::invalid_argument, cat("machine '", words, "': ", what));
}

std::int64_t memory_of(std::string_view words, std::string_view text) {
  if (const auto bytes = memory_of_text(text)) return *bytes;
  fail(words, cat("'", text, "' is no amount of memory; write one such as 64GiB, 500MB or 0"));
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

/// A name in small letters, its digits, and how many letters it has.
struct Spelling {
  std::string small, digits;
  std::size_t letters = 0;
};

Spelling spelling_of(std::string_view name) {
  Spelling spelling;
  for (const char c : name) {
    if (c == ' ' || c == '-' || c == '_') continue;
    spelling.small += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (c >= '0' && c <= '9') {
      spelling.digits += c;
    } else {
      ++spelling.letters;
    }
  }
  return spelling;
}

/// Whether one may be meant by the other. A name with another number, or with other letters where there are only one
/// or two, in it or before its number, is another device and no slip.
bool may_be_slip(const Spelling& a, const Spelling& b) {
  constexpr std::size_t kFewLetters = 2;
  if (a.digits != b.digits) return false;
  if (a.digits.empty()) return true;
  const std::size_t series = a.small.find_first_of("0123456789");
  const bool few = series <= kFewLetters;
  if (few && a.small.substr(0, series) != b.small.substr(0, series)) return false;
  return a.letters == b.letters && a.letters > kFewLetters;
}

/// The message for a name that no device has.
std::string unknown_device(std::string_view name) {
  std::vector<std::string> all, alike;
  const Spelling own = spelling_of(name);
  for (const KnownDevice& known : known_devices()) {
    all.push_back(known.device.name);
    if (may_be_slip(own, spelling_of(known.device.name))) alike.push_back(known.device.name);
  }
  std::sort(all.begin(), all.end());
  const std::string near = closest_name(own.small, alike);
  return cat("there is no device '", name, "'",
             near.empty() ? "." : cat("; did you mean '", near, "'?"),
             " Known: ", join(all, all.size()), ". ", machine_words_help());
}

/// "4xNAME", "NAMEx4" or "NAME". A name may end in digits and hold an x, and be a number alone.
void find_device(std::string_view words, std::string_view text, Part& part) {
  part.known = find_named_device(text);
  if (part.known != nullptr) return;
  const std::size_t first = text.find_first_of("xX"), last = text.find_last_of("xX");
  std::string_view name = text;
  if (first != std::string_view::npos) {
    if (const auto count = count_of(text.substr(0, first))) {
      name = text.substr(first + 1);
      part.known = find_named_device(name);
      part.count = *count;
    }
    const auto behind = count_of(text.substr(last + 1));
    if (part.known == nullptr && behind) {
      part.known = find_named_device(text.substr(0, last));
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
  if (part.known->device.host && text.ends_with(kRateUnit)) {
    if (const auto rate = slot_of(text)) {
      once(words, part.slot_word, text);
      part.slot = *rate;
      return;
    }
  }
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
             "oculink, usb4, tb3, tb4, tb5, or a rate such as 12GBps."));
  }
  once(words, part.slot_word, text);
  part.slot = joined(part.slot, *slot);
}

/// Cards in slots have no NVLink unless it is said, whatever others of the name are soldered to.
bool has_bridge(const Part& part) {
  const bool in_slot = part.slot_word.starts_with("pcie") || part.slot_word.starts_with("tb");
  return !part.nvlink_word.empty() || (part.known->bridged && !in_slot);
}

/// The memory that a placement may use of a card with `left` beside a context where words say `bytes`: up to that they
/// are obeyed, the card's own size leaves as much as when it is not said, and a larger one is that of a card with
/// more memory. The marketed size is up to a twelfth above the driver's, which error correction lessens.
std::int64_t usable_memory(std::int64_t left, std::int64_t bytes) {
  const std::int64_t total = left + kContextBytes;
  if (bytes <= total + total / 12) return std::min(bytes, left);
  return bytes - kContextBytes;
}

/// The share of one memory that GPU and neural processor have together.
double accelerators_share(const KnownDevice& known, std::int64_t whole) {
  if (known.maker != "Apple") return kGpuShare;
  for (const AppleShare& each : kAppleShares) {
    if (whole <= each.up_to_gib << 30) return each.share;
  }
  return kLargeAppleShare;
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
  if (part.memory_bytes && !one_memory && !part.known->device.host) {
    part.memory_bytes = usable_memory(part.known->device.memory_bytes, *part.memory_bytes);
  }
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
    share_lanes();
  }

  [[nodiscard]] std::shared_ptr<const Cluster> cluster() const {
    std::vector<Device> devices{*host_};
    std::vector<LinkSpec> links;
    const std::size_t copies = host_copies();
    const auto host_link = [&](std::size_t i, const char* direction) {
      std::vector<std::string> shares;
      if (parts_.size() > copies) shares.push_back(cat("cpu:0:", direction, ":", i % copies));
      if (in_mesh(parts_[i])) shares.push_back(slot_of(i, direction));
      return shares;
    };
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      devices.push_back(parts_[i].npu ? parts_[i].known->npu : parts_[i].known->device);
      Device& device = devices.back();
      device.name = name(i);
      if (parts_[i].memory_bytes) device.memory_bytes = *parts_[i].memory_bytes;
      device.engine_per_link = in_mesh(parts_[i]);
      const double us = parts_[i].slot.latency_us;
      links.push_back({name(i), host_->name, host_rate(i), us, host_link(i, "up")});
      links.push_back({host_->name, name(i), host_rate(i), us, host_link(i, "down")});
      for (std::size_t j = 0; j < parts_.size(); ++j) {
        if (j != i) links.push_back(between(i, j));
      }
    }
    return std::make_shared<const Cluster>(std::string(words_), std::move(devices), links);
  }

  /// Null where the words name one.
  [[nodiscard]] const KnownDevice* assumed_host() const { return assumed_; }

  [[nodiscard]] std::vector<std::string> notes() const {
    if (lanes_each_ == 0) return {};
    const std::string& word = shared_->device.name;
    return {cat("machine '", words_, "': its ", cards_, " cards share the ", card_lanes_,
                " PCIe lanes of a desktop's processor, so that '", word, "' has x", lanes_each_,
                cards_ > 2 ? ", some of it through the chipset" : "",
                "; say the slot where it has another, such as ", word, "@", shared_->slot,
                ", or +server for a host with a full slot for each")};
  }

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

  [[nodiscard]] double host_rate(std::size_t part) const {
    return std::min(parts_[part].slot.bandwidth, host_->memory_bandwidth);
  }

  /// Copies that its memory feeds at once in one direction, each on a channel of its own where they are fewer
  /// than its devices.
  [[nodiscard]] std::size_t host_copies() const {
    double fastest = 0;
    for (std::size_t i = 0; i < parts_.size(); ++i) fastest = std::max(fastest, host_rate(i));
    return host_->engine_per_link ? copies_at_once(host_->memory_bandwidth, fastest)
                                  : parts_.size();
  }

  /// Whether links lead from point to point between more than the two ends of a bridge: each has an engine then,
  /// and what goes over slots shares them.
  [[nodiscard]] bool in_mesh(const Part& part) const {
    const KnownDevice& known = *part.known;
    const auto linked = std::count_if(parts_.begin(), parts_.end(), [&](const Part& other) {
      return other.known == &known && other.bridged;
    });
    return linked > 2 && (known.linked_in > 2 || known.beyond_bytes_per_s > 0);
  }
  [[nodiscard]] std::string slot_of(std::size_t part, const char* direction) const {
    return cat("pcie:", name(part), ":", direction);
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
      card_lanes_ = known.card_lanes;
      host_->engine_per_link = !one_memory;
      if (!one_memory && !part.slot_word.empty()) host_->memory_bandwidth = part.slot.bandwidth;
      if (part.memory_bytes) host_->memory_bytes = *part.memory_bytes;
    }
    if (one_memory) {
      const std::int64_t whole = part.memory_bytes.value_or(known.device.memory_bytes);
      const bool has_npu = !known.npu.name.empty();
      // GPU and neural processor of a phone have equal parts of it.
      const double share = accelerators_share(known, whole) / (has_npu ? 2 : 1);
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

  /// A desktop's processor has one slot's lanes for all cards: two have half each, and more hang in part on four
  /// lanes of its chipset. A slot that the words name is as they say, and a narrow one the chipset's.
  void share_lanes() {
    cards_ = std::count_if(parts_.begin(), parts_.end(), [](const Part& part) {
      const bool of_chipset = !part.slot_word.empty() && part.slot.lanes <= kChipsetLanes;
      return part.slot.generation > 0 && !of_chipset;
    });
    if (card_lanes_ == 0 || cards_ < 2) return;
    const int each = cards_ == 2 ? card_lanes_ / 2 : kChipsetLanes;
    for (Part& part : parts_) {
      if (!part.slot_word.empty() || part.slot.lanes <= each) continue;
      part.slot = pcie(part.slot.generation, each);
      lanes_each_ = each;
      if (shared_ == nullptr) shared_ = part.known;
    }
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
      const double latency_us = a.known->linked_in == 0 ? kNvSwitchLatencyUs : kNvlinkLatencyUs;
      if (rate > 0) return {name(i), name(j), rate, latency_us, {}};
    }
    const bool one_memory = a.known == b.known && a.npu != b.npu;
    const bool peers = a.known->peer_to_peer && b.known->peer_to_peer;
    const bool direct = one_memory || (peers && a.known->maker == b.known->maker);
    const double slower = std::min(a.slot.bandwidth, b.slot.bandwidth);
    const double latency_us = std::max(a.slot.latency_us, b.slot.latency_us);
    std::vector<std::string> shares;
    if (in_mesh(a)) shares.push_back(slot_of(i, "up"));
    if (in_mesh(b)) shares.push_back(slot_of(j, "down"));
    if (!direct) shares.push_back(staged_channel(name(std::min(i, j)), name(std::max(i, j))));
    return {name(i), name(j), slower * (direct ? 1 : kThroughHost), latency_us * (direct ? 1 : 2),
            std::move(shares)};
  }

  std::string_view words_;
  std::optional<Device> host_;
  const KnownDevice* assumed_ = nullptr;
  std::vector<Part> parts_;  // one entry per device
  int card_lanes_ = 0;       // of the host
  std::ptrdiff_t cards_ = 0;
  int lanes_each_ = 0;  // that were given instead of a slot's; 0 = none
  const KnownDevice* shared_ = nullptr;
};

}  // namespace

std::shared_ptr<const Cluster> machine_of_words(std::string_view words) {
  return Machine(words).cluster();
}

const KnownDevice* assumed_host(std::string_view words) {
  return Machine(words).assumed_host();
}

std::vector<std::string> machine_notes(std::string_view words) {
  return Machine(words).notes();
}

std::string machine_words_help() {
  return "A machine in words: rtx4090+rtx4060+host:64GiB, 2xrtx3090@nvlink, rtx3060:10GiB@pcie3x4 "
         "(10 GiB of it to use), rtx4090:48GiB (a card of that size), sd8gen3:12GiB; "
         "`berth devices` lists the devices. `here` is this machine. Any other is a "
         "berth.cluster/1 "
         "file: `berth devices --cluster rtx3060 --json > my.json` writes one to put its figures "
         "in.";
}

}  // namespace berth
