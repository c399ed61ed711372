#pragma once

namespace berth::command {

/// The whole command. Exit status: 0; 1 an operation failed; 2 usage.
[[nodiscard]] int run(int argc, char** argv);

}  // namespace berth::command
