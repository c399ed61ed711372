// Clusters as Lua tables.
#pragma once

#include <lua.hpp>
#include <memory>

#include "berth/cluster.h"
#include "value.h"

namespace berth::lua {

/// A table of name, devices and links, as berth.cluster takes it. Throws Error naming the entry.
[[nodiscard]] std::shared_ptr<const Cluster> read_cluster(lua_State* L, const Value& table);

}  // namespace berth::lua
