#include "base/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/unique_fd.h"

namespace spile {
namespace {

uint64_t take_number(std::string_view& text, int base, char until) {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  if (!text.empty() && text.front() == until) text.remove_prefix(1);
  return value;
}

// "7f179cecf000-7f179d025000 r-xp 00026000 fe:00 332835    /usr/lib/x86_64-linux-gnu/libc.so.6"
Mapping parse_line(std::string_view line) {
  Mapping mapping;
  mapping.begin = take_number(line, 16, '-');
  mapping.end = take_number(line, 16, ' ');
  if (line.size() < 5) return mapping;
  mapping.readable = line[0] == 'r';
  mapping.writable = line[1] == 'w';
  mapping.executable = line[2] == 'x';
  mapping.shared = line[3] == 's';
  line.remove_prefix(5);
  mapping.offset = take_number(line, 16, ' ');
  uint64_t major_number = take_number(line, 16, ':');
  uint64_t minor_number = take_number(line, 16, ' ');
  mapping.device = makedev(static_cast<unsigned>(major_number), static_cast<unsigned>(minor_number));
  mapping.inode = take_number(line, 10, ' ');
  size_t path = line.find_first_not_of(' ');
  if (path != std::string_view::npos) mapping.path = line.substr(path);
  return mapping;
}

}  // namespace

Result<std::vector<Mapping>> read_mappings(pid_t pid) {
  std::string path = pid == 0 ? "/proc/self/maps" : fmt::format("/proc/{}/maps", pid);
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return Error::from_errno("open " + path, errno);
  std::string text;
  size_t used = 0;
  for (;;) {
    text.resize(used + 65536);
    ssize_t n = ::read(fd.get(), text.data() + used, 65536);
    if (n < 0) return Error::from_errno("read " + path, errno);
    if (n == 0) break;
    used += static_cast<size_t>(n);
  }
  text.resize(used);
  return parse_mappings(text);
}

std::vector<Mapping> parse_mappings(std::string_view text) {
  std::vector<Mapping> mappings;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) mappings.push_back(parse_line(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return mappings;
}

std::vector<pid_t> threads_of(pid_t pid) {
  std::vector<pid_t> tids;
  DIR* directory = opendir(fmt::format("/proc/{}/task", pid).c_str());
  if (!directory) return tids;
  while (dirent* entry = readdir(directory)) {
    if (pid_t tid = atoi(entry->d_name)) tids.push_back(tid);
  }
  closedir(directory);
  return tids;
}

std::vector<pid_t> processes_named(const std::string& name) {
  constexpr size_t kLongestName = 15;  // TASK_COMM_LEN - 1
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string number = entry.path().filename();
    pid_t pid = 0;
    auto [end, failure] = std::from_chars(number.data(), number.data() + number.size(), pid);
    if (failure != std::errc() || end != number.data() + number.size() || pid == getpid()) continue;
    std::error_code unreadable;
    const std::filesystem::path program = std::filesystem::read_symlink(entry.path() / "exe", unreadable);
    if (unreadable) continue;  // another user's, a kernel thread, a zombie
    std::string kernel_name;
    std::getline(std::ifstream(entry.path() / "comm"), kernel_name);
    std::string file = program.filename();
    if (file.ends_with(" (deleted)")) file.resize(file.size() - std::string_view(" (deleted)").size());
    if (file == name || kernel_name == name.substr(0, kLongestName)) found.push_back(pid);
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace spile
