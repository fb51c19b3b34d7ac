#include "debuginfo/elf/link_tables.h"

#include <cstring>
#include <unordered_map>

#include "abi/native_elf.h"

namespace spile::debuginfo {
namespace {

template <typename T>
std::optional<T> value_at(std::string_view bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

// https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation: pc, base and semaphore, then three strings. base
// is where .stapsdt.base was when the note was written: prelink moves that section and not the notes.
constexpr uint32_t kStapSdt = 3;
constexpr uint64_t kAddresses = 3 * sizeof(uint64_t);

std::optional<Mark> read_mark(std::string_view description, const ElfImage::Section* base) {
  auto pc = value_at<uint64_t>(description, 0);
  auto base_then = value_at<uint64_t>(description, 8);
  auto semaphore = value_at<uint64_t>(description, 16);
  if (!pc || !base_then || !semaphore) return std::nullopt;
  Mark mark;
  uint64_t at = kAddresses;
  for (std::string* text : {&mark.provider, &mark.name, &mark.arguments}) {
    *text = ElfImage::string_at(description, at);
    at += text->size() + 1;
  }
  if (mark.provider.empty() || mark.name.empty()) return std::nullopt;
  const uint64_t moved = base ? base->address - *base_then : 0;
  mark.address = FileAddress(*pc + moved);
  mark.semaphore = FileAddress(*semaphore ? *semaphore + moved : 0);
  return mark;
}

// An entry ends in "ff 25 rel32": jmp *slot(%rip). Before it may stand endbr64 and a bnd prefix.
constexpr uint64_t kEntrySize = 16, kShortEntrySize = 8, kJumpSize = 6;

// A word of the global offset table that tells where the module's thread-local variables are.
struct ThreadSlot {
  uint64_t address;
  uint64_t offset;  // of the variable that it is for, in the module's
  // No other module's variable can have taken the place of the one that it is for.
  bool own;
};

// The best slot of that type of relocation.
std::optional<ThreadSlot> find_thread_slot(const ElfImage& image, uint64_t wanted) {
  std::optional<ThreadSlot> best;
  for (const ElfImage::Section& section : image.sections()) {
    if (section.type != SHT_RELA || section.link >= image.sections().size()) continue;
    const auto symbols = image.symbols(image.sections()[section.link]);
    const std::string_view bytes = image.contents(section);
    for (uint64_t at = 0; auto rela = value_at<Elf64_Rela>(bytes, at); at += sizeof(Elf64_Rela)) {
      if (ELF64_R_TYPE(rela->r_info) != wanted) continue;
      const uint64_t number = ELF64_R_SYM(rela->r_info);
      ThreadSlot slot{rela->r_offset, static_cast<uint64_t>(rela->r_addend), true};
      if (number != 0) {
        if (number >= symbols.size() || symbols[number].st_shndx == SHN_UNDEF) continue;
        slot.offset += symbols[number].st_value;
        slot.own =
            ELF64_ST_BIND(symbols[number].st_info) == STB_LOCAL || ELF64_ST_VISIBILITY(symbols[number].st_other) != STV_DEFAULT;
      }
      if (slot.own) return slot;
      if (!best) best = slot;
    }
  }
  return best;
}

}  // namespace

Result<location::Operations> thread_block(const ElfImage& image, bool is_executable) {
  const auto& tls = image.thread_locals();
  if (!tls) return Error{"is thread-local in a module without thread-local storage", {}};
  auto negative = [](uint64_t value) { return static_cast<int64_t>(0 - value); };
  if (is_executable) {
    if ((tls->alignment & (tls->alignment - 1)) != 0) return Error{"has a damaged description", {}};
    const uint64_t padding = (0 - tls->address - tls->memory_size) & (tls->alignment - 1);
    return location::Operations{location::ThreadPointer{}, location::PlusConstant{negative(tls->memory_size + padding)}};
  }
  auto by_offset = find_thread_slot(image, abi::kElf.thread_offset), by_number = find_thread_slot(image, abi::kElf.thread_module);
  // A variable that another module has as well may be the other's: then only numbers that are surely our own help.
  if (by_offset && by_number && by_number->own && !by_offset->own) by_offset.reset();
  if (by_offset) {
    return location::Operations{location::ThreadPointer{}, location::Address{FileAddress(by_offset->address)}, location::Deref{8},
                                location::Binary::kPlus, location::PlusConstant{negative(by_offset->offset)}};
  }
  if (!by_number)
    return Error{
        "is thread-local, and its library does not record its module number (it was built with -mtls-dialect=gnu2, or no code "
        "uses it)",
        {}};
  for (std::string_view library : image.needed()) {
    if (library == "libc.so" || library.find("musl") != library.npos)
      return Error{"is thread-local in a library for musl, which is laid out differently from glibc", {}};
  }
  return location::Operations{location::Address{FileAddress(by_number->address)}, location::ThreadBlock{}};
}

// <sys/sdt.h> puts semaphores into a section of their own. A program that has none names them after their marks. Whatever else
// the note says is not counted up in somebody's memory.
static bool is_semaphore(const ElfImage& image, const Mark& mark) {
  const uint64_t at = mark.semaphore.value;
  if (const ElfImage::Section* probes = image.section(".probes")) {
    return at >= probes->address && at - probes->address < probes->size &&
           probes->size - (at - probes->address) >= sizeof(uint16_t);
  }
  for (const ElfImage::Section& section : image.sections()) {
    if (section.type != SHT_SYMTAB && section.type != SHT_DYNSYM) continue;
    const std::string_view strings = image.strings_of(section);
    for (const Elf64_Sym& symbol : image.symbols(section)) {
      if (symbol.st_value == at && ElfImage::string_at(strings, symbol.st_name).ends_with("_semaphore")) return true;
    }
  }
  return false;
}

std::vector<Mark> read_marks(const ElfImage& image) {
  std::vector<Mark> marks;
  const ElfImage::Section* base = image.section(".stapsdt.base");
  for (const ElfImage::Section& section : image.sections()) {
    if (section.type != SHT_NOTE || section.name != ".note.stapsdt") continue;
    const std::string_view notes = image.contents(section);
    auto align = [](uint64_t v) { return (v + 3) & ~uint64_t{3}; };
    for (uint64_t offset = 0; auto note = value_at<Elf64_Nhdr>(notes, offset);) {
      const uint64_t name = offset + sizeof(Elf64_Nhdr);
      const uint64_t description = align(name + note->n_namesz);
      const uint64_t end = description + note->n_descsz;
      if (end > notes.size()) break;
      if (note->n_type == kStapSdt && ElfImage::string_at(notes, name) == "stapsdt") {
        if (auto mark = read_mark(notes.substr(description, note->n_descsz), base)) marks.push_back(std::move(*mark));
      }
      offset = align(end);
    }
  }
  for (Mark& mark : marks) {
    if (mark.semaphore.value != 0 && !is_semaphore(image, mark)) mark.semaphore = kNoSuchSemaphore;
  }
  return marks;
}

std::unordered_map<uint64_t, std::string_view> imported_slots(const ElfImage& image) {
  std::unordered_map<uint64_t, std::string_view> slots;
  for (const ElfImage::Section& section : image.sections()) {
    if (section.type != SHT_RELA || section.link >= image.sections().size()) continue;
    const ElfImage::Section& symbol_section = image.sections()[section.link];
    const auto symbols = image.symbols(symbol_section);
    const std::string_view strings = image.strings_of(symbol_section);
    const std::string_view bytes = image.contents(section);
    for (uint64_t at = 0; auto rela = value_at<Elf64_Rela>(bytes, at); at += sizeof(Elf64_Rela)) {
      const uint64_t type = ELF64_R_TYPE(rela->r_info), symbol = ELF64_R_SYM(rela->r_info);
      if ((type != abi::kElf.jump_slot && type != abi::kElf.global_data) || symbol >= symbols.size()) continue;
      const std::string_view name = ElfImage::string_at(strings, symbols[symbol].st_name);
      if (!name.empty()) slots.emplace(rela->r_offset, name);
    }
  }
  return slots;
}

std::vector<FileAddress> slots_of_ifunc(const ElfImage& image, FileAddress resolver) {
  std::vector<FileAddress> slots;
  for (const ElfImage::Section& section : image.sections()) {
    if (section.type != SHT_RELA) continue;
    const std::string_view bytes = image.contents(section);
    for (uint64_t at = 0; auto rela = value_at<Elf64_Rela>(bytes, at); at += sizeof(Elf64_Rela)) {
      if (ELF64_R_TYPE(rela->r_info) == abi::kElf.indirect && static_cast<uint64_t>(rela->r_addend) == resolver.value)
        slots.emplace_back(rela->r_offset);
    }
  }
  return slots;
}

std::vector<PltEntry> read_plt(const ElfImage& image) {
  std::vector<PltEntry> entries;
  const auto slots = imported_slots(image);
  for (const ElfImage::Section& section : image.sections()) {
    if (section.name != ".plt" && section.name != ".plt.sec" && section.name != ".plt.got") continue;
    const std::string_view code = image.contents(section);
    uint64_t entry = 0;
    for (uint64_t at = 0; at + kJumpSize <= code.size(); ++at) {
      if (code[at] != '\xff' || code[at + 1] != '\x25') continue;
      const uint64_t slot = section.address + at + kJumpSize + static_cast<uint64_t>(int64_t{*value_at<int32_t>(code, at + 2)});
      auto known = slots.find(slot);
      if (known == slots.end()) continue;
      const uint64_t size = section.name == ".plt.got" && at % kEntrySize == kShortEntrySize ? kShortEntrySize : kEntrySize;
      entry = at / size * size;
      entries.push_back({std::string(known->second), FileAddress(section.address + entry), size});
    }
  }
  return entries;
}

}  // namespace spile::debuginfo
