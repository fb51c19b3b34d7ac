#include "debuginfo/linked_object.h"

#include <elf.h>
#include <errno.h>
#include <fmt/format.h>
#include <libelf.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>

#include "base/files/elf_header.h"
#include "base/files/file.h"
#include "base/files/stable_file.h"

namespace spile::debuginfo {

namespace {

constexpr uint64_t kLargest = uint64_t{2} << 30;  // bytes of an object, and of it with its sections inflated
constexpr uint64_t kLargestAlignment = 4096;
constexpr uint64_t kMostSections = 1 << 16;

class Linker {
 public:
  Linker(const std::string& path, std::string bytes) : path_(path), bytes_(std::move(bytes)) {}

  Result<void> link() {
    TRY_DO(read_headers());
    TRY_DO(inflate());
    place();
    move_symbols();
    for (size_t i = 0; i < sections_.size(); ++i) {
      if (sections_[i].sh_type == SHT_RELA) relocate(sections_[i]);
    }
    return write_headers();
  }

  const std::string& bytes() const { return bytes_; }
  const std::vector<PlacedSection>& placed() const { return placed_; }

 private:
  Error damaged(const char* what) const { return {fmt::format("{}: damaged: {}", path_, what), ""}; }

  template <typename T>
  std::vector<T> table(uint64_t offset, uint64_t count) const {
    std::vector<T> entries;
    if (offset > bytes_.size() || count > (bytes_.size() - offset) / sizeof(T)) return entries;
    entries.resize(count);
    if (count > 0) std::memcpy(entries.data(), bytes_.data() + offset, count * sizeof(T));
    return entries;
  }
  template <typename T>
  void store(uint64_t offset, const T& value) {
    std::memcpy(bytes_.data() + offset, &value, sizeof value);
  }

  Result<void> read_headers() {
    if (bytes_.size() < sizeof header_) return Error{fmt::format("{}: not an ELF file (too short)", path_), ""};
    std::memcpy(&header_, bytes_.data(), sizeof header_);
    if (!is_native_elf(header_) || header_.e_type != ET_REL)
      return Error{fmt::format("{}: not a relocatable object of this machine, as modules of the kernel are", path_), ""};
    if (header_.e_shentsize != sizeof(Elf64_Shdr) || header_.e_shnum == 0) return damaged("it has no section headers");
    sections_ = table<Elf64_Shdr>(header_.e_shoff, header_.e_shnum);
    if (sections_.empty() || sections_.size() > kMostSections) return damaged("its section headers reach beyond its end");
    return {};
  }

  std::string name_of(const Elf64_Shdr& section) const {
    if (header_.e_shstrndx >= sections_.size()) return {};
    const Elf64_Shdr& names = sections_[header_.e_shstrndx];
    if (!in_file(names) || section.sh_name >= names.sh_size) return {};
    const char* begin = bytes_.data() + names.sh_offset + section.sh_name;
    return {begin, strnlen(begin, names.sh_size - section.sh_name)};
  }

  bool in_file(const Elf64_Shdr& section) const {
    return section.sh_type != SHT_NOBITS && section.sh_offset <= bytes_.size() &&
           section.sh_size <= bytes_.size() - section.sh_offset;
  }

  // Relocations are of the bytes that compressed sections have when they are inflated. These are put at the file's end.
  Result<void> inflate() {
    const auto is_compressed = [](const Elf64_Shdr& section) { return (section.sh_flags & SHF_COMPRESSED) != 0; };
    if (std::ranges::none_of(sections_, is_compressed)) return {};
    std::string copy = bytes_;
    elf_version(EV_CURRENT);
    const std::unique_ptr<Elf, int (*)(Elf*)> elf(elf_memory(copy.data(), copy.size()), elf_end);
    for (size_t i = 0; elf && i < sections_.size(); ++i) {
      if (!is_compressed(sections_[i])) continue;
      const auto head = table<Elf64_Chdr>(sections_[i].sh_offset, 1);
      if (head.empty() || head[0].ch_size > kLargest - bytes_.size())
        return damaged("a compressed section says that it is larger than 2 GiB");
      Elf_Scn* section = elf_getscn(elf.get(), i);
      if (!section || elf_compress(section, 0, 0) < 0) return damaged("a compressed section can't be inflated");
      const Elf_Data* data = elf_getdata(section, nullptr);
      if (!data || !data->d_buf || data->d_size > kLargest - bytes_.size())
        return damaged("a compressed section can't be inflated");
      sections_[i].sh_offset = bytes_.size();
      sections_[i].sh_size = data->d_size;
      sections_[i].sh_flags &= ~uint64_t{SHF_COMPRESSED};
      bytes_.append(static_cast<const char*>(data->d_buf), data->d_size);
    }
    return {};
  }

  void place() {
    uint64_t next = kFirstLinked.value;
    std::set<std::string> names;
    for (Elf64_Shdr& section : sections_) {
      if ((section.sh_flags & SHF_ALLOC) == 0 || section.sh_size == 0 || section.sh_size > kLargest) continue;
      std::string name = name_of(section);
      const bool of_each_cpu = name.find("percpu") != std::string::npos;
      if (of_each_cpu) {
        section.sh_addr = kLargestAlignment;
        continue;
      }
      const uint64_t alignment =
          std::clamp<uint64_t>(std::bit_ceil(std::max<uint64_t>(section.sh_addralign, 1)), 1, kLargestAlignment);
      next = (next + alignment - 1) & ~(alignment - 1);
      section.sh_addr = next;
      next += section.sh_size;
      // Of several sections with one name, the kernel shows one address, which may be that of any.
      if (names.insert(name).second)
        placed_.push_back(
            {std::move(name), FileAddress(section.sh_addr), section.sh_size, (section.sh_flags & SHF_EXECINSTR) != 0});
    }
  }

  // In a relocatable object, the value of a symbol is its offset in its section.
  void move_symbols() {
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type != SHT_SYMTAB || !in_file(section)) continue;
      std::vector<Elf64_Sym> symbols = table<Elf64_Sym>(section.sh_offset, section.sh_size / sizeof(Elf64_Sym));
      for (size_t i = 0; i < symbols.size(); ++i) {
        if (symbols[i].st_shndx == SHN_UNDEF || symbols[i].st_shndx >= sections_.size()) continue;
        symbols[i].st_value += sections_[symbols[i].st_shndx].sh_addr;
        store(section.sh_offset + i * sizeof(Elf64_Sym), symbols[i]);
      }
    }
  }

  // Symbols that other modules or the kernel define have no value here: what refers to them stays as it is.
  void relocate(const Elf64_Shdr& relocations) {
    if (relocations.sh_info >= sections_.size() || relocations.sh_link >= sections_.size() || !in_file(relocations)) return;
    const Elf64_Shdr &target = sections_[relocations.sh_info], &of_symbols = sections_[relocations.sh_link];
    if (!in_file(target) || !in_file(of_symbols) || of_symbols.sh_type != SHT_SYMTAB) return;
    const std::vector<Elf64_Sym> symbols = table<Elf64_Sym>(of_symbols.sh_offset, of_symbols.sh_size / sizeof(Elf64_Sym));
    for (const Elf64_Rela& each : table<Elf64_Rela>(relocations.sh_offset, relocations.sh_size / sizeof(Elf64_Rela))) {
      const uint64_t symbol = ELF64_R_SYM(each.r_info);
      const uint32_t type = ELF64_R_TYPE(each.r_info);
      if (symbol >= symbols.size() || symbols[symbol].st_shndx == SHN_UNDEF) continue;
      const uint64_t value = symbols[symbol].st_value + static_cast<uint64_t>(each.r_addend);
      const bool relative = type == abi::kElf.relative_32 || type == abi::kElf.call_32;
      const uint64_t size = type == abi::kElf.absolute                                                 ? 8
                            : relative || type == abi::kElf.absolute_32 || type == abi::kElf.signed_32 ? 4
                                                                                                       : 0;
      if (size == 0 || each.r_offset > target.sh_size || target.sh_size - each.r_offset < size) continue;
      const uint64_t written = relative ? value - (target.sh_addr + each.r_offset) : value;
      std::memcpy(bytes_.data() + target.sh_offset + each.r_offset, &written, size);  // the low bytes are first
    }
  }

  // Each section is a segment: they are not adjacent in the file as they are in memory.
  Result<void> write_headers() {
    std::vector<Elf64_Phdr> segments;
    for (Elf64_Shdr& section : sections_) {
      // What was applied is not to be applied again.
      if (section.sh_type == SHT_RELA || section.sh_type == SHT_REL) section.sh_type = SHT_NULL;
      if (section.sh_addr < kFirstLinked.value || section.sh_size == 0) continue;
      Elf64_Phdr segment{};
      segment.p_type = PT_LOAD;
      segment.p_flags = PF_R | (section.sh_flags & SHF_EXECINSTR ? PF_X : 0) | (section.sh_flags & SHF_WRITE ? PF_W : 0);
      segment.p_offset = section.sh_offset;
      segment.p_vaddr = section.sh_addr;
      segment.p_filesz = in_file(section) ? section.sh_size : 0;
      segment.p_memsz = section.sh_size;
      segments.push_back(segment);
    }
    if (segments.empty() || segments.size() >= PN_XNUM) return damaged("it has nothing that would be loaded");
    header_.e_type = ET_EXEC;
    header_.e_phoff = bytes_.size();
    header_.e_phentsize = sizeof(Elf64_Phdr);
    header_.e_phnum = static_cast<uint16_t>(segments.size());
    bytes_.append(reinterpret_cast<const char*>(segments.data()), segments.size() * sizeof(Elf64_Phdr));
    header_.e_shoff = bytes_.size();
    bytes_.append(reinterpret_cast<const char*>(sections_.data()), sections_.size() * sizeof(Elf64_Shdr));
    store(0, header_);
    return {};
  }

  const std::string& path_;
  std::string bytes_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Shdr> sections_;
  std::vector<PlacedSection> placed_;
};

// A file in memory that nobody else can write to.
Result<UniqueFd> in_memory(const std::string& path, const std::string& bytes) {
  UniqueFd memory(memfd_create("spile-linked", MFD_CLOEXEC));
  if (!memory || fchmod(memory.get(), S_IRUSR | S_IWUSR) != 0) return Error::from_errno(fmt::format("copy {}", path), errno);
  if (const int failure = write_all(memory.get(), bytes)) return Error::from_errno(fmt::format("copy {}", path), failure);
  return memory;
}

}  // namespace

Result<LinkedObject> open_linked(const std::string& path, const OpenOptions& options) {
  TRY(std::string bytes, read_stable(path, options.place_of(path), kLargest));
  Linker linker(path, std::move(bytes));
  TRY_DO(linker.link());
  LinkedObject object;
  object.sections = linker.placed();
  TRY(UniqueFd file, in_memory(path, linker.bytes()));
  object.file = std::make_shared<UniqueFd>(std::move(file));
  OpenOptions linked = options;
  linked.file = fmt::format("/proc/self/fd/{}", object.file->get());
  TRY(object.module, Module::open(path, linked));
  return object;
}

}  // namespace spile::debuginfo
