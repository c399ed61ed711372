// What tests of training by many processes share.
#pragma once

#include <string>

#include "berth.h"

namespace berth::test {

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// What a build or a machine may lack: Lua, OpenSSL, hiredis, LibTorch, a server.
inline bool has_workers() {
  const Workplace work;
  work.write_text("try.lua",
                  "local berth = require 'berth'\nberth.module_file 'redis'\n"
                  "berth.policy('placeto', { weights = 'none' })\n"
                  "assert(require('berth.workers').server_program())");
  if (work.berth({"run", "try.lua"}).status == 0) return true;
  MESSAGE("skipped: this build has no Lua, OpenSSL, hiredis or LibTorch, or this machine no Redis");
  return false;
}

}  // namespace berth::test
