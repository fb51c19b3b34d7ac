#include "debuginfo/cache/kept_sections.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/files/file.h"
#include "debuginfo/cache/cache_folder.h"

namespace spile::debuginfo {
namespace {

constexpr uint64_t kLastPage = 4096;
constexpr char kFormat[] = "spile sections 1";
enum Line : size_t { kFormatLine, kBytesLine, kBootLine, kStampLine, kNameLine, kLines };

std::string boot_id() { return first_line("/proc/sys/kernel/random/boot_id"); }

std::string last_page(const KeptSections& kept, uint64_t size) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n", kFormat, size, boot_id(), kept.stamp, kept.name);
}

// The lines of the last page; empty: it is not such a file.
std::vector<std::string> lines_of(int fd, uint64_t size) {
  std::string page(kLastPage, '\0');
  if (size < kLastPage ||
      ::pread(fd, page.data(), kLastPage, static_cast<off_t>(size - kLastPage)) != static_cast<ssize_t>(kLastPage))
    return {};
  std::vector<std::string> lines;
  for (size_t at = 0, end; lines.size() < kLines && (end = page.find('\n', at)) != page.npos; at = end + 1)
    lines.push_back(page.substr(at, end - at));
  if (lines.size() != kLines || lines[kFormatLine] != kFormat) lines.clear();
  return lines;
}

// The cache may be on another machine's disk: to write there takes longer than to uncompress.
bool is_of_this_machine(const std::string& folder) {
  constexpr decltype(statfs::f_type) kElsewhere[] = {NFS_SUPER_MAGIC,  SMB_SUPER_MAGIC,  CIFS_SUPER_MAGIC, SMB2_SUPER_MAGIC,
                                                     FUSE_SUPER_MAGIC, CEPH_SUPER_MAGIC, V9FS_MAGIC,       AFS_SUPER_MAGIC};
  struct statfs system{};
  return statfs(folder.c_str(), &system) == 0 && std::ranges::find(kElsewhere, system.f_type) == std::end(kElsewhere);
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

}  // namespace

bool is_on_disk_with_room(const std::string& folder, uint64_t bytes) {
  struct statfs system{};
  if (folder.empty() || folder[0] != '/' || statfs(folder.c_str(), &system) != 0) return false;
  if (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC) return false;
  return static_cast<uint64_t>(system.f_bavail) * static_cast<uint64_t>(system.f_bsize) / 2 >= bytes;
}

std::string file_stamp(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) return path;
  // Its owner decides on the time of change, and on path and size, but on none of the others.
  return fmt::format("{} {}:{} {} {}.{} {}.{}", path, status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
}

KeptSections kept_beside(const KeptSections& kept, const std::string& id, const std::string& path) {
  if (kept.path.empty() || id.empty()) return {};
  return {folder_of(kept.path) + "/" + id + kSectionsEnding, file_stamp(path), path};
}

UniqueFd open_kept(const KeptSections& kept) {
  uint64_t size = 0;
  if (kept.path.empty()) return {};
  UniqueFd fd = open_own(kept.path, kLastPage, kMostKept + kLastPage, &size);
  const std::vector<std::string> lines = fd ? lines_of(fd.get(), size) : std::vector<std::string>();
  if (lines.empty() || lines[kBytesLine] != std::to_string(size) || lines[kBootLine] != boot_id() ||
      lines[kStampLine] != kept.stamp)
    return {};
  note_use(fd.get());
  return fd;
}

UniqueFd make_keepable(const KeptSections& kept, uint64_t bytes) {
  if (kept.path.empty() || bytes > kMostKept || !make_folders(kept.path)) return {};
  const std::string folder = folder_of(kept.path);
  if (!is_of_this_machine(folder) || !is_on_disk_with_room(folder, bytes)) return {};
  return UniqueFd(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
}

bool keep(const KeptSections& kept, int fd, uint64_t bytes) {
  // A line of its own for each text, whatever they have in them.
  if ((kept.stamp + kept.name).find('\n') != std::string::npos) return false;
  const uint64_t size = (bytes + kLastPage - 1) / kLastPage * kLastPage + kLastPage;
  const std::string page = last_page(kept, size);
  if (page.size() > kLastPage || ::ftruncate(fd, static_cast<off_t>(size)) != 0) return false;
  if (::pwrite(fd, page.data(), page.size(), static_cast<off_t>(size - kLastPage)) != static_cast<ssize_t>(page.size()))
    return false;
  const std::string temporary = fmt::format("{}.{}", kept.path, getpid());
  if (::linkat(AT_FDCWD, fmt::format("/proc/self/fd/{}", fd).c_str(), AT_FDCWD, temporary.c_str(), AT_SYMLINK_FOLLOW) != 0)
    return false;
  if (::rename(temporary.c_str(), kept.path.c_str()) != 0) {
    ::unlink(temporary.c_str());
    return false;
  }
  return true;
}

std::string kept_name(int fd, uint64_t size) {
  const std::vector<std::string> lines = lines_of(fd, size);
  return !lines.empty() && lines[kBootLine] == boot_id() ? lines[kNameLine] : "";
}

}  // namespace spile::debuginfo
