#include "debuginfo/files/plain_sections.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/files/stable_file.h"
#include "debuginfo/cache/answer_cache.h"
#include "debuginfo/files/inflate.h"
#include "debuginfo/files/side_threads.h"

namespace spile::debuginfo {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kInMemory = 32 << 20;  // bytes that are too few for a disk
// Sections of real programs shrink to a ninth at most. More than that is somebody who wants to fill the disk.
constexpr uint64_t kMostBytes = uint64_t{16} << 30, kMostGrowth = 100;

struct Section {
  Elf64_Shdr header;  // as in the new file
  Packed packed;
  std::string name;
  bool copied = false;
  std::string appended;  // to its contents
};

// Before SHF_COMPRESSED (binutils 2.26, Go 1.18) the name said that a section was compressed: .zdebug_info. It begins with "ZLIB"
// and the plain size, the most significant byte first.
constexpr std::string_view kOldPrefix = ".zdebug_", kOldMagic = "ZLIB";
constexpr size_t kOldHeader = 12;

// nullopt: the section does not begin like that.
std::optional<uint64_t> old_plain_size(const Packed& section) {
  unsigned char bytes[kOldHeader];
  if (section.size < kOldHeader || pread(section.fd, bytes, kOldHeader, static_cast<off_t>(section.offset)) != kOldHeader)
    return std::nullopt;
  if (std::string_view(reinterpret_cast<const char*>(bytes), kOldMagic.size()) != kOldMagic) return std::nullopt;
  uint64_t size = 0;
  for (size_t i = kOldMagic.size(); i < kOldHeader; ++i) size = size << 8 | bytes[i];
  return size;
}

bool is_about_debugging(std::string_view name, const Elf64_Shdr& header) {
  return name.starts_with(".debug_") || name.starts_with(kOldPrefix) || name == ".gnu_debugaltlink" || header.sh_type == SHT_NOTE;
}

// Reads what the headers say about all sections. False: damaged.
bool read_sections(Elf* elf, int fd, std::vector<Section>& sections) {
  size_t count = 0, names = 0;
  if (elf_getshdrnum(elf, &count) != 0 || elf_getshdrstrndx(elf, &names) != 0 || names >= count) return false;
  std::vector<std::pair<size_t, std::string>> old_names;  // of sections whose names change
  for (size_t i = 0; i < count; ++i) {
    Elf_Scn* from = elf_getscn(elf, i);
    // Copies: in a damaged file they lie at any address.
    GElf_Shdr header;
    if (!from || !gelf_getshdr(from, &header)) return false;
    const char* name = elf_strptr(elf, names, header.sh_name);
    Section section{
        header, {fd, header.sh_offset, header.sh_size, Compression::kNone, header.sh_size}, name ? name : "", false, {}};
    section.copied =
        header.sh_type != SHT_NOBITS && header.sh_type != SHT_NULL && (i == names || is_about_debugging(section.name, header));
    if (section.copied && (header.sh_flags & SHF_COMPRESSED)) {
      GElf_Chdr packed;
      if (!gelf_getchdr(from, &packed) || header.sh_size < sizeof packed) return false;
      section.packed = {fd, header.sh_offset + sizeof packed, header.sh_size - sizeof packed, Compression{packed.ch_type},
                        packed.ch_size};
      section.header.sh_flags &= ~uint64_t{SHF_COMPRESSED};
      section.header.sh_addralign = packed.ch_addralign;
    }
    if (section.copied && section.name.starts_with(kOldPrefix)) {
      const auto size = old_plain_size(section.packed);
      if (!size) return false;
      section.packed = {fd, header.sh_offset + kOldHeader, header.sh_size - kOldHeader, Compression::kZlib, *size};
      section.name.erase(1, 1);
      old_names.emplace_back(i, section.name);
    }
    if (!section.copied && i != 0) section.header.sh_type = SHT_NOBITS;
    sections.push_back(std::move(section));
  }
  for (const auto& [section, name] : old_names) {
    std::string& appended = sections[names].appended;
    sections[section].header.sh_name = static_cast<Elf64_Word>(sections[names].packed.plain_size + appended.size());
    appended += name + '\0';
  }
  return true;
}

// Gives each section its place. Returns the size of the file; nullopt: larger than a file like that can be.
std::optional<uint64_t> lay_out(std::vector<Section>& sections, uint64_t original_size) {
  const uint64_t most = std::min(kMostBytes, kMostGrowth * original_size + kInMemory);
  uint64_t end = sizeof(Elf64_Ehdr) + sections.size() * sizeof(Elf64_Shdr);
  for (Section& section : sections) {
    if (!section.copied) continue;
    end = (end + kPage - 1) / kPage * kPage;  // so that what has been read of it can be given back
    section.header.sh_offset = end;
    section.header.sh_size = section.packed.plain_size;
    if (section.header.sh_size < kMostBytes) section.header.sh_size += section.appended.size();
    if (section.header.sh_size > most - std::min(end, most)) return std::nullopt;
    end += section.header.sh_size;
  }
  return end;
}

Result<UniqueFd> make_nameless_file(uint64_t bytes, const std::string& path) {
  if (bytes > kInMemory) {
    const char* chosen = getenv("TMPDIR");
    for (const std::string& folder :
         {std::string(chosen ? chosen : ""), std::string("/var/tmp"), AnswerCache::default_directory()}) {
      if (!is_on_disk_with_room(folder, bytes)) continue;
      UniqueFd file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600));
      if (file) return file;
    }
  }
  const uint64_t quarter = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) / 4 * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  if (bytes > quarter)
    return Error{fmt::format("{}: no room for its debug information, which takes {} MiB uncompressed: neither $TMPDIR nor "
                             "/var/tmp is on a disk with twice as much",
                             path, bytes >> 20),
                 "set TMPDIR to a folder on a disk with more room"};
  UniqueFd memory(memfd_create("spile-sections", MFD_CLOEXEC));
  if (!memory) return Error::from_errno(fmt::format("uncompress {}", path), errno);
  return memory;
}

bool write_headers(Elf* elf, const std::vector<Section>& sections, int fd, uint64_t size) {
  const Elf64_Ehdr* original = elf64_getehdr(elf);
  if (!original || ftruncate(fd, static_cast<off_t>(size)) != 0) return false;
  Elf64_Ehdr header = *original;
  header.e_shoff = sizeof header;
  header.e_phoff = 0;
  header.e_phnum = 0;
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  for (const Section& section : sections) bytes.append(reinterpret_cast<const char*>(&section.header), sizeof section.header);
  return pwrite(fd, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
}

// Fills the sections, the largest first. Returns what failed first, or "".
std::string fill(const std::vector<Section>& sections, int to) {
  std::vector<size_t> order;
  uint64_t bytes = 0;
  for (size_t i = 0; i < sections.size(); ++i) {
    if (!sections[i].copied) continue;
    order.push_back(i);
    bytes += sections[i].packed.plain_size;
  }
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return sections[i].packed.size; });
  std::vector<std::string> failures(order.size());
  std::atomic<size_t> next = 0;
  constexpr uint64_t kWorthAThread = 2 << 20;  // bytes
  work_together(std::min<size_t>(count_processors(), bytes / kWorthAThread + 1), [&] {
    for (size_t i; (i = next++) < order.size();) {
      const Section& section = sections[order[i]];
      failures[i] = inflate(section.packed, to, section.header.sh_offset);
      if (!failures[i].empty()) failures[i] = section.name + " " + failures[i];
      const std::string& rest = section.appended;
      if (failures[i].empty() &&
          pwrite(to, rest.data(), rest.size(), static_cast<off_t>(section.header.sh_offset + section.packed.plain_size)) !=
              static_cast<ssize_t>(rest.size()))
        failures[i] = section.name + " can't be written";
    }
  });
  for (std::string& failure : failures)
    if (!failure.empty()) return std::move(failure);
  return {};
}

}  // namespace

Result<UniqueFd> with_plain_sections(Elf* elf, int fd, const std::string& path, const KeptSections& kept) {
  std::vector<Section> sections;
  struct stat status{};
  if (fstat(fd, &status) != 0 || !read_sections(elf, fd, sections)) return UniqueFd();
  if (std::ranges::none_of(sections, [](const Section& s) { return s.copied && s.packed.compression != Compression::kNone; }))
    return UniqueFd();
  if (UniqueFd earlier = open_kept(kept)) return earlier;
  const auto size = lay_out(sections, static_cast<uint64_t>(status.st_size));
  if (!size) return Error{fmt::format("{}: its compressed sections can't be as large as they say", path), {}};
  UniqueFd file = *size > kInMemory ? make_keepable(kept, *size) : UniqueFd();
  const bool keepable = static_cast<bool>(file);
  if (!keepable) {
    TRY(UniqueFd nameless, make_nameless_file(*size, path));
    file = std::move(nameless);
  }
  if (!write_headers(elf, sections, file.get(), *size)) return Error::from_errno(fmt::format("uncompress {}", path), errno);
  if (const std::string failure = fill(sections, file.get()); !failure.empty())
    return Error{fmt::format("{}: {}", path, failure), {}};
  // Where it can't be kept, the next run uncompresses it again.
  if (keepable && keep(kept, file.get(), *size)) prune_answers(kept.path.substr(0, kept.path.rfind('/')), kMostCached);
  return file;
}

Result<UniqueFd> open_plain(const std::string& path, const KeptSections& kept) {
  TRY(StableFile file, open_stable(path, path));
  const std::unique_ptr<Elf, int (*)(Elf*)> elf(elf_begin(file.fd.get(), ELF_C_READ_MMAP_PRIVATE, nullptr), elf_end);
  if (!elf || elf_kind(elf.get()) != ELF_K_ELF) return Error{fmt::format("{}: not an ELF file", path), {}};
  TRY(UniqueFd plain, with_plain_sections(elf.get(), file.fd.get(), path, kept));
  return plain ? std::move(plain) : std::move(file.fd);
}

}  // namespace spile::debuginfo
