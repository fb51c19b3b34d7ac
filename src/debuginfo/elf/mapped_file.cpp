#include "debuginfo/elf/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/files/elf_identity.h"
#include "base/processes/proc.h"
#include "base/unique_fd.h"

namespace spile::debuginfo {
namespace {

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
  const std::string program = program_of(pid);
  auto mappings = read_mappings(pid);
  if (!mappings.ok()) return files;
  MappedFile first;  // whose first byte was met last
  for (const Mapping& mapping : *mappings) {
    if (mapping.inode == 0 || !mapping.path.starts_with('/') || mapping.path.starts_with("/memfd:spile-")) continue;
    MappedFile file{.pid = pid,
                    .path = without_deleted(mapping.path, mapping.inode),
                    .is_program = mapping.path == program,
                    .device = mapping.device,
                    .inode = mapping.inode,
                    .begin = mapping.begin,
                    .end = mapping.end};
    if (mapping.offset == 0) first = file;
    if (first.inode == file.inode && first.device == file.device) file.start = first.begin;
    auto known = std::find_if(files.begin(), files.end(),
                              [&](const MappedFile& other) { return other.inode == file.inode && other.device == file.device; });
    if (mapping.executable && known == files.end()) files.push_back(std::move(file));
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
  return Error{
      fmt::format("{} was replaced after process {} mapped it, and the mapped file can't be opened", file.path, file.pid),
      "run spile as root, or restart the program"};
}

}  // namespace spile::debuginfo
