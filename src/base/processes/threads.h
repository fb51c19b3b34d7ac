#pragma once
// Starting of threads, which the system may refuse (ulimit -u, pids.max of a control group): std::thread throws then, and an
// exception that nobody catches would end spile in the midst of its work.

#include <system_error>
#include <thread>
#include <utility>

#include "base/processes/signal_mask.h"
#include "base/result.h"

namespace spile {

// Starts a thread in which all signals are blocked. Thread: std::thread or std::jthread. Returns false where the system allows no
// more: for work that can be left out, or be done by the caller.
template <typename Thread, typename... Work>
[[nodiscard]] bool try_to_start(Thread& thread, Work&&... work) {
  try {
    const SignalsBlocked blocked;
    thread = Thread(std::forward<Work>(work)...);
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

// The same for work without which spile can't go on. what: a noun phrase, "the thread that reads the kernel's records".
template <typename Thread, typename... Work>
Result<void> start(Thread& thread, const char* what, Work&&... work) {
  if (try_to_start(thread, std::forward<Work>(work)...)) return {};
  return Error{std::string(what) + " can't be started: the system allows no more threads",
               "raise the limit of processes (ulimit -u, pids.max of the control group)"};
}

}  // namespace spile
