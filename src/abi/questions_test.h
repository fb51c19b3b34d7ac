#pragma once
// For unit tests that run handlers in their own process: what the controller does about a question (questions.h).

#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "abi/questions.h"

namespace spile::abi {

// Answers a question about the thread or the time, if SIGSEGV came from one; any other stays without an answer. The load is left
// to the caller, as any that faults.
inline void answer_question(const siginfo_t* info) {
  const auto bell = reinterpret_cast<uint64_t>(info->si_addr);
  if (bell < kQuestionBell || (bell - kQuestionBell) % alignof(Question) != 0) return;
  auto* question = reinterpret_cast<Question*>(bell - kQuestionBell);
  if (question->what == Question::kTime) {
    timespec now;
    clock_gettime(static_cast<clockid_t>(question->argument), &now);
    question->number = now.tv_sec * 1'000'000'000 + now.tv_nsec;
    question->answered = 1;
  }
  if (question->what != Question::kThread) return;
  question->values = {.asked_ns = 0,
                      .name = {},
                      .pid = getpid(),
                      .tid = gettid(),
                      .uid = getuid(),
                      .euid = geteuid(),
                      .gid = getgid(),
                      .egid = getegid()};
  syscall(SYS_prctl, PR_GET_NAME, question->values.name);  // prctl() itself needs the C library's TLS, which tests take away
  question->answered = 1;
}

}  // namespace spile::abi
