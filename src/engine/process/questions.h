#pragma once
// Answers what handlers in a process ask about who runs them (abi/questions.h), from /proc.

#include "abi/questions.h"
#include "engine/process/target_memory.h"

namespace spile::engine {

// Fills in the answer, but for Question::answered. The thread stands still. memory: of its process. of_others: the script asks
// about processes of its choice. The question may hold anything, as it comes from the process: it learns nothing of other
// processes but, with of_others, what /proc says of them to the user who runs spile.
void answer(abi::Question& question, pid_t pid, pid_t tid, const TargetMemory& memory, bool of_others);

}  // namespace spile::engine
