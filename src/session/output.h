#pragma once
// What handlers print: collects records from all rings, puts them in order of time, turns them into text. One thread.
//
// Records of one thread are in order by themselves. Between threads: a record is held back until a whole collection
// later, by when every record older than it has been published.

#include <cstdio>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "abi/record.h"
#include "base/result.h"
#include "codegen/codegen.h"
#include "session/arena.h"
#include "session/output_file.h"
#include "session/shell_commands.h"
#include "session/stream_file.h"
#include "session/stack_tables.h"

namespace spile::session {

class Output {
 public:
  static Result<std::unique_ptr<Output>> open(const Options& options, const codegen::CompiledScript& script);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // Who names addresses; may be null. Must outlive this.
  void name_addresses_by(StackTables* stacks) { stacks_ = stacks; }

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
  // With --suppress-handler-errors: those that were only counted.
  uint64_t suppressed_errors() const { return suppressed_errors_; }
  bool exit_requested() const { return exit_requested_; }
  // Called with each error's message, for the error probes and the status.
  std::string last_error() const { return last_error_; }
  bool usable() const { return file_->usable() && stream_usable_; }
  // -b: what each stream has lost is written to it. The last thing.
  void finish_streams(Arena& arena);
  OutputFile& file() { return *file_; }
  ShellCommands& commands() { return commands_; }

 private:
  struct Pending {
    uint64_t time;
    size_t offset;  // into bytes_
    uint32_t size;
  };
  Output(const Options& options, const codegen::CompiledScript& script, std::unique_ptr<OutputFile> file)
      : options_(options), script_(script), file_(std::move(file)) {}
  bool take_ring(Arena& arena, uint32_t slot);
  void sort_pending();
  std::string name_addresses(const abi::RecordHeader& header, const char* payload, size_t size);
  void stream_text(abi::RecordHeader header, const std::string& text);
  void append_stream(Arena& arena, uint32_t index);
  void stream_failed(const Error& error);
  void write_record(const abi::RecordHeader& header, const char* payload, size_t size);
  void write_warning(std::string_view text);
  void write_error(std::string text);

  const Options& options_;
  const codegen::CompiledScript& script_;
  std::unique_ptr<OutputFile> file_;
  ShellCommands commands_;
  std::unique_ptr<StreamFiles> streams_;  // -b
  std::vector<char> stream_bytes_;        // of the ring being taken
  bool stream_usable_ = true;
  std::set<std::string, std::less<>> warned_;  // each warning is told once
  StackTables* stacks_ = nullptr;
  uint64_t errors_ = 0;
  uint64_t suppressed_errors_ = 0;
  bool exit_requested_ = false;
  std::string last_error_;

  std::vector<char> bytes_;        // records not yet written, whole, one after another
  std::vector<Pending> pending_;
  std::vector<size_t> runs_;       // where in pending_ each ring's records begin: in order within a run
  uint64_t horizon_ = 0;           // records up to this time are complete
  uint64_t next_horizon_ = 0;
  std::string text_;               // reused
};

}  // namespace spile::session
