#pragma once
// Reads and writes whole files and descriptors. Thread rule: any thread.

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace spile {

// Reads from where the descriptor stands to the end of the file, or `most` bytes. The file may be one of /proc or /sys, whose
// size says nothing, and may grow or shrink meanwhile. Bytes: std::string, or a vector of bytes. Returns 0, or errno; `bytes` has
// what was read until then.
template <class Bytes>
int read_all(int fd, Bytes& bytes, size_t most = SIZE_MAX);

// Returns all bytes of a file, which may be one of /proc or /sys. Waits for the writers of a pipe. Errors: "open WHAT", "read
// WHAT"; what: as errors name the file, if not by its path.
Result<std::string> read_file(const std::string& path, const std::string& what = {});
// Returns the first bytes of a file, at most `most`; "" if it can't be read.
std::string read_start(const std::string& path, size_t most);
// Returns the first line of a file, without its end; "" if it can't be read, or is empty.
std::string first_line(const std::string& path);
// Returns what a symbolic link says; "": there is no such link, or it can't be read, and errno says why.
std::string read_link(const std::string& path);

// Writes all bytes, however often the descriptor takes only some. Returns 0, or errno.
[[nodiscard]] int write_all(int fd, std::string_view bytes);

// ---- definitions

template <class Bytes>
int read_all(int fd, Bytes& bytes, size_t most) {
  constexpr size_t kFirst = 4096;
  struct stat status;
  const bool has_size = fstat(fd, &status) == 0 && status.st_size > 0;
  size_t used = 0;
  int failure = 0;
  // One byte more than the size: the end is met without another buffer.
  bytes.resize(std::min(has_size ? static_cast<size_t>(status.st_size) + 1 : kFirst, most));
  while (used < most) {
    if (used == bytes.size()) bytes.resize(std::min(2 * bytes.size(), most));
    const ssize_t got = ::read(fd, bytes.data() + used, bytes.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) failure = errno;
    if (got <= 0) break;
    used += static_cast<size_t>(got);
  }
  bytes.resize(used);
  return failure;
}

}  // namespace spile
