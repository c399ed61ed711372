/// @file
/// The contract between the engine and its plugins.
///
/// A plugin is a shared library named `<kind>_<name>.so`. It exports one symbol, `berth_plugin`: a
/// PluginDescriptor that is initialised data. The engine reads and checks it before any function of
/// the plugin runs; of a file it reads it before the file is opened. C++ types cross this boundary,
/// so the ABI must match exactly: the fingerprint names the standard library, whose types cross it;
/// the ABI version stands for the layout of these headers. Compilers that share the standard library
/// share the rest (the Itanium C++ ABI), whatever language mode from C++20 on they are in. Libraries
/// are opened with all symbols resolved and stay loaded until the process ends.
///
///     class Mine : public berth::Policy { ... };
///     static constexpr berth::OptionSpec kOptions[] = {
///         {"rounds", berth::OptionType::integer, "8", "passes over the graph",
///          berth::OptionRange::at_least(1)}};
///     BERTH_PLUGIN(Mine, "mine", "1.0", "one line for `berth plugins`", kOptions);
///
/// Mine is constructed from a `const berth::Options&` that holds a checked value of every option.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "berth/backend.h"
#include "berth/export.h"
#include "berth/frontend.h"
#include "berth/options.h"
#include "berth/policy.h"
#include "berth/version.h"

#define BERTH_DETAIL_STRING2(x) #x
#define BERTH_DETAIL_STRING(x) BERTH_DETAIL_STRING2(x)
// Its debug mode gives containers another layout.
#if defined(_GLIBCXX_DEBUG)
#define BERTH_DETAIL_DEBUG ":debug"
#else
#define BERTH_DETAIL_DEBUG ""
#endif
#if defined(_GLIBCXX_RELEASE)
#define BERTH_DETAIL_STDLIB                                                            \
  "libstdc++-" BERTH_DETAIL_STRING(_GLIBCXX_RELEASE) ":cxx11abi=" BERTH_DETAIL_STRING( \
      _GLIBCXX_USE_CXX11_ABI)
#elif defined(_LIBCPP_VERSION)
#define BERTH_DETAIL_STDLIB "libc++-" BERTH_DETAIL_STRING(_LIBCPP_VERSION)
#else
#define BERTH_DETAIL_STDLIB "unknown"
#endif

/// Must be equal on both sides for C++ types to cross the boundary.
#define BERTH_BUILD_FINGERPRINT BERTH_DETAIL_STDLIB BERTH_DETAIL_DEBUG

namespace berth {

inline constexpr std::uint32_t kPluginMagic = 0x48545242;  // "BRTH"
inline constexpr const char* kPluginSymbol = "berth_plugin";

enum class PluginKind : std::uint32_t { frontend = 1, policy = 2, backend = 3 };
[[nodiscard]] BERTH_EXPORT const char* plugin_kind_name(PluginKind kind) noexcept;

/// Plain data with a fixed start: the first four fields never move, so that a mismatch of anything
/// after them can be detected. Strings and arrays are static data of the plugin.
struct PluginDescriptor {
  std::uint32_t magic;        ///< kPluginMagic
  std::uint32_t abi_version;  ///< BERTH_ABI_VERSION that the plugin was built with
  std::uint32_t size;         ///< sizeof(PluginDescriptor) in the plugin's build
  PluginKind kind;
  const char* fingerprint;    ///< BERTH_BUILD_FINGERPRINT of the plugin's build
  const char* berth_version;  ///< BERTH_VERSION_STRING of the plugin's build, for messages
  const char* name;           ///< unique within its kind: lower-case letters, digits, '-', '_'
  const char* version;
  const char* description;  ///< one line
  const OptionSpec* options;
  std::size_t option_count;
  /// The factory of `kind` is set; the other two are null. It is given `user` and returns a new
  /// object, which the caller owns and deletes through its virtual destructor. It may throw
  /// berth::Error.
  Frontend* (*create_frontend)(const Options& options, void* user);
  Policy* (*create_policy)(const Options& options, const PolicyMaker& policies, void* user);
  Backend* (*create_backend)(const Options& options, void* user);
  void* user;  ///< for whoever registers plugins in process; null in files
};

namespace detail {

template <typename Interface, typename Plugin>
Interface* create(const Options& options, void* /*user*/) {
  if constexpr (std::is_constructible_v<Plugin, const Options&>) {
    return new Plugin(options);
  } else {
    return new Plugin();
  }
}

template <typename Plugin>
Policy* create_policy(const Options& options, const PolicyMaker& policies, void* user) {
  if constexpr (std::is_constructible_v<Plugin, const Options&, const PolicyMaker&>) {
    return new Plugin(options, policies);
  } else {
    return create<Policy, Plugin>(options, user);
  }
}

}  // namespace detail

/// The descriptor of `Plugin`, a class derived from Policy, Frontend or Backend. It is constructed
/// from a `const Options&`, or from nothing; a policy that runs other policies also takes a
/// `const PolicyMaker&`. The texts and the options must be static.
template <typename Plugin>
constexpr PluginDescriptor describe_plugin(const char* name, const char* version,
                                           const char* description,
                                           std::span<const OptionSpec> options = {}) {
  PluginDescriptor descriptor{kPluginMagic,
                              BERTH_ABI_VERSION,
                              sizeof(PluginDescriptor),
                              PluginKind::policy,
                              BERTH_BUILD_FINGERPRINT,
                              BERTH_VERSION_STRING,
                              name,
                              version,
                              description,
                              options.data(),
                              options.size(),
                              nullptr,
                              nullptr,
                              nullptr,
                              nullptr};
  if constexpr (std::is_base_of_v<Policy, Plugin>) {
    descriptor.create_policy = &detail::create_policy<Plugin>;
  } else if constexpr (std::is_base_of_v<Backend, Plugin>) {
    descriptor.kind = PluginKind::backend;
    descriptor.create_backend = &detail::create<Backend, Plugin>;
  } else {
    static_assert(std::is_base_of_v<Frontend, Plugin>, "a plugin is a policy, frontend or backend");
    descriptor.kind = PluginKind::frontend;
    descriptor.create_frontend = &detail::create<Frontend, Plugin>;
  }
  return descriptor;
}

}  // namespace berth

/// Makes a library a plugin. Use at namespace scope, once per library. The arguments after the
/// class are those of describe_plugin.
#define BERTH_PLUGIN(CLASS, ...)                                        \
  extern "C" BERTH_EXPORT const ::berth::PluginDescriptor berth_plugin; \
  extern "C" constinit const ::berth::PluginDescriptor berth_plugin =   \
      ::berth::describe_plugin<CLASS>(__VA_ARGS__)
