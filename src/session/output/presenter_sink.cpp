#include "session/output/presenter_sink.h"

namespace spile::session {

void PresenterSink::take(const Record& record) {
  if (record.header.kind != abi::kPrintf) return TextSink::take(record);
  if (record.header.id >= script().formats.size()) return;
  const std::vector<syntax::FormatPart>& parts = script().formats[record.header.id].parts;
  if (parts.empty() || parts.front().kind != syntax::FormatPart::Kind::kLiteral) return;
  presented_.clear();
  runs::PayloadReader arguments = record.arguments();
  presenter_->take(parts.front().literal, arguments, presented_);
  if (presenter_->has_all()) at_end_();
  write_foreign(presented_, record.is_forgeable());
}

void PresenterSink::finish() {
  presented_.clear();
  presenter_->finish(presented_);
  write_foreign(presented_, true);
}

}  // namespace spile::session
