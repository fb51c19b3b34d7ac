#include "session/output/output.h"

#include "session/output/event_sink.h"
#include "session/output/recorder_sink.h"
#include "session/output/text_sink.h"

namespace spile::session {

Result<std::unique_ptr<Output>> Output::open(const OutputOptions& options, const MessageOptions& messages,
                                             const codegen::CompiledScript& script) {
  std::unique_ptr<runs::OutputFile> file;
  if (options.in_memory()) {
    file = runs::OutputFile::in_memory(options.buffer_bytes());
  } else {
    // With -b, -o names the streams.
    const std::string path = options.bulk ? std::string() : options.file;
    TRY(file, runs::OutputFile::open(path, options.rotate_bytes, options.rotate_files));
  }
  return std::unique_ptr<Output>(new Output(options, messages, script, std::move(file)));
}

Output::Output(const OutputOptions& options, const MessageOptions& messages, const codegen::CompiledScript& script,
               std::unique_ptr<runs::OutputFile> file)
    : script_(script),
      file_(std::move(file)),
      errors_(messages, script, *file_),
      actions_(script, *file_, errors_),
      queue_(script, *this, errors_) {
  if (options.presenter) {
    auto presentation =
        std::make_unique<PresenterSink>(options.presenter, [this] { actions_.request_exit(); }, script, names_, *file_);
    presentation_ = presentation.get();
    sinks_.push_back(std::move(presentation));
  } else {
    sinks_.push_back(std::make_unique<TextSink>(script, names_, *file_));
  }
  if (options.bulk) {
    std::string base = options.file.empty() ? "spile_stream" : runs::expand_path(options.file);
    streams_ = std::make_unique<StreamSink>(std::move(base), script, names_);
    queue_.stream_to(*streams_);
  }
}

Output::~Output() { file_->flush(); }

void Output::take(const Record& record) {
  switch (record.header.kind) {
    case abi::kWarning:
    case abi::kErrorText:
    case abi::kError: return errors_.take(record);
    case abi::kSystem:
    case abi::kSwitchFile:
    case abi::kExit: return actions_.take(record);
    default:
      if (!prints(record.header)) return;
      for (const std::unique_ptr<RecordSink>& sink : sinks_) sink->take(record);
  }
}

void Output::print_to_sink(std::unique_ptr<RecordSink> sink) {
  presentation_ = nullptr;
  sinks_.clear();
  sinks_.push_back(std::move(sink));
}

void Output::write_events(const sema::Program& program, const ArenaView& arena) {
  print_to_sink(std::make_unique<EventSink>(RecordEvents(program, script_, names_, arena), *file_));
}

void Output::send_events(const sema::Program& program, const ArenaView& arena, runs::KafkaSender& sender, std::string host) {
  print_to_sink(std::make_unique<KafkaSink>(RecordEvents(program, script_, names_, arena), sender, std::move(host)));
  sends_events_ = true;
}

void Output::record_by(RunRecorder& recorder, const ArenaView& arena) {
  auto sink = std::make_unique<RecorderSink>(recorder, script_, names_, arena, errors_);
  if (sends_events_) sinks_.push_back(std::move(sink));
  else print_to_sink(std::move(sink));
}

void Output::finish_presentation() {
  if (!presentation_) return;
  presentation_->finish();
  file_->flush();
}

void Output::finish_streams(ArenaView& arena) {
  if (streams_) streams_->finish(arena);
}

}  // namespace spile::session
