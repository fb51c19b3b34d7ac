#include "verbs/verb.h"

#include "verbs/asking/asking_verbs.h"
#include "verbs/asking/cache.h"
#include "verbs/tasks/task_verbs.h"
#include "verbs/tracing/flame.h"
#include "verbs/tracing/hist.h"
#include "verbs/tracing/report.h"
#include "verbs/tracing/snap.h"
#include "verbs/tracing/trace.h"

namespace spile::verbs {

namespace {

constexpr std::string_view kOfFunctions[] = {"-x", "-c", "--lib", "--json"},
                           kOfLines[] = {"-x", "-c", "--lib", "--json", "--source"},
                           kOfVariables[] = {"-x", "-c", "--lib", "--json", "--range", "--globals"}, kOfList[] = {"-x", "--json"},
                           kOfCache[] = {"--json"},
                           kOfReport[] = {"--json", "--csv", "--folded", "--html", "--perfetto", "--otlp", "-o"};
constexpr std::string_view kFilesOfTrace[] = {".pftrace"}, kFilesOfSnap[] = {".pftrace", ".json"};

const Verb kVerbs[] = {
    {"hist", "EVENT [EVENT match=FIELD/FIELD] [keys=...] [vals=...] [sort=...] ['if FILTER']",
     "count an event and add up its fields by keys, as a hist trigger of ftrace", make_hist},
    {"funcs", "[FILE] ['PATTERN|PATTERN'] ['!PATTERN']", "list functions", nullptr, answer_funcs, {}, false, kOfFunctions},
    {"lines",
     "[FILE] FUNCTION | SOURCE:FIRST-LAST",
     "show source text, with the lines that can be probed",
     nullptr,
     answer_lines,
     {},
     false,
     kOfLines},
    {"vars",
     "[FILE] FUNCTION[:LINE]",
     "list variables, with their types and places",
     nullptr,
     answer_vars,
     {},
     false,
     kOfVariables},
    {"marks", "[FILE] ['PROVIDER:NAME']", "list SDT marks, with their arguments", nullptr, answer_marks, {}, false, kOfFunctions},
    {"list",
     "[PID|NAME]...",
     "list what is armed now, in which processes, by which spile, with its hits",
     nullptr,
     answer_list,
     {},
     false,
     kOfList},
    {"cache",
     "list | add FILE... | rm BUILD-ID|FILE... | prune [MIB] | export OUT [FILE...] | import IN",
     "show and change what is remembered of debug information, and carry it to other machines",
     nullptr,
     answer_cache,
     {},
     false,
     kOfCache},
    {"trace",
     "[--kernel] FUNCTION... ['!FUNCTION'] [--depth N] [--over TIME] [--also PATTERN] [--interrupts]",
     "show calls as trees, with times, arguments and results",
     make_trace,
     nullptr,
     kTraceOptions,
     true,
     {},
     kFilesOfTrace},
    {"flame",
     "[--hz N | --off-cpu [--kernel] | --alloc | --lock | --of FUNCTION]",
     "show where threads spend processor time, wait, allocate, or call a function: a page with a flame graph (-o x.html), or "
     "folded stacks",
     make_flame,
     nullptr,
     kFlameOptions,
     false,
     {},
     {},
     false,
     true},
    {"snap",
     "[FUNCTION]... ['!FUNCTION'] [--when 'FUNCTION > TIME'] [--last TIME] [--count N]",
     "show what led to a slow call: the last calls of all threads before it, as a timeline (-o x.pftrace)",
     make_snap,
     nullptr,
     kSnapOptions,
     false,
     {},
     kFilesOfSnap},
    {"top",
     "FUNCTION... ['!FUNCTION'] [--callers] [--every TIME] [--sort COLUMN] [--limit N]",
     "show which functions are called how often, and how long they take; live on a terminal",
     make_top,
     nullptr,
     kTopOptions,
     true,
     {},
     {},
     true},
    {"lat",
     "FUNCTION... [--every TIME] [--by EXPRESSION]",
     "show how long calls take: a histogram with percentiles, a heat map (--every), or a table by a value (--by)",
     make_lat,
     nullptr,
     kLatOptions,
     true,
     {},
     {},
     true},
    {"record", "SCRIPT|-e SCRIPT|VERB ... -o FILE [--every TIME]",
     "run a script, or a verb's, and store what it finds as a document", nullptr, nullptr, kRecordOptions},
    {"report",
     "FILE... [--json|--csv|--folded] [--html FILE] [--perfetto FILE] [--otlp URL]",
     "show documents of record; several are added up",
     nullptr,
     answer_report,
     {},
     false,
     kOfReport},
    {"syscalls", "[--every TIME] [--sort COLUMN] [--limit N]", "show system calls with their times and errors", make_syscalls,
     nullptr, kTableOptions, true},
    {"errno", "[--every TIME] [--limit N]", "show which system calls fail, why, and who makes them", make_errno, nullptr,
     kTableOptions, true},
    {"files", "[--every TIME] [--sort COLUMN] [--limit N]", "show files and sockets with what is read and written", make_files,
     nullptr, kTableOptions, true},
    {"leaks", "[--every TIME] [--limit N]", "show memory that is allocated meanwhile and not freed, by stack", make_leaks,
     nullptr, kTableOptions, true},
    {"locks", "[--every TIME] [--sort COLUMN] [--limit N]", "show where threads wait for locks and conditions, by stack",
     make_locks, nullptr, kTableOptions, true},
};

}  // namespace

std::span<const Verb> verbs() { return kVerbs; }

const Verb* find_verb(const std::string& name) {
  for (const Verb& verb : kVerbs) {
    if (name == verb.name) return &verb;
  }
  return nullptr;
}

}  // namespace spile::verbs
