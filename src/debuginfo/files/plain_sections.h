#pragma once
// A file's debug information with its sections uncompressed (-gz, objcopy --compress-debug-sections): libdw would do that in
// memory, all of it, and knows zlib alone. Here a file gets the uncompressed sections, so that no more of them is in memory than
// is looked at. Any thread.
//
// The file has no name, so that nobody else finds it and it goes with its last descriptor, unless it is kept for the next run.
// Its sections have the same numbers and names as in the original; those that are not about debugging have no contents. Where it
// is: a small one in memory; else in $TMPDIR, /var/tmp or the cache's directory, on the first of these that is on a disk with
// twice as much room.

#include <libelf.h>

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "debuginfo/cache/kept_sections.h"

namespace spile::debuginfo {

// elf: of the open file `fd`; path: for messages. An invalid descriptor: none of its sections about debugging is compressed.
// Errors: damaged; too little room. kept: where a large one is kept for the next run, and found.
Result<UniqueFd> with_plain_sections(Elf* elf, int fd, const std::string& path, const KeptSections& kept = {});
// Opens a file, uncompressed if it is compressed. Errors: not a regular file of ELF; damaged; too little room.
Result<UniqueFd> open_plain(const std::string& path, const KeptSections& kept = {});

}  // namespace spile::debuginfo
