#pragma once
// Answers what handlers in a process ask about who runs them (abi/questions.h), from /proc.

#include "abi/questions.h"
#include "engine/process/target_memory.h"

namespace spile::engine {

// Fills in the answer, but for Question::answered. The thread stands still. memory: of its process. The question may hold
// anything: it comes from the process, which learns nothing from the answer but what /proc says of processes to the user who
// runs spile.
void answer(abi::Question& question, pid_t pid, pid_t tid, const TargetMemory& memory);

}  // namespace spile::engine
