#include "session/output/event_sink.h"

#include <fmt/format.h>

#include "session/serve/session_status.h"

namespace spile::session {

namespace {

std::vector<std::string> points_of(const sema::Program& program) {
  std::vector<std::string> points;
  for (const sema::Probe& probe : program.probes) points.push_back(point_text(probe));
  return points;
}

}  // namespace

RecordEvents::RecordEvents(const sema::Program& program, const codegen::CompiledScript& script, const AddressNames& names,
                           const ArenaView& arena)
    : script_(script), names_(names), arena_(arena), lines_(points_of(program)) {}

void RecordEvents::append(std::string& out, const Record& record, std::string_view host) {
  text_.clear();
  append_plain_text(text_, record, script_.formats, names_);
  const bool has_format = record.header.kind == abi::kPrintf && record.header.id < script_.formats.size();
  const syntax::OutputFormat* format = has_format ? &script_.formats[record.header.id] : nullptr;
  lines_.append(out, record.header, time_of(record, arena_), text_, format, record.arguments(), host);
}

void EventSink::take(const Record& record) {
  line_.clear();
  events_.append(line_, record, {});
  line_ += '\n';
  file_.write(line_);
}

void KafkaSink::take(const Record& record) {
  event_.clear();
  events_.append(event_, record, host_);
  const int64_t process = record.header.owner.process;
  sender_.send(process > 0 ? fmt::format("{}/{}", host_, process) : host_, event_);
}

}  // namespace spile::session
