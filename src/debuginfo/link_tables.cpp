#include "debuginfo/link_tables.h"

#include <cstring>
#include <unordered_map>

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

// Slots of the global offset table by the symbols that they are for.
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
      if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) || symbol >= symbols.size()) continue;
      const std::string_view name = ElfImage::string_at(strings, symbols[symbol].st_name);
      if (!name.empty()) slots.emplace(rela->r_offset, name);
    }
  }
  return slots;
}

// An entry ends in "ff 25 rel32": jmp *slot(%rip). Before it may stand endbr64 and a bnd prefix.
constexpr uint64_t kEntrySize = 16, kShortEntrySize = 8, kJumpSize = 6;

}  // namespace

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
  return marks;
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
