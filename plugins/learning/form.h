// Options by name of a form: the constants of a published method, all at once.
#pragma once

#include <span>

#include "berth/options.h"

namespace berth::learning {

struct FormValue {
  const char* option;
  const char* value;  ///< as a user would write it
};

/// `options` (of the plugin `owner`) as they are where their option `form` is "own".
/// Otherwise every option of `published` has the value that it has there, unless it was given, be it
/// with its default.
[[nodiscard]] Options with_form(Options options, const char* owner,
                                std::span<const FormValue> published);

inline constexpr OptionSpec kFormOption = {
    "form", OptionType::text,
    "own",  "published: the options that are not given are as in the method's paper",
    {},     "own,published"};

}  // namespace berth::learning
