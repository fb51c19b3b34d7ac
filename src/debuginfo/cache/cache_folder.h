#pragma once
// Files in the cache's folder. With sudo, HOME may be somebody else's, who must not decide what root's spile believes: only
// regular files and folders of our own are used. Any thread.

#include <cstdint>
#include <string>

#include "base/unique_fd.h"

namespace spile::debuginfo {

// Opens a regular file of our own with at least and at most so many bytes, and sets *size; invalid: it is not such a file.
UniqueFd open_own(const std::string& path, uint64_t least, uint64_t most, uint64_t* size);
// Notes that a file is used, as its time of change: to the day, as each note is a write.
void note_use(int fd);
// Makes the folders that the path is in. False: the last one is not our own.
bool make_folders(const std::string& path);

}  // namespace spile::debuginfo
