#include "base/files/stable_file.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "base/files/file.h"

namespace spile {
namespace {

// Owners can always write, whatever the mode says; behind FUSE, owner and mode are what its server says.
bool is_changed_by_us_only(int fd, const struct stat& status) {
  struct statfs system{};
  bool ours = status.st_uid == 0 || status.st_uid == geteuid();
  return ours && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0 && fstatfs(fd, &system) == 0 && system.f_type != FUSE_SUPER_MAGIC;
}

std::atomic<int64_t> g_copied = 0;

int64_t most_copied() {
  static const int64_t quarter = sysconf(_SC_PHYS_PAGES) / 4 * sysconf(_SC_PAGESIZE);
  return std::min(kLargestCopy, quarter);
}

Result<UniqueFd> copy(const std::string& path, int from, int64_t size) {
  if (size > kLargestCopy) {
    return Error{
        fmt::format("{}: larger than {} GiB, and users other than root and you can write to it", path, kLargestCopy >> 30), {}};
  }
  UniqueFd memory(memfd_create("spile-file", MFD_CLOEXEC));
  if (!memory) return Error::from_errno(fmt::format("copy {}", path), errno);
  // Also what has become shorter meanwhile has the size that was seen.
  if (ftruncate(memory.get(), size) != 0) return Error::from_errno(fmt::format("copy {}", path), errno);
  for (int64_t done = 0; done < size;) {
    // What comes after a hole; where files have none, or it is cut off meanwhile, what comes next.
    int64_t data = lseek(from, done, SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;
    if (data < 0) data = done;
    int64_t hole = lseek(from, data, SEEK_HOLE), end = std::min(hole > data ? hole : size, size);
    if (lseek(memory.get(), data, SEEK_SET) != data || lseek(from, data, SEEK_SET) != data)
      return Error::from_errno(fmt::format("copy {}", path), errno);
    for (done = data; done < end;) {
      ssize_t got = sendfile(memory.get(), from, nullptr, static_cast<size_t>(std::min<int64_t>(end - done, 1 << 20)));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return Error::from_errno(fmt::format("copy {}", path), errno);
      if (got == 0) return memory;
      done += got;
      if ((g_copied += got) > most_copied()) {
        return Error{fmt::format("{}: users other than root and you can write to it, and {} MiB of such files have been copied",
                                 path, most_copied() >> 20),
                     {}};
      }
    }
  }
  return memory;
}

}  // namespace

Result<StableFile> open_stable(const std::string& path, const std::string& opened) {
  // Looked at first, and opened then: what the path leads to may change in between.
  UniqueFd place(::open(opened.c_str(), O_PATH | O_CLOEXEC));
  if (!place) return Error::from_errno(fmt::format("open {}", path), errno);
  struct stat status{};
  if (fstat(place.get(), &status) != 0) return Error::from_errno(fmt::format("stat {}", path), errno);
  if (!S_ISREG(status.st_mode)) return Error{fmt::format("{}: not a regular file", path), {}};
  StableFile file;
  file.fd = UniqueFd(::open(fmt::format("/proc/self/fd/{}", place.get()).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  // Without /proc, only the path is known.
  if (!file.fd && errno == ENOENT) file.fd = UniqueFd(::open(opened.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.fd) return Error::from_errno(fmt::format("open {}", path), errno);
  if (fstat(file.fd.get(), &status) != 0) return Error::from_errno(fmt::format("stat {}", path), errno);
  if (!S_ISREG(status.st_mode)) return Error{fmt::format("{}: not a regular file", path), {}};
  file.size = static_cast<uint64_t>(status.st_size);
  if (!is_changed_by_us_only(file.fd.get(), status)) {
    TRY(file.fd, copy(path, file.fd.get(), status.st_size));
  }
  return file;
}

Result<std::string> read_stable(const std::string& path, const std::string& opened, uint64_t most) {
  TRY(const StableFile file, open_stable(path, opened));
  constexpr uint64_t kGib = uint64_t{1} << 30, kMib = uint64_t{1} << 20;
  if (file.size > most) {
    const bool in_gib = most % kGib == 0;
    return Error{fmt::format("{}: larger than {} {}", path, most / (in_gib ? kGib : kMib), in_gib ? "GiB" : "MiB"), {}};
  }
  std::string bytes;
  // Where the descriptor of a copy stands is behind what was written last.
  if (lseek(file.fd.get(), 0, SEEK_SET) != 0) return Error::from_errno(fmt::format("read {}", path), errno);
  if (const int failure = read_all(file.fd.get(), bytes, file.size))
    return Error::from_errno(fmt::format("read {}", path), failure);
  bytes.resize(file.size);  // what was cut off meanwhile is zeros
  return bytes;
}

}  // namespace spile
