#include "verbs/calls/recorded_calls.h"

#include <algorithm>

#include "runs/run/run_events.h"
#include "verbs/calls/call_tree.h"

namespace spile::verbs {

namespace {

// The literal text that a format of trace's script begins with; "": it is another format.
std::string_view head_of(const syntax::OutputFormat& format) {
  if (format.kind != syntax::OutputFormat::Kind::kPrintf || format.parts.empty() ||
      format.parts.front().kind != syntax::FormatPart::Kind::kLiteral)
    return {};
  const std::string& head = format.parts.front().literal;
  static constexpr std::string_view kHeads[] = {"root ",  "call ", "leave ",  "gone ",  "name ",
                                                "enter ", "exit ", "genter ", "gexit ", "ggone "};
  return std::ranges::find(kHeads, std::string_view(head)) != std::end(kHeads) ? std::string_view(head) : std::string_view();
}

// Which of the values of a "root" is the time.
constexpr size_t kTimeOfRoot = 3;

// What the clock of 1970 is ahead of that of the calls: those in the kernel have times of CLOCK_MONOTONIC.
int64_t offset_of(const runs::RunDocument& run) {
  for (const runs::RunEvent& event : run.events) {
    if (event.format == runs::RunEvent::kText || head_of(run.formats[event.format]) != "root " ||
        runs::value_count(run, event) <= kTimeOfRoot)
      continue;
    return static_cast<int64_t>(static_cast<uint64_t>(event.time_ns) -
                                static_cast<uint64_t>(run.values[event.first_value + kTimeOfRoot]));
  }
  return 0;
}

}  // namespace

bool has_calls(const runs::RunDocument& run) {
  return std::ranges::any_of(run.formats,
                             [](const syntax::OutputFormat& format) {
                               return head_of(format) == "enter " || head_of(format) == "genter " || head_of(format) == "root ";
                             }) &&
         run.facts.script.starts_with("# spile trace");
}

Result<std::vector<std::string>> send_calls(const runs::RunDocument& run, const std::string& where, int64_t patience_ms) {
  CallTree::Settings settings;
  constexpr int kAnyDepth = 1'000'000;
  settings.depth = kAnyDepth;
  TRY(settings.spans, CallSpans::create(where, {run.facts.script_name, {}, run.facts.host}, offset_of(run)));
  settings.spans->wait_for_collector(patience_ms);
  CallTree tree(std::move(settings));
  std::string out;
  for (const runs::RunEvent& event : run.events) {
    if (event.format == runs::RunEvent::kText) continue;
    const std::string_view head = head_of(run.formats[event.format]);
    if (head.empty()) continue;
    const std::string payload = runs::payload_of(run, event);
    runs::PayloadReader arguments(payload.data(), payload.size());
    tree.take(head, arguments, out);
  }
  tree.finish(out);
  return tree.losses();
}

}  // namespace spile::verbs
