#include "runs/run/run_timeline.h"

#include <fmt/format.h>

#include <map>
#include <tuple>

#include "runs/run/run_events.h"

namespace spile::runs {

namespace {

void add_counters(Timeline& timeline, const RunDocument& run, uint32_t process) {
  std::vector<uint32_t> of_globals, of_probes;
  for (const RunGlobal& global : run.globals)
    of_globals.push_back(global.keys.empty() && global.type != ValueType::kString ? timeline.add_counter(global.name, {}, process)
                                                                                  : 0);
  for (const RunProbe& probe : run.probes)
    of_probes.push_back(
        probe.source.empty() ? 0 : timeline.add_counter(fmt::format("hits of {} {}", probe.point, probe.source), {}, process));
  for (const RunTick& tick : run.ticks) {
    for (size_t i = 0; i < run.globals.size(); ++i) {
      const RunGlobalState& state = *tick.globals[i];
      if (!run.globals[i].keys.empty() || state.elements.empty()) continue;
      const RunValue& value = state.elements.front().value;
      if (const auto* number = std::get_if<int64_t>(&value))
        timeline.add_value({tick.time_ns, of_globals[i], static_cast<double>(*number)});
      if (const auto* statistics = std::get_if<RunStatistics>(&value))
        timeline.add_value({tick.time_ns, of_globals[i], static_cast<double>(statistics->count)});
    }
    for (size_t i = 0; i < run.probes.size(); ++i) {
      if (tick.hits[i] && !run.probes[i].source.empty())
        timeline.add_value({tick.time_ns, of_probes[i], static_cast<double>(*tick.hits[i])});
    }
  }
}

// The track of an event: its thread's where that is known, else that of its CPU. of_run: the process that stands for the run.
class EventTracks {
 public:
  // is_only: the timeline has no other run, so that processes have their own numbers in it; those of several hosts may be equal.
  EventTracks(Timeline& timeline, uint32_t of_run, bool is_only) : timeline_(timeline), of_run_(of_run), is_only_(is_only) {}

  uint32_t of(const RunEvent& event) {
    const auto [track, is_new] =
        tracks_.try_emplace(std::tuple(event.process, event.thread, event.thread > 0 ? uint16_t{0} : event.cpu));
    if (!is_new) return track->second;
    // Numbers below 0 are tracks that are no threads.
    if (event.thread == 0)
      return track->second = timeline_.add_thread(of_run_, -1 - event.cpu, fmt::format("events of CPU {}", event.cpu));
    if (event.process == 0) return track->second = timeline_.add_thread(of_run_, event.thread, {});
    constexpr uint32_t kNumberOfRun = 1;  // add_process() of timeline_of()
    return track->second = is_only_ && event.process != kNumberOfRun
                               ? timeline_.add_thread(timeline_.add_process(event.process, {}), event.thread, {})
                               : timeline_.add_thread(of_run_, event.thread,
                                                      fmt::format("thread {} of process {}", event.thread, event.process));
  }

 private:
  Timeline& timeline_;
  uint32_t of_run_;
  bool is_only_;
  std::map<std::tuple<uint32_t, uint32_t, uint16_t>, uint32_t> tracks_;
};

void add_events(Timeline& timeline, const RunDocument& run, EventTracks tracks) {
  const uint32_t point = timeline.text("probe");
  for (const RunEvent& event : run.events) {
    if (event.format != RunEvent::kText && is_sample_format(run.formats[event.format])) continue;
    std::string text;
    append_event_text(text, run, event);
    if (text.ends_with('\n')) text.pop_back();
    const Timeline::Argument arguments[] = {
        {point, timeline.text(event.probe == RunEvent::kNoProbe ? "" : run.probes[event.probe].point)}};
    timeline.add_instant({.time_ns = event.time_ns, .thread = tracks.of(event), .name = timeline.text(text)}, arguments);
  }
}

}  // namespace

Timeline timeline_of(const std::vector<RunDocument>& runs) {
  Timeline timeline;
  for (size_t i = 0; i < runs.size(); ++i) {
    const uint32_t process =
        timeline.add_process(static_cast<int64_t>(i) + 1, fmt::format("{} on {}", runs[i].facts.script_name, runs[i].facts.host));
    add_counters(timeline, runs[i], process);
    add_events(timeline, runs[i], EventTracks(timeline, process, runs.size() == 1));
  }
  return timeline;
}

}  // namespace spile::runs
