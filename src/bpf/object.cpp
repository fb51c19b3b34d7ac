#include "bpf/object.h"

#include <elf.h>
#include <fmt/format.h>
#include <gelf.h>
#include <libelf.h>

#include <memory>

namespace spile::bpf {
namespace {

constexpr uint16_t kMachineBpf = 247;

struct ElfCloser {
  void operator()(Elf* elf) const { elf_end(elf); }
};
using ElfHandle = std::unique_ptr<Elf, ElfCloser>;

Error malformed(const std::string& what) { return Error{"kernel object: " + what + ": " + elf_errmsg(-1), ""}; }

Result<void> read_section(Elf* elf, Elf_Scn* scn, size_t names, Section& section) {
  GElf_Shdr header;
  if (!gelf_getshdr(scn, &header)) return malformed("section header");
  const char* name = elf_strptr(elf, names, header.sh_name);
  section.name = name ? name : "";
  const bool has_lines = section.name == kTypesSection || section.name == kLinesSection;
  if (!(header.sh_flags & SHF_ALLOC) && !has_lines) return {};
  section.code = header.sh_flags & SHF_EXECINSTR;
  section.data = !section.code && !has_lines;
  section.writable = header.sh_flags & SHF_WRITE;
  if (header.sh_type == SHT_NOBITS) {
    section.bytes.resize(header.sh_size);
    return {};
  }
  Elf_Data* data = elf_getdata(scn, nullptr);
  if (!data) return malformed("section " + section.name);
  const auto* bytes = static_cast<const uint8_t*>(data->d_buf);
  if (data->d_size) section.bytes.assign(bytes, bytes + data->d_size);
  return {};
}

Result<void> read_symbols(Elf* elf, Elf_Scn* scn, const GElf_Shdr& header, Object& object) {
  Elf_Data* data = elf_getdata(scn, nullptr);
  if (!data || header.sh_entsize == 0) return malformed("symbols");
  size_t count = header.sh_size / header.sh_entsize;
  for (size_t i = 0; i < count; ++i) {
    GElf_Sym from;
    if (!gelf_getsym(data, static_cast<int>(i), &from)) return malformed("symbol");
    Symbol symbol;
    const char* name = elf_strptr(elf, header.sh_link, from.st_name);
    symbol.name = name ? name : "";
    symbol.section = from.st_shndx < object.sections.size() ? from.st_shndx : 0;
    symbol.value = from.st_value;
    symbol.size = from.st_size;
    object.symbols.push_back(std::move(symbol));
  }
  return {};
}

Result<void> read_relocations(Elf_Scn* scn, const GElf_Shdr& header, Object& object) {
  if (header.sh_info >= object.sections.size()) return malformed("relocations");
  Section& section = object.sections[header.sh_info];
  Elf_Data* data = elf_getdata(scn, nullptr);
  if (!data || header.sh_entsize == 0) return malformed("relocations of " + section.name);
  size_t count = header.sh_size / header.sh_entsize;
  for (size_t i = 0; i < count; ++i) {
    GElf_Rel from;
    if (!gelf_getrel(data, static_cast<int>(i), &from)) return malformed("relocation");
    Relocation relocation{from.r_offset, static_cast<uint32_t>(GELF_R_TYPE(from.r_info)),
                          static_cast<uint32_t>(GELF_R_SYM(from.r_info))};
    if (relocation.symbol >= object.symbols.size()) return malformed("relocation's symbol");
    section.relocations.push_back(relocation);
  }
  return {};
}

}  // namespace

const Section* Object::find_section(const std::string& name) const {
  for (const Section& section : sections)
    if (section.name == name) return &section;
  return nullptr;
}

const Symbol* Object::find_symbol(const std::string& name) const {
  for (const Symbol& symbol : symbols)
    if (symbol.section != 0 && symbol.name == name) return &symbol;
  return nullptr;
}

Result<Object> read_object(std::span<const uint8_t> bytes) {
  elf_version(EV_CURRENT);
  // libelf wants a writable pointer, but elf_memory without updates only reads.
  ElfHandle elf(elf_memory(reinterpret_cast<char*>(const_cast<uint8_t*>(bytes.data())), bytes.size()));
  GElf_Ehdr header;
  if (!elf || elf_kind(elf.get()) != ELF_K_ELF || !gelf_getehdr(elf.get(), &header))
    return Error{"kernel object: not an ELF file", ""};
  if (header.e_machine != kMachineBpf || header.e_type != ET_REL)
    return Error{
        fmt::format("kernel object: machine {}, type {}: not a relocatable eBPF object", header.e_machine, header.e_type), ""};
  size_t count = 0, names = 0;
  if (elf_getshdrnum(elf.get(), &count) != 0 || elf_getshdrstrndx(elf.get(), &names) != 0) return malformed("section table");

  Object object;
  object.sections.resize(count);
  // Sections, then symbols (which name sections), then relocations (which name symbols).
  for (int pass = 0; pass < 3; ++pass) {
    for (Elf_Scn* scn = nullptr; (scn = elf_nextscn(elf.get(), scn));) {
      GElf_Shdr section;
      if (!gelf_getshdr(scn, &section)) return malformed("section header");
      if (pass == 0) TRY_DO(read_section(elf.get(), scn, names, object.sections[elf_ndxscn(scn)]));
      if (pass == 1 && section.sh_type == SHT_SYMTAB) TRY_DO(read_symbols(elf.get(), scn, section, object));
      if (pass == 2 && section.sh_type == SHT_REL) TRY_DO(read_relocations(scn, section, object));
    }
  }
  return object;
}

}  // namespace spile::bpf
