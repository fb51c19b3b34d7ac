#pragma once
// Reads files of /proc and /sys, which only root may read, in part.

#include <errno.h>
#include <fcntl.h>

#include <string>

#include "base/files/file.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace spile::kernelinfo {

// Bytes: std::string or std::vector<uint8_t>. Error: the file can't be read.
template <typename Bytes>
Result<Bytes> read_whole(const std::string& path) {
  UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return Error::from_errno("read " + path, errno, errno == EACCES || errno == EPERM ? "run as root" : "");
  Bytes bytes;
  if (const int failure = read_all(file.get(), bytes)) return Error::from_errno("read " + path, failure);
  return bytes;
}

}  // namespace spile::kernelinfo
