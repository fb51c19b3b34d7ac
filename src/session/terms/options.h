#pragma once
// What the user asked for, as SystemTap's command line has it. cli fills in Options; run() hands each pass the parts that it
// reads. All parts are plain values: they own what they contain, and may be copied.

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "debuginfo/files/debug_servers.h"
#include "probes/terms/runtime.h"

namespace spile::runs {
class Presenter;  // runs/text/presenter.h
class RunStream;  // runs/run/run_stream.h
}  // namespace spile::runs

namespace spile::session {

using debuginfo::DownloadOptions;
using probes::Runtime;

// The script and how its text is read: pass 1. Exactly one of file and text is given, except for listings; -E alone sets text to
// "".
struct ScriptOptions {
  std::string file = {};                           // "-": standard input
  std::optional<std::string> text = {};            // -e
  std::vector<std::string> additional_texts = {};  // -E
  std::vector<std::string> arguments = {};         // $1 @1 ...
  std::vector<std::string> library_folders = {};   // -I, beside the installed tapset
  std::vector<std::string> limits = {};            // -D NAME[=VALUE]; scripts read MAXSTRINGLEN, too
  bool guru = false;                               // -g
  std::string compatible = {};                     // --compatible VERSION; empty: this one
  std::string privilege = "stapdev";               // --privilege
  // -m: of module_name(), the folder of procfs files and the files of -k; may be empty
  std::string module_name = {};
};

// What elaboration makes of the script: pass 2.
struct ProgramOptions {
  std::vector<std::string> global_values = {};   // -G NAME=VALUE
  bool unoptimized = false;                      // -u
  bool skip_bad_variables = false;               // --skip-badvars
  bool display_globals = true;                   // --no-global-var-display unsets it
  bool time_probes = false;                      // -t
  bool is_recorded = false;                      // spile record, --http, --otlp: spile reads globals meanwhile
  bool suppress_time_limits = false;             // --suppress-time-limits
  std::vector<std::string> symbol_modules = {};  // -d
};

// What is traced, where handlers run, and for how long: passes 2 and 5. command and processes are never both given: of -c with -x
// the command is the workload.
struct TargetOptions {
  std::string command = {};           // -c
  std::vector<pid_t> processes = {};  // -x, each once
  std::string workload = {};          // -c beside -x: runs while these are traced, and is not traced itself; the run ends with it
  bool children = true;               // --no-children: of -x's processes those that run already are left alone
  Runtime runtime = Runtime::kAuto;   // --runtime
  int64_t time_limit_ns = 0;          // -T; 0: none
  DownloadOptions download = {};      // --download-debuginfo

  // Returns the first process of -x, or 0.
  pid_t first_process() const { return processes.empty() ? 0 : processes.front(); }
};

// spile record: the run is stored as a document (run/run_writer.h), or handed over while it runs.
struct RecordOptions {
  std::string file = {};                         // -o; empty: no
  std::shared_ptr<runs::RunStream> stream = {};  // --stream; null: no
  int64_t every_ns = 1'000'000'000;              // --every: between ticks
  std::vector<std::string> arguments = {};       // of the script

  bool is_on() const { return !file.empty() || stream; }
};

// Where the script's output goes, and through which buffers: pass 5.
struct OutputOptions {
  std::string file = {};  // -o; empty: standard output
  // -s, MiB: of each thread's ring (rounded up to a power of two), and what -F keeps
  uint32_t ring_megabytes = 4;
  bool bulk = false;             // -b
  bool flight_recorder = false;  // -F
  uint64_t rotate_bytes = 0;     // -S SIZE[,N], of -o's file; 0: one file
  uint32_t rotate_files = 0;     // 0: keep all
  bool events = false;           // --json of a script: what it prints, as JSON Lines
  std::string http = {};         // --http [ADDRESS:]PORT; empty: no
  RecordOptions record = {};     // spile record
  std::string otlp = {};         // --otlp: URL of a collector; empty: no
  std::string kafka = {};        // --kafka: brokers and topic; empty: no
  // of a verb whose script prints records that it shows; null: what the script prints is the output
  std::shared_ptr<runs::Presenter> presenter = {};

  // Returns whether what is printed is kept or sent with the process and thread that it is of.
  bool has_owners() const { return bulk || events || record.is_on() || !kafka.empty(); }
  // Returns whether the output is kept in memory, for --flight-dump: -F without -o.
  bool in_memory() const { return flight_recorder && file.empty(); }
  size_t buffer_bytes() const { return size_t{ring_megabytes} << 20; }
};

// What spile itself says on standard error, in all passes.
enum class Color : uint8_t { kAuto, kNever, kAlways };
// The script is made by a verb, so messages are for somebody who has not written it.
struct ScriptOfVerb {
  std::string name = {};  // "top"; empty: the user's own script
  // what to do where a table of the script is full, as in "size=N makes it larger"
  std::string when_full = {};
  std::string when_large = {};  // where the script needs more memory than can be had

  bool is_set() const { return !name.empty(); }
};
struct MessageOptions {
  Color color = Color::kAuto;            // --color
  std::array<int, 5> pass_verbosity{};   // -v and --vp, by pass - 1
  bool suppress_warnings = false;        // -w
  bool warnings_are_errors = false;      // -W
  bool suppress_handler_errors = false;  // --suppress-handler-errors: errors of handlers are counted, and end nothing
  ScriptOfVerb verb = {};

  int verbosity() const { return pass_verbosity[4]; }  // of pass 5
};

// How far the passes go, and what they show and keep of their results.
struct PassOptions {
  int last = 5;                  // -p
  std::string print_after = {};  // --print-after=NAME; empty: no
  bool keep = false;             // -k: keeps what each pass makes in files
  std::string folder = {};       // --tmpdir: where -k keeps it; empty: a new folder
};

enum class Listing : uint8_t {
  kNone,
  kPoints,              // -l
  kPointsAndVariables,  // -L
  kProbeTypes,          // --dump-probe-types
  kProbeAliases,        // --dump-probe-aliases
  kFunctions,           // --dump-functions
};
struct ListingOptions {
  Listing what = Listing::kNone;  // kNone: the script is run
  std::string point = {};         // -l and -L: the pattern
};

// What verbs take beside their words.
struct VerbOptions {
  bool json = false;  // --json: JSON Lines, docs/json.md
  // --lib: names of the program's libraries, a pattern (base/text/glob.h); empty: the program
  std::string library = {};
  std::string source_folder = {};        // --source: where source files are that are not where the compiler found them
  bool ranges = false;                   // --range
  bool globals = false;                  // --globals
  bool csv = false, folded = false;      // --csv, --folded
  std::string html = {}, perfetto = {};  // --html, --perfetto: files to write; empty: no
};

struct Options {
  ScriptOptions script;
  ProgramOptions program;
  TargetOptions target;
  OutputOptions output;
  MessageOptions messages;
  PassOptions passes;
  ListingOptions listing;
  VerbOptions verb;
};

// Whether messages on a descriptor have colors. kAuto: it is a terminal that is not dumb, and NO_COLOR is not set
// (https://no-color.org).
bool wants_color(Color color, int descriptor);

// Runs the passes, or prints the listing. Diagnostics and reports go to standard error, the script's output to standard output or
// -o. Returns the exit status: 0, or 1 if the script is wrong, the world refused, handlers raised errors or -c's command failed.
// REQUIRES: called once in a process, while it has one thread; blocks signals of the process.
int run(const Options& options);

// Do other things than to run a script. Each prints its errors, and returns the exit status, 0 or 1.
int dump_flight_recorder(pid_t recorder);  // --flight-dump
int clean_cache();                         // --clean-cache

}  // namespace spile::session
