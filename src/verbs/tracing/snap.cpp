#include "verbs/tracing/snap.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/embedded_text.h"
#include "base/messages.h"
#include "base/text/glob.h"
#include "base/text/number_text.h"
#include "debuginfo/terms/names.h"
#include "runs/timeline/perfetto_file.h"
#include "runs/timeline/timeline_files.h"
#include "verbs/tasks/task_request.h"
#include "verbs/terms/option_values.h"
#include "verbs/terms/process_functions.h"
#include "verbs/terms/run_facts.h"
#include "verbs/terms/script_text.h"
#include "verbs/tracing/snap_condition.h"

SPILE_EMBEDDED_TEXT(spile_verb_snap)

namespace spile::verbs {

namespace {

constexpr int64_t kLast = 100'000'000, kLongest = 3'600'000'000'000;
constexpr int kMostSnapshots = 1000;
constexpr const char* kExample = "spile snap --when 'f > 5ms' -x PID -o snap.pftrace";

TimelineForm form_of(const std::string& file) {
  if (file.ends_with(".pftrace")) return TimelineForm::kPerfetto;
  if (file.ends_with(".speedscope.json")) return TimelineForm::kSpeedscope;
  return file.ends_with(".json") ? TimelineForm::kChrome : TimelineForm::kTrees;
}

}  // namespace

void Snapshots::take(std::string_view head, runs::PayloadReader& arguments, std::string&) {
  if (head == "name ") {
    constexpr size_t kMostNames = 100'000;
    const int64_t number = arguments.next_long();
    if (names_.size() < kMostNames) names_[number] = arguments.next_string();
  }
  if (head != "snap " || has_all() || !calls_) return;
  const int64_t process = arguments.next_long(), thread = arguments.next_long(), time = arguments.next_long();
  const std::string function(arguments.next_string());
  const int64_t took = arguments.next_long();
  const std::string why = took < 0 ? settings_.when : fmt::format("{} took {}", function, time_text(took));
  const uint32_t track = timeline_.add_thread(timeline_.add_process(process, {}), thread, {});
  timeline_.add_instant({.time_ns = time, .thread = track, .name = timeline_.text(why)});
  take_snapshot(fmt::format("{} in thread {}", why, thread));
}

void Snapshots::take_snapshot(const std::string& why) {
  const runs::RecentCalls::Taken taken = calls_->take(timeline_, settings_.last_ns);
  ++taken_;
  if (taken.short_threads > 0) {
    shortest_ns_ = short_threads_ == 0 ? taken.shortest_ns : std::min(shortest_ns_, taken.shortest_ns);
    short_threads_ += taken.short_threads;
  }
  note(fmt::format("snap: {}: {} {} of {} in {}", why, with_commas(taken.calls), plural(taken.calls, "call"),
                   counted(taken.threads, "thread"), time_text(taken.end_ns - taken.begin_ns)));
  if (!has_all()) calls_->go_on();
}

void Snapshots::take_signal() {
  if (has_all() || !calls_) return;
  calls_->stop();
  take_snapshot("SIGUSR1");
}

void Snapshots::before_end() {
  if (taken_ > 0 || !calls_) return;
  calls_->stop();
  at_end_ = !settings_.when.empty();
  take_snapshot("the end");
}

void Snapshots::finish(std::string& out) {
  const auto name_of = [&](int64_t number) {
    return names_.contains(number) ? std::string_view(names_[number]) : std::string_view();
  };
  for (uint32_t i = 0; i < timeline_.processes().size(); ++i)
    if (timeline_.processes()[i].name.empty())
      timeline_.add_process(timeline_.processes()[i].id, name_of(timeline_.processes()[i].id));
  for (uint32_t i = 0; i < timeline_.threads().size(); ++i) {
    const runs::Timeline::Thread thread = timeline_.threads()[i];
    if (thread.name.empty() && thread.id >= 0) timeline_.add_thread(thread.process, thread.id, name_of(thread.id));
  }
  if (settings_.spans) {
    settings_.spans->add(timeline_);
    settings_.spans->finish(CallSpans::kPatienceMs);
  }
  switch (settings_.form) {
    case TimelineForm::kNone: break;
    case TimelineForm::kTrees: out += runs::text_trees(timeline_); break;
    case TimelineForm::kPerfetto: out += runs::perfetto_trace(timeline_, settings_.facts, runs::read_clocks()); break;
    case TimelineForm::kChrome: out += runs::chrome_trace(timeline_, settings_.facts); break;
    case TimelineForm::kSpeedscope: out += runs::speedscope_timeline(timeline_, settings_.facts); break;
  }
  calls_ = nullptr;
}

std::vector<std::string> Snapshots::losses() const {
  std::vector<std::string> warnings;
  if (at_end_) warnings.push_back(fmt::format("nothing met --when '{}': the snapshot is of the end", settings_.when));
  if (short_threads_ > 0)
    warnings.push_back(fmt::format("{} of snapshots with less than --last, the least {}: earlier calls were overwritten",
                                   counted(short_threads_, "thread"), time_text(shortest_ns_)));
  for (const auto& [why, count] : timeline_.missing()) warnings.push_back(fmt::format("{} {}", count, why));
  if (timeline_.lost() > 0)
    warnings.push_back(fmt::format("{} calls are not in the snapshot: there are too many", timeline_.lost()));
  if (settings_.spans) std::ranges::copy(settings_.spans->losses(), std::back_inserter(warnings));
  return warnings;
}

Result<VerbScript> make_snap(const VerbLine& line, const session::Options& options) {
  VerbLine words = line;
  std::erase_if(words.options,
                [](const auto& option) { return option.first != "when" && option.first != "last" && option.first != "count"; });
  if (words.words.empty()) words.words = {"*"};
  TRY(TaskRequest request, parse_task("snap", words, options, true, kExample));
  if (options.output.record.is_on())
    return Error{"spile snap can't be recorded: the calls that it notes are in no document",
                 "spile snap -o FILE.pftrace writes them; spile record trace stores calls"};
  if (options.output.rotate_bytes > 0) return Error{"spile snap can't be used with -S: its output is one file", {}};
  Snapshots::Settings settings;
  settings.form = form_of(options.output.file);
  settings.last_ns = kLast;
  SnapCondition condition;
  for (const auto& [name, value] : words.options) {
    if (name == "last") {
      TRY(settings.last_ns, parse_time("--last", value));
      if (settings.last_ns == 0 || settings.last_ns > kLongest)
        return Error{fmt::format("--last {}: not from 1ns to 3600s", value),
                     "so much time before the moment is shown; 100ms if nothing is said"};
    }
    if (name == "count") {
      TRY(settings.most, parse_number("--count", value, 1, kMostSnapshots, "so many snapshots are taken; 1 if nothing is said"));
    }
    if (name != "when") continue;
    TRY(condition, parse_condition(value));
    settings.when = value;
    std::ranges::replace(settings.when, '\n', ' ');
    // The function that is waited for is shown, too.
    const auto waited = library_and_function(condition.function);
    const auto matches = [&](const std::string& word) {
      const auto noted = library_and_function(word);
      return noted.first == waited.first && (noted.second == waited.second || glob_matches(noted.second, waited.second));
    };
    if (!std::ranges::any_of(request.functions, matches)) request.functions.push_back(condition.function);
  }
  if (!request.excluded.empty()) {
    TRY(request.functions, functions_in_processes(options.target, request.functions, request.excluded));
  }
  VerbScript script;
  ScriptValues values = {{"WORDS", request.text}, {"RETURNS", return_points(request.functions, !request.excluded.empty())}};
  add_values(condition, values);
  script.text = script_text(spile_verb_snap(), values);
  script.limits = {"MAXSKIPPED=0"};
  settings.facts = run_facts("snap" + request.text, script.text, options);
  if (!options.output.otlp.empty() && options.output.record.file.empty()) {
    script.sends_spans = true;
    if (options.output.file.empty()) settings.form = TimelineForm::kNone;
    TRY(settings.spans, CallSpans::create(options.output.otlp, settings.facts, 0));
  }
  script.presenter = std::make_shared<Snapshots>(std::move(settings));
  return script;
}

const VerbOption kSnapOptions[3] = {
    {"when", "CONDITION", "snap: what to wait for: 'f > 5ms', 'f if $size > 100', 'f.return if $return < 0'"},
    {"last", "TIME", "snap: how much time before that is shown (100ms)"},
    {"count", "N", "snap: how many snapshots are taken (1)"},
};

}  // namespace spile::verbs
