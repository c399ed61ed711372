// Policies that a caller gave as a table of functions.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "berth/engine.h"
#include "berth/plugin.h"
#include "object.h"

namespace berth::c {

/// The tables of one engine, with copies of their texts. Descriptors point into it, so it lives as
/// long as the engine and every policy made from it. [thread-safe]
class Policies : public std::enable_shared_from_this<Policies> {
 public:
  Policies() = default;
  ~Policies();
  Policies(const Policies&) = delete;
  Policies& operator=(const Policies&) = delete;

  /// Registers a copy. Throws as Engine::register_plugin does; the table is not called then.
  void add(Engine& engine, const berth_policy& table);

  struct Entry {
    Policies* owner;
    berth_policy table;
    std::deque<std::string> texts;  // that the table, the options and the descriptor refer to
    std::vector<OptionSpec> options;
    PluginDescriptor descriptor;
  };

 private:
  std::mutex mutex_;
  std::deque<Entry> entries_;
};

}  // namespace berth::c
