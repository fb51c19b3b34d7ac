#pragma once
// Decides which symbols of code are functions, that is, begin where calls come. Compilers and programs that arrange code anew
// (BOLT, Propeller) give symbols to parts of functions, too, which are reached by jumps: a part has no return address on top of
// the stack where it begins: a hit there means no call. Assemblers give symbols without type or size to real functions. No name
// is enough; what decides is what name, call frame information and calls agree on:
//
//   symbol                                  it is a part if                                             otherwise
//   foo.cold                                always: gcc, BOLT, Propeller, clang's function splitter
//   foo.cold.N                              no call leads there, or it begins with a frame (gcc 7,      a function: clang's
//                                           BOLT)                                                       outlining of cold code
//   foo.warm (BOLT), foo.eh, foo.__part.N   foo is a symbol, or it begins with a frame                  a function if it has
//   (Propeller)                                                                                         a function's type
//   foo.OTHER                               foo is a symbol, and it begins with a frame                 a function
//   foo.part.N, foo.isra.N, foo.llvm.N ...  never: they are called
//
// "With a frame": the first row of its call frame information is another than after a call. A symbol without a function's type or
// without a size is a function if no other one has its address, and
//   - call frame information begins there, as after a call, or
//   - there is none, and it has a function's type and was global in its source, or a call leads there.
// Its code goes on to the end of its call frame information, or else to the next symbol. Labels inside functions, the marks of
// linkers and runtimes (etext, camlMain__code_begin, runtime.text), and what crtstuff.c has (frame_dummy) are none. Thread rule:
// one thread for each object.

#include <span>
#include <string_view>
#include <vector>

#include "debuginfo/elf/elf_image.h"

namespace spile::debuginfo {

// A symbol in code.
struct CodeSymbol {
  uint64_t address, size;
  std::string_view name;
  Function::Source source;
  uint8_t type, binding;  // STT_*, STB_*
};
struct DoubtfulSymbol : CodeSymbol {
  bool global_in_source;        // global now, or hidden, which linkers make local
  uint64_t section_end;         // address
  std::string_view whole = {};  // of a part: the name of the function that it is a part of
};

// Whether nothing more has to be looked at: it has a function's type, a size, and no name that a part could have.
bool is_surely_function(const CodeSymbol& symbol);
// Whether another symbol may be a function or a part of one. section: the name of the one that it is in, which has code.
bool is_doubtful(const DoubtfulSymbol& symbol, std::string_view section);

struct DecidedSymbols {
  std::vector<CodeSymbol> functions;
  std::vector<DoubtfulSymbol> parts;
};
// Decides for doubtful symbols. known: those that are; in any order. image: has the code. Reads .eh_frame and
// looks for calls only if there is a symbol for which this matters. Sizes of the result are never 0.
DecidedSymbols decide_entries(const ElfImage& image, std::vector<DoubtfulSymbol> doubtful, std::span<const CodeSymbol> known);

}  // namespace spile::debuginfo
