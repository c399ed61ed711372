// Methods of problems and evaluators that policies in Lua honour constraints with.
#pragma once

namespace berth::lua {

class Call;

int problem_separations(Call& call);
int problem_memory_bytes(Call& call);
int evaluator_repair(Call& call);

}  // namespace berth::lua
