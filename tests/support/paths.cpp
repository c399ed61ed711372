#include "support/paths.h"

namespace berth::test {

std::filesystem::path source_folder() {
  return BERTH_SOURCE_DIR;
}

std::filesystem::path shared_data_folder() {
  return BERTH_TEST_DATA_DIR;
}

std::filesystem::path plugin_folder() {
  return BERTH_PLUGIN_DIR;
}

}  // namespace berth::test
