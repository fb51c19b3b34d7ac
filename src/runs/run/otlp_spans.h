#pragma once
// Calls as spans for collectors of OpenTelemetry: an ExportTraceServiceRequest of
// opentelemetry/proto/collector/trace/v1/trace_service.proto (OTLP 1.x). An outermost call is the root of a trace, and the calls
// within it are its spans. Names, numbers and texts may be forged by traced processes: any is taken. Thread rule: any thread.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runs/timeline/timeline.h"

namespace spile::runs {

struct Span {
  uint64_t root = 0, id = 0, parent = 0;  // numbers within the run, not 0; parent 0: this is the root
  std::string name;
  int64_t begin_ns = 0, end_ns = 0;  // since 1970
  int64_t pid = 0, tid = 0;          // tid below 0: not a thread
  std::string thread;                // its name
  // arguments, "result": `call.` stands before their names in the message
  std::vector<std::pair<std::string, std::string>> attributes;
};

// Where spans are from. run: a number that no other run has; trace and span IDs are made of it.
struct SpanSource {
  std::string host, script, version;
  uint64_t run = 0;
};
// A number for a SpanSource, by the system's source of randomness.
uint64_t new_run_number();

std::string otlp_spans(const SpanSource& source, std::span<const Span> spans);
// Returns the slices of a timeline as spans that nest as nested_events() says; instants are not among them. offset_ns: what the
// clock of 1970 is ahead of the timeline's.
std::vector<Span> spans_of(const Timeline& timeline, int64_t offset_ns);

}  // namespace spile::runs
