#pragma once
// -F: the session goes on in the background. Without -o it keeps the last of its output in memory, and gives it to
// `spile --flight-dump PID` of the same user (or root) through a socket in the abstract namespace, which ends with the
// recorder, however that ends.

#include <functional>

#include "base/result.h"
#include "base/unique_fd.h"
#include "session/output_file.h"

namespace spile::session {

// Forks. In the child: calls run(started), which must call started() once its probes are armed, and leaves the process with
// the status that run returns. In the parent: waits for that, prints the recorder's process number, and returns the status.
Result<int> run_in_background(const std::function<int(std::function<void()> started)>& run);

class FlightSocket {
 public:
  // Makes the socket. Errors: another process has its name.
  static Result<FlightSocket> listen();
  int fd() const { return fd_.get(); }
  // Gives the text that `output` holds to clients that have connected; rejects those of other users. To be called when fd() is readable.
  void serve(const OutputFile& output);

 private:
  UniqueFd fd_;
};

}  // namespace spile::session
