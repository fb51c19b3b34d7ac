#pragma once

#include <pthread.h>
#include <signal.h>

namespace spile {

// Blocks all signals of the calling thread while it lives, so that threads which are started meanwhile never receive any: signals
// are for the main thread, which later takes some by a descriptor, and one that another thread took would end the program.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace spile
