#pragma once
// How a Module (debuginfo.h) is opened, and what its questions are answered with: its functions, marks, variables and rows.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "abi/stack_tables.h"
#include "base/address.h"
#include "debuginfo/terms/code_place.h"
#include "debuginfo/terms/place.h"
#include "debuginfo/terms/type.h"

namespace spile::debuginfo {

class DebugServers;

struct OpenOptions {
  // Put in front of every path that is opened: "/proc/4711/root" for a process in another mount namespace. Debug files
  // are looked for there first, then without it.
  std::string root;
  // Opened instead of root + path: "/proc/4711/exe" for a deleted file. "": root + path. options_for() (mapped_file.h) fills both
  // in.
  std::string file = {};
  // Returns the path under which the file known as `path` is opened.
  std::string place_of(const std::string& path) const { return file.empty() ? root + path : file; }
  // Where separate debug files are: DIR/.build-id/ab/cdef.debug, and DIR/path/of/file/NAME by .gnu_debuglink.
  std::vector<std::string> debug_directories = {"/usr/lib/debug"};
  // Asked for separate debug files that are not there (debug_servers.h); null: no server is.
  std::shared_ptr<DebugServers> servers = {};
  bool use_cache = true;        // read and write remembered answers
  std::string cache_directory;  // "": AnswerCache::default_directory()
};

// A PT_LOAD segment.
struct Segment {
  FileAddress address;
  uint64_t offset;       // in the file
  uint64_t file_size;    // bytes in the file
  uint64_t memory_size;  // bytes in memory
  bool executable;
  bool writable;
};

// A function with code of its own. Several names of one address are one Function.
struct Function {
  enum class Source : uint8_t { kSymtab, kDynsym, kDwarf, kUnwind };

  std::string linkage_name;          // the symbol: mangled, with its clone suffix (.isra.0, .constprop.0, .part.0)
  std::vector<std::string> aliases;  // linkage names of the same address other than linkage_name
  std::string part_of;               // of what Module::parts() returns: the linkage name of the function; else ""
  FileAddress address;
  uint64_t size = 0;  // bytes, never 0
  Source source = Source::kSymtab;
  bool exported = false;  // in .dynsym under any of its names
  bool is_ifunc = false;  // STT_GNU_IFUNC: the code here chooses the function and isn't the function
  SourcePlace declared;   // set only by functions() with a FunctionPattern::file

  // Returns the name for people: without clone suffix, but for those of parts (foo.cold); C++ and Rust names demangled, without
  // parameters, which costs microseconds.
  std::string name() const;
};

// Mark::semaphore of a mark whose note names a place that is not a counter.
inline constexpr FileAddress kNoSuchSemaphore{~uint64_t{0}};
// An SDT mark: a nop that the program passes, and where its arguments are then.
struct Mark {
  std::string provider, name;
  std::string arguments;  // "-4@%eax 8@-8(%rbp)": size (negative: signed) and operand of each, in the assembler's syntax
  FileAddress address;
  // Address of the 16-bit counter of the tracers that use the mark; 0: the mark has no counter; or kNoSuchSemaphore.
  FileAddress semaphore;
};

// A stub through which the module calls a function of another one.
struct PltEntry {
  std::string name;  // of the called function
  FileAddress address;
  uint64_t size = 0;
};

// How to find the caller's frame, from this address to that of the next row.
struct UnwindRow {
  FileAddress address;
  abi::UnwindRule rule;
};
// The source line of the code from this address to that of the next row; line 0: unknown.
struct LineRow {
  FileAddress address;
  uint32_t line;
  uint32_t file;  // index into LineRows::files
};
struct LineRows {
  std::vector<LineRow> rows;  // ascending by address
  std::vector<std::string> files;
};

// The criteria by which functions() searches.
struct FunctionPattern {
  // Glob (* ? [...]) over names. "foo" also finds foo.isra.0 and foo.constprop.0, and where there is debug information
  // foo.part.0; parts of functions (foo.cold) are never found. C++: "bar" finds ns::Foo::bar, as do "Foo::bar", "ns::*";
  // a "*" between or behind "::" stands for one scope or several; a leading "::" allows no further ones; template arguments may
  // be left out. Mangled names are matched too.
  std::string name;
  // Glob over the path of the source file that declares the function: "parse.c", "src/*.c"; matches whole components at its end.
  // "": any file, or an unknown one.
  std::string file;
};

struct Variable {
  enum class Kind : uint8_t { kParameter, kLocal, kGlobal };
  std::string name;
  Kind kind = Kind::kLocal;
  Place place;  // place.type is its type also where the place is unavailable
};

}  // namespace spile::debuginfo
