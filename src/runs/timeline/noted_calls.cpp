#include "runs/timeline/noted_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text/number_text.h"

namespace spile::runs {

namespace {

constexpr uint64_t kLargestStack = 1 << 30;  // calls further apart are on different stacks
constexpr size_t kMostStacks = 64;           // of one thread; calls on further ones are left out

// One stack: the calls that are open on it, outermost first.
struct Lane {
  std::vector<NotedCall> open;
  std::optional<uint32_t> track;  // index into Timeline::threads()
};

// A function that jumps to another one as its last act hands over its place on the stack.
bool may_be_within(const NotedCall& inner, const NotedCall& outer) {
  return inner.ended <= outer.ended && inner.stack <= outer.stack && outer.stack - inner.stack < kLargestStack;
}

}  // namespace

uint64_t add_noted_calls(Timeline& timeline, const NotedThread& thread, std::vector<NotedCall> calls, uint64_t from,
                         const std::function<int64_t(uint64_t)>& time_of) {
  std::erase_if(calls, [&](const NotedCall& call) { return call.ended < call.begun || call.ended < from; });
  std::ranges::sort(calls, [](const NotedCall& a, const NotedCall& b) {
    return a.begun != b.begun ? a.begun < b.begun : a.ended != b.ended ? a.ended > b.ended : a.stack > b.stack;
  });
  if (calls.empty()) return 0;
  const uint32_t process = timeline.add_process(thread.process, thread.process_name);
  std::vector<Lane> lanes;
  uint64_t added = 0, left_out = 0;
  for (const NotedCall& call : calls) {
    size_t lane = 0;
    for (; lane < lanes.size(); ++lane) {
      std::vector<NotedCall>& open = lanes[lane].open;
      while (!open.empty() && open.back().ended <= call.begun) open.pop_back();
      if (open.empty() || may_be_within(call, open.back())) break;
    }
    if (lane == kMostStacks) {
      ++left_out;
      continue;
    }
    if (lane == lanes.size()) lanes.emplace_back();
    if (!lanes[lane].track) {
      // A track that is not a thread's has a number below 0.
      lanes[lane].track =
          lane == 0
              ? timeline.add_thread(process, thread.thread, thread.name)
              : timeline.add_thread(process, -(thread.thread * static_cast<int64_t>(kMostStacks) + static_cast<int64_t>(lane)),
                                    fmt::format("{} {}, stack {}", thread.name, thread.thread, lane + 1));
    }
    Timeline::Slice slice;
    slice.thread = *lanes[lane].track;
    slice.name = call.name;
    slice.depth = static_cast<uint32_t>(lanes[lane].open.size());
    slice.begin_ns = time_of(std::max(call.begun, from));
    slice.end_ns = time_of(call.ended);
    if (call.begun < from) slice.cut |= Timeline::kBeginCut;
    if (call.runs) slice.cut |= Timeline::kEndCut;
    if (call.begun < from) {
      const Timeline::Argument began[] = {
          {timeline.text("began"), timeline.text(time_text(slice.begin_ns - time_of(call.begun)) + " before")}};
      timeline.add_slice(slice, began);
    } else {
      timeline.add_slice(slice);
    }
    ++added;
    lanes[lane].open.push_back(call);
  }
  timeline.note_missing("calls are not shown: their threads had more than 64 stacks", left_out);
  return added;
}

}  // namespace spile::runs
