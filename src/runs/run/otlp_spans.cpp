#include "runs/run/otlp_spans.h"

#include <cstring>
#include <random>

#include "runs/run/otlp_fields.h"

namespace spile::runs {

namespace {

// A number of 64 bits for each number, such that close ones get different ones (the finalizer of MurmurHash3). Not 0, which is no
// ID.
uint64_t mixed(uint64_t number) {
  number = (number ^ number >> 33) * 0xff51afd7ed558ccdULL;
  number = (number ^ number >> 33) * 0xc4ceb9fe1a85ec53ULL;
  number ^= number >> 33;
  return number != 0 ? number : 1;
}

std::string bytes_of(uint64_t number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

}  // namespace

uint64_t new_run_number() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

std::string otlp_spans(const SpanSource& source, std::span<const Span> spans) {
  const auto id_of = [&](uint64_t number) { return bytes_of(mixed(source.run + number)); };
  Message scope_spans;  // ScopeSpans { scope = 1, spans = 2 }
  scope_spans.message(1, scope_of(source.version));
  for (const Span& span : spans) {
    constexpr uint64_t kInternal = 1;  // SpanKind
    // trace.proto: Span { trace_id = 1, span_id = 2, parent_span_id = 4, name = 5, kind = 6, start_time_unix_nano = 7,
    // end_time_unix_nano = 8, attributes = 9 }
    Message made;
    made.bytes(1, bytes_of(mixed(source.run)) + id_of(span.root)).bytes(2, id_of(span.id));
    if (span.parent != 0) made.bytes(4, id_of(span.parent));
    made.text(5, span.name)
        .number(6, kInternal)
        .fixed(7, static_cast<uint64_t>(span.begin_ns))
        .fixed(8, static_cast<uint64_t>(std::max(span.begin_ns, span.end_ns)));
    made.message(9, attribute("process.pid", span.pid));
    if (span.tid >= 0) made.message(9, attribute("thread.id", span.tid));
    if (!span.thread.empty()) made.message(9, attribute("thread.name", span.thread));
    for (const auto& [name, value] : span.attributes) made.message(9, attribute("call." + name, value));
    scope_spans.message(2, made);
  }
  // ExportTraceServiceRequest { resource_spans = 1 }, ResourceSpans { resource = 1, scope_spans = 2 }
  return Message().message(1, Message().message(1, resource_of(source.host, source.script)).message(2, scope_spans)).get();
}

std::vector<Span> spans_of(const Timeline& timeline, int64_t offset_ns) {
  std::vector<Span> spans;
  const auto shifted = [&](int64_t time) {
    return static_cast<int64_t>(static_cast<uint64_t>(time) + static_cast<uint64_t>(offset_ns));
  };
  nested_events(timeline, [&](uint32_t number, std::span<const NestedEvent> events) {
    const Timeline::Thread& thread = timeline.threads()[number];
    const Timeline::Process& process = timeline.processes()[thread.process];
    std::vector<size_t> open;  // indexes into spans
    for (const NestedEvent& event : events) {
      if (event.kind == NestedEvent::Kind::kInstant) continue;
      if (event.kind == NestedEvent::Kind::kEnd) {
        spans[open.back()].end_ns = shifted(event.time_ns);
        open.pop_back();
        continue;
      }
      const Timeline::Slice& slice = timeline.slices()[event.index];
      Span span;
      span.id = spans.size() + 1;
      span.root = open.empty() ? span.id : spans[open.front()].id;
      span.parent = open.empty() ? 0 : spans[open.back()].id;
      span.name = timeline.text_at(slice.name);
      span.begin_ns = shifted(event.time_ns);
      span.pid = process.id;
      span.tid = thread.id;
      span.thread = thread.name.empty() ? process.name : thread.name;
      for (const Timeline::Argument& argument : timeline.arguments_of(slice))
        span.attributes.emplace_back(timeline.text_at(argument.name), timeline.text_at(argument.value));
      if (slice.cut != Timeline::kWhole)
        span.attributes.emplace_back("cut", slice.cut == Timeline::kBeginCut ? "begin"
                                            : slice.cut == Timeline::kEndCut ? "end"
                                                                             : "begin, end");
      open.push_back(spans.size());
      spans.push_back(std::move(span));
    }
  });
  return spans;
}

}  // namespace spile::runs
