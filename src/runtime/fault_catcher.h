#pragma once
// For the unit tests of core/ and process/: what the engine does in a traced process, done by a signal handler: a fault at an
// instruction in the fix-up table continues at its resume address, and questions (abi/questions.h) about the thread are answered.

#include <signal.h>
#include <stdint.h>
#include <sys/ucontext.h>

#include "abi/questions_test.h"

extern "C" {
struct TestFixup {
  int32_t fault, resume;  // distances, each from its own place
};
[[gnu::weak]] extern const TestFixup test_fixups_begin[] asm("__start_spile_fixups");
[[gnu::weak]] extern const TestFixup test_fixups_end[] asm("__stop_spile_fixups");
}

namespace spile::rt {

// A fault elsewhere ends the program: the instruction runs again without the handler.
inline void continue_after_fault(int number, siginfo_t* info, void* opaque) {
  abi::answer_question(info);
  greg_t& rip = static_cast<ucontext_t*>(opaque)->uc_mcontext.gregs[REG_RIP];
  for (const TestFixup* fixup = test_fixups_begin; fixup != test_fixups_end; ++fixup) {
    if (reinterpret_cast<greg_t>(&fixup->fault) + fixup->fault != rip) continue;
    rip = reinterpret_cast<greg_t>(&fixup->resume) + fixup->resume;
    return;
  }
  signal(number, SIG_DFL);
}

// Installs the handler of SIGSEGV and SIGBUS for the rest of the program.
inline void catch_faults() {
  struct sigaction action = {};
  action.sa_sigaction = &continue_after_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace spile::rt
