#include "session/live/run_reports.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <iterator>

#include "base/clock.h"
#include "base/messages.h"
#include "base/text/number_text.h"
#include "runs/run/otlp_message.h"
#include "runs/run/run_metrics.h"
#include "runs/run/run_stream.h"
#include "sema/terms/recorded.h"

namespace spile::session {

Result<std::unique_ptr<RunReports>> RunReports::open(const sema::Program& program, const codegen::CompiledScript& script,
                                                     const TargetOptions& traced, const OutputOptions& options, ArenaView& arena,
                                                     Output& output) {
  std::unique_ptr<RunReports> reports(new RunReports(program, options));
  if (options.events) output.write_events(program, arena);
  if (sema::is_recorded(program)) reports->live_ = std::make_unique<LiveRun>(program, script, arena, traced, options.record);
  if (!options.otlp.empty()) {
    if (!reports->live_)
      return Error{"--otlp can't be used with a bundle that was made without it", "give it when the bundle is made, too"};
    TRY(reports->otlp_, runs::OtlpSender::create(options.otlp));
  }
  if (!options.kafka.empty()) {
    TRY(reports->kafka_, runs::KafkaSender::create(options.kafka));
    utsname names{};
    ::uname(&names);
    output.send_events(program, arena, *reports->kafka_, names.nodename);
  }
  if (options.record.is_on()) {
    TRY(reports->recorder_, RunRecorder::create(*reports->live_, script, options.record));
    output.record_by(*reports->recorder_, arena);
  }
  return reports;
}

void RunReports::use(const RunParts& parts, ControllerProbes& probes) {
  parts_ = &parts;
  probes_ = &probes;
}

void RunReports::start(Tickers& tickers, int64_t now) {
  if (recorder_) {
    note_places();
    if (parts_->kernel) recorder_->note_kernel();
    // Of a stream, its reader asks for the ticks.
    const int64_t every_ns = options_.record.every_ns;
    if (!options_.record.stream) tickers.add(now + every_ns, every_ns, [this] { return record_tick(); });
    recorder_->note_started();
    recorder_->send();
  }
  if (otlp_) tickers.add(now + otlp_->every_ns(), otlp_->every_ns(), [this] { return send_tick(); });
}

int RunReports::requests_fd() const { return options_.record.stream ? options_.record.stream->requests_fd() : -1; }

Result<void> RunReports::serve_requests() {
  for (uint64_t left = options_.record.stream->take_requests(); left > 0; --left) TRY_DO(record_tick());
  return {};
}

void RunReports::send() {
  if (recorder_) recorder_->send();
}

void RunReports::note_places() {
  if (!recorder_ || !parts_->target) return;
  recorder_->note_modules(parts_->target->processes());
  recorder_->note_armed(parts_->target->places_by_mechanism(), parts_->target->paused_ns());
}

Result<void> RunReports::catch_up() {
  TRY_DO(probes_->fetch_globals());
  if (parts_->shares_arena()) parts_->output.records().hand_on(false);
  return {};
}

runs::RunTick RunReports::tick() const { return live_->tick(parts_->controller, probes_->hits()); }

Result<void> RunReports::record_tick() {
  TRY_DO(catch_up());
  note_places();
  recorder_->add_tick(parts_->controller, probes_->hits());
  return {};
}

Result<void> RunReports::send_tick() {
  TRY_DO(catch_up());
  otlp_->send(runs::otlp_metrics(live_->facts(), live_->probes(), live_->globals(), tick()));
  return {};
}

Result<void> RunReports::tick_last() {
  if (otlp_) TRY_DO(send_tick());
  if (recorder_) TRY_DO(record_tick());
  return {};
}

void RunReports::finish_sending() {
  constexpr int kPatienceMs = 5'000;
  if (otlp_) otlp_->finish(kPatienceMs);
  if (kafka_) kafka_->finish(kPatienceMs);
}

std::vector<std::string> RunReports::losses() const {
  std::vector<std::string> warnings;
  if (otlp_) std::ranges::copy(otlp_->losses(), std::back_inserter(warnings));
  if (kafka_) std::ranges::copy(kafka_->losses(), std::back_inserter(warnings));
  return warnings;
}

bool RunReports::finish_document(const std::vector<std::string>& warnings, bool says_so) {
  if (!recorder_) return true;
  recorder_->finish(realtime_offset_ns() + monotonic_ns(), warnings);
  const runs::RunWriter& writer = recorder_->writer();
  if (const Error* failure = writer.failure()) {
    fail(*failure);
    return false;
  }
  if (says_so) {
    note(fmt::format("spile: recorded {} {} in {} ({} bytes); spile report {} shows them", with_commas(writer.events()),
                     plural(writer.events(), "event"), writer.path(), with_commas(writer.bytes()), writer.path()));
  }
  return true;
}

HttpFiles::Metrics RunReports::metrics() {
  const bool says_itself = std::ranges::any_of(
      program_.probes, [](const sema::Probe& probe) { return probe.kind == sema::ProbeKind::kProcfsRead && !probe.is_report; });
  if (!live_ || says_itself) return nullptr;
  return [this](bool is_open_metrics) {
    if (Result<void> fetched = probes_->fetch_globals(); !fetched.ok()) fail(fetched.error().message);
    return runs::metrics_text(live_->facts(), live_->probes(), live_->globals(), tick(), is_open_metrics);
  };
}

}  // namespace spile::session
