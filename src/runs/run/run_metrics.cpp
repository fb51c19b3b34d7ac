#include "runs/run/run_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "abi/aggregate.h"
#include "runs/run/run_text.h"

namespace spile::runs {

namespace {

// Returns how many bytes the UTF-8 character at `at` has; 0: there is none.
size_t character_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  const size_t size = first < 0x80                    ? 1
                      : first >= 0xc2 && first < 0xe0 ? 2
                      : first >= 0xe0 && first < 0xf0 ? 3
                      : first >= 0xf0 && first < 0xf5 ? 4
                                                      : 0;
  if (size == 0 || at + size > text.size()) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  }
  const bool is_wrong = size > 2 && ((first == 0xe0 && byte(at + 1) < 0xa0) || (first == 0xed && byte(at + 1) >= 0xa0) ||
                                     (first == 0xf0 && byte(at + 1) < 0x90) || (first == 0xf4 && byte(at + 1) >= 0x90));
  return is_wrong ? 0 : size;
}

// A label's value, without its quotes. Bytes that are not UTF-8 become \xNN, as scrapers reject them.
std::string label_text(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t size = character_at(text, at);
    if (size == 0) out += fmt::format("\\\\x{:02x}", static_cast<unsigned char>(text[at]));
    else if (text[at] == '\\') out += "\\\\";
    else if (text[at] == '"') out += "\\\"";
    else if (text[at] == '\n') out += "\\n";
    else out += text.substr(at, size);
    at += std::max<size_t>(size, 1);
  }
  return out;
}

std::string labels_of(const std::vector<RunKey>& keys) {
  std::string labels;
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto* number = std::get_if<int64_t>(&keys[i]);
    labels += fmt::format("{}key{}=\"{}\"", i ? "," : "", i + 1,
                          number ? fmt::format("{}", *number) : label_text(std::get<std::string>(keys[i])));
  }
  return labels;
}

std::string braced(const std::string& labels) { return labels.empty() ? "" : "{" + labels + "}"; }

class MetricsText {
 public:
  explicit MetricsText(bool is_open) : is_open_(is_open) {}

  // Begins a family. A counter's name is without its "_total".
  void family(const std::string& name, const char* type, const std::string& help) {
    const std::string shown = std::string_view(type) == "counter" && !is_open_ ? name + "_total" : name;
    out_ += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", shown, label_text(help), type);
  }
  template <typename Number>
  void sample(const std::string& name, const std::string& labels, Number value) {
    out_ += fmt::format("{}{} {}\n", name, braced(labels), value);
  }
  void histogram(const std::string& name, const std::string& labels, const std::vector<std::pair<int64_t, uint64_t>>& bounds,
                 const RunStatistics& statistics) {
    const std::string before = labels.empty() ? "" : labels + ",";
    uint64_t sum = 0;
    for (const auto& [bound, count] : bounds) sample(name + "_bucket", fmt::format("{}le=\"{}.0\"", before, bound), sum += count);
    sample(name + "_bucket", before + "le=\"+Inf\"", statistics.count);
    sample(name + "_sum", labels, statistics.sum);
    sample(name + "_count", labels, statistics.count);
  }
  std::string take() {
    if (is_open_) out_ += "# EOF\n";
    return std::move(out_);
  }

 private:
  bool is_open_;
  std::string out_;
};

// The greatest value of each bucket that has a least one, ascending, with its count.
std::vector<std::pair<int64_t, uint64_t>> bounds_of(const RunGlobal& global, const RunStatistics& statistics) {
  std::vector<std::pair<int64_t, uint64_t>> bounds;
  if (!statistics.linear.empty()) {
    const std::map<uint32_t, uint64_t> counts(statistics.linear.begin(), statistics.linear.end());
    // without the last, which has no end
    const uint32_t buckets = abi::linear_buckets(global.low, global.high, global.width) + 1;
    for (uint32_t i = 0; i < buckets; ++i) {
      const auto found = counts.find(i);
      bounds.emplace_back(static_cast<int64_t>(static_cast<uint64_t>(global.low) + i * static_cast<uint64_t>(global.width) - 1),
                          found == counts.end() ? 0 : found->second);
    }
    return bounds;
  }
  constexpr uint32_t kZero = abi::kLogBuckets / 2;
  const RunStatistics::Buckets log = log_buckets(statistics);
  if (log.empty()) return bounds;
  const std::map<uint32_t, uint64_t> counts(log.begin(), log.end());
  for (uint32_t i = std::min(kZero, log.front().first); i <= std::max(kZero, log.back().first); ++i) {
    if (i == abi::kLogBuckets - 1) break;  // what is above 2^62 is in +Inf alone
    const auto found = counts.find(i);
    const int64_t bound = i < kZero ? static_cast<int64_t>(-(uint64_t{1} << (kZero - i - 1)))
                                    : static_cast<int64_t>((uint64_t{1} << (i - kZero)) - 1);
    bounds.emplace_back(bound, found == counts.end() ? 0 : found->second);
  }
  return bounds;
}

void add_global(MetricsText& text, const RunGlobal& global, const RunGlobalState& state) {
  const std::string name = "spile_global_" + global.name;
  const std::string help = fmt::format("global {} of the script", global.name);
  switch (global.type) {
    case ValueType::kString:
      text.family(name + "_info", "gauge", help);
      for (const RunElement& element : state.elements) {
        const std::string keys = labels_of(element.keys);
        text.sample(
            name + "_info",
            fmt::format("{}{}value=\"{}\"", keys, keys.empty() ? "" : ",", label_text(std::get<std::string>(element.value))), 1);
      }
      break;
    case ValueType::kStats:
      text.family(name, "histogram", help);
      for (const RunElement& element : state.elements) {
        const auto& statistics = std::get<RunStatistics>(element.value);
        text.histogram(name, labels_of(element.keys), bounds_of(global, statistics), statistics);
      }
      break;
    default:
      text.family(name, "gauge", help);
      for (const RunElement& element : state.elements)
        text.sample(name, labels_of(element.keys), std::get<int64_t>(element.value));
  }
}

}  // namespace

std::string metrics_text(const RunFacts& facts, const std::vector<RunProbe>& probes, const std::vector<RunGlobal>& globals,
                         const RunTick& tick, bool is_open_metrics) {
  MetricsText text(is_open_metrics);
  text.family("spile_run_info", "gauge", "the script that runs");
  text.sample("spile_run_info",
              fmt::format("script=\"{}\",version=\"{}\"", label_text(facts.script_name), label_text(facts.spile)), 1);
  text.family("spile_start_time_seconds", "gauge", "when the script began, since 1970");
  text.sample("spile_start_time_seconds", "", static_cast<double>(facts.begun_ns) / 1e9);
  std::map<std::string, uint64_t> hits;  // probes of one point and place in the script are one
  for (size_t i = 0; i < probes.size(); ++i) {
    if (tick.hits[i] && !probes[i].source.empty())
      hits[fmt::format("probe=\"{}\",source=\"{}\"", label_text(probes[i].point), label_text(probes[i].source))] += *tick.hits[i];
  }
  text.family("spile_probe_hits", "counter", "handler runs of a probe");
  for (const auto& [labels, count] : hits) text.sample("spile_probe_hits_total", labels, count);
  text.family("spile_skipped_hits", "counter", "hits whose handler could not run");
  text.sample("spile_skipped_hits_total", "", tick.skipped);
  text.family("spile_lost_records", "counter", "records that found no room in a ring");
  text.sample("spile_lost_records_total", "", tick.lost_records);
  text.family("spile_lost_elements", "counter", "updates of arrays that were full");
  text.sample("spile_lost_elements_total", "", tick.lost_elements);
  std::string absent;
  for (size_t i = 0; i < globals.size(); ++i) {
    const RunGlobalState& state = *tick.globals[i];
    if (!state.is_known || state.left_out > 0) absent += globals[i].name + " ";
    if (state.is_known) add_global(text, globals[i], state);
  }
  text.family("spile_globals_not_whole", "gauge", "globals that have more elements than are served, or whose lock was held");
  text.sample("spile_globals_not_whole", "", std::ranges::count(absent, ' '));
  return text.take();
}

}  // namespace spile::runs
