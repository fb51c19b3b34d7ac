#pragma once
// Looks for an unwinder in a file by its symbols, and by code that looks up the unwind information of frames. Thread rule: any
// thread.

#include <set>
#include <string>
#include <string_view>

namespace spile::debuginfo {

struct UnwinderTraces {
  bool is_named = false;  // the file defines one of the names
  // The file has lost its local functions' symbols, does not take one of the names from another file, and looks up frames: by
  // _dl_find_object() of glibc, which is for unwinders alone, or by dl_iterate_phdr() and a comparison with PT_GNU_EH_FRAME. A
  // static program has these functions in itself, without names.
  bool is_unnamed = false;
};

// Returns what the file shows; nothing of a file that can't be read. names: of an unwinder's functions.
UnwinderTraces traces_of_unwinder(const std::string& path, const std::set<std::string_view>& names);

}  // namespace spile::debuginfo
