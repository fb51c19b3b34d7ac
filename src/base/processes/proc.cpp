#include "base/processes/proc.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/files/file.h"
#include "base/text/split.h"

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
  // The kernel writes a newline in a path so (fs/proc/task_mmu.c, show_map_vma).
  constexpr std::string_view kNewline = "\\012";
  for (size_t at = 0; (at = mapping.path.find(kNewline, at)) != std::string::npos; ++at)
    mapping.path.replace(at, kNewline.size(), "\n");
  return mapping;
}

std::string path_of(pid_t pid, const char* file) { return fmt::format("/proc/{}/{}", pid, file); }

std::string text_of(const std::string& path) {
  Result<std::string> text = read_file(path);
  return text.ok() ? std::move(*text) : std::string();
}

}  // namespace

Result<std::vector<Mapping>> read_mappings(pid_t pid) {
  TRY(const std::string text, read_file(pid == 0 ? "/proc/self/maps" : path_of(pid, "maps")));
  return parse_mappings(text);
}

std::vector<Mapping> parse_mappings(std::string_view text) {
  std::vector<Mapping> mappings;
  for (const std::string_view line : lines_of(text))
    if (!line.empty()) mappings.push_back(parse_line(line));
  return mappings;
}

ProcessStatus ProcessStatus::read(pid_t tid) { return ProcessStatus(text_of(path_of(tid, "status"))); }

ProcessStatus ProcessStatus::of_self() { return ProcessStatus(text_of("/proc/self/status")); }

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

std::string_view stat_field_in(std::string_view text, int number) {
  constexpr int kName = 2;
  size_t at = text.rfind(')');
  for (int field = kName; field < number && at != text.npos; field++) at = text.find(' ', at + 1);
  if (number <= kName || at == text.npos) return {};
  text.remove_prefix(at + 1);
  return text.substr(0, text.find_first_of(" \n"));
}

std::string stat_field(pid_t pid, int number) {
  const std::string text = text_of(path_of(pid, "stat"));
  return std::string(stat_field_in(text, number));
}

std::string process_name(pid_t pid) { return first_line(path_of(pid, "comm")); }

std::string thread_name(pid_t pid, pid_t tid) { return first_line(fmt::format("/proc/{}/task/{}/comm", pid, tid)); }

std::string program_of(pid_t pid) { return read_link(path_of(pid, "exe")); }

void look_past_exec(pid_t pid, const std::function<bool()>& look) {
  constexpr int kMostTries = 1000, kMostAlone = 20;
  for (int tries = 0, alone = 0; tries < kMostTries && alone < kMostAlone && !look(); ++tries) {
    // A program may make threads and execute the next one before anybody looks at it.
    alone = threads_of(pid).size() < 2 ? alone + 1 : 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
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
    const std::string program = program_of(pid);
    if (program.empty()) continue;  // another user's, a kernel thread, a zombie
    const std::string kernel_name = process_name(pid);
    std::string file = program.substr(program.rfind('/') + 1);
    if (file.ends_with(" (deleted)")) file.resize(file.size() - std::string_view(" (deleted)").size());
    if (file == name || kernel_name == name.substr(0, kLongestName)) found.push_back(pid);
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace spile
