#include "verbs/tracing/hist.h"

#include <gmock/gmock.h>

#include "base/diagnostics.h"
#include "base/source.h"
#include "verbs/tracing/hist_filter.h"

namespace spile::verbs {
namespace {

using testing::HasSubstr;
using testing::Not;
using Kind = EventField::Kind;

Event switches() {
  Event event{"sched:sched_switch", "kernel.trace(\"sched:sched_switch\")"};
  event.fields = {{"prev_comm", "$prev_comm", Kind::kText},
                  {"prev_pid", "$prev_pid"},
                  {"prev_state", "$prev_state"},
                  {"next_comm", "$next_comm", Kind::kText},
                  {"next_pid", "$next_pid"},
                  {"mask", "$mask", Kind::kOther, false, "unsigned long[16]"}};
  event.ambiguous = {"prev_state"};
  return event;
}

Event wakings() {
  Event event{"sched:sched_waking", "kernel.trace(\"sched:sched_waking\")"};
  event.fields = {{"comm", "$comm", Kind::kText}, {"pid", "$pid"}};
  return event;
}

Result<VerbScript> script_of(std::vector<std::string> words, const Processes& processes = {}) {
  std::vector<Event> events = {switches()};
  if (words.size() > 1 && words[1].find(':') != std::string::npos) events.insert(events.begin(), wakings());
  TRY(HistRequest request, parse_hist(words));
  return hist_script(request, events, processes);
}
std::string text_of(const std::vector<std::string>& words, const Processes& processes = {}) {
  return script_of(words, processes).value().text;
}
Error error_of(const std::vector<std::string>& words) {
  Result<VerbScript> script = script_of(words);
  return script.ok() ? Error{"no error", ""} : script.error();
}

TEST(HistScript, CountsByKeys) {
  const std::string text = text_of({"sched:sched_switch", "keys=next_comm,common_cpu"});
  EXPECT_THAT(text, HasSubstr("probe kernel.trace(\"sched:sched_switch\") {"));
  EXPECT_THAT(text, HasSubstr("k0 = $next_comm\n  k1 = cpu()"));
  EXPECT_THAT(text, HasSubstr("table[k0, k1]++"));
  EXPECT_THAT(text, HasSubstr("foreach ([k0, k1] in table+)"));
  EXPECT_THAT(text, Not(HasSubstr("ours")));
}

TEST(HistScript, AddsUpTheFirstValueInTheTable) {
  const std::string text =
      text_of({"sched:sched_switch", "keys=next_comm", "vals=prev_pid,next_pid,prev_pid.hex", "sort=prev_pid.descending"});
  EXPECT_THAT(text, HasSubstr("table[k0] <<< $prev_pid"));
  EXPECT_THAT(text, HasSubstr("sum1[k0] += $next_pid"));
  EXPECT_THAT(text, HasSubstr("foreach ([k0] in table @sum -)"));
  EXPECT_THAT(text, Not(HasSubstr("sum2")));
}

TEST(HistScript, SortsByTwoKeys) {
  const std::string text = text_of({"sched:sched_switch", "keys=next_comm,next_pid", "sort=next_comm.descending,hitcount"});
  EXPECT_THAT(text, HasSubstr("foreach ([k0-, k1] in table) {"));
  EXPECT_THAT(text, HasSubstr("foreach ([k0, k1] in table+) order[k0, k1] += ++rank"));
  EXPECT_THAT(text, HasSubstr("foreach ([k0, k1] in order+) {"));
}

TEST(HistScript, ReadsTheRecordWhereAFieldIsAnArgumentToo) {
  EXPECT_THAT(text_of({"sched:sched_switch", "keys=prev_state"}), HasSubstr("if ($common_type < 0) next"));
  EXPECT_THAT(text_of({"sched:sched_switch", "keys=next_pid"}), Not(HasSubstr("$common_type")));
  EXPECT_THAT(text_of({"sched:sched_switch", "keys=next_pid", "if prev_state == 1"}), HasSubstr("if ($common_type < 0) next"));
}

TEST(HistScript, CountsTheProcessesThatWereNamed) {
  const std::string command = text_of({"sched:sched_switch", "keys=next_pid"}, {.only_these = true});
  EXPECT_THAT(command, HasSubstr("ours[target()] = 1"));
  EXPECT_THAT(command, HasSubstr("if (!(pid() in ours)) next"));
  const std::string running = text_of({"sched:sched_switch", "keys=next_pid"}, {.only_these = true, .running = {7, 8}});
  EXPECT_THAT(running, HasSubstr("ours[7] = 1\n  ours[8] = 1"));
}

TEST(HistScript, MeasuresTheTimeBetweenTwoEvents) {
  const std::string text = text_of({"sched:sched_waking", "sched:sched_switch", "match=pid/next_pid", "keys=latency.log2",
                                    "vals=latency", "if latency > 1000"},
                                   {.only_these = true});
  EXPECT_THAT(text, HasSubstr("if (!($pid in ours)) next"));
  EXPECT_THAT(text, HasSubstr("started[$pid] = gettimeofday_ns()"));
  EXPECT_THAT(text, HasSubstr("at = started[$next_pid]\n  if (!at) next\n  delete started[$next_pid]\n  latency = "
                              "gettimeofday_ns() - at\n  if (!(latency > 1000)) next\n  k0 = hist_log2(latency)"));
}

TEST(HistScript, KeepsWhatWasThereAtTheMaximum) {
  EXPECT_THAT(text_of({"sched:sched_switch", "keys=next_comm", "onmax(next_pid).save(prev_comm,prev_pid)"}),
              HasSubstr("if (!([k0] in peak) || $next_pid > peak[k0]) { peak[k0] = $next_pid; saved0[k0] = $prev_comm; "
                        "saved1[k0] = $prev_pid }"));
}

TEST(HistScript, SaysWhichFieldsThereAre) {
  Error error = error_of({"sched:sched_switch", "keys=next_com"});
  EXPECT_THAT(error.message, HasSubstr("key 'next_com': sched:sched_switch has no field 'next_com'"));
  EXPECT_THAT(error.hint, HasSubstr("did you mean 'next_comm'? the fields are prev_comm, prev_pid"));
  EXPECT_THAT(error_of({"sched:sched_switch"}).message, HasSubstr("needs keys="));
  EXPECT_THAT(error_of({"sched:sched_switch", "keys=mask"}).message, HasSubstr("neither a number nor a text"));
  EXPECT_THAT(error_of({"sched:sched_switch", "keys=next_comm.hex"}).message, HasSubstr("takes no modifier"));
  EXPECT_THAT(error_of({"sched:sched_switch", "keys=next_pid.execname"}).message, HasSubstr("common_pid alone"));
  EXPECT_THAT(error_of({"sched:sched_switch", "keys=next_pid", "vals=prev_comm"}).message, HasSubstr("not a number"));
  EXPECT_THAT(error_of({"sched:sched_switch", "keys=next_pid", "sort=prev_pid"}).hint, HasSubstr("hitcount, next_pid"));
  EXPECT_THAT(error_of({"sched:sched_waking", "sched:sched_switch", "match=pid/next_comm"}).message, HasSubstr("both"));
}

// ---- filters

Result<EventField> find(const std::string& name) {
  const Event event = switches();
  if (const EventField* field = event.find(name)) return *field;
  return Error{"no field " + name, ""};
}
std::string condition(const std::string& filter) { return filter_condition(filter, find).value(); }
std::string mistake(const std::string& filter) {
  Result<std::string> made = filter_condition(filter, find);
  return made.ok() ? "no error: " + *made : made.error().message;
}

TEST(HistFilter, BecomesAnExpression) {
  EXPECT_EQ(condition("prev_pid != 0"), "$prev_pid != 0");
  EXPECT_EQ(condition("prev_pid>=-5&&next_pid<0x10"), "$prev_pid >= -5 && $next_pid < 0x10");
  EXPECT_EQ(condition("prev_state & 0x3"), "($prev_state & 0x3) != 0");
  EXPECT_EQ(condition("!(prev_comm == bash || next_comm != 'a b') && cpu == 1"),
            "!(($prev_comm == \"bash\" || $next_comm != \"a b\")) && cpu() == 1");
  EXPECT_EQ(condition("prev_comm ~ \"k*[0-9].?\""), "$prev_comm =~ \"^k.*[0-9]\\\\..$\"");
  EXPECT_EQ(condition("comm == 'a\"\\'"), "execname() == \"a\\\"\\\\\"");
}

TEST(HistFilter, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(mistake(""), HasSubstr("column 1: the name of a field is missing"));
  EXPECT_THAT(mistake("prev_pid"), HasSubstr("an operator must follow 'prev_pid'"));
  EXPECT_THAT(mistake("prev_pid ="), HasSubstr("operator"));
  EXPECT_THAT(mistake("prev_pid =="), HasSubstr("a value is missing"));
  EXPECT_THAT(mistake("prev_pid == five"), HasSubstr("column 13: 'prev_pid' is a number, but 'five' is not"));
  EXPECT_THAT(mistake("prev_pid ~ 5"), HasSubstr("~ is for texts"));
  EXPECT_THAT(mistake("prev_comm > 5"), HasSubstr("its operators are"));
  EXPECT_THAT(mistake("mask & 1"), HasSubstr("unsigned long[16]"));
  EXPECT_THAT(mistake("(prev_pid == 1"), HasSubstr("')' is missing"));
  EXPECT_THAT(mistake("prev_pid == 1)"), HasSubstr("')' is not expected"));
  EXPECT_THAT(mistake("prev_pid == 1 &&"), HasSubstr("missing"));
  EXPECT_THAT(mistake("prev_comm == \"a"), HasSubstr("closing"));
  EXPECT_THAT(mistake("nope == 1"), HasSubstr("no field nope"));
  EXPECT_THAT(mistake(std::string(1000, '(')), HasSubstr("too many parentheses"));
  EXPECT_THAT(mistake("prev_pid == 0x"), HasSubstr("is not"));
}

}  // namespace
}  // namespace spile::verbs
