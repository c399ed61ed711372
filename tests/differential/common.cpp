#include "common.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>

namespace berth::differential {
namespace {

/// The neighbourhoods of `lookahead` take as long as all other policies together: one case of so many.
constexpr std::uint64_t kCasesPerNeighbourhoods = 8;

/// For the handler of a crash.
char now_text[256];

extern "C" void on_crash(int signal) {
  static_cast<void>(!write(2, now_text, std::strlen(now_text)));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

OptionTexts options_of(const std::string& policy, int threads, bool optimum_known,
                       std::uint64_t number) {
  using Int = std::int64_t;
  if (policy == "auto") {
    return {{"moves", Int{300}},
            {"chains", Int{2}},
            {"threads", Int{threads}},
            {"from", std::string("single,heft,topo,m-etf,metis,scotch")}};
  }
  if (policy == "mcmc") return {{"chains", Int{2}}, {"moves", Int{100}}};
  if (policy == "exact") return {{"nodes", Int{optimum_known ? 500 : 50}}};
  if (policy == "dp") {
    return {{"pairs", Int{optimum_known ? 20000 : 2000}},
            {"ideals", Int{optimum_known ? 4000 : 400}}};
  }
  if (policy == "random") return {{"samples", Int{4}}};
  if (policy == "placeto") return {{"passes", Int{1}}, {"groups", Int{32}}};
  if (policy == "doppler") return {{"imitation", Int{3}}};
  if (policy == "lookahead" && number % kCasesPerNeighbourhoods != 0)
    return {{"neighbourhood", Int{0}}};
  return {};
}

/// These take tens of milliseconds for an answer.
bool learns(const std::string& policy) {
  return policy == "placeto" || policy == "seq2seq" || policy == "hdp" || policy == "doppler";
}

void say_now(const std::string& text) {
  std::snprintf(now_text, sizeof now_text, "crashed in %s\n", text.c_str());
}

void report_crashes() {
  for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGILL}) {
    std::signal(signal, on_crash);
  }
}

}  // namespace berth::differential
