#pragma once
// What the user asked for, as SystemTap's command line has it. cli fills it; session obeys it.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace spile::session {

enum class Runtime : uint8_t { kAuto, kInProcess, kBpf };
enum class Listing : uint8_t { kNone, kPoints, kPointsAndVariables };  // -l, -L

struct Options {
  // The script: exactly one of file, text (-e) and listing.
  std::string script_file;
  std::optional<std::string> script_text;
  std::vector<std::string> additional_texts;   // -E
  Listing listing = Listing::kNone;
  std::string listing_point;
  std::vector<std::string> arguments;          // $1 @1 ...

  std::string command;                         // -c
  pid_t target = 0;                            // -x
  std::vector<std::string> library_folders;    // -I, beside the installed tapset
  std::vector<std::string> limits;             // -D NAME=VALUE
  std::vector<std::string> global_values;      // -G NAME=VALUE
  std::string output_file;                     // -o
  uint32_t ring_megabytes = 1;                 // -s
  int64_t time_limit_ns = 0;                   // -T
  int last_pass = 5;                           // -p
  int verbosity = 0;                           // -v, repeated
  Runtime runtime = Runtime::kAuto;
  std::string print_after;                     // --print-after=PASS
  bool guru = false;                           // -g
  bool unoptimised = false;                    // -u
  bool suppress_warnings = false;              // -w
};

// Runs all passes asked for. Diagnostics and reports go to standard error, the script's output to standard output or -o.
// Returns the exit status: 0, or 1 where the script, the world or the command refused.
int run(const Options& options);

}  // namespace spile::session
