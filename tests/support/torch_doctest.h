// doctest in a file that includes LibTorch, which has a macro CHECK of its own.
#pragma once

#include <c10/util/Logging.h>
#undef CHECK

#include <doctest/doctest.h>

// doctest does not define it again where another file of the same unit included it before.
#undef CHECK
#define CHECK DOCTEST_CHECK
