#pragma once
// `spile record --stream FD`: the run goes to the program that has started spile, over a socket, while it runs, and what spile
// has to say as well (docs/run-format.md). That program asks for ticks, and ends the run by closing its end, or by ending itself.
// Thread rule: one object in a process; frames() from any thread.

#include <memory>

#include "base/messages.h"
#include "base/result.h"
#include "runs/run/run_frames.h"

namespace spile::runs {

class RunStream : public MessageSink {
 public:
  // Takes over a connected stream socket; becomes the message_sink(). From here on, SIGTERM is raised when the other end is
  // closed. Errors: it is not such a socket.
  static Result<std::shared_ptr<RunStream>> open(int descriptor);
  ~RunStream() override;

  const std::shared_ptr<FrameWriter>& frames() const { return frames_; }
  // A descriptor that is readable when the other side asks for something; -1: it asks for nothing any more.
  int requests_fd() const { return requests_; }
  // Returns how many ticks the other side has asked for since the last call.
  uint64_t take_requests();

  void take(Message message) override;

 private:
  RunStream() = default;
  std::shared_ptr<FrameWriter> frames_;
  int requests_ = -1;  // of frames_
};

}  // namespace spile::runs
