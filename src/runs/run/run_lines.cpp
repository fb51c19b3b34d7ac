// Runs as JSON Lines and as CSV.

#include <fmt/format.h>

#include "base/text/json.h"
#include "runs/run/run_events.h"
#include "runs/run/run_text.h"
#include "runs/text/event_lines.h"

namespace spile::runs {

namespace {

std::string dump(const Json& object) { return object.dump(); }

Json json_of(const RunKey& key) {
  if (const auto* number = std::get_if<int64_t>(&key)) return *number;
  return std::get<std::string>(key);
}
Json json_of(const std::vector<RunKey>& keys) {
  Json array = Json::array();
  for (const RunKey& key : keys) array.push_back(json_of(key));
  return array;
}

void add_statistics(Json& object, const RunGlobal& global, const RunStatistics& statistics) {
  object["count"] = statistics.count;
  if (statistics.count == 0) return;
  object["sum"] = statistics.sum;
  object["min"] = statistics.min;
  object["max"] = statistics.max;
  for (const ShownPercentile& shown : kShownPercentiles) {
    if (const auto at = percentile(statistics, shown.percent)) object[shown.name] = *at;
  }
  const auto pairs = [](const RunStatistics::Buckets& buckets) {
    Json array = Json::array();
    for (const auto& [bucket, count] : buckets) array.push_back(Json::array({bucket, count}));
    return array;
  };
  if (const RunStatistics::Buckets buckets = log_buckets(statistics); !buckets.empty()) object["log_buckets"] = pairs(buckets);
  if (!statistics.linear.empty())
    object["linear"] = {
        {"low", global.low}, {"high", global.high}, {"width", global.width}, {"buckets", pairs(statistics.linear)}};
}

Json values_of(const RunDocument& run, const RunEvent& event) {
  Json values = Json::array();
  const std::vector<ValueType>& types = run.formats[event.format].arguments;
  for (size_t i = 0; i < types.size(); ++i) {
    const int64_t value = run.values[event.first_value + i];
    if (types[i] == ValueType::kString) values.push_back(run.texts[static_cast<size_t>(value)]);
    else values.push_back(value);
  }
  return values;
}

std::string text_of(const RunDocument& run, const RunEvent& event) {
  std::string text;
  append_event_text(text, run, event);
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

Json json_of(const RunDocument& run) {
  const RunFacts& facts = run.facts;
  Json object{{"kind", "run"},
              {"file", run.file},
              {"host", facts.host},
              {"kernel", facts.kernel},
              {"machine", facts.machine},
              {"spile", facts.spile},
              {"begun", utc_text(facts.begun_ns)}};
  if (run.ended_ns) object["ended"] = utc_text(*run.ended_ns);
  object["cut"] = run.is_cut;
  object["every_ns"] = facts.every_ns;
  object["script_name"] = facts.script_name;
  object["script"] = facts.script;
  object["arguments"] = facts.arguments;
  if (!facts.command.empty()) object["command"] = facts.command;
  object["processes"] = facts.processes;
  object["armed"] = run.armed;
  object["paused_ns"] = run.paused_ns;
  object["lost"] = run.warnings;
  object["events_left_out"] = run.events_left_out;
  object["states_left_out"] = run.states_left_out;
  return object;
}

void write_run(const RunDocument& run, const TakeText& take) {
  const auto line = [&](const Json& object) { take(dump(object) + "\n"); };
  line(json_of(run));
  for (size_t i = 0; i < run.probes.size(); ++i) {
    const RunProbe& probe = run.probes[i];
    Json object{{"kind", "probe"},        {"host", run.facts.host},   {"point", probe.point},
                {"source", probe.source}, {"runs_in", probe.runs_in}, {"places", probe.places}};
    if (const RunTick* tick = last_tick(run); tick && tick->hits[i]) object["hits"] = *tick->hits[i];
    line(object);
  }
  for (const RunModule& module : run.modules)
    line({{"kind", "module"}, {"host", run.facts.host}, {"path", module.path}, {"build_id", module.build_id}});
  for (const RunTick& tick : run.ticks) {
    Json hits = Json::array();
    for (const auto& count : tick.hits) hits.push_back(count ? Json(*count) : Json());
    Json object{{"kind", "tick"},
                {"host", run.facts.host},
                {"time", utc_text(tick.time_ns)},
                {"hits", hits},
                {"skipped", tick.skipped},
                {"lost_records", tick.lost_records},
                {"lost_elements", tick.lost_elements}};
    // Numbers that are not in arrays are short.
    Json numbers = Json::object();
    for (size_t i = 0; i < run.globals.size(); ++i) {
      const RunGlobalState& state = *tick.globals[i];
      if (!run.globals[i].keys.empty() || state.elements.empty()) continue;
      const RunValue& value = state.elements.front().value;
      if (const auto* number = std::get_if<int64_t>(&value)) numbers[run.globals[i].name] = *number;
      else if (const auto* statistics = std::get_if<RunStatistics>(&value))
        numbers[run.globals[i].name] = {{"count", statistics->count}, {"sum", statistics->sum}};
    }
    object["globals"] = std::move(numbers);
    line(object);
  }
}

void write_events(const RunDocument& run, const TakeText& take) {
  for (const RunEvent& event : run.events) {
    Json object{{"kind", "event"}, {"host", run.facts.host}, {"time", utc_text(event.time_ns)}, {"cpu", event.cpu}};
    if (event.process > 0) object["pid"] = event.process;
    if (event.thread > 0) object["tid"] = event.thread;
    if (event.probe != RunEvent::kNoProbe) object["probe"] = run.probes[event.probe].point;
    object["text"] = text_of(run, event);
    if (event.format != RunEvent::kText) object["values"] = values_of(run, event);
    take(dump(object) + "\n");
  }
}

// A text as a cell: in quotes where it has what separates cells.
std::string cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

// A cell of a number that may not be known.
std::string number_or_none(uint32_t number) { return number > 0 ? std::to_string(number) : std::string(); }

}  // namespace

void write_run_json(const std::vector<RunDocument>& runs, const TakeText& take) {
  for (const RunDocument& run : runs) write_run(run, take);
  for (const MergedGlobal& merged : merge_globals(runs)) {
    const RunGlobal& global = merged.global;
    take(dump({{"kind", "global"},
               {"name", global.name},
               {"type", global.type == ValueType::kStats    ? "stats"
                        : global.type == ValueType::kString ? "string"
                                                            : "long"},
               {"keys", global.keys.size()},
               {"elements", merged.elements.size()},
               {"left_out", merged.left_out},
               {"runs", merged.documents},
               {"unread", merged.unknown}}) +
         "\n");
    for (const RunElement& element : merged.elements) {
      Json object{{"kind", "element"}, {"global", global.name}};
      if (!global.keys.empty()) object["keys"] = json_of(element.keys);
      if (const auto* statistics = std::get_if<RunStatistics>(&element.value)) add_statistics(object, global, *statistics);
      else if (const auto* number = std::get_if<int64_t>(&element.value)) object["value"] = *number;
      else object["value"] = std::get<std::string>(element.value);
      take(dump(object) + "\n");
    }
  }
  for (const RunDocument& run : runs) write_events(run, take);
}

void write_run_csv(const std::vector<RunDocument>& runs, const TakeText& take) {
  take("kind,host,time,cpu,name,keys,value,count,sum,min,max,p50,p90,p99,p999,text,values,pid,tid\r\n");
  for (const RunDocument& run : runs) {
    const RunTick* tick = last_tick(run);
    for (size_t i = 0; i < run.probes.size(); ++i) {
      const std::string hits = tick && tick->hits[i] ? fmt::format("{}", *tick->hits[i]) : "";
      take(fmt::format("probe,{},,,{},,{},,,,,,,,,{},,,\r\n", cell(run.facts.host), cell(run.probes[i].point), hits,
                       cell(run.probes[i].source)));
    }
  }
  for (const MergedGlobal& merged : merge_globals(runs)) {
    for (const RunElement& element : merged.elements) {
      std::string line = fmt::format("global,,,,{},{},", cell(merged.global.name),
                                     merged.global.keys.empty() ? "" : cell(dump(json_of(element.keys))));
      if (const auto* statistics = std::get_if<RunStatistics>(&element.value)) {
        line += fmt::format(",{}", statistics->count);
        if (statistics->count > 0) line += fmt::format(",{},{},{}", statistics->sum, statistics->min, statistics->max);
        else line += ",,,";
        for (const ShownPercentile& shown : kShownPercentiles) {
          const auto at = percentile(*statistics, shown.percent);
          line += at ? fmt::format(",{}", *at) : ",";
        }
        line += ",,,,";
      } else if (const auto* number = std::get_if<int64_t>(&element.value)) {
        line += fmt::format("{},,,,,,,,,,,,", *number);
      } else {
        line += cell(std::get<std::string>(element.value)) + ",,,,,,,,,,,,";
      }
      take(line + "\r\n");
    }
  }
  for (const RunDocument& run : runs) {
    for (const RunEvent& event : run.events) {
      const std::string probe = event.probe != RunEvent::kNoProbe ? run.probes[event.probe].point : "";
      take(fmt::format("event,{},{},{},{},,,,,,,,,,,{},{},{},{}\r\n", cell(run.facts.host), utc_text(event.time_ns), event.cpu,
                       cell(probe), cell(text_of(run, event)),
                       event.format == RunEvent::kText ? "" : cell(dump(values_of(run, event))), number_or_none(event.process),
                       number_or_none(event.thread)));
    }
  }
}

}  // namespace spile::runs
