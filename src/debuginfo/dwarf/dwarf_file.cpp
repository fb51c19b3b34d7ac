#include "debuginfo/dwarf/dwarf_file.h"

#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "debuginfo/dwarf/dwarf_split_units.h"
#include "debuginfo/files/debug_servers.h"
#include "debuginfo/files/plain_sections.h"
#include "debuginfo/files/split_object.h"
#include "debuginfo/terms/names.h"

namespace spile::debuginfo {
namespace {

enum Section : uint64_t { kInfo, kTypes, kAlternate, kAlternateTypes, kSplit, kSplitTypes };
constexpr int kUnitShift = 32, kSectionShift = 59;
constexpr uint64_t kUnitLimit = 1 << 22;
constexpr int kDeepest = 200;  // nesting of namespaces, classes, functions and blocks

// Type units of DWARF 4 have a section, and so offsets, of their own.
bool in_types_section(Dwarf_CU* cu) {
  Dwarf_Half version = 0;
  uint8_t unit_type = 0;
  return dwarf_cu_info(cu, &version, &unit_type, nullptr, nullptr, nullptr, nullptr, nullptr) == 0 && unit_type == DW_UT_type &&
         version < 5;
}

bool has_contents(Dwarf_Die& die) { return die.addr != nullptr && dwarf_tag(&die) != 0; }

using FunctionVisitor = std::function<void(Dwarf_Die& function, bool only_declared, Dwarf_Die* member_of)>;

// Calls `visit` with each function that is described below `parent`. Functions can contain functions: GCC describes lambdas
// and methods of local classes there, and GNU C, Fortran and Ada have nested functions.
void visit_functions(Dwarf_Die& parent, Dwarf_Die* member_of, const FunctionVisitor& visit, int depth = 0) {
  if (depth > kDeepest) return;
  for (ChildDies children(parent); children.valid(); children.next()) {
    Dwarf_Die& die = children.die();
    switch (children.tag()) {
      case DW_TAG_subprogram: {
        // As most methods are in their class. Nothing but parameters is inside.
        const bool only_declared = dwarf_hasattr(&die, DW_AT_declaration);
        visit(die, only_declared, member_of);
        if (!only_declared && dwarf_haschildren(&die) == 1) visit_functions(die, nullptr, visit, depth + 1);
        break;
      }
      case DW_TAG_namespace:
      case DW_TAG_module:
      case DW_TAG_lexical_block:
      case DW_TAG_try_block:
      case DW_TAG_catch_block: visit_functions(die, nullptr, visit, depth + 1); break;
      case DW_TAG_structure_type:
      case DW_TAG_class_type:
      case DW_TAG_union_type: visit_functions(die, &die, visit, depth + 1); break;
      default: break;
    }
  }
}

bool blocks(const std::string& file) {
  struct stat status;
  return ::stat(file.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

// The folder that libdw looks for files in, whose names it has from a file.
std::string folder_of(int fd) {
  char link[PATH_MAX];
  const ssize_t length = readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), link, sizeof link);
  std::string folder(link, length > 0 ? static_cast<size_t>(length) : 0);
  folder.resize(std::min(folder.rfind('/'), folder.size()));
  return folder;
}

// Where libdw looks for a file with common parts.
std::vector<std::string> places_of_alternate(const std::string& name, const std::string& id, const std::string& folder) {
  if (name.empty()) return {};
  std::vector<std::string> places = {name[0] == '/' ? name : folder + "/" + name};
  if (id.size() > 2) places.push_back(fmt::format("/usr/lib/debug/.build-id/{}/{}.debug", id.substr(0, 2), id.substr(2)));
  return places;
}

std::string either(const std::vector<std::string>& places) {
  std::string text;
  for (const std::string& place : places) text += (text.empty() ? "" : &place == &places.back() ? " or " : ", ") + place;
  return text;
}

// Null: the file lacks the section, or its contents are compressed.
Elf_Scn* find_section(Elf* elf, std::string_view wanted, GElf_Shdr& header) {
  size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return nullptr;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section));) {
    const char* name = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : nullptr;
    if (name && name == wanted && header.sh_type != SHT_NOBITS && !(header.sh_flags & SHF_COMPRESSED)) return section;
  }
  return nullptr;
}

// Gives back the memory of what has been read of .debug_info, each time after some units. Reading one byte may map the 2 MiB
// around it, so that the headers of 400 units would keep most of 400 MB.
class MappedUnits {
 public:
  // elf: nothing within its .debug_info has been changed; null: gives nothing back.
  explicit MappedUnits(Elf* elf) {
    GElf_Shdr header;
    Elf_Scn* section = elf ? find_section(elf, ".debug_info", header) : nullptr;
    const Elf_Data* data = section ? elf_rawdata(section, nullptr) : nullptr;
    char* mapped = elf ? elf_rawfile(elf, nullptr) : nullptr;
    if (!data || !mapped || data->d_buf != mapped + header.sh_offset) return;  // decompressed
    const size_t page = static_cast<size_t>(getpagesize()), before = (page - header.sh_offset % page) % page;
    if (before >= data->d_size) return;
    begin_ = static_cast<char*>(data->d_buf) + before;
    size_ = (data->d_size - before) / page * page;
  }
  void next() {
    constexpr size_t kTogether = 32;
    if (++count_ % kTogether == 0 && size_ > 0) madvise(begin_, size_, MADV_DONTNEED);
  }

 private:
  char* begin_ = nullptr;
  size_t size_ = 0, count_ = 0;
};

// The path of a file that debug information names and that is not a regular file; "": all are regular. libdw would open such a
// file, and wait for ever for the writer of a FIFO. Sets *misread if libdw does not read all of one of them.
std::string find_blocking_file(Dwarf* dwarf, const std::string& folder, const std::vector<std::string>& alternates,
                               bool* misread) {
  for (const std::string& place : alternates)
    if (blocks(place)) return place;
  Dwarf_CU* cu = nullptr;
  Dwarf_Die unit;
  Dwarf_Half version = 0;
  uint8_t kind = 0;
  MappedUnits mapped(dwarf_getelf(dwarf));
  // Without a place for it, the split unit is not opened. From DWARF 5 on, its kind says that a unit is whole; reading the
  // attributes of thousands of units would bring some of each into memory.
  while (dwarf_get_units(dwarf, cu, &cu, &version, &kind, &unit, nullptr) == 0) {
    mapped.next();
    if ((version >= 5 && kind != DW_UT_skeleton) || !has_contents(unit)) continue;
    const auto here = place_from_here(unit);
    for (const std::string& place : places_of_split_file(unit, folder)) {
      if (blocks(place)) return place;
      if (!*misread) *misread = is_misread(place) || (place == here && access(place.c_str(), R_OK) == 0);
    }
  }
  return {};
}

std::string build_id_of(Dwarf* dwarf) {
  const void* bytes = nullptr;
  const ssize_t length = dwelf_elf_gnu_build_id(dwarf_getelf(dwarf), &bytes);
  std::string id;
  for (ssize_t i = 0; i < length; ++i) id += fmt::format("{:02x}", static_cast<const unsigned char*>(bytes)[i]);
  return id;
}

// The id of the unit in a .dwo file; nullopt: the file can't be read, or has no such unit.
std::optional<uint64_t> split_unit_id(const std::string& path) {
  const UniqueFd file = well_read_object(path);
  Dwarf* dwarf = file ? dwarf_begin(file.get(), DWARF_C_READ) : nullptr;
  if (!dwarf) return std::nullopt;
  Dwarf_CU* cu = nullptr;
  uint64_t id = 0;
  const bool found = dwarf_get_units(dwarf, nullptr, &cu, nullptr, nullptr, nullptr, nullptr) == 0 &&
                     dwarf_cu_info(cu, nullptr, nullptr, nullptr, nullptr, &id, nullptr, nullptr) == 0;
  dwarf_end(dwarf);
  return found ? std::optional(id) : std::nullopt;
}

}  // namespace

// Opens a file once more: libelf may move a descriptor's position.
static UniqueFd again(int fd) { return UniqueFd(::open(fmt::format("/proc/self/fd/{}", fd).c_str(), O_RDONLY | O_CLOEXEC)); }

// The build-id in the name of kept sections; "": none are kept.
static std::string build_id_in(const KeptSections& kept) {
  const size_t begin = kept.path.rfind('/') + 1, end = kept.path.rfind('.');
  return kept.path.empty() ? "" : kept.path.substr(begin, end - begin);
}

DwarfFile::DwarfFile() = default;
DwarfFile::~DwarfFile() = default;

Result<std::unique_ptr<DwarfFile>> DwarfFile::open(const DwarfSources& sources) {
  static const unsigned version = elf_version(EV_CURRENT);  // libelf refuses to work before it is asked
  auto failed = [&](const char* what) {
    const char* why = dwarf_errmsg(-1);
    return Error{fmt::format("{}: can't read {} of {}: {}", sources.path, what, sources.debug_file, why ? why : "unknown error"),
                 {}};
  };
  if (version == EV_NONE) return failed("ELF");
  std::unique_ptr<DwarfFile> file(new DwarfFile);
  file->main_fd_ = again(sources.main_fd);
  file->debug_fd_ = again(sources.debug_fd);
  if (!file->main_fd_ || !file->debug_fd_) return Error::from_errno(fmt::format("open {}", sources.debug_file), errno);
  file->folder_ = folder_of(file->debug_fd_.get());
  file->main_elf_.reset(elf_begin(file->main_fd_.get(), ELF_C_READ_MMAP_PRIVATE, nullptr));
  file->debug_elf_.reset(elf_begin(file->debug_fd_.get(), ELF_C_READ_MMAP_PRIVATE, nullptr));
  if (!file->debug_elf_) return failed("the debug information");
  TRY(UniqueFd plain, with_plain_sections(file->debug_elf_.get(), file->debug_fd_.get(), sources.debug_file, sources.kept));
  if (plain) {
    // libdw looks for .dwo files around the file whose descriptor libelf has. That is the original one again when libelf has
    // mapped the other.
    UniqueFd original = std::move(file->debug_fd_);
    file->debug_fd_ = again(plain.get());
    file->debug_elf_.reset(elf_begin(plain.get(), ELF_C_READ_MMAP_PRIVATE, nullptr));
    if (!file->debug_fd_ || !file->debug_elf_ || !elf_rawfile(file->debug_elf_.get(), nullptr))
      return failed("the debug information");
    if (dup3(original.get(), plain.get(), O_CLOEXEC) < 0)
      return Error::from_errno(fmt::format("open {}", sources.debug_file), errno);
    file->elf_fd_ = std::move(plain);
  }
  for (const std::string& place : {sources.debug_file + ".dwp", sources.main_file + ".dwp", sources.path + ".dwp"}) {
    if (access(place.c_str(), F_OK) != 0 || file->split_) continue;
    file->package_path_ = place;
    auto package = SplitPackage::open(place, kept_beside(sources.kept, build_id_in(sources.kept) + "-dwp", place));
    if (package.ok()) file->split_ = std::make_unique<SplitUnits>(std::move(*package), file->debug_elf_.get());
    else file->package_failure_ = package.error().message;
  }
  auto begin = [&] { file->debug_.reset(dwarf_begin_elf(file->debug_elf_.get(), DWARF_C_READ, nullptr)); };
  begin();
  if (!file->debug_) return failed("the debug information");
  const std::vector<std::string> alternates = places_of_alternate(sources.alternate, sources.alternate_id, file->folder_);
  bool misread = false;
  const std::string blocking = find_blocking_file(file->debug_.get(), file->folder_, alternates, &misread);
  if (blocking.empty() && misread && !file->split_) {
    file->debug_.reset();
    file->split_ = std::make_unique<SplitUnits>(nullptr, file->debug_elf_.get());
    begin();
    if (!file->debug_) return failed("the debug information");
  }
  if (!blocking.empty())
    return Error{fmt::format("{}: the debug information in {} needs {}, which is not a regular file", sources.path,
                             sources.debug_file, blocking),
                 {}};
  if (file->split_) file->split_->open_all(file->debug_.get(), file->folder_);
  if (!sources.alternate.empty()) TRY_DO(file->find_alternate(sources));
  return file;
}

std::unique_ptr<DwarfFile> DwarfFile::reopened() {
  units();
  if (split_ || !split_units_.empty() || lacks_units_) return nullptr;
  std::unique_ptr<DwarfFile> file(new DwarfFile);
  file->main_fd_ = again(main_fd_.get());
  file->debug_fd_ = again(debug_fd_.get());
  file->folder_ = folder_;
  if (!file->main_fd_ || !file->debug_fd_) return nullptr;
  file->main_elf_.reset(elf_begin(file->main_fd_.get(), ELF_C_READ_MMAP_PRIVATE, nullptr));
  file->debug_elf_.reset(elf_begin(file->debug_fd_.get(), ELF_C_READ_MMAP_PRIVATE, nullptr));
  if (!file->debug_elf_) return nullptr;
  file->debug_.reset(dwarf_begin_elf(file->debug_elf_.get(), DWARF_C_READ, nullptr));
  if (!file->debug_) return nullptr;
  if (alternate_) dwarf_setalt(file->debug_.get(), alternate_.get());
  if (file->units().size() != units().size()) return nullptr;
  return file;
}

Dwarf* DwarfFile::open_alternate(const std::string& path, const KeptSections& kept) {
  auto opened = open_plain(path, kept);
  if (!opened.ok()) return nullptr;
  alternate_.reset();
  alternate_fd_ = std::move(*opened);
  alternate_.reset(dwarf_begin(alternate_fd_.get(), DWARF_C_READ));
  return alternate_.get();
}

// Half of the names and types would be missing without it, and the cache would remember that.
Result<void> DwarfFile::find_alternate(const DwarfSources& sources) {
  const std::vector<std::string> places = places_of_alternate(sources.alternate, sources.alternate_id, folder_);
  std::string other;  // build-id of one that does not belong to it
  auto fits = [&](const std::string& path) {
    // Many programs share one: it is kept by its own build-id.
    Dwarf* alternate = open_alternate(path, kept_beside(sources.kept, sources.alternate_id, path));
    if (!alternate) return false;
    const std::string id = build_id_of(alternate);
    if (id.empty() || sources.alternate_id.empty() || id == sources.alternate_id) return true;
    other = id;
    return false;
  };
  bool found = std::ranges::any_of(places, fits);
  std::string why;
  if (!found && sources.servers) {
    auto fetched = sources.servers->fetch(sources.alternate_id, sources.debug_file);
    if (fetched.ok()) found = fits(*fetched);
    else if (!fetched.error().message.empty()) why = "; " + fetched.error().message;
  }
  if (found) {
    dwarf_setalt(debug_.get(), alternate_.get());
    return {};
  }
  if (!other.empty())
    return Error{
        fmt::format("{}: the debug information in {} needs {}, which is of another build: its build-id is {} instead of {}",
                    sources.path, sources.debug_file, sources.alternate, other, sources.alternate_id),
        "install all of its debug symbols in one version"};
  return Error{fmt::format("{}: the debug information in {} needs {}, which can't be found: there is no {}{}", sources.path,
                           sources.debug_file, sources.alternate, either(places), why),
               "install the rest of its debug symbols"};
}

void DwarfFile::note_missing(const Unit& unit, int kind) {
  if (kind == DW_UT_skeleton && unit.die.addr == unit.skeleton.addr) lacks_units_ = true;
}

const std::vector<DwarfFile::Unit>& DwarfFile::units() {
  if (units_) return *units_;
  units_.emplace();
  Dwarf_CU* cu = nullptr;
  Unit unit;
  Dwarf_Die split;  // of a type unit, this is the type
  uint8_t kind = 0;
  MappedUnits mapped(split_ ? nullptr : debug_elf_.get());  // split_ changes names in the mapping
  while (dwarf_get_units(debug_.get(), cu, &cu, nullptr, &kind, &unit.skeleton, &split) == 0) {
    mapped.next();
    if (!has_contents(unit.skeleton)) continue;
    unit.die = unit.skeleton;
    if (kind == DW_UT_skeleton && split.addr && has_contents(split)) {
      unit.die = split;
      split_units_.emplace(dwarf_cu_getdwarf(split.cu), units_->size());
    }
    note_missing(unit, kind);
    units_->push_back(unit);
  }
  // Type units of DWARF 4 are not among them.
  Dwarf_Off next = 0;
  size_t header = 0;
  uint64_t signature = 0;
  for (Dwarf_Off offset = 0;
       dwarf_next_unit(debug_.get(), offset, &next, &header, nullptr, nullptr, nullptr, nullptr, &signature, nullptr) == 0 &&
       next > offset;
       offset = next)
    if (dwarf_offdie_types(debug_.get(), offset + header, &unit.skeleton) && has_contents(unit.skeleton)) {
      unit.die = unit.skeleton;
      units_->push_back(unit);
    }
  return *units_;
}

std::vector<DwarfFile::Unit> DwarfFile::alternate_units() {
  std::vector<Unit> found;
  Dwarf* alternate = dwarf_getalt(debug_.get());
  Dwarf_CU* cu = nullptr;
  Unit unit;
  while (alternate && dwarf_get_units(alternate, cu, &cu, nullptr, nullptr, &unit.skeleton, nullptr) == 0) {
    unit.die = unit.skeleton;
    if (has_contents(unit.die)) found.push_back(unit);
  }
  return found;
}

std::vector<DwarfFile::Unit> DwarfFile::split_type_units() {
  std::vector<Unit> found;
  auto add = [&](Dwarf_Die& unit, uint64_t, Dwarf_Die&) {
    if (has_contents(unit)) found.push_back({unit, unit});
  };
  for (const Unit& unit : units())
    if (unit.die.addr != unit.skeleton.addr) each_type_unit(dwarf_cu_getdwarf(unit.die.cu), add);
  for (size_t group = 0; split_ && group < split_->groups(); ++group)
    if (Dwarf* owner = split_->owner_of(group)) each_type_unit(owner, add);
  return found;
}

void DwarfFile::index_ranges() {
  ranges_.emplace();
  MappedUnits mapped(split_ ? nullptr : debug_elf_.get());
  for (size_t i = 0; i < units().size(); ++i) {
    mapped.next();
    Dwarf_Die skeleton = units()[i].skeleton;
    Dwarf_Addr base, start, end;
    for (ptrdiff_t offset = 0; (offset = dwarf_ranges(&skeleton, offset, &base, &start, &end)) > 0;)
      if (start < end) ranges_->push_back({start, end, i});
  }
  std::sort(ranges_->begin(), ranges_->end());
}

std::optional<DwarfFile::Unit> DwarfFile::unit_of(FileAddress pc) {
  // .debug_aranges answers without looking at any unit; Clang leaves it out, and some units may be missing from it.
  Dwarf_Aranges* aranges = nullptr;
  if (dwarf_getaranges(debug_.get(), &aranges, nullptr) == 0) {
    Dwarf_Off offset = 0;
    Unit unit;
    if (Dwarf_Arange* range = dwarf_getarange_addr(aranges, pc.value);
        range && dwarf_getarangeinfo(range, nullptr, nullptr, &offset) == 0 &&
        dwarf_offdie(debug_.get(), offset, &unit.skeleton)) {
      Dwarf_Die split{};
      uint8_t kind = 0;
      unit.die = unit.skeleton;
      if (dwarf_cu_info(unit.skeleton.cu, nullptr, &kind, nullptr, &split, nullptr, nullptr, nullptr) == 0 && split.addr &&
          has_contents(split))
        unit.die = split;
      note_missing(unit, kind);
      return unit;
    }
  }
  if (!ranges_) index_ranges();
  auto after = std::upper_bound(ranges_->begin(), ranges_->end(), Range{pc.value, 0, 0});
  if (after == ranges_->begin()) return std::nullopt;
  const Range& range = *std::prev(after);
  return pc.value < range.end ? std::optional(units()[range.unit]) : std::nullopt;
}

uint64_t DwarfFile::id_of(Dwarf_Die& die) {
  const Dwarf_Off offset = dwarf_dieoffset(&die);
  if (offset >= uint64_t{1} << 32) return 0;
  Dwarf* owner = dwarf_cu_getdwarf(die.cu);
  const uint64_t types = in_types_section(die.cu) ? 1 : 0;
  if (owner == debug_.get()) return offset | (kInfo + types) << kSectionShift;
  units();
  if (auto split = split_units_.find(owner); split != split_units_.end())
    return split->second < kUnitLimit ? offset | split->second << kUnitShift | (kSplit + types) << kSectionShift : 0;
  // Groups of types of a package are numbered from the last index down.
  if (auto group = split_ ? split_->group_of(owner) : std::nullopt; group && units().size() + *group < kUnitLimit)
    return offset | (kUnitLimit - 1 - *group) << kUnitShift | (kSplit + types) << kSectionShift;
  if (owner == dwarf_getalt(debug_.get())) return offset | (kAlternate + types) << kSectionShift;
  return 0;
}

std::optional<Dwarf_Die> DwarfFile::die_of(uint64_t id) {
  const uint64_t offset = id & 0xffffffff;
  const uint64_t section = id >> kSectionShift;
  Dwarf* owner = debug_.get();
  if (section == kAlternate || section == kAlternateTypes) owner = dwarf_getalt(owner);
  if (section == kSplit || section == kSplitTypes) {
    const uint64_t index = id >> kUnitShift & (kUnitLimit - 1);
    if (index < units().size()) owner = dwarf_cu_getdwarf(units()[index].die.cu);
    else owner = split_ ? split_->owner_of(kUnitLimit - 1 - index) : nullptr;
  }
  if (!owner || section > kSplitTypes) return std::nullopt;
  Dwarf_Die die;
  Dwarf_Die* found = section % 2 == 1 ? dwarf_offdie_types(owner, offset, &die) : dwarf_offdie(owner, offset, &die);
  if (!found) return std::nullopt;
  return die;
}

bool DwarfFile::referred(Dwarf_Attribute* attribute, Dwarf_Die* die) {
  if (!attribute) return false;
  const bool in_package = split_ && dwarf_whatform(attribute) == DW_FORM_ref_sig8;
  uint64_t signature = 0;
  if (in_package) memcpy(&signature, attribute->valp, sizeof signature);
  return (in_package && split_->find_type(signature, die)) || dwarf_formref_die(attribute, die);
}

bool DwarfFile::frame_address(FileAddress pc, Dwarf_Op** operations, size_t* count) {
  if (!eh_frame_tried_) {
    eh_frame_tried_ = true;
    if (main_elf_) eh_frame_.reset(dwarf_getcfi_elf(main_elf_.get()));
  }
  for (Dwarf_CFI* cfi : {eh_frame_.get(), dwarf_getcfi(debug_.get())}) {
    Dwarf_Frame* frame = nullptr;
    if (!cfi || dwarf_cfi_addrframe(cfi, pc.value, &frame) != 0) continue;
    frame_.reset(frame);
    if (dwarf_frame_cfa(frame, operations, count) == 0 && *count > 0) return true;
  }
  return false;
}

bool DwarfFile::is_code(uint64_t address) {
  if (!code_) {
    code_.emplace();
    for (Elf_Scn* section = nullptr; main_elf_ && (section = elf_nextscn(main_elf_.get(), section));) {
      GElf_Shdr header;
      if (gelf_getshdr(section, &header) && (header.sh_flags & SHF_EXECINSTR))
        code_->emplace_back(header.sh_addr, header.sh_addr + header.sh_size);
    }
  }
  return code_->empty() ||
         std::ranges::any_of(*code_, [&](const auto& range) { return address >= range.first && address < range.second; });
}

void DwarfFile::each_function(Unit& unit, const std::function<void(uint64_t, uint64_t, Dwarf_Die&)>& visit) {
  visit_functions(unit.die, nullptr, [&](Dwarf_Die& die, bool only_declared, Dwarf_Die*) {
    if (only_declared) return;
    Dwarf_Addr base, start, end;
    for (ptrdiff_t offset = 0; (offset = dwarf_ranges(&die, offset, &base, &start, &end)) > 0;)
      if (start < end && is_code(start)) visit(start, end - start, die);
  });
}

std::optional<uint64_t> DwarfFile::first_code(Dwarf_Die& function) {
  Dwarf_Addr base, start, end;
  for (ptrdiff_t offset = 0; (offset = dwarf_ranges(&function, offset, &base, &start, &end)) > 0;)
    if (start < end && is_code(start)) return start;
  return std::nullopt;
}

std::optional<Dwarf_Die> DwarfFile::class_of(Dwarf_Die& function) {
  Dwarf_Die described = function;
  for (unsigned attribute : {DW_AT_abstract_origin, DW_AT_specification})
    if (auto origin = die_reference(described, attribute)) described = *origin;
  auto [entry, is_new] = classes_.try_emplace(described.cu);
  Dwarf_Die unit;
  if (is_new && dwarf_diecu(&described, &unit, nullptr, nullptr))
    visit_functions(unit, nullptr, [&](Dwarf_Die& die, bool, Dwarf_Die* member_of) {
      if (member_of && !dwarf_hasattr(&die, DW_AT_decl_line)) entry->second.emplace(die.addr, *member_of);
    });
  auto found = entry->second.find(described.addr);
  if (found == entry->second.end()) return std::nullopt;
  return found->second;
}

std::string DwarfFile::missing_split_file(Unit& unit) {
  if (unit.die.addr != unit.skeleton.addr) return {};
  const std::vector<std::string> places =
      split_ ? split_->places_of(unit.skeleton, folder_) : places_of_split_file(unit.skeleton, folder_);
  uint64_t id = 0;
  if (places.empty() || dwarf_cu_info(unit.skeleton.cu, nullptr, nullptr, nullptr, nullptr, &id, nullptr, nullptr) != 0)
    return {};
  for (const std::string& place : places) {
    if (access(place.c_str(), F_OK) != 0) continue;
    if (auto other = split_unit_id(place); other && *other != id)
      return fmt::format("{}, which is of another build: its id is {:016x} instead of {:016x}", place, *other, id);
    auto plain = open_plain(place);
    return plain.ok() ? fmt::format("{}, which can't be read", place)
                      : fmt::format("{}, which can't be read ({})", place, plain.error().message);
  }
  std::string text = fmt::format("a .dwo file that can't be found: there is no {}", either(places));
  if (!package_failure_.empty()) text += "; " + package_failure_;
  else if (!package_path_.empty()) text += fmt::format("; {} does not have it", package_path_);
  return text;
}

std::optional<Dwarf_Die> DwarfFile::function_die(FileAddress function, Unit* unit) {
  auto found_unit = unit_of(function);
  if (!found_unit) return std::nullopt;
  *unit = *found_unit;
  auto [entry, is_new] = functions_.try_emplace(unit->die.addr);
  if (is_new) each_function(*unit, [&](uint64_t start, uint64_t, Dwarf_Die& die) { entry->second.emplace(start, die); });
  auto die = entry->second.find(function.value);
  if (die == entry->second.end()) return std::nullopt;
  return die->second;
}

std::string_view DwarfFile::section(Dwarf* dwarf, std::string_view wanted) {
  GElf_Shdr header;
  Elf_Scn* section = dwarf ? find_section(dwarf_getelf(dwarf), wanted, header) : nullptr;
  Elf_Data* data = section ? elf_rawdata(section, nullptr) : nullptr;
  return data && data->d_buf ? std::string_view(static_cast<const char*>(data->d_buf), data->d_size) : std::string_view();
}

std::optional<SectionBytes> DwarfFile::bytes_of(Dwarf* dwarf, std::string_view wanted) {
  GElf_Shdr header;
  Elf_Scn* section = dwarf ? find_section(dwarf_getelf(dwarf), wanted, header) : nullptr;
  const Elf_Data* data = section ? elf_rawdata(section, nullptr) : nullptr;
  if (!data || !data->d_buf) return std::nullopt;
  const char* mapped = elf_rawfile(dwarf_getelf(dwarf), nullptr);
  const bool as_in_file = mapped && data->d_buf == mapped + header.sh_offset;  // else libdw has decompressed it
  if (dwarf == debug_.get() && as_in_file) return SectionBytes(debug_fd_.get(), header.sh_offset, header.sh_size);
  return SectionBytes(std::string_view(static_cast<const char*>(data->d_buf), data->d_size));
}

std::optional<uint64_t> DwarfFile::begin_of(Unit& unit) {
  if (unit.die.addr != unit.skeleton.addr || in_types_section(unit.die.cu)) return std::nullopt;
  const Dwarf_Off in_section = dwarf_dieoffset(&unit.die), in_unit = dwarf_cuoffset(&unit.die);
  return in_unit <= in_section ? std::optional(in_section - in_unit) : std::nullopt;
}

LineSections DwarfFile::line_sections(Dwarf* dwarf) {
  auto [entry, is_new] = line_sections_.try_emplace(dwarf);
  LineSections& sections = entry->second;
  if (!is_new) return sections;
  Elf* elf = dwarf_getelf(dwarf);
  size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return sections;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section));) {
    GElf_Shdr header;
    const char* name = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : nullptr;
    // dwarf_begin() has uncompressed what it found compressed.
    Elf_Data* data = name && std::string_view(name).starts_with(".debug_") && header.sh_type != SHT_NOBITS
                         ? elf_rawdata(section, nullptr)
                         : nullptr;
    if (!data || !data->d_buf || (header.sh_flags & SHF_COMPRESSED)) continue;
    const std::string_view contents(static_cast<const char*>(data->d_buf), data->d_size);
    const std::string_view kind = std::string_view(name).substr(strlen(".debug_"));
    if (kind == "line" || kind == "line.dwo") sections.line = contents;
    if (kind == "line_str" || kind == "line_str.dwo") sections.line_strings = contents;
    if (kind == "str" || kind == "str.dwo") sections.strings = contents;
  }
  return sections;
}

const std::vector<std::string>& DwarfFile::file_table(Dwarf_CU* cu) {
  auto [entry, is_new] = file_names_.try_emplace(cu);
  Dwarf_Die unit;
  if (!is_new || dwarf_cu_info(cu, nullptr, nullptr, &unit, nullptr, nullptr, nullptr, nullptr) != 0) return entry->second;
  const LineSections sections = line_sections(dwarf_cu_getdwarf(cu));
  Dwarf_Attribute attribute;
  const char* directory = dwarf_formstring(dwarf_attr_integrate(&unit, DW_AT_comp_dir, &attribute));
  // A .dwo has one table at most, and need not say where.
  const auto offset = die_number(unit, DW_AT_stmt_list);
  if (offset || split_units_.contains(dwarf_cu_getdwarf(cu)))
    entry->second = line_table_files(sections, offset.value_or(0), directory ? directory : "");
  return entry->second;
}

std::string DwarfFile::file_name(Dwarf_CU* cu, uint64_t number) {
  Dwarf_Half version = 0;
  if (!cu || dwarf_cu_info(cu, &version, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) != 0) return {};
  if (version < 5 && number == 0) return {};  // said to be unknown
  const std::vector<std::string>& files = file_table(cu);
  return number < files.size() ? files[number] : std::string();
}

bool DwarfFile::mentions_file(Unit& unit, const std::string& pattern) {
  const std::vector<std::string>& files = file_table(unit.skeleton.cu);
  return std::any_of(files.begin(), files.end(), [&](const std::string& f) { return file_matches(pattern, f); });
}

std::string die_name(Dwarf_Die& die) {
  Dwarf_Attribute attribute;
  const char* name = dwarf_formstring(dwarf_attr_integrate(&die, DW_AT_name, &attribute));
  return name ? name : "";
}

std::string die_linkage_name(Dwarf_Die& die) {
  Dwarf_Attribute attribute;
  Dwarf_Attribute* found = dwarf_attr_integrate(&die, DW_AT_linkage_name, &attribute);
  if (!found) found = dwarf_attr_integrate(&die, DW_AT_MIPS_linkage_name, &attribute);
  const char* name = dwarf_formstring(found);
  return name ? name : die_name(die);
}

std::optional<uint64_t> die_number(Dwarf_Die& die, unsigned attribute_name) {
  Dwarf_Attribute attribute;
  Dwarf_Word number;
  if (dwarf_formudata(dwarf_attr_integrate(&die, attribute_name, &attribute), &number) != 0) return std::nullopt;
  return number;
}

std::string die_text(Dwarf_Die& die, unsigned attribute) {
  Dwarf_Attribute value;
  const char* text = dwarf_formstring(dwarf_attr_integrate(&die, attribute, &value));
  return text ? text : "";
}

bool die_flag(Dwarf_Die& die, unsigned attribute_name) {
  Dwarf_Attribute attribute;
  bool flag = false;
  return dwarf_formflag(dwarf_attr_integrate(&die, attribute_name, &attribute), &flag) == 0 && flag;
}

std::optional<Dwarf_Die> die_reference(Dwarf_Die& die, unsigned attribute_name) {
  Dwarf_Attribute attribute;
  Dwarf_Die referred;
  if (!dwarf_formref_die(dwarf_attr_integrate(&die, attribute_name, &attribute), &referred)) return std::nullopt;
  return referred;
}

}  // namespace spile::debuginfo
