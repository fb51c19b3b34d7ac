#include "runs/timeline/timeline_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text/json.h"
#include "base/text/number_text.h"

namespace spile::runs {

namespace {

using Kind = NestedEvent::Kind;

std::string dump(const Json& object) { return object.dump(); }

std::string cut_text(uint8_t cut) {
  if (cut == Timeline::kWhole) return "";
  return cut == Timeline::kBeginCut ? "begin" : cut == Timeline::kEndCut ? "end" : "begin, end";
}

Json arguments_json(const Timeline& timeline, std::span<const Timeline::Argument> arguments, uint8_t cut = Timeline::kWhole) {
  Json object = Json::object();
  for (const Timeline::Argument& argument : arguments) object[timeline.text_at(argument.name)] = timeline.text_at(argument.value);
  if (cut != Timeline::kWhole) object["cut"] = cut_text(cut);
  return object;
}

// Times may come from anywhere: the difference wraps around.
int64_t since(int64_t begin, int64_t time) {
  return static_cast<int64_t>(static_cast<uint64_t>(time) - static_cast<uint64_t>(begin));
}

// Of slices and instants of one flow.
struct FlowPoint {
  int64_t time_ns;
  uint32_t thread;
};

class ChromeWriter {
 public:
  explicit ChromeWriter(const Timeline& timeline) : timeline_(timeline), begin_(timeline.range().first) {}

  std::string write(const SampleFacts& facts) {
    text_ = "{\"traceEvents\":[\n";
    for (const Timeline::Process& process : timeline_.processes())
      if (!process.name.empty())
        add({{"ph", "M"}, {"name", "process_name"}, {"pid", process.id}, {"args", {{"name", process.name}}}});
    for (const Timeline::Thread& thread : timeline_.threads()) {
      Json event{{"ph", "M"}, {"name", "thread_name"}};
      place(event, thread);
      event["args"] = {{"name", thread.name}};
      add(event);
    }
    nested_events(timeline_, [&](uint32_t thread, std::span<const NestedEvent> events) {
      for (const NestedEvent& event : events) add_event(thread, event);
    });
    for (const Timeline::Value& value : timeline_.values()) {
      const Timeline::Counter& counter = timeline_.counters()[value.counter];
      Json event{{"ph", "C"},
                 {"name", counter.name},
                 {"pid", counter.process == Timeline::kNoProcess ? 0 : timeline_.processes()[counter.process].id},
                 {"ts", us(value.time_ns)}};
      event["args"] = {{counter.unit.empty() ? "value" : counter.unit, value.value}};
      add(event);
    }
    add_flows();
    Json other{{"title", facts.title}, {"host", facts.host}, {"script", facts.script}, {"begin_ns", std::to_string(begin_)}};
    for (const auto& [why, count] : timeline_.missing()) other[why] = count;
    return text_ + fmt::format("\n],\n\"displayTimeUnit\":\"ns\",\"otherData\":{}}}\n", dump(other));
  }

 private:
  void add(const Json& event) {
    if (!is_first_) text_ += ",\n";
    is_first_ = false;
    text_ += dump(event);
  }
  void place(Json& event, const Timeline::Thread& thread) const {
    event["pid"] = timeline_.processes()[thread.process].id;
    event["tid"] = thread.id;
  }
  double us(int64_t time) const { return static_cast<double>(since(begin_, time)) / 1000; }

  void add_event(uint32_t thread, const NestedEvent& nested) {
    Json event{{"ph", nested.kind == Kind::kBegin ? "B" : nested.kind == Kind::kEnd ? "E" : "i"}, {"ts", us(nested.time_ns)}};
    place(event, timeline_.threads()[thread]);
    uint64_t flow = 0;
    if (nested.kind == Kind::kBegin) {
      const Timeline::Slice& slice = timeline_.slices()[nested.index];
      event["name"] = timeline_.text_at(slice.name);
      event["args"] = arguments_json(timeline_, timeline_.arguments_of(slice), slice.cut);
      flow = slice.flow;
    } else if (nested.kind == Kind::kInstant) {
      const Timeline::Instant& instant = timeline_.instants()[nested.index];
      event["name"] = timeline_.text_at(instant.name);
      event["s"] = "t";
      event["args"] = arguments_json(timeline_, timeline_.arguments_of(instant));
      flow = instant.flow;
    }
    add(event);
    if (flow != 0) flows_[flow].push_back({nested.time_ns, thread});
  }

  void add_flows() {
    for (auto& [id, points] : flows_) {
      std::ranges::stable_sort(points, {}, &FlowPoint::time_ns);
      for (size_t i = 0; points.size() > 1 && i < points.size(); ++i) {
        Json event{{"ph", i == 0                   ? "s"
                          : i + 1 == points.size() ? "f"
                                                   : "t"},
                   {"cat", "flow"},
                   {"name", "flow"},
                   {"id", std::to_string(id)},
                   {"ts", us(points[i].time_ns)}};
        place(event, timeline_.threads()[points[i].thread]);
        event["bp"] = "e";
        add(event);
      }
    }
  }

  const Timeline& timeline_;
  const int64_t begin_;
  std::string text_;
  bool is_first_ = true;
  std::map<uint64_t, std::vector<FlowPoint>> flows_;
};

std::string printable(std::string text) {
  std::ranges::replace_if(text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; }, '?');
  return text;
}

// The lines of one thread.
class TreeWriter {
 public:
  TreeWriter(const Timeline& timeline, std::string& out) : timeline_(timeline), out_(out) {}

  void write(std::span<const NestedEvent> events) {
    for (size_t i = 0; i < events.size(); ++i) {
      const NestedEvent& event = events[i];
      if (event.kind == Kind::kInstant) {
        const Timeline::Instant& instant = timeline_.instants()[event.index];
        line(begins_.size(), "", "* " + timeline_.text_at(instant.name) + texts(timeline_.arguments_of(instant)));
        continue;
      }
      const Timeline::Slice& slice = timeline_.slices()[event.index];
      const std::string& name = timeline_.text_at(slice.name);
      if (event.kind == Kind::kEnd) {
        line(begins_.size() - 1, time_text(since(begins_.back(), event.time_ns)), "} " + name + end_of(slice));
        begins_.pop_back();
      } else if (i + 1 < events.size() && events[i + 1].kind == Kind::kEnd) {
        line(begins_.size(), time_text(since(event.time_ns, events[++i].time_ns)),
             name + texts(timeline_.arguments_of(slice)) + end_of(slice));
      } else {
        line(begins_.size(), "", name + texts(timeline_.arguments_of(slice)) + " {");
        begins_.push_back(event.time_ns);
      }
    }
  }

 private:
  std::string texts(std::span<const Timeline::Argument> arguments) const {
    std::string text;
    for (const Timeline::Argument& argument : arguments)
      text +=
          fmt::format("{}{}={}", text.empty() ? " (" : ", ", timeline_.text_at(argument.name), timeline_.text_at(argument.value));
    return text.empty() ? text : text + ")";
  }
  static std::string end_of(const Timeline::Slice& slice) { return slice.cut & Timeline::kEndCut ? "  still runs" : ""; }
  void line(size_t depth, const std::string& duration, const std::string& text) {
    out_ += fmt::format("{:>11} | {:{}}{}\n", duration, "", 2 * std::min<size_t>(depth, 100), printable(text));
  }

  const Timeline& timeline_;
  std::string& out_;
  std::vector<int64_t> begins_;
};

}  // namespace

std::string chrome_trace(const Timeline& timeline, const SampleFacts& facts) { return ChromeWriter(timeline).write(facts); }

std::string speedscope_timeline(const Timeline& timeline, const SampleFacts& facts) {
  Json frames = Json::array(), profiles = Json::array();
  std::map<uint32_t, size_t> frames_by_name;
  const auto [first, last] = timeline.range();
  const int64_t begin = first, end = last;
  nested_events(timeline, [&](uint32_t number, std::span<const NestedEvent> nested) {
    const Timeline::Thread& thread = timeline.threads()[number];
    Json events = Json::array();
    for (const NestedEvent& event : nested) {
      if (event.kind == Kind::kInstant) continue;
      const uint32_t name = timeline.slices()[event.index].name;
      const auto [frame, added] = frames_by_name.try_emplace(name, frames.size());
      if (added) frames.push_back({{"name", timeline.text_at(name)}});
      events.push_back(
          {{"type", event.kind == Kind::kBegin ? "O" : "C"}, {"frame", frame->second}, {"at", since(begin, event.time_ns)}});
    }
    if (events.empty()) return;
    profiles.push_back({{"type", "evented"},
                        {"name", fmt::format("{} {}", thread.name, thread.id)},
                        {"unit", "nanoseconds"},
                        {"startValue", 0},
                        {"endValue", since(begin, end)},
                        {"events", std::move(events)}});
  });
  return dump({{"$schema", "https://www.speedscope.app/file-format-schema.json"},
               {"name", facts.title},
               {"exporter", "spile"},
               {"shared", {{"frames", std::move(frames)}}},
               {"profiles", std::move(profiles)}}) +
         "\n";
}

std::string text_trees(const Timeline& timeline) {
  std::string text;
  nested_events(timeline, [&](uint32_t number, std::span<const NestedEvent> events) {
    if (events.empty()) return;
    const Timeline::Thread& thread = timeline.threads()[number];
    const Timeline::Process& process = timeline.processes()[thread.process];
    const std::string& name = thread.name.empty() ? process.name : thread.name;
    text += fmt::format("{}------{}{}", text.empty() ? "" : "\n", name.empty() ? "" : " ", printable(name));
    if (thread.id >= 0) text += fmt::format(" {}", thread.id);
    if (process.id != thread.id) text += fmt::format(" of process {}", process.id);
    text += " ------\n";
    TreeWriter(timeline, text).write(events);
  });
  return text;
}

}  // namespace spile::runs
