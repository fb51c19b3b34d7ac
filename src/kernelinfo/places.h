#pragma once
// Where the files are that facts about the kernel are read from.

#include <string>

#include "debuginfo/cache/answer_cache.h"

namespace spile::kernelinfo {

// Tests have folders of their own.
struct Places {
  std::string proc = "/proc";
  std::string sys = "/sys";
  std::string tracefs;  // "": where it is mounted, or a mount of our own (base/files/tracefs.h)
  std::string modules = "/lib/modules";
  std::string debug = "/usr/lib/debug";                             // below which packages put debug information
  std::string cache = debuginfo::AnswerCache::default_directory();  // of list_cache.h; "": lists are not kept
};

}  // namespace spile::kernelinfo
