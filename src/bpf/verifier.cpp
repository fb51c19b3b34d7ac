#include "bpf/verifier.h"

#include <errno.h>
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <sstream>

namespace spile::bpf {
namespace {

bool starts_with_any(const std::string& line, std::initializer_list<const char*> prefixes) {
  for (const char* prefix : prefixes)
    if (line.starts_with(prefix)) return true;
  return false;
}

// "17: (85) call bpf_map_lookup_elem#1", "; source line", "R0=... R1=...", "from 4 to 12: R0..."
bool is_trace(const std::string& line) {
  if (line.empty() || line[0] == ';') return true;
  size_t digits = line.find_first_not_of("0123456789");
  if (digits != 0 && digits != std::string::npos && line[digits] == ':') return true;
  return line.starts_with("from ") || (line[0] == 'R' && line.find('=') != std::string::npos && line.find(' ') > 2);
}

// "a.stp:3:5 (x = y . z)"
std::string describe(const ScriptLine& line) {
  std::string text = fmt::format("{}:{}:{}", line.file, line.line, line.column);
  const size_t begin = line.column > 0 ? line.column - 1 : 0;
  constexpr size_t kMost = 60;
  if (begin >= line.text.size()) return text;
  std::string statement = line.text.substr(begin);
  if (statement.size() > kMost) statement = statement.substr(0, kMost) + "...";
  return text + " (" + statement + ")";
}

}  // namespace

std::string verifier_reason(const std::string& log) {
  std::istringstream lines(log);
  std::string line, reason;
  while (std::getline(lines, line)) {
    if (is_trace(line)) continue;
    if (starts_with_any(line, {"processed ", "verification time", "stack depth", "func#", "last_idx", "regs=", "parent ",
                               "mark_precise", "arg#", "max_states"}))
      continue;
    reason = line;
  }
  return reason;
}

RefusedPlace refused_place(const ProgramImage& image, const std::string& log) {
  std::istringstream lines(log);
  std::string line;
  uint32_t instruction = 0;
  bool found_any = false;
  while (std::getline(lines, line)) {
    const size_t colon = line.find(": (");
    if (colon == std::string::npos || colon == 0 || line.find_first_not_of("0123456789") != colon) continue;
    instruction = static_cast<uint32_t>(std::strtoul(line.c_str(), nullptr, 10));
    found_any = true;
  }
  if (!found_any) return {};
  RefusedPlace place;
  place.line = line_at(image, instruction);
  const ProgramImage::Function* found = function_at(image, instruction);
  // "fn.3.script.name" (abi/kernel.h)
  constexpr char kScript[] = ".script.";
  const size_t at = found ? found->name.find(kScript) : std::string::npos;
  if (at != std::string::npos) place.function = found->name.substr(at + sizeof kScript - 1);
  return place;
}

Error verifier_error(const AttachPoint& point, const ProgramImage& image, int errnum, const std::string& log, int verbosity) {
  const std::string reason = verifier_reason(log);
  const RefusedPlace place = refused_place(image, log);
  Error error;
  error.message = "the kernel refuses the handler of " + point.text;
  if (!point.place.empty()) error.message += " at " + point.place;
  if (!place.function.empty()) error.message += ", in its function '" + place.function + "'";
  if (place.line) error.message += ", in the statement at " + describe(*place.line);
  if (reason.find("frames is too deep") != std::string::npos || reason.find("stack size of") != std::string::npos) {
    error.message += ": its calls nest too deep";
    error.hint = "call fewer functions from within functions, or split the probe";
  } else if (errnum == E2BIG || reason.find("too large") != std::string::npos ||
             reason.find("too complex") != std::string::npos) {
    error.message += ": it has too many ways to run";
    error.hint = "use fewer loops and strings, or split the probe";
  } else if (reason.find("probe_write_user") != std::string::npos) {
    error.message += ": it writes to memory of processes, which this kernel does not allow";
    error.hint =
        "this needs root with all capabilities (CAP_SYS_ADMIN), and a kernel that is not locked down "
        "(/sys/kernel/security/lockdown)";
  } else if (reason.find("bpf_probe_read") != std::string::npos) {
    error.message += ": it reads memory of the kernel, which this kernel allows no program";
    error.hint =
        "the kernel is locked down (/sys/kernel/security/lockdown says confidentiality): only handlers that read no such memory "
        "run there";
  } else if (reason.find("cannot use helper bpf_get_") != std::string::npos ||
             reason.find("unknown func bpf_get_") != std::string::npos) {
    error.message += ": it asks which thread runs, which this kernel does not say there";
    error.hint = reason.find("uid_gid") != std::string::npos
                     ? "task_uid(task_current()) and task_gid(task_current()) know what uid() and gid() ask"
                     : "leave out pid(), tid() and the like: packets have them from Linux 6.10 on, and "
                       "kernel.function(\"tcp_sendmsg\") and its kin always";
  } else if (log.empty()) {
    error.message += fmt::format(": {}", std::strerror(errnum));
  } else {
    error.hint =
        "this is a mistake in spile; please report it with the script, and with what -vvv prints, the kernel's own words";
  }
  if (verbosity > 2 && !log.empty()) {
    error.hint.clear();
    error.message += "\n" + log;
  }
  return error;
}

}  // namespace spile::bpf
