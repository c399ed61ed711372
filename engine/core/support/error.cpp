#include "berth/error.h"

namespace berth {

Error::~Error() = default;  // the key function: one type_info for all libraries

}  // namespace berth
