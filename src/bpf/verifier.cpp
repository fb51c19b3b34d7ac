#include "bpf/verifier.h"

#include <errno.h>
#include <fmt/format.h>

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

}  // namespace

std::string verifier_reason(const std::string& log) {
  std::istringstream lines(log);
  std::string line, reason;
  while (std::getline(lines, line)) {
    if (is_trace(line)) continue;
    if (starts_with_any(line, {"processed ", "verification time", "stack depth", "func#", "last_idx",
                               "regs=", "parent ", "mark_precise", "arg#", "max_states"}))
      continue;
    reason = line;
  }
  return reason;
}

Error verifier_error(const std::string& point, int errnum, const std::string& log, int verbosity) {
  std::string reason = verifier_reason(log);
  if (reason.empty()) reason = std::strerror(errnum);
  Error error;
  error.message = fmt::format("the kernel rejected the handler of {}: {}", point, reason);
  if (errnum == E2BIG || reason.find("too large") != std::string::npos ||
      reason.find("too complex") != std::string::npos) {
    error.hint = "the handler is too long for the kernel's verifier: use fewer loops and strings, or split the probe";
  } else {
    error.hint = "-vv prints the verifier's log";
  }
  if (verbosity > 1) {
    error.hint.clear();
    error.message += "\n" + log;
  }
  return error;
}

}  // namespace spile::bpf
