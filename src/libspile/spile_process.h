#pragma once
// The program `spile` as a child of the program that uses the library, and the socket to it. Thread rule: one thread, but
// close_requests() from any.
//
// The child sees the end of its work by the end of the socket (runs/run/run_stream.h): no signal is sent but to one that
// hangs, so a number that was given to another process meanwhile is never hit. The library's user may ignore SIGCHLD, or reap all
// children itself.

#include <sys/types.h>

#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace spile::client {

class SpileProcess {
 public:
  // Starts the program with these arguments, of which "--stream" is not one. Errors: it is not there, or can't be started.
  Result<void> start(const std::vector<std::string>& arguments);
  // Closes the socket, and waits for the child's end: for at most patience_ms, then it is killed.
  void finish(int patience_ms);
  // Leaves the child alone, and closes this process's copies.
  void abandon();

  bool is_running() const { return static_cast<bool>(socket_); }
  int socket() const;
  // Closes the direction to the child, which ends the run.
  void close_requests();
  // Asks for a tick. Returns false where the child has closed the socket.
  bool request_tick();
  // Waits until the socket is readable. Returns false after timeout_ms (-1: without end).
  bool wait(int timeout_ms) const;
  enum class Received { kBytes, kNothing, kEnd };
  // Appends what has come.
  Received receive(std::string& bytes);

  // How the child has ended, as a clause: "was killed by signal 9 (Killed)"; "has ended" where somebody else has waited for it.
  // REQUIRES: finish() was called.
  const std::string& how_ended() const { return how_ended_; }
  const std::string& program() const { return program_; }
  pid_t pid() const { return pid_; }

 private:
  mutable std::mutex mutex_;   // of socket_, for close_requests()
  UniqueFd socket_, process_;  // process_: of pidfd_open(2)
  pid_t pid_ = 0;
  std::string program_, how_ended_;
};

// Returns where the program is (spile.h says in which order it is looked for); "spile" where only PATH is left.
std::string spile_program();

}  // namespace spile::client
