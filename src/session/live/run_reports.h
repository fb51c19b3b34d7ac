#pragma once
// What others get of a run while it goes on: the document of `spile record`, or its stream; ticks for --otlp; events for --kafka;
// answers to scrapers of --http. Thread rule: one thread.

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "codegen/codegen.h"
#include "runs/send/kafka_sender.h"
#include "runs/send/otlp_sender.h"
#include "sema/terms/program.h"
#include "session/arena/arena_view.h"
#include "session/live/controller_probes.h"
#include "session/live/run_parts.h"
#include "session/live/tickers.h"
#include "session/output/live_run.h"
#include "session/output/output.h"
#include "session/output/run_recorder.h"
#include "session/serve/http_files.h"
#include "session/terms/options.h"

namespace spile::session {

class RunReports {
 public:
  // Opens what `options` ask for, and has `output` hand what is printed to it. All must outlive this. Errors: a file can't be
  // written, an address is malformed, librdkafka is not installed.
  static Result<std::unique_ptr<RunReports>> open(const sema::Program& program, const codegen::CompiledScript& script,
                                                  const TargetOptions& traced, const OutputOptions& options, ArenaView& arena,
                                                  Output& output);
  // Returns whether events are reported with their process.
  bool names_processes() const { return kafka_ || recorder_; }

  // Sets what the reports are of; both must outlive this. REQUIRES: called before all functions below.
  void use(const RunParts& parts, ControllerProbes& probes);
  // Begins to tick, at `now` (CLOCK_MONOTONIC): the probes are armed.
  void start(Tickers& tickers, int64_t now);
  // Answers the requests for ticks that a reader of the stream has made. Errors: of ControllerProbes::fetch_globals().
  Result<void> serve_requests();
  // Returns a descriptor that is readable when serve_requests() has something to do; -1: absent.
  int requests_fd() const;
  // Sends what was added to a stream.
  void send();
  // Returns whether the document can't be written any more.
  bool failed() const { return recorder_ && recorder_->writer().failure(); }

  // Notes the files that processes have mapped, and how places were armed. Does nothing without a document.
  void note_places();
  // Reports the state at the end of the handlers: end probes may clear what was counted. Errors: of
  // ControllerProbes::fetch_globals().
  Result<void> tick_last();
  // Waits a few seconds until all is delivered.
  void finish_sending();
  // Returns warnings about what was not delivered. REQUIRES: after finish_sending().
  std::vector<std::string> losses() const;
  // Ends the document, if there is one. warnings: those of the run's end. says_so: prints where the document is. Returns whether
  // it is whole.
  bool finish_document(const std::vector<std::string>& warnings, bool says_so);

  // Returns the function that makes the metrics for scrapers. Null: globals can't be read meanwhile, or the script has probes
  // that say what others may read.
  HttpFiles::Metrics metrics();

 private:
  RunReports(const sema::Program& program, const OutputOptions& options) : program_(program), options_(options) {}
  Result<void> record_tick();
  Result<void> send_tick();
  // Has the globals be those of now, and what was printed before them, written.
  Result<void> catch_up();
  runs::RunTick tick() const;

  const sema::Program& program_;
  const OutputOptions& options_;
  std::unique_ptr<LiveRun> live_;             // null: nobody reads globals meanwhile
  std::unique_ptr<RunRecorder> recorder_;     // null: no document
  std::unique_ptr<runs::OtlpSender> otlp_;    // null: absent
  std::unique_ptr<runs::KafkaSender> kafka_;  // null: absent
  const RunParts* parts_ = nullptr;
  ControllerProbes* probes_ = nullptr;
};

}  // namespace spile::session
