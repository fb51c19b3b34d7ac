#pragma once
// Uncompressed debug information (plain_sections.h) in the cache, for the next run: DIRECTORY/BUILD-ID.sections. Decision 045.
// Any thread.
//
//   the file as plain_sections.h describes it
//   char[4096]                 its last page: lines of text, then zeros
//     kFormat                  another version is not used
//     bytes of the whole file
//     boot                     the kernel's boot id: the file is not forced to the disk, so that after a crash it may have holes
//     stamp                    which file it was made of: its path, number, size and times
//     name                     the module's path, for people
//
// It appears under its name when it is whole.

#include <cstdint>
#include <string>

#include "base/unique_fd.h"

namespace spile::debuginfo {

// Where a file's uncompressed sections are kept.
struct KeptSections {
  std::string path;         // "": nowhere
  std::string stamp, name;  // see above
};

constexpr char kSectionsEnding[] = ".sections";
// Bytes of the largest file that is kept: the cache has room for one of them and its other answers.
constexpr uint64_t kMostKept = uint64_t{768} << 20;

// Returns what tells a file from others and from itself when it has changed: its path, device, number, size and times.
std::string file_stamp(const std::string& path);
// Returns where those of a further file of the same program are kept, beside its own: `id`, a build-id or what stands for one.
KeptSections kept_beside(const KeptSections& kept, const std::string& id, const std::string& path);

// Opens what an earlier run has kept; invalid: nothing that can be used.
UniqueFd open_kept(const KeptSections& kept);
// Returns a new file without a name on the disk of the cache, which keep() can give one; invalid: it should not be kept there.
UniqueFd make_keepable(const KeptSections& kept, uint64_t bytes);
// Keeps the file. False: it can't be kept.
bool keep(const KeptSections& kept, int fd, uint64_t bytes);
// Returns the name in such a file; "": it can't be used any more.
std::string kept_name(int fd, uint64_t size);

// Whether a folder is on a disk of this machine, with twice as much room.
bool is_on_disk_with_room(const std::string& folder, uint64_t bytes);

}  // namespace spile::debuginfo
