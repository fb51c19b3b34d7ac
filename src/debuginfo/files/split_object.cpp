#include "debuginfo/files/split_object.h"

#include <fcntl.h>
#include <gelf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string_view>

#include "base/files/stable_file.h"
#include "debuginfo/files/plain_sections.h"

namespace spile::debuginfo {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 31;

template <typename T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

struct ElfCloser {
  void operator()(Elf* elf) const { elf_end(elf); }
};
using OpenElf = std::unique_ptr<Elf, ElfCloser>;

// Calls visit(section, its header, its name) for each section of debug information that is split, or is not.
template <typename Visit>
void each_section(Elf* elf, bool is_split, Visit visit) {
  size_t names = 0;
  if (!elf || elf_kind(elf) != ELF_K_ELF || elf_getshdrstrndx(elf, &names) != 0) return;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section));) {
    GElf_Shdr header;
    const char* name = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : nullptr;
    const std::string_view text = name ? name : "";
    if (header.sh_type != SHT_NOBITS && (text.starts_with(".debug_") || text.starts_with(".zdebug_")) &&
        text.ends_with(".dwo") == is_split)
      visit(section, header, std::string(name));
  }
}

}  // namespace

// Writes an ELF file with these sections.
UniqueFd write_object(const std::vector<std::pair<std::string, std::string>>& sections) {
  std::string names(1, '\0'), contents;
  std::vector<Elf64_Shdr> headers(1);
  auto add = [&](const std::string& name, uint32_t type, std::string_view bytes) {
    Elf64_Shdr header{};
    header.sh_name = static_cast<Elf64_Word>(names.size());
    header.sh_type = type;
    header.sh_offset = sizeof(Elf64_Ehdr) + contents.size();
    header.sh_size = bytes.size();
    header.sh_addralign = 1;
    names += name + '\0';
    contents += bytes;
    headers.push_back(header);
  };
  bool has_more = false;  // than types, without which libdw takes the file for one without debug information
  for (const auto& [name, bytes] : sections) {
    add(name, SHT_PROGBITS, bytes);
    has_more |= name == ".debug_info.dwo" || name == ".debug_line.dwo";
  }
  if (!has_more) add(".debug_line.dwo", SHT_PROGBITS, std::string_view("\0\0\0\0", 4));
  const std::string all_names = names + ".shstrtab" + '\0';
  add(".shstrtab", SHT_STRTAB, all_names);
  contents.resize((contents.size() + 7) & ~size_t{7});
  Elf64_Ehdr header{};
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  header.e_shoff = sizeof header + contents.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(headers.size());
  header.e_shstrndx = static_cast<Elf64_Half>(headers.size() - 1);
  std::string file;
  append(file, header);
  file += contents;
  for (const Elf64_Shdr& section : headers) append(file, section);
  UniqueFd memory(memfd_create("spile-dwo", MFD_CLOEXEC));
  for (size_t done = 0; memory && done < file.size();) {
    const ssize_t written = write(memory.get(), file.data() + done, file.size() - done);
    if (written <= 0) return {};
    done += static_cast<size_t>(written);
  }
  return memory;
}

bool is_misread(const std::string& path) {
  auto file = open_stable(path, path);
  if (!file.ok()) return false;
  const OpenElf elf(elf_begin(file->fd.get(), ELF_C_READ_MMAP_PRIVATE, nullptr));
  size_t units = 0;
  bool unknown = false;
  each_section(elf.get(), true, [&](Elf_Scn* section, const GElf_Shdr& header, const std::string& name) {
    units += name == ".debug_info.dwo" || name == ".debug_types.dwo";
    GElf_Chdr packed;
    unknown |= name.starts_with(".zdebug_");
    unknown |= (header.sh_flags & SHF_COMPRESSED) && gelf_getchdr(section, &packed) && packed.ch_type != ELFCOMPRESS_ZLIB;
  });
  // -gsplit-dwarf=single: both are in the object file, of which libdw reads only the skeleton.
  bool has_skeleton = false;
  if (units > 0)
    each_section(elf.get(), false, [&](Elf_Scn*, const GElf_Shdr&, const std::string& name) {
      has_skeleton |= name == ".debug_info" || name == ".zdebug_info";
    });
  return units > 1 || unknown || has_skeleton;
}

UniqueFd well_read_object(const std::string& path) {
  auto file = open_plain(path);
  if (!file.ok()) return {};
  const OpenElf elf(elf_begin(file->get(), ELF_C_READ_MMAP_PRIVATE, nullptr));
  std::vector<std::pair<std::string, std::string>> sections;
  uint64_t total = 0;
  bool whole = true;
  each_section(elf.get(), true, [&](Elf_Scn* section, const GElf_Shdr&, const std::string& name) {
    Elf_Data* data = whole ? elf_rawdata(section, nullptr) : nullptr;
    if (!data || (data->d_size != 0 && !data->d_buf) || (total += data->d_size) > kMostBytes) whole = false;
    if (!whole || data->d_size == 0) return;
    std::string* joined = nullptr;
    for (auto& [known, bytes] : sections)
      if (known == name) joined = &bytes;
    if (!joined) joined = &sections.emplace_back(name, std::string()).second;
    joined->append(static_cast<const char*>(data->d_buf), data->d_size);
  });
  return whole && !sections.empty() ? write_object(sections) : UniqueFd();
}

}  // namespace spile::debuginfo
