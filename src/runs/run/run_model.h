#pragma once
// A run as a document (docs/decisions/038-a-run-is-a-document.md, 039-a-run-in-a-file.md): what a script's run has found, without
// any form of output in it. `spile record` stores it (run_writer.h), `spile report` reads it (run_reader.h), and faces
// (run_*.h) make texts of it. Plain values; thread rule: any thread, one at a time.
//
// What comes from traced processes may be forged: texts have any bytes, numbers any value. Indices are valid in every document
// that run_reader.h returns.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "syntax/output_format.h"

namespace spile::runs {

// Where and when the run was, and of what script.
struct RunFacts {
  std::string spile, host, kernel, machine;  // versions and names, as uname(2) has them
  // the script's text, and its file, "<input>", or the verb that made it: "spile top 'f*'"
  std::string script, script_name;
  std::vector<std::string> arguments;  // of the script
  std::string command;                 // -c; "": none
  std::vector<int64_t> processes;      // traced when the probes were armed
  int64_t begun_ns = 0;                // since 1970
  int64_t every_ns = 0;                // between ticks
};

struct RunProbe {
  std::string point;    // resolved; of several places as the script has it
  std::string source;   // "a.stp:3:5"; "": made by spile
  std::string runs_in;  // "process", "kernel", "spile"
  uint64_t places = 0;
};

struct RunGlobal {
  std::string name;
  ValueType type = ValueType::kLong;     // kLong, kString, kStats
  std::vector<ValueType> keys;           // empty: it is not an array
  uint32_t features = 0;                 // kStats: abi::AggregateFeature bits that its values have
  int64_t low = 0, high = 0, width = 0;  // kStats: of @hist_linear; width 0: none
};

// A file that traced processes had mapped as code.
struct RunModule {
  std::string path, build_id;
  bool operator<(const RunModule& other) const { return std::pair(path, build_id) < std::pair(other.path, other.build_id); }
};

// A value of `<<<`. Fields whose feature the global lacks are 0 or empty.
struct RunStatistics {
  uint64_t count = 0;
  int64_t sum = 0, min = 0, max = 0;
  // Buckets with their counts, those that are not 0, ascending (abi/aggregate.h numbers them).
  using Buckets = std::vector<std::pair<uint32_t, uint64_t>>;
  Buckets log, linear, sketch;
};
using RunKey = std::variant<int64_t, std::string>;
using RunValue = std::variant<int64_t, std::string, RunStatistics>;
struct RunElement {
  std::vector<RunKey> keys;
  RunValue value;
};
struct RunGlobalState {
  std::vector<RunElement> elements;  // of a global that is not an array: one
  uint64_t left_out = 0;             // elements beyond kMostElements
  bool is_known = true;              // false: its lock could not be had, or the reader has left it out
};

// What there was at a moment.
struct RunTick {
  int64_t time_ns = 0;                        // since 1970
  std::vector<std::optional<uint64_t>> hits;  // by probe; null: not counted
  uint64_t skipped = 0, lost_records = 0, lost_elements = 0;
  std::vector<std::shared_ptr<const RunGlobalState>> globals;  // by global; equal ones are shared between ticks; not null
};

// What a handler printed. `values` of the document has its values: of a printf its arguments, of anything else the text.
struct RunEvent {
  static constexpr uint32_t kText = ~uint32_t{0};
  static constexpr uint32_t kNoProbe = ~uint32_t{0};
  int64_t time_ns = 0;
  uint64_t first_value = 0;   // index into RunDocument::values
  uint32_t format = kText;    // index into RunDocument::formats
  uint32_t probe = kNoProbe;  // index into RunDocument::probes
  uint16_t cpu = 0;
  uint32_t process = 0, thread = 0;  // whose handler it was; 0: not known
};

struct RunDocument {
  std::string file;  // where it was read from
  RunFacts facts;
  std::vector<RunProbe> probes;
  std::vector<RunGlobal> globals;
  std::vector<syntax::OutputFormat> formats;  // events have those of kind kPrintf
  std::vector<RunModule> modules;             // each once, ascending
  std::map<std::string, uint64_t> armed;      // places in processes, by how they were armed ("jump", "int3", "refused" ...)
  int64_t paused_ns = 0;                      // how long arming has stopped threads
  std::vector<RunTick> ticks;                 // ascending in time; the last has what there was at the end
  std::vector<RunEvent> events;
  std::vector<int64_t> values;  // numbers, and for texts indices into `texts`
  std::vector<std::string> texts;
  std::optional<int64_t> ended_ns;    // null: spile or the machine died, or still runs
  std::vector<std::string> warnings;  // of the end: what was lost
  bool is_cut = false;                // the file ends within a frame
  uint64_t events_left_out = 0;       // beyond what a reader keeps: the later ones
  uint64_t states_left_out = 0;       // states of globals in ticks; the last ones are never left out

  static constexpr size_t kMostElements = 100'000;  // of a global in a tick
};

// How many values an event has.
inline size_t value_count(const RunDocument& document, const RunEvent& event) {
  return event.format == RunEvent::kText ? 1 : document.formats[event.format].arguments.size();
}
// The last tick, or null.
inline const RunTick* last_tick(const RunDocument& document) { return document.ticks.empty() ? nullptr : &document.ticks.back(); }
// When the run ended, as far as the document knows.
int64_t end_of(const RunDocument& document);

// Adds a value of another run, or of another moment, to one; both of one global.
void merge(RunStatistics& into, const RunStatistics& other);
// What came between two values of one global, the earlier first. Min and max are then those of the later one; a count that has
// become smaller means that the script has cleared the value: the later one is returned.
RunStatistics difference(const RunStatistics& earlier, const RunStatistics& later);
// The value that `percent` of a hundred values do not exceed, within 1/128 of it (abi/aggregate.h). Null: the value has no
// sketch, or nothing was added.
std::optional<int64_t> percentile(const RunStatistics& statistics, double percent);

// A global of several documents: the elements of all, those of equal keys added up. Numbers and statistics are added; of texts
// the last document's is taken.
struct MergedGlobal {
  RunGlobal global;
  std::vector<RunElement> elements;  // in order of the keys
  uint64_t left_out = 0;
  size_t documents = 0;  // that have it
  size_t unknown = 0;    // of these: its lock could not be had
};
// Globals of one name and type are one.
std::vector<MergedGlobal> merge_globals(const std::vector<RunDocument>& documents);

}  // namespace spile::runs
