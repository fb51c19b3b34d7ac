#pragma once
// Reads files of /proc and /sys, which have no size that could be asked for.

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace spile::kernelinfo {

// Bytes: std::string or std::vector<uint8_t>. Error: the file can't be read.
template <typename Bytes>
Result<Bytes> read_whole(const std::string& path) {
  UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return Error::from_errno("read " + path, errno, errno == EACCES || errno == EPERM ? "run as root" : "");
  struct stat status;
  Bytes bytes;
  size_t used = 0;
  bytes.resize(fstat(file.get(), &status) == 0 && status.st_size > 0 ? static_cast<size_t>(status.st_size) + 1 : size_t{1} << 12);
  for (;;) {
    if (used == bytes.size()) bytes.resize(2 * bytes.size());
    const ssize_t got = ::read(file.get(), bytes.data() + used, bytes.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::from_errno("read " + path, errno);
    if (got == 0) break;
    used += static_cast<size_t>(got);
  }
  bytes.resize(used);
  return bytes;
}

}  // namespace spile::kernelinfo
