#pragma once
// Records a running script as a document (run/run_writer.h): what it prints, and at each tick what its probes and globals have.
// Thread rule: one thread.

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "abi/record.h"
#include "codegen/codegen.h"
#include "runs/run/run_writer.h"
#include "runs/text/printf_text.h"
#include "session/arena/controller.h"
#include "session/output/live_run.h"

namespace spile::session {

class RunRecorder {
 public:
  // run and script must outlive this. Errors: the file can't be written.
  static Result<std::unique_ptr<RunRecorder>> create(const LiveRun& run, const codegen::CompiledScript& script,
                                                     const RecordOptions& options);

  // Adds a record of kind kPrintf with its arguments, or any other as the text that it prints. REQUIRES: header.id of a kPrintf
  // is a printf's format.
  void add_printf(const abi::OwnedHeader& header, int64_t time_ns, runs::PayloadReader arguments);
  void add_text(const abi::OwnedHeader& header, int64_t time_ns, std::string_view text);

  // Adds a tick. Takes what LiveRun::tick() takes.
  void add_tick(Controller& controller, std::span<const uint64_t> runs);
  // Notes the files that processes have mapped as code.
  void note_modules(const std::vector<pid_t>& processes);
  // Notes how places in processes were armed until now; does nothing where that is known already.
  void note_armed(const std::map<std::string, uint64_t>& armed, int64_t paused_ns);
  // Of a stream: notes that the probes are armed, sends what was added. Do nothing for a file.
  void note_started();
  void send();
  // Notes the running kernel's build-id.
  void note_kernel();
  // Ends the document. warnings: of the end; lines of the document, one or more each.
  void finish(int64_t time_ns, const std::vector<std::string>& warnings);

  const runs::RunWriter& writer() const { return *writer_; }

 private:
  RunRecorder(const LiveRun& run, const codegen::CompiledScript& script) : run_(run), script_(script) {}

  const LiveRun& run_;
  const codegen::CompiledScript& script_;
  std::unique_ptr<runs::RunWriter> writer_;
  std::set<runs::RunModule> modules_;
  std::map<std::string, uint64_t> armed_;
  bool is_stream_ = false;
  std::set<std::string> looked_at_;       // paths of modules, with their devices and inodes
  std::vector<runs::RunWriter::Value> values_;  // reused
};

}  // namespace spile::session
