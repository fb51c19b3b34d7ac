#include "runs/timeline/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>

namespace spile::runs {

Timeline::Timeline(Clock clock) : clock_(clock) { text(""); }

uint32_t Timeline::add_process(int64_t id, std::string_view name) {
  const auto [place, added] = processes_by_id_.try_emplace(id, static_cast<uint32_t>(processes_.size()));
  if (added) processes_.push_back({id, {}});
  if (!name.empty()) processes_[place->second].name = name.substr(0, kLongestText);
  return place->second;
}

uint32_t Timeline::add_thread(uint32_t process, int64_t id, std::string_view name) {
  const auto [place, added] =
      threads_by_key_.try_emplace(fmt::format("{} {}", process, id), static_cast<uint32_t>(threads_.size()));
  if (added) threads_.push_back({process, id, {}});
  if (!name.empty()) threads_[place->second].name = name.substr(0, kLongestText);
  return place->second;
}

uint32_t Timeline::add_counter(std::string_view name, std::string_view unit, uint32_t process) {
  name = name.substr(0, kLongestText);
  const auto [place, added] =
      counters_by_key_.try_emplace(fmt::format("{} {}", process, name), static_cast<uint32_t>(counters_.size()));
  if (added) counters_.push_back({std::string(name), std::string(unit.substr(0, kLongestText)), process});
  return place->second;
}

uint32_t Timeline::text(std::string_view text) {
  text = text.substr(0, kLongestText);
  if (const auto known = numbers_.find(std::string(text)); known != numbers_.end()) return known->second;
  if (texts_.size() >= kMostTexts || text_bytes_ + text.size() > kMostTextBytes) return 0;
  const auto [place, added] = numbers_.emplace(text, static_cast<uint32_t>(texts_.size()));
  texts_.push_back(&place->first);
  text_bytes_ += text.size();
  return place->second;
}

bool Timeline::keep_arguments(std::span<const Argument> arguments, uint32_t& first, uint32_t& count) {
  if (arguments_.size() + arguments.size() > kMostArguments) return false;
  first = static_cast<uint32_t>(arguments_.size());
  count = static_cast<uint32_t>(arguments.size());
  arguments_.insert(arguments_.end(), arguments.begin(), arguments.end());
  return true;
}

void Timeline::add_slice(Slice slice, std::span<const Argument> arguments) {
  if (slices_.size() >= kMostSlices || !keep_arguments(arguments, slice.first_argument, slice.arguments)) {
    ++lost_;
    return;
  }
  slice.end_ns = std::max(slice.begin_ns, slice.end_ns);
  slices_.push_back(slice);
}

void Timeline::add_instant(Instant instant, std::span<const Argument> arguments) {
  if (instants_.size() >= kMostInstants || !keep_arguments(arguments, instant.first_argument, instant.arguments)) ++lost_;
  else instants_.push_back(instant);
}

void Timeline::add_value(const Value& value) {
  if (values_.size() >= kMostValues) ++lost_;
  else values_.push_back(value);
}

void Timeline::note_missing(std::string_view why, uint64_t count) {
  if (count == 0) return;
  const auto known = std::ranges::find(missing_, why, &std::pair<std::string, uint64_t>::first);
  if (known != missing_.end()) known->second += count;
  else missing_.emplace_back(why, count);
}

std::pair<int64_t, int64_t> Timeline::range() const {
  int64_t first = std::numeric_limits<int64_t>::max(), last = std::numeric_limits<int64_t>::min();
  const auto take = [&](int64_t begin, int64_t end) { first = std::min(first, begin), last = std::max(last, end); };
  for (const Slice& slice : slices_) take(slice.begin_ns, slice.end_ns);
  for (const Instant& instant : instants_) take(instant.time_ns, instant.time_ns);
  for (const Value& value : values_) take(value.time_ns, value.time_ns);
  return first > last ? std::pair<int64_t, int64_t>{0, 0} : std::pair{first, last};
}

namespace {

// Puts the slices and instants of one thread in order. `slices` and `instants`: indexes into those of the timeline.
uint64_t put_in_order(const Timeline& timeline, std::vector<uint32_t>& slices, std::vector<uint32_t>& instants,
                      std::vector<NestedEvent>& events) {
  struct Open {
    uint32_t slice;
    int64_t end_ns;
  };
  const auto& all = timeline.slices();
  std::ranges::sort(slices, [&](uint32_t a, uint32_t b) {
    return std::tuple(all[a].begin_ns, all[a].depth, a) < std::tuple(all[b].begin_ns, all[b].depth, b);
  });
  std::ranges::sort(instants, [&](uint32_t a, uint32_t b) {
    return std::pair(timeline.instants()[a].time_ns, a) < std::pair(timeline.instants()[b].time_ns, b);
  });
  std::vector<Open> open;
  uint64_t crossed = 0;
  size_t next_instant = 0;
  const auto add_instants_before = [&](int64_t time) {
    for (; next_instant < instants.size() && timeline.instants()[instants[next_instant]].time_ns < time; ++next_instant)
      events.push_back(
          {NestedEvent::Kind::kInstant, timeline.instants()[instants[next_instant]].time_ns, instants[next_instant]});
  };
  // Ends the innermost slice, at `most` at the latest.
  const auto end_innermost = [&](int64_t most) {
    const Open innermost = open.back();
    open.pop_back();
    const int64_t end = std::min(innermost.end_ns, most);
    add_instants_before(end);
    events.push_back({NestedEvent::Kind::kEnd, end, innermost.slice});
  };
  constexpr int64_t kEver = std::numeric_limits<int64_t>::max();
  for (const uint32_t index : slices) {
    const Timeline::Slice& slice = all[index];
    while (!open.empty() && (all[open.back().slice].depth >= slice.depth || open.back().end_ns < slice.begin_ns)) {
      if (open.back().end_ns > slice.begin_ns) ++crossed;
      end_innermost(slice.begin_ns);
    }
    add_instants_before(slice.begin_ns);
    events.push_back({NestedEvent::Kind::kBegin, slice.begin_ns, index});
    int64_t end = slice.end_ns;
    if (!open.empty() && open.back().end_ns < end) {
      end = open.back().end_ns;
      ++crossed;
    }
    open.push_back({index, end});
  }
  while (!open.empty()) end_innermost(kEver);
  add_instants_before(kEver);
  // Instants at the last moment that can be.
  for (; next_instant < instants.size(); ++next_instant)
    events.push_back({NestedEvent::Kind::kInstant, kEver, instants[next_instant]});
  return crossed;
}

}  // namespace

uint64_t nested_events(const Timeline& timeline, const std::function<void(uint32_t, std::span<const NestedEvent>)>& visit) {
  std::vector<std::vector<uint32_t>> slices(timeline.threads().size()), instants(timeline.threads().size());
  for (uint32_t i = 0; i < timeline.slices().size(); ++i) slices[timeline.slices()[i].thread].push_back(i);
  for (uint32_t i = 0; i < timeline.instants().size(); ++i) instants[timeline.instants()[i].thread].push_back(i);
  uint64_t crossed = 0;
  std::vector<NestedEvent> events;
  for (uint32_t thread = 0; thread < timeline.threads().size(); ++thread) {
    events.clear();
    crossed += put_in_order(timeline, slices[thread], instants[thread], events);
    visit(thread, events);
  }
  return crossed;
}

}  // namespace spile::runs
