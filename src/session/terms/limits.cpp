#include "session/terms/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/diagnostics.h"
#include "base/messages.h"
#include "bpf/arena.h"
#include "sema/terms/recorded.h"

namespace spile::session {

namespace {

struct LimitName {
  const char* name;
  int64_t sema::Limits::* field;
  int64_t least;
  int64_t most;
};
// Strings and maps have fixed sizes in memory that every traced process maps, so the limits have upper bounds.
constexpr LimitName kLimits[] = {
    {"MAXACTION", &sema::Limits::max_action, 0, INT32_MAX},
    {"MAXACTION_INTERRUPTIBLE", &sema::Limits::max_action_interruptible, 0, INT32_MAX},
    {"MAXNESTING", &sema::Limits::max_nesting, 1, 1000},
    {"MAXSTRINGLEN", &sema::Limits::max_string_length, 16, 16384},
    {"MAXMAPENTRIES", &sema::Limits::max_map_entries, 1, 100'000'000},
    {"MAXERRORS", &sema::Limits::max_errors, 0, INT32_MAX},
    {"MAXBACKTRACE", &sema::Limits::max_backtrace, 1, 1024},
    {"MAXOWNHANDLERS", &sema::Limits::max_own_handlers, 0, INT32_MAX},
    {"MAXSKIPPED", &sema::Limits::max_skipped, 0, INT32_MAX},
    {"MAXPRETTYDEPTH", &sema::Limits::max_pretty_depth, 0, 32},
    {"MAXPRETTYELEMENTS", &sema::Limits::max_pretty_elements, 0, 100'000},
    {"MAXPRETTYSTRING", &sema::Limits::max_pretty_string, 0, 16384},
    {"MAXNOTEDCALLS", &sema::Limits::max_noted_calls, 1024, 1 << 26},
    {"HIST_ELISION", &sema::Limits::hist_elision, INT32_MIN, INT32_MAX},
};

// Macros that SystemTap's runtime can be built with and spile has no use for. They are accepted without effect, so that command
// lines for SystemTap work.
constexpr const char* kWithoutEffect[] = {
    "MAXTRYLOCK",
    "TRYLOCKDELAY",
    "MINSTACKSPACE",
    "INTERRUPTIBLE",
    "STP_OVERLOAD_INTERVAL",
    "STP_OVERLOAD_THRESHOLD",
    "STP_NO_OVERLOAD",
    "STP_NO_BUILDID_CHECK",
    "STP_NO_VERREL_CHECK",
    "STP_PROCFS_BUFSIZE",
    "STP_ALIBI",
    "STP_TIMING",
    "KRETACTIVE",
    "MAXUPROBES",
    "TASK_FINDER_VMA_ENTRY_ITEMS",
    "STAP_SUPPRESS_TIME_LIMITS_ENABLE",
    "STP_SUPPRESS_HANDLER_ERRORS",
    "STP_BULKMODE",
    "STP_TRANSPORT_VERSION",
    "DEBUG_MEM",
    "DEBUG_TRANS",
    "DEBUG_UNWIND",
    "DEBUG_SYMBOLS",
    "STP_USE_RING_BUFFER",
    "STP_DISABLE_PREEMPT",
    "STAP_OVERRIDE_STUCK_CONTEXT",
};

Result<std::pair<std::string, std::string>> split_setting(const std::string& option, const std::string& setting) {
  size_t equals = setting.find('=');
  if (equals == std::string::npos || equals == 0) {
    return Error{fmt::format("{} {}: expected NAME=VALUE", option, setting), {}};
  }
  return std::pair(setting.substr(0, equals), setting.substr(equals + 1));
}

// The name of a C macro.
bool is_macro_name(const std::string& name) {
  auto is_letter = [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return is_letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

Result<void> apply_limit(const std::string& setting, sema::Program& program, bool quiet) {
  // NAME alone is NAME=1, as the C compiler has it.
  TRY(auto pair, split_setting("-D", setting.find('=') == std::string::npos ? setting + "=1" : setting));
  const auto& [name, text] = pair;
  sema::Limits& limits = program.limits;
  if (is_macro_name(name) && text.find('\n') == std::string::npos) program.c_definitions[name] = text;
  if (std::find(std::begin(kWithoutEffect), std::end(kWithoutEffect), name) != std::end(kWithoutEffect)) return {};
  std::vector<std::string> names;
  for (const LimitName& limit : kLimits) {
    names.push_back(limit.name);
    if (name != limit.name) continue;
    int64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < limit.least || value > limit.most) {
      return Error{fmt::format("-D {}: expected a number from {} to {}", setting, limit.least, limit.most), {}};
    }
    limits.*limit.field = value;
    limits.chooses_string_length |= limit.field == &sema::Limits::max_string_length;
    return {};
  }
  std::string near = nearest_name(name, names);
  if (!near.empty()) return Error{fmt::format("-D {}: unknown limit '{}'", setting, name), fmt::format("did you mean {}?", near)};
  // Command lines for SystemTap define C macros for the module that it makes. Embedded C (-g) sees them.
  if (!quiet && !program.guru) warn(fmt::format("-D {}: unknown limit, which has no effect", setting));
  return {};
}

}  // namespace

int64_t string_length(const ScriptOptions& script) {
  int64_t length = sema::Limits().max_string_length;
  for (const std::string& limit : script.limits) {
    if (limit.starts_with("MAXSTRINGLEN=")) length = strtoll(limit.c_str() + limit.find('=') + 1, nullptr, 10);
  }
  return length;
}

Result<void> apply_settings(const ScriptOptions& script, const ProgramOptions& options, const MessageOptions& messages,
                            sema::Program& program) {
  program.guru = script.guru;
  for (const std::string& setting : script.limits) TRY_DO(apply_limit(setting, program, messages.suppress_warnings));
  for (const std::string& setting : options.global_values) {
    TRY(auto pair, split_setting("-G", setting));
    program.global_overrides[pair.first] = pair.second;
  }
  program.unoptimized = options.unoptimized;
  program.var_at_entry = !script.compatible.empty() && strverscmp(script.compatible.c_str(), "4.0") <= 0;
  program.skip_bad_variables = options.skip_bad_variables;
  program.time_probes = options.time_probes;
  program.hide_globals = !options.display_globals;
  if (options.is_recorded) program.needs |= sema::kNeedsRecording | (bpf::Arena::is_supported() ? sema::kNeedsKernelSketches : 0);
  if (options.suppress_time_limits) {
    program.limits.max_action = INT32_MAX;
    program.limits.max_action_interruptible = INT32_MAX;
  }
  if (messages.suppress_handler_errors) program.limits.max_skipped = 0, program.limits.max_errors = INT32_MAX;
  return {};
}

}  // namespace spile::session
