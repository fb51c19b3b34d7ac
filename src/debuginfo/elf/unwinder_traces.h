#pragma once
// Looks for an unwinder in a file by its symbols, and by code that looks up the unwind information of frames. Thread rule: any
// thread.

#include <set>
#include <string>
#include <string_view>

namespace spile::debuginfo {

// Names of unwinders' functions.
struct UnwinderNames {
  std::set<std::string_view> any;       // an unwinder has some of them
  std::set<std::string_view> all;       // an unwinder that throws has all of them
  std::set<std::string_view> harmless;  // a file with one of them has an unwinder for other processes
};

struct UnwinderTraces {
  bool is_named = false;  // the file defines one of UnwinderNames::any
  // The file has lost its local functions' symbols, and UnwinderNames::all with them; it takes none of these names from another
  // file; and it looks up frames: by _dl_find_object() of glibc, which is for unwinders alone, or by dl_iterate_phdr() and a
  // comparison with PT_GNU_EH_FRAME. A static program has these functions in itself, without names.
  bool is_unnamed = false;
};

// Returns what the file shows; nothing of a file that can't be read.
UnwinderTraces traces_of_unwinder(const std::string& path, const UnwinderNames& names);

}  // namespace spile::debuginfo
