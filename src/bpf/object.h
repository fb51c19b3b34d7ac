#pragma once
// Reads an eBPF object as LLVM writes it: ELF64 relocatable, EM_BPF. Programs are in executable sections, data in allocated ones,
// and maps are undefined symbols. https://docs.kernel.org/bpf/llvm_reloc.html has the relocations.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace spile::bpf {

struct Symbol {
  std::string name;      // empty for section symbols
  uint32_t section = 0;  // index into Object::sections; 0: undefined
  uint64_t value = 0;    // offset in the section, in bytes
  uint64_t size = 0;     // bytes
};

struct Relocation {
  uint64_t offset = 0;  // in the section, in bytes
  uint32_t type = 0;    // R_BPF_64_64 (1), R_BPF_64_32 (10), ...
  uint32_t symbol = 0;  // index into Object::symbols
};

// The statement that an instruction, and those after it up to the next line's, belong to.
struct ScriptLine {
  uint32_t instruction = 0;       // index
  std::string file, text;         // text: of the whole line; both may be empty
  uint32_t line = 0, column = 0;  // from 1; 0: not known
};

inline constexpr char kTypesSection[] = ".BTF", kLinesSection[] = ".BTF.ext";

struct Section {
  std::string name;
  bool code = false;
  bool data = false;  // allocated, not code
  bool writable = false;
  std::vector<uint8_t> bytes;
  std::vector<Relocation> relocations;
  std::vector<ScriptLine> lines;  // by ascending instruction; empty: not known
};

inline constexpr uint32_t kRelocation64 = 1;     // R_BPF_64_64: the two halves of ld_imm64
inline constexpr uint32_t kRelocationCall = 10;  // R_BPF_64_32: call of another function

struct Object {
  std::vector<Section> sections;  // by ELF index; [0] is empty
  std::vector<Symbol> symbols;    // by ELF index

  // Return the section, and the defined symbol, of a name; null: absent. They point into this object.
  const Section* find_section(const std::string& name) const;
  const Symbol* find_symbol(const std::string& name) const;
};

// Copies what it needs of `bytes`. Errors: they are not such an object, or it is damaged.
Result<Object> read_object(std::span<const uint8_t> bytes);

}  // namespace spile::bpf
