#include "session/output/stream_sink.h"

#include <cstring>

#include "base/messages.h"

namespace spile::session {

// The reader of a stream does not know what addresses meant, so the stream gets their text.
void StreamSink::take(const Record& record) {
  if (has_addresses(record.header)) append_text(record.header, names_.text_of(record));
  else append(record.header, {record.payload, record.size});
}

void StreamSink::append_text(abi::OwnedHeader header, const std::string& text) {
  auto length = static_cast<uint32_t>(text.size());
  std::vector<char> payload((sizeof length + text.size() + 7) / 8 * 8);
  std::memcpy(payload.data(), &length, sizeof length);
  std::memcpy(payload.data() + sizeof length, text.data(), text.size());
  header.kind = abi::kText;
  append(header, payload);
}

void StreamSink::append(abi::OwnedHeader header, std::span<const char> payload) {
  header.size = static_cast<uint32_t>(sizeof header + payload.size());
  const char* bytes = reinterpret_cast<const char*>(&header);
  bytes_.insert(bytes_.end(), bytes, bytes + sizeof header);
  bytes_.insert(bytes_.end(), payload.begin(), payload.end());
}

void StreamSink::end_ring(ArenaView& arena, uint32_t ring) {
  if (bytes_.empty()) return;
  const Result<void> written = files_.append(arena, ring, bytes_);
  bytes_.clear();
  note(written);
}

void StreamSink::note(const Result<void>& written) {
  if (written.ok()) return;
  if (usable_) fail(written.error().message);
  usable_ = false;
}

void StreamSink::finish(ArenaView& arena) {
  arena.for_each_used_slot([&](uint32_t i) {
    const uint64_t lost = arena.slot(i).skipped[abi::kSkipOutputFull];
    if (lost > 0) note(files_.append_lost(arena, i, lost));
  });
}

}  // namespace spile::session
