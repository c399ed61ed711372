// The page of a report without its data: reports/page/, made one file when the engine is built.
#pragma once

#include <string_view>

namespace berth::reports {

/// Its data go where BERTH_DATA stands.
extern const std::string_view kPage;

}  // namespace berth::reports
