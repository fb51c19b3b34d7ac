#pragma once
// A regular file as it was when it was opened. A user who may write to a mapped file can make it shorter (SIGBUS in the reader)
// or change it between two looks at it, and libdw looks twice. So a file that somebody else than root and our user can write to
// is copied before anything of it is believed; all others are used as they are. So is a file behind FUSE copied. Thread rule: any
// thread.
//
// Nothing but a regular file is ever opened for reading: a FIFO would block, and some devices act when they are opened.

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace spile {

// Bytes. A copy is memory of ours: a larger file is an error. All copies made since spile's start (freed ones count too) take no
// more together than this, nor than a quarter of the machine's memory; holes stay holes and do not count.
inline constexpr int64_t kLargestCopy = int64_t{4} << 30;

struct StableFile {
  UniqueFd fd;  // of the file, or of its copy
  uint64_t size = 0;
};
// Opens `opened`. Errors name `path`: can't be opened, not a regular file, too large to be copied.
Result<StableFile> open_stable(const std::string& path, const std::string& opened);
// Returns all bytes of the file. most: bytes, whole MiB; a larger file is an error. Errors: those of open_stable(); the file
// can't be read.
Result<std::string> read_stable(const std::string& path, const std::string& opened, uint64_t most);

}  // namespace spile
