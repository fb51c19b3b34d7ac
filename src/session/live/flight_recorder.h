#pragma once
// -F: the session goes on in the background. Without -o it keeps the end of its output in memory, and sends it to
// `spile --flight-dump PID` of the same user (or root) through a socket in the abstract namespace (unix(7)), whose name is free
// again when the recorder has ended, however that happens.

#include <functional>

#include "base/result.h"
#include "base/unique_fd.h"
#include "runs/text/output_file.h"

namespace spile::session {

// Forks. In the child: calls run(started), and ends the process with the status that run returns. run must call started() once
// its probes are armed; from then on, standard output and error are /dev/null. In the parent: waits until the child has called
// started(), prints the child's process number on standard output and returns 0; or waits until the child has ended, and returns
// 0 or 1. Errors: no pipe or process can be made. REQUIRES: the process has one thread.
Result<int> run_in_background(const std::function<int(std::function<void()> started)>& run);

class FlightSocket {
 public:
  // Makes the socket, named after this process. Errors: another process has its name. REQUIRES: called in the recorder, after the
  // fork.
  static Result<FlightSocket> listen();
  // Returns a descriptor that is readable when a client has connected; -1: not listening.
  int fd() const { return fd_.get(); }
  // Sends the text that `output` holds to one client that has connected, and closes the connection; rejects other users. Waits
  // about 1 s for a client that does not read. REQUIRES: called when fd() is readable.
  void serve(const runs::OutputFile& output);

 private:
  UniqueFd fd_;
};

}  // namespace spile::session
