#include "debuginfo/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "base/elf_identity.h"
#include "base/unique_fd.h"

namespace spile::debuginfo {
namespace {

std::string link_of(const std::string& path) {
  char text[4096];
  ssize_t length = readlink(path.c_str(), text, sizeof text);
  return length > 0 ? std::string(text, static_cast<size_t>(length)) : "";
}

bool is_same_file(const std::string& path, const MappedFile& file) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && status.st_ino == file.inode && status.st_dev == file.device;
}

bool can_be_read(const std::string& path) { return access(path.c_str(), R_OK) == 0; }

// File systems made of others (overlayfs, btrfs) show another device or inode in the maps than stat(2) does.
bool has_identity(const std::string& path, const MappedFile& file) {
  if (file.start == 0) return false;
  UniqueFd memory(open(fmt::format("/proc/{}/mem", file.pid).c_str(), O_RDONLY | O_CLOEXEC));
  if (!memory) return false;
  auto read = [&](uint64_t at, void* into, uint64_t size) {
    return pread(memory.get(), into, size, static_cast<off_t>(at)) == static_cast<ssize_t>(size);
  };
  std::string mapped = elf_identity_in_memory(read, file.start);
  return !mapped.empty() && mapped == elf_identity_of_file(path);
}

}  // namespace

std::vector<MappedFile> mapped_files(pid_t pid) {
  std::vector<MappedFile> files;
  const std::string program = link_of(fmt::format("/proc/{}/exe", pid));
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  MappedFile first;  // whose first byte was met last
  for (std::string line; std::getline(maps, line);) {
    // 7f0e64a28000-7f0e64b7d000 r-xp 00028000 fe:01 1311001      /usr/lib/x86_64-linux-gnu/libc.so.6
    unsigned long long begin = 0, end = 0, offset = 0, inode = 0;
    unsigned major_number = 0, minor_number = 0;
    char protection[8] = {};
    int path_at = 0;
    if (sscanf(line.c_str(), "%llx-%llx %7s %llx %x:%x %llu %n", &begin, &end, protection, &offset, &major_number, &minor_number, &inode,
               &path_at) < 7) {
      continue;
    }
    std::string path = line.substr(static_cast<size_t>(path_at));
    if (inode == 0 || path.empty() || path[0] != '/' || path.starts_with("/memfd:spile-")) continue;
    MappedFile file{.pid = pid, .path = without_deleted(path, inode), .is_program = path == program,
                    .device = makedev(major_number, minor_number), .inode = inode, .begin = begin, .end = end};
    if (offset == 0) first = file;
    if (first.inode == inode && first.device == file.device) file.start = first.begin;
    auto known = std::find_if(files.begin(), files.end(), [&](const MappedFile& other) {
      return other.inode == file.inode && other.device == file.device;
    });
    if (protection[2] == 'x' && known == files.end()) files.push_back(std::move(file));
  }
  return files;
}

Result<OpenOptions> options_for(const MappedFile& file) {
  OpenOptions options;
  const std::string process = fmt::format("/proc/{}", file.pid);
  if (is_same_file(file.path, file)) return options;
  options.root = process + "/root";
  if (is_same_file(options.root + file.path, file)) return options;
  // These lead to the file whatever has become of its name.
  options.file = process + "/exe";
  if (file.is_program && can_be_read(options.file)) return options;
  options.file = fmt::format("{}/map_files/{:x}-{:x}", process, file.begin, file.end);
  if (can_be_read(options.file)) return options;
  options.file.clear();
  if (has_identity(options.root + file.path, file)) return options;
  options.root.clear();
  if (has_identity(file.path, file)) return options;
  return Error{fmt::format("{} is not the file any more that process {} has mapped, and that one can't be opened", file.path, file.pid),
               "run spile as root, or start the program anew"};
}

}  // namespace spile::debuginfo
