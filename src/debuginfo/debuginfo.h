#pragma once
// Describes one ELF file (executable or shared library) from its tables and debug information: which functions there are, and where
// each variable lives. Nothing is read before it is asked for; functions are found by symbol tables alone, and DWARF is
// opened only for questions about variables, types and source files. Answers that took DWARF are remembered by build-id
// under ${XDG_CACHE_HOME:-~/.cache}/spile/, so that the same questions of a later run don't open it at all.
//
// Thread rule: one thread at a time for a Module and all the Types that came from it; different Modules are
// independent. Errors say which file, and why; a damaged file is an error, or yields fewer answers, and is never fatal.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "abi/stack_tables.h"
#include "base/address.h"
#include "base/result.h"
#include "debuginfo/code_place.h"
#include "debuginfo/place.h"
#include "debuginfo/type.h"

namespace spile::debuginfo {

struct OpenOptions {
  // Put in front of every path that is opened: "/proc/4711/root" for a process in another mount namespace. Debug files
  // are looked for there first, then without it.
  std::string root;
  // Read instead of root + path: "/proc/4711/exe" for what has been deleted. mapped_file.h finds what to say here.
  std::string file = {};
  std::string place_of(const std::string& path) const { return file.empty() ? root + path : file; }
  // Where separate debug files are: DIR/.build-id/ab/cdef.debug, and DIR/path/of/file/NAME by .gnu_debuglink.
  std::vector<std::string> debug_directories = {"/usr/lib/debug"};
  bool use_cache = true;
  std::string cache_directory;  // "" for the usual one
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
  enum class Source : uint8_t { kSymtab, kDynsym, kDwarf };

  std::string linkage_name;          // the symbol: mangled, with its clone suffix (.isra.0, .constprop.0, .part.0)
  std::vector<std::string> aliases;  // linkage names of the same address other than linkage_name
  FileAddress address;
  uint64_t size = 0;  // bytes, never 0
  Source source = Source::kSymtab;
  bool exported = false;  // in .dynsym under any of its names
  bool is_ifunc = false;  // STT_GNU_IFUNC: the code here chooses the function and isn't the function
  SourcePlace declared;   // only known where a source file was part of the question

  // For people: without clone suffix; C++ and Rust names demangled, without parameters. Costs microseconds for those.
  std::string name() const;
};

// An SDT mark: a nop that the program passes, and where its arguments are then.
inline constexpr FileAddress kNoSuchSemaphore{~uint64_t{0}};
struct Mark {
  std::string provider, name;
  std::string arguments;  // "-4@%eax 8@-8(%rbp)": size (negative: signed) and operand of each, in the assembler's syntax
  FileAddress address;
  // The address of a 16-bit counter of the tracers that use the mark; 0: absent; kNoSuchSemaphore: the note's is not one.
  FileAddress semaphore;
};

// A stub through which the module calls a function of another one.
struct PltEntry {
  std::string name;
  FileAddress address;
  uint64_t size = 0;
};

// How to find the caller's frame, from this address on.
struct UnwindRow {
  FileAddress address;
  abi::UnwindRule rule;
};
// The source line of the code from this address on; line 0: unknown.
struct LineRow {
  FileAddress address;
  uint32_t line;
  uint32_t file;  // index into LineRows::files
};
struct LineRows {
  std::vector<LineRow> rows;  // ascending
  std::vector<std::string> files;
};

// The criteria by which functions() searches.
struct FunctionPattern {
  // Glob (* ? [...]) over names. "foo" also finds foo.isra.0 and foo.constprop.0, and where there is debug information
  // foo.part.0; fragments (foo.cold) are never found. C++: "bar" finds ns::Foo::bar, as do "Foo::bar", "ns::*";
  // a "*" between or behind "::" stands for one scope or several; a leading "::" allows no further ones; template arguments may be left out. Mangled names are matched too.
  std::string name;
  // Glob over the file that declares it: "parse.c", "src/*.c"; matches whole path components at its end. "": any.
  std::string file;
};

struct Variable {
  enum class Kind : uint8_t { kParameter, kLocal, kGlobal };
  std::string name;
  Kind kind = Kind::kLocal;
  Place place;  // place.type is its type also where the place is unavailable
};

class Module {
 public:
  // Errors: can't be opened or read, not an ELF file, not for this machine, neither executable nor shared library, damaged.
  static Result<std::shared_ptr<Module>> open(const std::string& path, const OpenOptions& options = {});
  virtual ~Module() = default;

  // ---- the file
  virtual const std::string& path() const = 0;      // without options.root
  virtual const std::string& soname() const = 0;    // as programs name the library that they need; "" for none
  virtual const std::string& build_id() const = 0;  // hexadecimal; "" for none
  virtual bool position_independent() const = 0;    // PIE or shared library: loaded with a bias
  virtual bool is_executable() const = 0;           // a program (has PT_INTERP, or a fixed address, or is a static PIE)
  virtual bool is_made_by_go() const = 0;           // linked by Go's linker
  virtual FileAddress entry_point() const = 0;
  // Why symbols and debug information are missing that the file once had, as a sentence; "" for a whole file.
  virtual const std::string& truncation() const = 0;
  virtual const std::vector<Segment>& segments() const = 0;
  std::optional<uint64_t> file_offset(FileAddress address) const;
  std::optional<FileAddress> address_of(uint64_t file_offset) const;

  // ---- functions
  // In order of address; empty where nothing matches. A name that matches becomes linkage_name.
  // Error: a source file was asked for and there is no debug information, or it can't be read.
  virtual Result<std::vector<Function>> functions(const FunctionPattern& pattern) = 0;
  // The function whose code contains the address.
  virtual std::optional<Function> function_at(FileAddress address) = 0;
  // Names for did-you-mean: every symbol's name without its clone suffix, C++ names with as many scopes as `like` has. All
  // are demangled: 0.2 s for a large library.
  virtual std::vector<std::string> function_names(const std::string& like) = 0;
  virtual size_t function_count() = 0;  // those that have a name
  // A data symbol's address (.symtab, .dynsym). size: may be null.
  virtual std::optional<FileAddress> data_symbol(const std::string& name, uint64_t* size = nullptr) = 0;

  // ---- stacks
  // From .eh_frame and .debug_frame, ascending; empty where there are none. Costs about 0.1 us a row.
  virtual std::vector<UnwindRow> unwind_rows() = 0;
  // Every function that has a name, ascending by address: what an address is named after.
  virtual std::vector<Function> all_functions() = 0;
  // The whole line number table. Decodes all of it: tens of milliseconds for a large program. Empty: none.
  virtual LineRows line_rows() = 0;

  // ---- debug information
  virtual bool has_debug_info() = 0;
  // The file that has it: the path opened, a separate file, or "" for none.
  virtual const std::string& debug_file() = 0;
  virtual Result<SourcePlace> declaration(FileAddress function) = 0;
  virtual Result<SourcePlace> source_line(FileAddress pc) = 0;

  // ---- what linkers know
  virtual const std::vector<Mark>& marks() = 0;
  virtual const std::vector<PltEntry>& plt() = 0;

  // ---- places inside functions; without debug information there are none
  // Calls of functions that match, whose code was put where the call would be.
  virtual Result<CodePlaces> inlined_calls(const FunctionPattern& pattern) = 0;
  // Labels, by glob, in functions that match.
  virtual Result<CodePlaces> labels(const FunctionPattern& pattern, const std::string& label) = 0;
  // Beginnings of statements in source files that match; of each line in each function (or inlined call) the first.
  virtual Result<CodePlaces> statements(const std::string& file) = 0;
  // The function, or the innermost inlined call, whose code contains the address; its source line is left out.
  virtual std::optional<CodePlace> place_at(FileAddress pc) = 0;
  // The instructions by which the function that starts there calls known functions; CodePlace::name is who is called.
  virtual Result<CodePlaces> calls(FileAddress function) = 0;

  // Parameters (in order) and locals of the function that starts at `function`, visible at `pc`, innermost block first.
  // At pc == function this is the moment before its first instruction: parameters that the compiler puts into a stack
  // slot later are given where the calling convention has them, and locals in stack slots are not there yet.
  // scope: CodePlace::scope, for the variables of an inlined call.
  virtual Result<std::vector<Variable>> variables(FileAddress function, FileAddress pc, uint64_t scope = 0) = 0;
  // One of those, or a variable of the same source file. The error's hint has did-you-mean. A variable that exists and
  // can't be read here is a Place of kUnavailable.
  virtual Result<Variable> variable(FileAddress function, FileAddress pc, const std::string& name,
                                    uint64_t scope = 0) = 0;
  // A file-scope variable; file as in FunctionPattern.
  virtual Result<Variable> global_variable(const std::string& name, const std::string& file = {}) = 0;
  // A file-scope variable of the source file that has the function.
  virtual Result<Variable> variable_of_unit(FileAddress function, const std::string& name) = 0;
  // The type of that Type::id, from this or an earlier run.
  virtual Type type_with_id(uint64_t id) = 0;
  // A type by its name in C: "struct node", "node" (a struct, class, union, enum or typedef), "unsigned int".
  virtual Result<Type> type_named(const std::string& name) = 0;
  // $return: valid at the moment the function has returned. Unavailable where the value is not in general registers or
  // memory. Error: the function returns nothing.
  // index: of which result of a Go function.
  virtual Result<Place> return_value(FileAddress function, size_t index = 0) = 0;

  // Writes what was learnt to the cache; also done by the destructor. Failure is silent: it only costs time.
  virtual void save_cache() = 0;
  // True once DWARF had to be opened: tests and -v use it to recognize cached answers.
  virtual bool opened_dwarf() const = 0;
};

// Leaves those whose function and whose source file match.
void keep_matching(const FunctionPattern& pattern, CodePlaces& places);

// ---- paths from a variable: ->member  .member  [index]  *

struct Step {
  enum class Kind : uint8_t {
    kMember,        // of a struct or union, or of what a pointer points to (both -> and .)
    kIndex,         // of an array or pointer, by the constant `index`
    kDynamicIndex,  // of an array or pointer, by the value of location::Index number `index`, at run time
    kDereference,
  };
  Kind kind;
  std::string member;
  int64_t index = 0;
};

// The place of what the path leads to. Errors name the type and the step; the hint has did-you-mean.
Result<Place> walk(const Place& start, std::span<const Step> steps);
// Operations that leave the value of a scalar as a 64-bit number (arrays and functions: their address, as in C).
// Errors: unavailable, struct by value, floating point.
Result<location::Operations> load(const Place& place);
// Operations that leave its address. Error: it is in a register, or a bit-field.
Result<location::Operations> address(const Place& place);

}  // namespace spile::debuginfo
