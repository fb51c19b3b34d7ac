#include "verbs/calls/call_slices.h"

namespace spile::verbs {

void add_call(runs::Timeline& timeline, const CallRecord& record) {
  using Argument = runs::Timeline::Argument;
  std::vector<Argument> arguments;
  const auto add = [&](std::string_view name, std::string_view value) {
    arguments.push_back({timeline.text(name), timeline.text(value)});
  };
  for (const CallValue& value : record.arguments) add(value.name, value.text);
  if (record.result) add("result", record.result->text);
  const bool cut = record.runs || !record.returned;
  if (cut) add("end", record.runs ? "still runs" : "did not return");
  // The first thread's name is that of its process.
  const uint32_t process = timeline.add_process(record.pid, record.pid == record.flow ? record.thread : "");
  runs::Timeline::Slice slice;
  slice.begin_ns = record.began;
  slice.end_ns = static_cast<int64_t>(static_cast<uint64_t>(record.began) + static_cast<uint64_t>(record.duration));
  slice.thread = timeline.add_thread(process, record.flow, record.thread);
  slice.name = timeline.text(record.function);
  slice.depth = static_cast<uint32_t>(record.depth);
  slice.cut = cut ? runs::Timeline::kEndCut : runs::Timeline::kWhole;
  timeline.add_slice(slice, arguments);
}

}  // namespace spile::verbs
