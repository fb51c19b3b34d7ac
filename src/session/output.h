#pragma once
// What handlers print: collects records from all rings, puts them in order of time, turns them into text. One thread.
//
// Records of one thread are in order by themselves. Between threads: a record is held back until a whole collection
// later, by when every record older than it has been published.

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "abi/record.h"
#include "base/result.h"
#include "codegen/codegen.h"
#include "session/arena.h"

namespace spile::session {

class Output {
 public:
  // path: of -o, or empty for standard output.
  static Result<std::unique_ptr<Output>> open(const std::string& path, const codegen::CompiledScript& script);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // Takes what the rings hold now. True if there was anything.
  bool collect(Arena& arena);
  // Takes what the controller's own ring holds and writes it at once, after all that is older.
  void collect_controller(Arena& arena);
  // A record from elsewhere (the kernel's ring buffer).
  void add(const abi::RecordHeader& header, const char* payload);
  // Writes what is old enough (or everything), and flushes the stream.
  void write_pending(bool everything);

  // Script errors seen so far ("ERROR: ..." on standard error), and whether exit() came as a record.
  uint64_t errors() const { return errors_; }
  bool exit_requested() const { return exit_requested_; }
  // Called with each error's message, for the error probes and the status.
  std::string last_error() const { return last_error_; }
  // False once the reader of our output has gone (EPIPE) or the disk is full: told once on standard error.
  bool usable() const { return usable_; }

 private:
  struct Pending {
    uint64_t time;
    size_t offset;  // into bytes_
    uint32_t size;
  };
  Output(const codegen::CompiledScript& script, FILE* stream, bool owned)
      : script_(script), stream_(stream), owned_(owned) {}
  bool take_ring(Arena& arena, uint32_t slot);
  void write_record(const abi::RecordHeader& header, const char* payload, size_t size);
  void write_text(std::string_view text);

  const codegen::CompiledScript& script_;
  FILE* stream_;
  bool owned_;
  bool usable_ = true;
  uint64_t errors_ = 0;
  bool exit_requested_ = false;
  std::string last_error_;

  std::vector<char> bytes_;        // records not yet written, whole, one after another
  std::vector<Pending> pending_;
  uint64_t horizon_ = 0;           // records up to this time are complete
  uint64_t next_horizon_ = 0;
  std::string text_;               // reused
};

}  // namespace spile::session
