#pragma once
// What the user asked for, as SystemTap's command line has it. cli fills it; session obeys it.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace spile::session {

enum class Runtime : uint8_t { kAuto, kInProcess, kBpf };
enum class Listing : uint8_t {
  kNone,
  kPoints,              // -l
  kPointsAndVariables,  // -L
  kProbeTypes,          // --dump-probe-types
  kProbeAliases,        // --dump-probe-aliases
  kFunctions,           // --dump-functions
};
enum class Color : uint8_t { kAuto, kNever, kAlways };

struct Options {
  // The script: exactly one of file, text (-e) and listing; -E alone may be one too.
  std::string script_file;
  std::optional<std::string> script_text;
  std::vector<std::string> additional_texts;   // -E
  Listing listing = Listing::kNone;
  std::string listing_point;
  std::vector<std::string> arguments;          // $1 @1 ...

  // What the script means.
  std::vector<std::string> library_folders;    // -I, beside the installed tapset
  std::vector<std::string> limits;             // -D NAME[=VALUE]
  std::vector<std::string> global_values;      // -G NAME=VALUE
  bool guru = false;                           // -g
  bool unoptimised = false;                    // -u
  bool skip_bad_variables = false;             // --skip-badvars
  bool display_globals = true;                 // --no-global-var-display unsets it
  std::string compatible;                      // --compatible VERSION; empty: this one
  std::string privilege = "stapdev";           // --privilege
  bool suppress_handler_errors = false;        // --suppress-handler-errors
  bool suppress_time_limits = false;           // --suppress-time-limits
  std::vector<std::string> symbol_modules;     // -d

  // What is traced.
  std::string command;                         // -c
  std::vector<pid_t> targets;                  // -x, each once
  bool children = true;                        // --no-children: of -x's processes those that run already are left alone
  pid_t target() const { return targets.empty() ? 0 : targets.front(); }
  Runtime runtime = Runtime::kAuto;
  int64_t time_limit_ns = 0;                   // -T

  // What comes out, and where.
  std::string output_file;                     // -o
  uint32_t ring_megabytes = 4;                 // -s: of each thread's ring, and what -F keeps
  size_t buffer_bytes() const { return size_t{ring_megabytes} << 20; }
  bool bulk = false;                           // -b
  bool flight_recorder = false;                // -F
  uint64_t rotate_bytes = 0;                   // -S SIZE[,N]; 0: one file
  uint32_t rotate_files = 0;                   // 0: keep all
  std::string http;                            // --http [ADDRESS:]PORT; empty: no
  Color color = Color::kAuto;

  // How the passes go.
  int last_pass = 5;                           // -p
  bool time_probes = false;                    // -t
  int verbosity = 0;                           // -v, repeated: of pass 5
  std::array<int, 5> pass_verbosity{};         // --vp and -v, by pass - 1
  std::string print_after;                     // --print-after=PASS
  bool suppress_warnings = false;              // -w
  bool warnings_are_errors = false;            // -W
  bool keep_folder = false;                    // -k
  std::string folder;                          // --tmpdir
  std::string module_name;                     // -m
};

// Runs all passes asked for. Diagnostics and reports go to standard error, the script's output to standard output or -o.
// Returns the exit status: 0, or 1 where the script, the world or the command refused.
int run(const Options& options);

// Other things to do than to run a script.
int merge_streams(const std::vector<std::string>& files, const std::string& output_file);  // --merge, of -b's files
int dump_flight_recorder(pid_t recorder);                                                  // --flight-dump
int clean_cache();                                                                         // --clean-cache

}  // namespace spile::session
