#pragma once
// For the unit tests of core/ and process/: what the engine does in a traced process, done by a signal handler: a fault at an
// instruction in the fix-up table continues at its resume address, and questions (abi/questions.h) about the thread are answered.

#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/ucontext.h>
#include <unistd.h>

#include "abi/questions.h"

extern "C" {
struct TestFixup {
  int32_t fault, resume;  // distances, each from its own place
};
[[gnu::weak]] extern const TestFixup test_fixups_begin[] asm("__start_spile_fixups");
[[gnu::weak]] extern const TestFixup test_fixups_end[] asm("__stop_spile_fixups");
}

namespace spile::rt {

inline void answer_question(uint64_t bell) {
  auto* question = reinterpret_cast<abi::Question*>(bell - abi::kQuestionBell);
  if (question->what != abi::Question::kThread) return;
  question->values = {.asked_ns = 0,
                      .name = {},
                      .pid = getpid(),
                      .tid = gettid(),
                      .uid = getuid(),
                      .euid = geteuid(),
                      .gid = getgid(),
                      .egid = getegid()};
  prctl(PR_GET_NAME, question->values.name);
  question->answered = 1;
}

// A fault elsewhere ends the program: the instruction runs again without the handler.
inline void continue_after_fault(int number, siginfo_t* info, void* opaque) {
  const auto at = reinterpret_cast<uint64_t>(info->si_addr);
  if (at >= abi::kQuestionBell && (at - abi::kQuestionBell) % alignof(abi::Question) == 0) answer_question(at);
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
