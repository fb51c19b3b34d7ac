#include "session/output/recorder_sink.h"

namespace spile::session {

void RecorderSink::take(const Record& record) {
  const abi::OwnedHeader& header = record.header;
  if (header.kind == abi::kPrintf) {
    const bool is_of_script =
        header.id < script_.formats.size() && script_.formats[header.id].kind == syntax::OutputFormat::Kind::kPrintf;
    if (!is_of_script) return errors_.count_disbelieved();
    return recorder_.add_printf(header, time_of(record, arena_), record.arguments());
  }
  text_.clear();
  append_plain_text(text_, record, script_.formats, names_);
  recorder_.add_text(header, time_of(record, arena_), text_);
}

}  // namespace spile::session
