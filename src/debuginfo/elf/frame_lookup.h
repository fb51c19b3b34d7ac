#pragma once
// Whether a file has code that looks up frames' unwind information, as unwinders do. Thread rule: any thread.

#include <string>

namespace spile::debuginfo {

// What unwinders ask where a module's .eh_frame_hdr is: _dl_find_object() of glibc, which nothing else is for, or
// dl_iterate_phdr(), with a look for PT_GNU_EH_FRAME in the answer. A static program has these in itself, without names.
// Returns false also if the file can't be read.
bool looks_up_frames(const std::string& path);

}  // namespace spile::debuginfo
