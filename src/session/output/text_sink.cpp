#include "session/output/text_sink.h"

namespace spile::session {

runs::TextRules TextSink::rules(bool is_forgeable) {
  return {is_forgeable, file_.is_terminal() ? &terminal_ : nullptr, &script_.literals};
}

void TextSink::take(const Record& record) {
  if (has_addresses(record.header)) return write_foreign(names_.text_of(record), record.is_forgeable());
  text_.clear();
  runs::append_record_text(text_, script_.formats, record.header, record.payload, record.size, rules(record.is_forgeable()));
  file_.write(text_);
}

void TextSink::write_foreign(std::string_view text, bool is_forgeable) {
  text_.clear();
  runs::append_foreign(text_, text, rules(is_forgeable));
  file_.write(text_);
}

}  // namespace spile::session
