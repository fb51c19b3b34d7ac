#pragma once
// Prints what handlers print: collects records from all rings, puts them in order of time, turns them into text. Thread rule: one
// thread.
//
// Records of one thread are in order by themselves. Records of several threads are put in order by holding each back for one more
// collection: by then every older record has been published. When more than kMostHeld bytes are held, all are written at once.
//
// Whatever a traced process can write, it can forge (docs/security.md). From rings other than the controller's own, only those
// kinds of records are accepted that handlers of the script can write there (CompiledScript::target_records). A shell command
// from there runs if the script spells it out, or if the processes are trusted with its text. Actions that processes could repeat
// without end are limited.

#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "abi/record.h"
#include "base/result.h"
#include "codegen/codegen.h"
#include "runs/send/kafka_sender.h"
#include "runs/text/event_lines.h"
#include "runs/text/output_file.h"
#include "runs/text/presenter.h"
#include "runs/text/printf_text.h"
#include "session/arena/arena_view.h"
#include "session/arena/ring_reader.h"
#include "session/output/run_recorder.h"
#include "session/output/shell_commands.h"
#include "session/output/stream_files.h"
#include "session/stacks/kernel_stacks.h"
#include "session/stacks/process_stacks.h"
#include "session/stacks/user_stacks.h"

namespace spile::session {

class Output {
 public:
  // messages and script must outlive this. Makes the streams of -b later, as records come. Errors: the file can't be opened.
  static Result<std::unique_ptr<Output>> open(const OutputOptions& options, const MessageOptions& messages,
                                              const codegen::CompiledScript& script);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // Sets the function that is called before a command is run whose text comes from a traced process. why_not returns "" to run
  // it, or why the processes are not trusted: a clause for an error message, such as "process 10 belongs to user 33". Without it,
  // all are trusted.
  void trust_processes_by(std::function<std::string()> why_not) { why_untrusted_ = std::move(why_not); }
  // Set the objects that name the addresses in records, which must outlive this. Null: records with addresses of processes print
  // no names, those with addresses of the kernel the addresses alone.
  void name_addresses_by(UserStacks* stacks) { stacks_ = stacks; }
  void name_kernel_by(KernelStacks* stacks) { kernel_stacks_ = stacks; }
  // Sets the object that walks the stacks of kUserStack records, which must outlive this.
  void walk_stacks_by(ProcessStacks* stacks) { process_stacks_ = stacks; }

  // Takes what all rings hold now, and holds it until write_pending(), but writes what is old enough of much. Returns whether a
  // ring had new bytes. REQUIRES: all calls of this object get the same arena.
  bool collect(ArenaView& arena);
  // Takes what the controller's own ring holds. If it held anything, writes all records at once, in order of time.
  void collect_controller(ArenaView& arena);
  // Adds a record of the kernel's ring buffer; copies what follows the abi::RecordHeader and computes header.size.
  void add(abi::RecordHeader header, std::span<const char> payload);
  // Writes the records that are old enough, or everything, and flushes the file. Carries out records that are no text: prints
  // warnings and errors on standard error, runs commands, switches files, notes exit().
  void write_pending(bool everything);

  // From here on writes JSON Lines rather than text. The arena's clock dates them; it must outlive this.
  void write_events(const sema::Program& program, const ArenaView& arena);
  // From here on what is printed is sent as such lines, with `host` and the process as a key, rather than written. sender and the
  // arena, whose clock dates them, must outlive this.
  void send_events(const sema::Program& program, const ArenaView& arena, runs::KafkaSender* sender, std::string host);
  // From here on what is printed is added to a recorder, which must outlive this, rather than written. The arena's clock dates
  // it.
  void record_by(RunRecorder* recorder, const ArenaView& arena);
  // Writes what a presenter has kept until now. REQUIRES: everything is written by write_pending().
  void finish_presentation();

  // Makes exit_requested() true, as a record of exit() does.
  void request_exit() { exit_requested_ = true; }
  // Returns the number of script errors so far, each time that one occurred; without suppressed ones.
  uint64_t errors() const { return errors_; }
  // Returns the number of errors that were only counted, by --suppress-handler-errors.
  uint64_t suppressed_errors() const { return suppressed_errors_; }
  bool exit_requested() const { return exit_requested_; }
  // Returns "WARNING: ..." lines about records that were not believed and actions that were not done, or "".
  std::string refusals_text() const;
  // Returns a "WARNING: ..." line for each error that occurred more than once, and of a verb for each that occurred, with how
  // often; or "". REQUIRES: called at the end.
  std::string repeated_errors_text() const;
  // Returns the message of the last script error, or "".
  std::string last_error() const { return last_error_; }
  // Returns whether text and streams can still be written; once false, it stays so.
  bool usable() const { return file_->usable() && stream_usable_; }
  // Returns whether output was lost by an error. A reader that has closed the pipe (`spile ... | head`) is not an error.
  bool write_failed() const { return file_->failed() || !stream_usable_; }
  // Writes to each stream of -b how many records it has lost; does nothing without -b. REQUIRES: called after the last collect().
  void finish_streams(ArenaView& arena);
  runs::OutputFile& file() { return *file_; }
  ShellCommands& commands() { return commands_; }

 private:
  enum class Origin : uint8_t { kController, kTarget, kKernel, kKernelRing };  // kKernelRing: add()
  struct Pending {
    uint64_t time;
    size_t offset;  // into bytes_
    uint32_t size;
    Origin origin;
  };
  // Limits of what a hostile process could otherwise repeat without end.
  static constexpr uint64_t kMostHeld = 256 << 20;  // bytes
  static constexpr uint64_t kPiece = 1 << 20;       // bytes of a ring that are taken at a time
  static constexpr int64_t kLeastAge = 2'000'000;   // ns, of records that are written while newer ones are held
  static constexpr uint64_t kMostWarnings = 1000;   // printed for processes, in a session
  static constexpr uint64_t kMostErrors = 1000;     // different ones printed, in a session
  static constexpr uint64_t kMostActions = 1000;    // of processes, held at a time
  static constexpr uint64_t kMostDamaged = 10;      // damaged rings reported one by one
  static constexpr uint64_t kSwitchesAtOnce = 100, kSwitchesPerSecond = 10;  // of files, by processes

  Output(const MessageOptions& messages, const codegen::CompiledScript& script, std::unique_ptr<runs::OutputFile> file)
      : messages_(messages), script_(script), owner_size_(script.layout.record_owner_size), file_(std::move(file)) {}
  RingReader::Taken take_ring(ArenaView& arena, uint32_t slot);
  // Returns whether to accept a record of a ring that traced processes can write to; counts the rejected ones.
  bool is_believed(const abi::RecordHeader& header);
  void report_damage(uint32_t ring);
  void sort_pending();
  // Writes the records up to a time, and flushes the file.
  void write_until(uint64_t time);
  std::string name_addresses(const abi::RecordHeader& header, const char* payload, size_t size);
  // Of a record in bytes_. Where records have no owner, the header's is not known.
  struct OwnedRecord {
    abi::OwnedHeader header;
    const char* payload;
    size_t size;  // of the payload
  };
  OwnedRecord record_at(size_t offset, size_t size) const;
  void stream_text(abi::OwnedHeader header, const std::string& text);
  void append_stream(abi::OwnedHeader header, std::span<const char> payload);
  void write_stream(ArenaView& arena, uint32_t index);
  void stream_failed(const Error& error);
  void write_record(const abi::OwnedHeader& header, const char* payload, size_t size, Origin origin);
  // Returns whether the record was written as an event.
  bool write_event(const abi::OwnedHeader& header, const char* payload, size_t size, Origin origin);
  // Returns whether the record was added to recorder_.
  bool record(const abi::OwnedHeader& header, const char* payload, size_t size, Origin origin);
  int64_t time_of(const abi::RecordHeader& header, Origin origin) const;
  void present(const abi::RecordHeader& header, runs::PayloadReader& arguments, const runs::TextRules& rules);
  bool may_switch_file();
  void run_command(const abi::RecordHeader& header, runs::PayloadReader& arguments, Origin origin);
  std::string_view script_string(runs::PayloadReader& arguments) const;
  void write_warning(std::string_view text, Origin origin);
  void write_error(std::string text, std::string_view excerpt = {}, std::string_view place = {});

  const MessageOptions& messages_;
  const codegen::CompiledScript& script_;
  const uint32_t owner_size_;  // of each record
  std::unique_ptr<runs::OutputFile> file_;
  std::shared_ptr<runs::Presenter> presenter_;  // null: absent
  ShellCommands commands_;
  std::unique_ptr<StreamFiles> streams_;  // -b
  std::vector<char> stream_bytes_;        // of the ring being taken
  bool stream_usable_ = true;
  std::unique_ptr<RingReader> rings_;
  std::function<std::string()> why_untrusted_;
  std::set<std::string, std::less<>> warned_;  // each warning is printed once
  uint64_t target_warnings_ = 0;
  uint64_t damaged_ = 0;
  uint64_t disbelieved_ = 0;      // records of kinds that no handler writes
  uint64_t actions_waiting_ = 0;  // of processes, in pending_
  uint64_t actions_dropped_ = 0;
  uint64_t switches_ = 0;     // by processes
  int64_t first_switch_ = 0;  // seconds
  UserStacks* stacks_ = nullptr;
  KernelStacks* kernel_stacks_ = nullptr;
  ProcessStacks* process_stacks_ = nullptr;
  std::map<std::string, uint64_t> error_counts_;  // by message
  uint64_t errors_not_printed_ = 0;
  uint64_t errors_ = 0;
  uint64_t suppressed_errors_ = 0;
  bool exit_requested_ = false;
  std::string last_error_;

  std::vector<char> bytes_;  // records, whole, one after another: those not yet written, and some that are
  std::vector<char> rest_;   // reused
  uint64_t held_bytes_ = 0;  // of records not yet written
  std::vector<Pending> pending_;
  std::vector<size_t> runs_;  // where in pending_ each ring's records begin: in order within a run
  uint64_t horizon_ = 0;      // records up to this time are complete
  uint64_t next_horizon_ = 0;
  std::string text_, presented_, event_text_;  // reused
  std::unique_ptr<runs::EventLines> events_;   // null: text is written
  runs::KafkaSender* sender_ = nullptr;        // null: events are written
  std::string host_;                           // of sender_
  RunRecorder* recorder_ = nullptr;            // null: absent
  const ArenaView* dated_by_ = nullptr;
  TerminalText terminal_;  // where file_ is a terminal
};

}  // namespace spile::session
