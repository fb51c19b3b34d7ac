#include "engine/process_status.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/unique_fd.h"

namespace spile::engine {

ProcessStatus ProcessStatus::read(pid_t tid) {
  ProcessStatus status;
  UniqueFd file(open(fmt::format("/proc/{}/status", tid).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return status;
  char part[4096];
  for (ssize_t got; (got = ::read(file.get(), part, sizeof part)) > 0;) status.text_.append(part, static_cast<size_t>(got));
  return status;
}

std::string ProcessStatus::field(std::string_view name) const {
  for (size_t line = 0; line < text_.size();) {
    size_t end = std::min(text_.find('\n', line), text_.size());
    std::string_view text(text_.data() + line, end - line);
    line = end + 1;
    if (!text.starts_with(name) || text.size() == name.size() || text[name.size()] != ':') continue;
    size_t begin = text.find_first_not_of(" \t", name.size() + 1);
    return begin == std::string_view::npos ? "" : std::string(text.substr(begin));
  }
  return "";
}

bool ProcessStatus::has_seccomp_filter() const {
  std::string mode = field("Seccomp");
  return !mode.empty() && mode != "0";
}

}  // namespace spile::engine
