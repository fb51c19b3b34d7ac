#pragma once
// Describes one ELF file (executable or shared library) from its tables and debug information: which functions there are, and
// where each variable lives. Nothing is read before it is asked for; functions are found by symbol tables alone, and DWARF is
// opened only for questions about variables, types and source files. Answers that took DWARF are remembered by build-id
// under ${XDG_CACHE_HOME:-~/.cache}/spile/, so that the same questions of a later run don't open it at all.
// Addresses are the file's own (FileAddress), whatever bias a process has loaded the file with; sizes are in bytes.
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

#include "base/result.h"
#include "debuginfo/terms/module_facts.h"

namespace spile::debuginfo {

class Module {
 public:
  // Opens the file at options.place_of(path). Errors: can't be opened or read, not an ELF file, not for this machine, neither
  // executable nor shared library, damaged.
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
  // Convert between an address and the offset in the file of its byte; nullopt: no segment has it in the file.
  std::optional<uint64_t> file_offset(FileAddress address) const;
  std::optional<FileAddress> address_of(uint64_t file_offset) const;

  // ---- functions
  // Returns the functions that match, ascending by address; empty: none. Of several names the best that matches is linkage_name.
  // In a file without any symbol, pieces of code that .eh_frame describes stand for functions, if they begin as functions do;
  // they are named by their address, "0x401136". Error: pattern.file is given, and the module has no debug information. A
  // function whose file can't be found is left out.
  virtual Result<std::vector<Function>> functions(const FunctionPattern& pattern) = 0;
  // Returns the function whose code contains the address; nullopt: none that symbols or debug information name.
  virtual std::optional<Function> function_at(FileAddress address) = 0;
  // Returns the piece of code that .eh_frame describes there, of which no symbol is known; see functions().
  virtual std::optional<Function> unnamed_function_at(FileAddress address) = 0;
  // Return the parts of functions that lie elsewhere and that symbols name (foo.cold of gcc, foo.warm of BOLT), ascending by
  // address; the one that contains the address. Programs jump to a part, so it has neither entry nor return.
  virtual std::vector<Function> parts() = 0;
  virtual std::optional<Function> part_at(FileAddress address) = 0;
  // Returns whether the return address is on top of the stack where the function begins. False where call frame information
  // begins there with more than that: code jumps there that has left something above it (_dl_runtime_resolve_xsave, to which
  // linkage tables jump). The first call takes 0.1 us a function of the module.
  virtual bool is_entered_by_calls(FileAddress function) = 0;
  // Returns function_at(), or else part_at(): what has the code.
  std::optional<Function> code_at(FileAddress address);
  // Returns names for did-you-mean, sorted: every function symbol's without its clone suffix, C++ names with as many scopes as
  // `like` has. All are demangled: 0.2 s for a large library.
  virtual std::vector<std::string> function_names(const std::string& like) = 0;
  virtual size_t function_count() = 0;    // of all_functions()
  virtual bool has_static_symbols() = 0;  // false: stripped, so that only exported functions have names
  // Returns a data symbol's address (.symtab, .dynsym; nullopt: absent), and its size in *size. size: may be null.
  virtual std::optional<FileAddress> data_symbol(const std::string& name, uint64_t* size = nullptr) = 0;
  // Returns the names of data symbols for people, with all their scopes, sorted.
  virtual std::vector<std::string> data_names() = 0;

  // ---- stacks
  // Reads .eh_frame and .debug_frame; ascending; empty: the file has no such table. Not kept: each call costs about 0.1 us a row.
  virtual std::vector<UnwindRow> unwind_rows() = 0;
  // Returns every function that has a name, ascending by address: what an address is named after.
  virtual std::vector<Function> all_functions() = 0;
  // Decodes the whole line number table, at each call: tens of milliseconds for a large program. Empty: no debug information.
  virtual LineRows line_rows() = 0;

  // ---- debug information
  virtual bool has_debug_info() = 0;
  // The file that has it: the path opened, a separate file, or "" for none.
  virtual const std::string& debug_file() = 0;
  // Returns the error for what needs debug information, of a file that has none: `what`, with why (files of another build,
  // servers that have none), and a hint how to have it. instead: what the hint ends with: "use int_arg(1)"; may be empty. Takes
  // 20 ms.
  virtual Error needs_debug_info(const std::string& what, const std::string& instead) = 0;
  // Returns where the function that starts at the address is declared. Errors: no debug information, or none about that function.
  virtual Result<SourcePlace> declaration(FileAddress function) = 0;
  // Returns the source line of the instruction at pc. Errors: no debug information, or no line there.
  virtual Result<SourcePlace> source_line(FileAddress pc) = 0;

  // ---- what linkers know; empty where the file has none, or they are damaged
  virtual const std::vector<Mark>& marks() = 0;
  virtual const std::vector<PltEntry>& plt() = 0;

  // Returns the words of the module's memory that hold the implementation which a function of this module with is_ifunc has
  // chosen.
  virtual std::vector<FileAddress> slots_of_ifunc(FileAddress resolver) = 0;
  // Returns the words that hold the address of a function of another module, by its symbol's name. With lazy binding it is there
  // only after the first call; before, they hold an address of this module.
  virtual std::vector<FileAddress> slots_of_import(const std::string& name) = 0;

  // ---- places inside functions. Errors: debug information that can't be read. Without debug information the result is empty,
  // unless the function says otherwise.
  // Returns the inlined calls of functions that match: code that was put where the call would be.
  virtual Result<CodePlaces> inlined_calls(const FunctionPattern& pattern) = 0;
  // Returns the inlined calls in the code of the function that starts there.
  virtual Result<CodePlaces> inlined_calls_in(FileAddress function) = 0;
  // Returns the code of an inlined call (CodePlace::scope), with all that is inlined into it.
  virtual std::vector<CodeRange> code_of_call(uint64_t scope) = 0;
  // Returns labels whose name matches the glob `label`, in functions that match.
  virtual Result<CodePlaces> labels(const FunctionPattern& pattern, const std::string& label) = 0;
  // Returns the beginnings of statements in source files that match the pattern; of each line in each function (or inlined call)
  // only the lowest address. Error: no debug information.
  virtual Result<CodePlaces> statements(const std::string& file) = 0;
  // Returns those of the function's source file in the code of the function that starts there, inlined calls included. Not
  // remembered. Empty: no debug information about the function.
  virtual CodePlaces statements_in(FileAddress function) = 0;
  // Returns the function, or the innermost inlined call, whose code contains the address; without debug information, the function
  // that function_at() finds. CodePlace::source is not the line of pc; source_line() is. nullopt: no known function is there.
  virtual std::optional<CodePlace> place_at(FileAddress pc) = 0;
  // Returns the instructions by which the function that starts there calls known functions (not through registers, nor by jumps
  // that depend on a condition); CodePlace::name is the called function. Empty for unoptimized code.
  virtual Result<CodePlaces> calls(FileAddress function) = 0;

  // Returns the parameters (in order) and locals of the function that starts at `function`, visible at `pc`, innermost block
  // first. At pc == function this is the moment before its first instruction: parameters that the compiler puts into a stack
  // slot later are given where the calling convention has them, and locals in stack slots are not there yet.
  // scope: CodePlace::scope, for the variables of an inlined call; 0: of the function itself. Errors: no debug information, or
  // none of the function.
  virtual Result<std::vector<Variable>> variables(FileAddress function, FileAddress pc, uint64_t scope = 0) = 0;
  // Returns one of variables(), the one that hides the others of the name, or a file-scope variable of the same source file.
  // Error: no such variable (the hint has did-you-mean). A variable that exists and can't be read here is a Place of
  // kUnavailable.
  virtual Result<Variable> variable(FileAddress function, FileAddress pc, const std::string& name, uint64_t scope = 0) = 0;
  // Returns the code of the function (scope 0), or of an inlined call, where a parameter or local of the name has a value;
  // ascending. Of a variable with one place for all of the function it is all of that, also where the place is not filled yet.
  // Empty: nowhere; or no debug information.
  virtual std::vector<CodeRange> value_ranges(FileAddress function, const std::string& name, uint64_t scope) = 0;
  // Returns a file-scope variable ("x", "ns::A::x"), a definition rather than a declaration. file: a pattern for the main source
  // file of a unit ("parse.c", not a header); "": any. Error: no such variable.
  virtual Result<Variable> global_variable(const std::string& name, const std::string& file = {}) = 0;
  // Returns a file-scope variable of the source file that has the function. Error: no such variable.
  virtual Result<Variable> variable_of_unit(FileAddress function, const std::string& name) = 0;
  // Returns the names that variable_of_unit() finds, without scopes; at most 10,000. Empty: no debug information about the
  // function.
  virtual std::vector<std::string> global_names(FileAddress function) = 0;
  // Returns the type of a Type::id of this build of the file, from this or an earlier run; for other numbers, a kUnknown type.
  virtual Type type_with_id(uint64_t id) = 0;
  // Finds a type by its name in C: "struct node", "node" (a struct, class, union, enum or typedef), "unsigned int"; or, as
  // "enumerator NAME" or "enumerator TYPE::NAME", an enum by one of its constants. Error: no such type, or no debug information.
  virtual Result<Type> type_named(const std::string& name) = 0;
  // Returns the place of the returned value ($return), valid at the moment the function has returned. Unavailable: in an x87
  // register (long double), of Go in a floating-point register or on the stack, or optimized out. index: which result of a Go
  // function, from 0; ignored for other languages. Errors: the function returns nothing, or has no such result; no debug
  // information.
  virtual Result<Place> return_value(FileAddress function, size_t index = 0) = 0;

  // Asks all questions about functions, for the cache: declarations, variables at the entry, results, inlined calls, and the
  // types that they lead to. Returns the number of functions. Takes seconds for a large library. Error: no debug information.
  virtual Result<size_t> learn_all() = 0;
  // Writes what was learned to the cache; so does the destructor. False: it could not be written, which only costs time.
  virtual bool save_cache() = 0;
  // True once DWARF had to be opened: tests and -v use it to recognize cached answers.
  virtual bool opened_dwarf() const = 0;
};

// Removes the places whose function (CodePlace::linkage_name) or source file does not match the pattern.
void keep_matching(const FunctionPattern& pattern, CodePlaces& places);
// Does so, and keeps the places in functions that only another symbol of theirs names so, which debug information does not know:
// malloc, where it says __libc_malloc.
void keep_matching(const FunctionPattern& pattern, CodePlaces& places, Module& module);

// Returns the functions of a pattern's name with the parameters that they have, for a pattern whose own ("f(short)") are those of
// none; empty: the pattern has none, or no function has the name.
std::vector<std::string> signatures_of(Module& module, const std::string& pattern);

// Returns with_scopes() (terms/names.h) for a pattern that matched none of the module's functions.
std::string name_with_scopes(Module& module, const std::string& pattern);

// ---- paths from a variable: ->member  .member  [index]  *

struct Step {
  enum class Kind : uint8_t {
    kMember,        // of a struct or union, or of what a pointer points to (both -> and .)
    kIndex,         // of an array or pointer, by the constant `index`
    kDynamicIndex,  // of an array or pointer, by the value of location::Index number `index`, at run time
    kDereference,   // of a pointer
  };
  Kind kind;
  std::string member;  // kMember: its name
  int64_t index = 0;   // kIndex, kDynamicIndex
};

// Returns the place of what the path leads to. Errors name the type and the step; the hint has did-you-mean.
Result<Place> walk(const Place& start, std::span<const Step> steps);
// Returns operations that leave the value of a scalar as a 64-bit number (arrays and functions: their address, as in C).
// A float or double becomes the bits of a double. Errors: unavailable, a whole struct or union, long double, other sizes than 1,
// 2, 4, 8.
Result<location::Operations> load(const Place& place);
// Returns operations that leave 8 bytes, from byte `offset` on, of a value that lies in registers or in pieces; bytes behind its
// end are 0. Errors: it is in memory, or some of these bytes are optimized out.
Result<location::Operations> load_word(const Place& place, uint64_t offset);
// Returns operations that leave the run-time address of the place. Error: it is unavailable, in a register, or a bit-field.
Result<location::Operations> address(const Place& place);

}  // namespace spile::debuginfo
