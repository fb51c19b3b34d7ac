#include "engine/patch/dynamic_linker.h"

#include <elf.h>
#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <fstream>

#include "abi/arena.h"
#include "engine/patch/site_builder.h"

namespace spile::engine {
namespace {

constexpr uint32_t kOwnerDied = 0x40000000;  // FUTEX_OWNER_DIED
constexpr uint64_t kMostStrings = uint64_t{16} << 20;
constexpr uint32_t kMostSymbols = 1 << 16;  // of a dynamic linker; guards against a table that never ends
constexpr int kMostHeaders = 4096;
constexpr uint64_t kMostEntries = 4096 * sizeof(Elf64_Dyn);

struct DynamicTables {
  uint64_t symbols = 0, strings = 0, strings_size = 0, gnu_hash = 0, hash = 0;
  std::vector<uint64_t> needed;  // offsets into the strings
};

Result<DynamicTables> read_tables(const TargetMemory& memory, const Module& module) {
  TRY(Elf64_Ehdr header, memory.read_value<Elf64_Ehdr>(module.lowest));
  DynamicTables tables;
  for (int i = 0; i < std::min<int>(header.e_phnum, kMostHeaders); i++) {
    TRY(Elf64_Phdr program, memory.read_value<Elf64_Phdr>(module.lowest + (header.e_phoff + i * sizeof(Elf64_Phdr))));
    if (program.p_type != PT_DYNAMIC) continue;
    for (uint64_t at = 0; at < std::min(program.p_memsz, kMostEntries); at += sizeof(Elf64_Dyn)) {
      TRY(Elf64_Dyn entry, memory.read_value<Elf64_Dyn>(Address(program.p_vaddr + module.bias + at)));
      // glibc adds the bias to these in place, once it has relocated itself.
      uint64_t value = entry.d_un.d_ptr;
      if (value < module.lowest.value) value += module.bias;
      if (entry.d_tag == DT_SYMTAB) tables.symbols = value;
      if (entry.d_tag == DT_STRTAB) tables.strings = value;
      if (entry.d_tag == DT_STRSZ) tables.strings_size = entry.d_un.d_val;
      if (entry.d_tag == DT_NEEDED) tables.needed.push_back(entry.d_un.d_val);
      if (entry.d_tag == DT_GNU_HASH) tables.gnu_hash = value;
      if (entry.d_tag == DT_HASH) tables.hash = value;
      if (entry.d_tag == DT_NULL) break;
    }
  }
  if (!tables.symbols || !tables.strings) return Error{module.path + " has no dynamic symbols", ""};
  return tables;
}

// The DT_GNU_HASH table: header {buckets, first symbol, bloom words, shift}, bloom filter, buckets, chains; a chain
// ends where the lowest bit of a hash is set.
Result<uint32_t> count_by_gnu_hash(const TargetMemory& memory, uint64_t table) {
  struct Header {
    uint32_t buckets, first, bloom_words, shift;
  };
  TRY(Header header, memory.read_value<Header>(Address(table)));
  uint64_t buckets = table + sizeof(Header) + uint64_t{header.bloom_words} * 8;
  uint64_t chains = buckets + uint64_t{header.buckets} * 4;
  uint32_t last = 0;
  for (uint32_t i = 0; i < std::min(header.buckets, kMostSymbols); i++) {
    TRY(uint32_t first, memory.read_value<uint32_t>(Address(buckets + i * 4)));
    last = std::max(last, first);
  }
  if (last < header.first) return header.first;
  for (; last < kMostSymbols; last++) {
    TRY(uint32_t hash, memory.read_value<uint32_t>(Address(chains + uint64_t{last - header.first} * 4)));
    if (hash & 1) break;
  }
  return last + 1;
}

Result<uint32_t> count_symbols(const TargetMemory& memory, const DynamicTables& tables) {
  if (tables.gnu_hash) return count_by_gnu_hash(memory, tables.gnu_hash);
  if (!tables.hash) return Error{"no symbol hash table", ""};
  TRY(uint32_t count, memory.read_value<uint32_t>(Address(tables.hash + 4)));
  return std::min(count, kMostSymbols);
}

}  // namespace

const Module* find_linker(pid_t pid, const std::vector<Module>& modules) {
  std::ifstream file(fmt::format("/proc/{}/auxv", pid), std::ios::binary);
  Elf64_auxv_t entry;
  uint64_t base = 0;
  while (file.read(reinterpret_cast<char*>(&entry), sizeof entry)) {
    if (entry.a_type == AT_BASE) base = entry.a_un.a_val;
  }
  if (base == 0) return nullptr;
  for (const Module& module : modules) {
    if (module.lowest.value == base) return &module;
  }
  return nullptr;
}

Result<Address> find_dynamic_symbol(const TargetMemory& memory, const Module& module, std::string_view name) {
  TRY(DynamicTables tables, read_tables(memory, module));
  TRY(uint32_t count, count_symbols(memory, tables));
  std::vector<Elf64_Sym> symbols(count);
  TRY_DO(memory.read(Address(tables.symbols), {reinterpret_cast<uint8_t*>(symbols.data()), symbols.size() * sizeof(Elf64_Sym)}));
  std::vector<uint8_t> text(name.size() + 1);
  for (const Elf64_Sym& symbol : symbols) {
    if (symbol.st_value == 0 || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
    if (!memory.read(Address(tables.strings + symbol.st_name), text).ok()) continue;
    if (memcmp(text.data(), name.data(), name.size()) == 0 && text.back() == 0) {
      return Address(symbol.st_value + module.bias);
    }
  }
  return Error{fmt::format("{} has no symbol {}", module.path, name), ""};
}

Result<DynamicNames> read_dynamic_names(const TargetMemory& memory, const Module& module) {
  TRY(DynamicTables tables, read_tables(memory, module));
  std::string strings(std::min(tables.strings_size, kMostStrings), '\0');
  TRY_DO(memory.read(Address(tables.strings), {reinterpret_cast<uint8_t*>(strings.data()), strings.size()}));
  auto string_at = [&](uint64_t offset) {
    return offset < strings.size() ? std::string(strings.c_str() + offset) : std::string();
  };
  DynamicNames names;
  for (uint64_t offset : tables.needed) names.needed.push_back(string_at(offset));
  auto count = count_symbols(memory, tables);
  if (!count.ok()) return names;
  std::vector<Elf64_Sym> symbols(*count);
  TRY_DO(memory.read(Address(tables.symbols), {reinterpret_cast<uint8_t*>(symbols.data()), symbols.size() * sizeof(Elf64_Sym)}));
  for (const Elf64_Sym& symbol : symbols) {
    std::string name = string_at(symbol.st_name);
    if (name.empty()) continue;
    bool defined = symbol.st_value != 0 && symbol.st_shndx != SHN_UNDEF;
    if (!defined) names.imported.insert(std::move(name));
    else if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC) names.functions[std::move(name)] = FileAddress(symbol.st_value);
  }
  return names;
}

namespace {

// Makes, for a place, the code that runs before a function's displaced instructions.
using Prefix = FunctionRef<std::vector<uint8_t>(Address at)>;

// Builds a site at the entry of a function. *code_at: where the prefix is.
Result<PatchedSite> build_entry(const AddressSpace& space, Address function, Region& region, Prefix prefix, Address* code_at) {
  const Architecture& machine = native_architecture();
  std::vector<uint8_t> text(machine.lookahead());
  text.resize(space.memory.read_some(function, text));
  // Its size in the symbol table is that of a lone return; the padding behind it takes the jump.
  SitePlan plan = machine.plan_entry(text, function, 0);
  if (plan.mechanism == Mechanism::kRefused)
    return Error{fmt::format("the function at {:#x} can't be patched: {}", function.value, plan.reason), ""};
  std::span<const uint8_t> original = std::span(text).subspan(static_cast<size_t>(plan.begin - function), plan.window);

  std::vector<uint8_t> code = prefix(region.next());
  const auto size = static_cast<uint32_t>(code.size());
  TRY(Trampoline trampoline, machine.emit_trampoline(plan, original, {}, region.next() + size));
  TRY(PatchedSite site, build_site(plan, original, trampoline, region.next(), size));
  code.insert(code.end(), trampoline.code.begin(), trampoline.code.end());
  JournalEntry entry{};
  entry.address = site.begin.value;
  memcpy(entry.original, site.original, kMaxPatch);
  memcpy(entry.patched, site.patched, kMaxPatch);
  entry.length = site.overwritten;
  entry.trampoline_offset = static_cast<uint32_t>(region.next() - region.address());
  region.append_journal(entry);
  *code_at = region.append_code(code);
  return site;
}

}  // namespace

Result<PatchedSite> build_trap(const AddressSpace& space, Address function, Region& region, std::span<const uint32_t> only_for,
                               Address* trap) {
  const Address word = space.clients.at(kOwnClient).arena.begin + offsetof(abi::ArenaHeader, controller_futex);
  uint32_t trap_offset = 0;
  TRY(PatchedSite site,
      build_entry(
          space, function, region,
          [&](Address at) { return native_architecture().emit_trap_unless(at, word, kOwnerDied, only_for, &trap_offset); },
          trap));
  *trap = *trap + trap_offset;
  return site;
}

Result<PatchedSite> build_counter(const AddressSpace& space, Address function, Region& region, Address word) {
  Address counter;
  return build_entry(space, function, region, [&](Address at) { return native_architecture().emit_count(at, word); }, &counter);
}

}  // namespace spile::engine
