#include "runs/run/run_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "abi/aggregate.h"
#include "base/embedded_text.h"
#include "base/text/json.h"
#include "base/text/number_text.h"
#include "runs/run/run_events.h"
#include "runs/run/run_text.h"
#include "runs/stacks/page_text.h"
#include "runs/stacks/sample_files.h"
#include "runs/text/stream_file.h"

SPILE_EMBEDDED_TEXT(spile_run_page_html)
SPILE_EMBEDDED_TEXT(spile_run_page_css)
SPILE_EMBEDDED_TEXT(spile_run_page_js)

namespace spile::runs {

namespace {

constexpr size_t kMostPageElements = 2'000, kMostPageEvents = 2'000'000, kMostColumns = 900;
constexpr int64_t kExact = int64_t{1} << 53;  // numbers of JavaScript are exact below

// A larger number becomes a text, so that no digit is lost.
Json exact(int64_t value) { return value > -kExact && value < kExact ? Json(value) : Json(fmt::format("{}", value)); }
Json exact(uint64_t value) { return value < static_cast<uint64_t>(kExact) ? Json(value) : Json(fmt::format("{}", value)); }

int64_t milliseconds(int64_t ns) { return ns / 1'000'000; }

Json pairs_of(const RunStatistics::Buckets& buckets) {
  Json array = Json::array();
  for (const auto& [bucket, count] : buckets) array.push_back(Json::array({bucket, static_cast<double>(count)}));
  return array;
}

Json facts_of(const RunDocument& run) {
  const RunFacts& facts = run.facts;
  Json lost = run.warnings;
  if (!run.ended_ns)
    lost.push_back(run.is_cut ? "the file ends within a frame: spile or the machine died; later hits are missing"
                              : "the run has no end: spile was killed, or still records; later hits are missing");
  if (run.events_left_out > 0) lost.push_back(fmt::format("{} events are left out: there are too many", run.events_left_out));
  if (run.states_left_out > 0)
    lost.push_back(fmt::format("{} states of globals are left out of what is shown over time", run.states_left_out));
  return {{"file", run.file},
          {"host", facts.host},
          {"kernel", facts.kernel},
          {"script_name", facts.script_name},
          {"script", facts.script},
          {"arguments", facts.arguments},
          {"begin_ms", milliseconds(facts.begun_ns)},
          {"end_ms", milliseconds(end_of(run))},
          {"command", facts.command},
          {"processes", facts.processes},
          {"armed", run.armed},
          {"paused", time_text(run.paused_ns)},
          {"lost", std::move(lost)}};
}

// ---- globals

const char* const kStatisticHeads[] = {"count", "sum", "avg", "min", "p50", "p90", "p99", "p99.9", "max"};

void add_value(Json& row, const RunValue& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return row.push_back(exact(*number));
  if (const auto* text = std::get_if<std::string>(&value)) return row.push_back(*text);
  const auto& statistics = std::get<RunStatistics>(value);
  row.push_back(exact(statistics.count));
  if (statistics.count == 0) {
    for (size_t i = 1; i < std::size(kStatisticHeads); ++i) row.push_back("");
    return;
  }
  row.push_back(exact(statistics.sum));
  row.push_back(exact(statistics.sum / static_cast<int64_t>(std::min<uint64_t>(statistics.count, INT64_MAX))));
  row.push_back(exact(statistics.min));
  for (const ShownPercentile& shown : kShownPercentiles) {
    const auto at = percentile(statistics, shown.percent);
    row.push_back(at ? exact(*at) : Json(""));
  }
  row.push_back(exact(statistics.max));
}

// The ticks of the run that are shown: at most kMostColumns, equally far from one another.
std::vector<const RunTick*> shown_ticks(const RunDocument& run) {
  std::vector<const RunTick*> ticks;
  const size_t step = (run.ticks.size() + kMostColumns - 1) / kMostColumns;
  for (size_t i = 0; i < run.ticks.size(); ++i) {
    if ((run.ticks.size() - 1 - i) % step == 0) ticks.push_back(&run.ticks[i]);
  }
  return ticks;
}

// What a global that is not an array had over time, in one run.
void add_history(Json& object, const RunDocument& run, size_t global) {
  const std::vector<const RunTick*> ticks = shown_ticks(run);
  if (ticks.size() < 2) return;
  Json times = Json::array(), columns = Json::array(), values = Json::array();
  RunStatistics before;
  const ValueType type = run.globals[global].type;
  for (const RunTick* tick : ticks) {
    const RunGlobalState& state = *tick->globals[global];
    if (state.elements.empty()) continue;  // not read at that moment
    times.push_back(milliseconds(tick->time_ns));
    const RunValue& value = state.elements.front().value;
    if (type == ValueType::kLong) values.push_back(static_cast<double>(std::get<int64_t>(value)));
    if (type != ValueType::kStats) continue;
    RunStatistics now = std::get<RunStatistics>(value);
    columns.push_back(pairs_of(log_buckets(difference(before, now))));
    before = std::move(now);
  }
  if (times.size() < 2) return;
  if (type == ValueType::kStats) object["heat"] = {{"times", std::move(times)}, {"columns", std::move(columns)}};
  if (type == ValueType::kLong) object["line"] = {{"times", std::move(times)}, {"values", std::move(values)}};
}

Json globals_of(const std::vector<RunDocument>& runs) {
  Json globals = Json::array();
  for (MergedGlobal& merged : merge_globals(runs)) {
    const RunGlobal& global = merged.global;
    Json object{
        {"name", global.name}, {"is_array", !global.keys.empty()}, {"keys", global.keys.size()}, {"unread", merged.unknown}};
    Json heads = Json::array(), rows = Json::array();
    for (size_t i = 0; i < global.keys.size(); ++i)
      heads.push_back(global.keys.size() == 1 ? "key" : fmt::format("key {}", i + 1));
    if (global.type != ValueType::kStats) heads.push_back("value");
    else
      for (const char* head : kStatisticHeads) heads.push_back(head);
    const auto weight = [](const RunElement& element) {
      if (const auto* statistics = std::get_if<RunStatistics>(&element.value)) return static_cast<double>(statistics->count);
      const auto* number = std::get_if<int64_t>(&element.value);
      return number ? static_cast<double>(*number) : 0;
    };
    std::ranges::stable_sort(merged.elements, std::ranges::greater(), weight);
    for (size_t i = 0; i < std::min(kMostPageElements, merged.elements.size()); ++i) {
      Json row = Json::array();
      for (const RunKey& key : merged.elements[i].keys) {
        if (const auto* number = std::get_if<int64_t>(&key)) row.push_back(exact(*number));
        else row.push_back(std::get<std::string>(key));
      }
      add_value(row, merged.elements[i].value);
      rows.push_back(std::move(row));
    }
    object["left_out"] = merged.left_out + (merged.elements.size() - rows.size());
    object["heads"] = std::move(heads);
    object["rows"] = std::move(rows);
    const auto* statistics =
        global.keys.empty() && !merged.elements.empty() ? std::get_if<RunStatistics>(&merged.elements.front().value) : nullptr;
    if (statistics && statistics->count > 0) {
      if (!statistics->linear.empty()) {
        object["linear"] = {{"low", global.low},
                            {"width", global.width},
                            {"last", abi::linear_buckets(global.low, global.high, global.width) + 1},
                            {"buckets", pairs_of(statistics->linear)}};
      } else if (const RunStatistics::Buckets buckets = log_buckets(*statistics); !buckets.empty()) {
        object["log"] = pairs_of(buckets);
      }
    }
    if (runs.size() == 1 && global.keys.empty()) {
      const auto& known = runs.front().globals;
      const auto found = std::ranges::find(known, global.name, &RunGlobal::name);
      if (found != known.end()) add_history(object, runs.front(), static_cast<size_t>(found - known.begin()));
    }
    globals.push_back(std::move(object));
  }
  return globals;
}

// ---- events

// The formats of all runs, of which each has its own; the first of a run is at `first`.
Json formats_of(const RunDocument& run) {
  Json formats = Json::array();
  for (const Json& in : formats_as_json(run.formats)) {
    Json format{{"parts", Json::array()}, {"strings", Json::array()}};
    if (const Json* parts = in.find("printf")) {
      for (const Json& part : *parts) {
        if (const Json* literal = part.find("literal")) {
          format["parts"].push_back({{"t", *literal}});
          continue;
        }
        const auto member = [&part](std::string_view name, Json otherwise) {
          const Json* found = part.find(name);
          return found ? *found : std::move(otherwise);
        };
        format["parts"].push_back({{"c", member("conversion", "")},
                                   {"f", member("flags", "")},
                                   {"width", member("width", 0)},
                                   {"precision", member("precision", -1)}});
      }
      for (const Json& type : *in.find("arguments")) format["strings"].push_back(type.text() == "string" ? 1 : 0);
    }
    formats.push_back(std::move(format));
  }
  return formats;
}

// Whether the page's script makes the same text of the format as printf does.
bool is_simple(const syntax::OutputFormat& format) {
  using Kind = syntax::FormatPart::Kind;
  return std::ranges::all_of(format.parts, [](const syntax::FormatPart& part) {
    if (part.kind == Kind::kOctal) return !part.alternate;
    return part.kind == Kind::kLiteral || part.kind == Kind::kSigned || part.kind == Kind::kUnsigned || part.kind == Kind::kHex ||
           part.kind == Kind::kHexUpper || part.kind == Kind::kPointer || part.kind == Kind::kChar ||
           (part.kind == Kind::kString && !part.alternate);
  });
}

struct PageEvents {
  Json formats = Json::array(), texts = Json::array(), points = Json::array();
  Json times = Json::array(), of_format = Json::array(), cpus = Json::array(), probes = Json::array(), of_run = Json::array(),
       values = Json::array();
  uint64_t left_out = 0;
};

PageEvents events_of(const std::vector<RunDocument>& runs, int64_t begin_ms) {
  PageEvents page;
  struct Place {
    int64_t time;
    uint32_t run, event;
  };
  std::vector<Place> places;
  std::vector<size_t> first_format, first_point;
  std::vector<std::vector<int64_t>> text_places;  // by run, then by text; -1: not in the page yet
  for (uint32_t r = 0; r < runs.size(); ++r) {
    const RunDocument& run = runs[r];
    first_format.push_back(page.formats.size());
    first_point.push_back(page.points.size());
    for (const Json& format : formats_of(run)) page.formats.push_back(format);
    for (const RunProbe& probe : run.probes) page.points.push_back(probe.point);
    text_places.emplace_back(run.texts.size(), -1);
    page.left_out += run.events_left_out;
    for (uint32_t i = 0; i < run.events.size(); ++i) {
      const RunEvent& event = run.events[i];
      // the flame graph has them
      const bool is_sample = event.format != RunEvent::kText && is_sample_format(run.formats[event.format]);
      if (!is_sample) places.push_back({event.time_ns, r, i});
    }
  }
  std::ranges::stable_sort(places, {}, &Place::time);
  if (places.size() > kMostPageEvents) page.left_out += places.size() - kMostPageEvents, places.resize(kMostPageEvents);
  int64_t last = 0;
  for (const Place& place : places) {
    const RunDocument& run = runs[place.run];
    const RunEvent& event = run.events[place.event];
    const int64_t time = event.time_ns / 1000 - begin_ms * 1000;
    page.times.push_back(time - std::exchange(last, time));
    const bool is_text_event = event.format == RunEvent::kText || !is_simple(run.formats[event.format]);
    page.of_format.push_back(is_text_event ? -1 : static_cast<int64_t>(first_format[place.run] + event.format));
    page.probes.push_back(event.probe == RunEvent::kNoProbe ? -1 : static_cast<int64_t>(first_point[place.run] + event.probe));
    page.cpus.push_back(event.cpu);
    page.of_run.push_back(place.run);
    if (is_text_event && event.format != RunEvent::kText) {
      page.values.push_back(page.texts.size());
      std::string text;
      append_event_text(text, run, event);
      page.texts.push_back(std::move(text));
      continue;
    }
    for (size_t i = 0; i < value_count(run, event); ++i) {
      const int64_t value = run.values[event.first_value + i];
      const bool is_text = event.format == RunEvent::kText || run.formats[event.format].arguments[i] == ValueType::kString;
      if (!is_text) {
        page.values.push_back(exact(value));
        continue;
      }
      int64_t& known = text_places[place.run][static_cast<size_t>(value)];
      if (known < 0) {
        known = static_cast<int64_t>(page.texts.size());
        page.texts.push_back(run.texts[static_cast<size_t>(value)]);
      }
      page.values.push_back(known);
    }
  }
  return page;
}

Json samples_in_page(const std::vector<RunDocument>& runs) {
  const Samples samples = samples_of(runs);
  Json object = stacks_json(samples);
  object["threads"] = samples.threads().size();
  object["lost"] = samples.lost();
  object["cut"] = samples.cut();
  return object;
}

Json probes_in_page(const std::vector<RunDocument>& runs) {
  Json rows = Json::array();
  std::map<std::pair<std::string, std::string>, size_t> known;
  for (const RunDocument& run : runs) {
    const RunTick* tick = last_tick(run);
    for (size_t i = 0; i < run.probes.size(); ++i) {
      const RunProbe& probe = run.probes[i];
      if (probe.source.empty()) continue;
      const auto [place, is_new] = known.try_emplace({probe.point, probe.source}, rows.size());
      if (is_new) rows.push_back(Json::array({probe.point, probe.source, probe.runs_in, probe.places, "?"}));
      if (!tick || !tick->hits[i]) continue;
      Json& hits = rows[place->second][4];
      hits = exact(*tick->hits[i] + (hits.is_unsigned() ? hits.unsigned_number() : 0));
    }
  }
  return rows;
}

}  // namespace

std::string run_page(const std::vector<RunDocument>& runs) {
  Json facts = Json::array(), modules = Json::array();
  int64_t begin_ms = INT64_MAX;
  std::map<RunModule, bool> all;
  for (const RunDocument& run : runs) {
    facts.push_back(facts_of(run));
    begin_ms = std::min(begin_ms, milliseconds(run.facts.begun_ns));
    for (const RunModule& module : run.modules) all[module] = true;
  }
  for (const auto& [module, there] : all) modules.push_back(Json::array({module.path, module.build_id}));
  PageEvents events = events_of(runs, begin_ms);
  const Json data{{"runs", std::move(facts)},
                  {"probes", probes_in_page(runs)},
                  {"globals", globals_of(runs)},
                  {"samples", samples_in_page(runs)},
                  {"modules", std::move(modules)},
                  {"formats", std::move(events.formats)},
                  {"texts", std::move(events.texts)},
                  {"points", std::move(events.points)},
                  {"events",
                   {{"begin_ms", begin_ms},
                    {"times", std::move(events.times)},
                    {"formats", std::move(events.of_format)},
                    {"cpus", std::move(events.cpus)},
                    {"probes", std::move(events.probes)},
                    {"runs", std::move(events.of_run)},
                    {"values", std::move(events.values)},
                    {"left_out", events.left_out}}}};
  return fill_page(spile_run_page_html(),
                   {{"run_page.css", spile_run_page_css()}, {"data", page_json(data)}, {"run_page.js", spile_run_page_js()}});
}

}  // namespace spile::runs
