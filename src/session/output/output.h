#pragma once
// What becomes of handlers' records: RecordQueue takes them from the rings and puts them in order, and this hands each to what it
// is for. What prints goes to the sinks: text, a verb's presenter, JSON, Kafka, a document. Errors and warnings go to
// HandlerErrors; what spile is asked to do, to HandlerActions. Thread rule: one thread.

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "codegen/codegen.h"
#include "runs/send/kafka_sender.h"
#include "runs/text/output_file.h"
#include "sema/terms/program.h"
#include "session/arena/arena_view.h"
#include "session/output/address_names.h"
#include "session/output/handler_actions.h"
#include "session/output/handler_errors.h"
#include "session/output/presenter_sink.h"
#include "session/output/record_queue.h"
#include "session/output/record_sink.h"
#include "session/output/run_recorder.h"
#include "session/output/stream_sink.h"
#include "session/terms/options.h"

namespace spile::session {

class Output final : private RecordSink {
 public:
  // Writes text, or what the presenter of `options` makes, until one of the functions below is called. messages and script must
  // outlive this. Errors: the file can't be opened.
  static Result<std::unique_ptr<Output>> open(const OutputOptions& options, const MessageOptions& messages,
                                              const codegen::CompiledScript& script);
  ~Output() override;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // From here on writes JSON Lines rather than text. The arena's clock dates them; it must outlive this.
  void write_events(const sema::Program& program, const ArenaView& arena);
  // From here on what is printed is sent as such lines, with `host` and the process as a key, rather than written. sender and the
  // arena, whose clock dates them, must outlive this.
  void send_events(const sema::Program& program, const ArenaView& arena, runs::KafkaSender& sender, std::string host);
  // From here on what is printed is added to a recorder, which must outlive this, rather than written; it is also sent, after
  // send_events(). The arena's clock dates it; it must outlive this.
  void record_by(RunRecorder& recorder, const ArenaView& arena);

  // The parts. The queue takes records from the rings; the others get what it hands on.
  RecordQueue& records() { return queue_; }
  HandlerErrors& errors() { return errors_; }
  HandlerActions& actions() { return actions_; }
  AddressNames& names() { return names_; }
  runs::OutputFile& file() { return *file_; }

  // Writes what a presenter has kept until now. REQUIRES: all records have been handed on.
  void finish_presentation();
  // Writes to each stream of -b how many records it has lost; does nothing without -b. REQUIRES: called after the last
  // collection.
  void finish_streams(ArenaView& arena);
  // Returns whether text and streams can still be written; once false, it stays so.
  bool usable() const { return file_->usable() && streams_usable(); }
  // Returns whether output was lost by an error. A reader that has closed the pipe (`spile ... | head`) is not an error.
  bool write_failed() const { return file_->failed() || !streams_usable(); }

 private:
  Output(const OutputOptions& options, const MessageOptions& messages, const codegen::CompiledScript& script,
         std::unique_ptr<runs::OutputFile> file);
  void take(const Record& record) override;
  void flush() override { file_->flush(); }
  void print_to_sink(std::unique_ptr<RecordSink> sink);
  bool streams_usable() const { return !streams_ || streams_->usable(); }

  const codegen::CompiledScript& script_;
  // ORDER: later members use earlier ones.
  std::unique_ptr<runs::OutputFile> file_;
  AddressNames names_;
  HandlerErrors errors_;
  HandlerActions actions_;
  std::vector<std::unique_ptr<RecordSink>> sinks_;  // of records that print
  PresenterSink* presentation_ = nullptr;           // among them; null: absent
  bool sends_events_ = false;                       // the first of them is for Kafka
  std::unique_ptr<StreamSink> streams_;             // null: no -b
  RecordQueue queue_;
};

}  // namespace spile::session
