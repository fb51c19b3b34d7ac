#pragma once
// Answers of the cache in one file that can be carried to another machine, where they stand in for debug information that is not
// there. Found again by build-id. A file of another machine is hostile: everything in it is checked before anything is written.
// Thread rule: one thread.
//
//   char[24] "spile cache 1\n", u64 checksum of what follows (FNV-1a)
//   number of modules; for each: text build-id, text name, number of answers; for each: text key, text answer   (as ByteWriter
//                                                                                                               has them)

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace spile::debuginfo {

inline constexpr uint64_t kLargestArchive = uint64_t{1} << 30;  // bytes

struct ArchiveCounts {
  uint64_t modules = 0, answers = 0;
};

// Writes the answers about modules with these build-ids, or about all that have one, to a new file, in place of one of that name.
// Errors: nothing is cached about one of them; the file can't be written.
Result<ArchiveCounts> export_answers(const std::string& directory, const std::vector<std::string>& build_ids,
                                     const std::string& file);
// Writes what the file has into the cache, beside the answers that were found on this machine, which go first. Errors: can't be
// read, not such a file, of another version, damaged, with an answer that can't be right: nothing is imported then; the cache
// can't be written.
Result<ArchiveCounts> import_answers(const std::string& directory, const std::string& file);

// Whether an answer has the form that the key asks for.
bool is_answer(const std::string& key, const std::string& answer);

}  // namespace spile::debuginfo
