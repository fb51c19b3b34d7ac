#include "session/stacks/user_stacks.h"

#include <fmt/format.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "abi/record.h"
#include "base/messages.h"
#include "base/processes/proc.h"
#include "sema/terms/intrinsics.h"
#include "session/stacks/mapped_module.h"
#include "session/stacks/stack_table.h"

namespace spile::session {

namespace {

constexpr uint64_t kAlignment = 64;
constexpr const char* kVdsoName = "[vdso]";

// Returns where a process has its vdso; empty: it has none. pid 0: this process.
Mapping find_vdso(pid_t pid) {
  auto mappings = read_mappings(pid);
  if (!mappings.ok()) return {};
  auto vdso = std::ranges::find(*mappings, kVdsoName, &Mapping::path);
  return vdso == mappings->end() ? Mapping() : *vdso;
}

void find_text(const debuginfo::Module& module, abi::ModuleTable& header) {
  uint64_t begin = UINT64_MAX, end = 0;
  for (const debuginfo::Segment& segment : module.segments()) {
    if (!segment.executable) continue;
    begin = std::min(begin, segment.address.value);
    end = std::max(end, segment.address.value + segment.memory_size);
  }
  if (begin >= end || end - begin > UINT32_MAX) return;
  header.text_begin = begin;
  header.text_size = end - begin;
}

void add_rows(debuginfo::Module& module, StackTable& table) {
  for (const debuginfo::UnwindRow& row : module.unwind_rows()) {
    if (!table.contains(row.address)) continue;
    table.pcs.push_back(table.offset_of(row.address));
    table.rules.push_back(row.rule);
  }
  if (table.pcs.empty()) return;
  uint64_t pages = (table.header.text_size >> abi::kTablePageShift) + 1;
  uint32_t row = 0;
  for (uint64_t page = 0; page <= pages; ++page) {
    while (row + 1 < table.pcs.size() && table.pcs[row + 1] <= page << abi::kTablePageShift) ++row;
    table.pages.push_back(row);
  }
}

void add_symbols(debuginfo::Module& module, StackTable& table) {
  std::vector<debuginfo::Function> named = module.all_functions();
  std::vector<debuginfo::Function> parts = module.parts();
  const auto functions_end = static_cast<ptrdiff_t>(named.size());
  named.insert(named.end(), std::make_move_iterator(parts.begin()), std::make_move_iterator(parts.end()));
  std::inplace_merge(named.begin(), named.begin() + functions_end, named.end(),
                     [](const debuginfo::Function& a, const debuginfo::Function& b) { return a.address < b.address; });
  for (const debuginfo::Function& function : named) {
    if (!table.contains(function.address)) continue;
    table.symbols.push_back({table.offset_of(function.address),
                             static_cast<uint32_t>(std::min<uint64_t>(function.size, UINT32_MAX)),
                             table.text.add(function.name())});
  }
}

void add_lines(debuginfo::Module& module, StackTable& table) {
  debuginfo::LineRows lines = module.line_rows();
  std::vector<uint32_t> files;
  for (const std::string& file : lines.files) files.push_back(table.text.add(file));
  for (const debuginfo::LineRow& row : lines.rows) {
    if (table.contains(row.address)) table.lines.push_back({table.offset_of(row.address), row.line, files[row.file]});
  }
}

}  // namespace

UserStacks::UserStacks(std::span<uint8_t> arena, std::span<uint8_t> kernel, const codegen::ArenaLayout& layout, uint32_t needs)
    : arena_(arena),
      kernel_(kernel),
      next_(layout.tables_offset),
      end_(layout.tables_offset + layout.tables_size),
      needs_(needs) {}

uint64_t UserStacks::put(std::span<const uint8_t> bytes) {
  uint64_t at = (next_ + kAlignment - 1) / kAlignment * kAlignment;
  if (at > end_ || bytes.size() > end_ - at) {
    if (!std::exchange(warned_full_, true)) {
      warn("no room is left for unwind information: some stacks will be truncated");
    }
    return 0;
  }
  next_ = at + bytes.size();
  std::ranges::copy(bytes, arena_.begin() + static_cast<ptrdiff_t>(at));
  if (!kernel_.empty()) std::ranges::copy(bytes, kernel_.begin() + static_cast<ptrdiff_t>(at));
  return at;
}

uint64_t UserStacks::write_table(const LoadedFile& file) {
  StackTable table;
  abi::ModuleTable& header = table.header;
  header.path = table.text.add(file.path);
  header.name = table.text.add(file.path.substr(file.path.rfind('/') + 1));
  header.build_id = table.text.add(file.module ? file.module->build_id() : "");
  if (file.module) {
    find_text(*file.module, header);
    if (needs_ & sema::kNeedsStack) add_rows(*file.module, table);
    if (needs_ & sema::kNeedsSymbols) add_symbols(*file.module, table);
    if (needs_ & sema::kNeedsLines) add_lines(*file.module, table);
  }
  return put(table.bytes());
}

const UserStacks::LoadedFile& UserStacks::file_of(pid_t pid, const engine::Module& module) {
  // A process can map as many files as it likes, one after the other.
  constexpr size_t kMostFiles = 8192;
  if (files_.size() >= kMostFiles && !files_.contains({module.device, module.inode, module.path})) return too_many_;
  auto [known, added] = files_.try_emplace({module.device, module.inode, module.path});
  LoadedFile& file = known->second;
  if (!added) return file;
  file.path = module.path;
  if (auto opened = open_mapped(pid, module); opened.ok()) file.module = opened->module;
  file.table = write_table(file);
  return file;
}

// Returns the vdso, which is the same in all processes, from our own.
const UserStacks::LoadedFile* UserStacks::vdso_file() {
  if (vdso_) return vdso_.get();
  vdso_ = std::make_unique<LoadedFile>();
  vdso_->path = kVdsoName;
  Mapping own = find_vdso(0);
  vdso_fd_ = UniqueFd(memfd_create("spile-vdso", MFD_CLOEXEC));
  auto size = static_cast<ssize_t>(own.end - own.begin);
  if (own.end == 0 || !vdso_fd_ ||
      write(vdso_fd_.get(), reinterpret_cast<const void*>(own.begin), static_cast<size_t>(size)) != size) {
    return vdso_.get();
  }
  debuginfo::OpenOptions options;
  options.use_cache = false;
  auto opened = debuginfo::Module::open(fmt::format("/proc/self/fd/{}", vdso_fd_.get()), options);
  if (opened.ok()) vdso_->module = *opened;
  vdso_->table = write_table(*vdso_);
  return vdso_.get();
}

void UserStacks::add_vdso(pid_t pid, std::vector<MappedFile>& mapped) {
  Mapping range = find_vdso(pid);
  if (range.end == 0) return;
  const LoadedFile* file = vdso_file();
  mapped.push_back({{range.begin, range.end, range.begin, range.begin, range.end - range.begin, file->table}, file});
}

uint64_t UserStacks::describe(pid_t pid, std::span<const engine::Module> modules) {
  const uint64_t map = map_of(pid, modules);
  if (auto [known, added] = process_of_map_.try_emplace(map, pid); known->second != pid) known->second = 0;
  return map;
}

uint64_t UserStacks::map_of(pid_t pid, std::span<const engine::Module> modules) {
  std::vector<MappedFile> mapped;
  for (const engine::Module& module : modules) {
    const LoadedFile& file = file_of(pid, module);
    for (const engine::Module::Range& range : module.text) {
      mapped.push_back({{range.begin.value, range.end.value, module.bias, module.lowest.value,
                         module.highest.value - module.lowest.value, file.table},
                        &file});
    }
  }
  add_vdso(pid, mapped);
  std::erase_if(mapped, [](const MappedFile& file) { return file.place.table == 0; });
  std::sort(mapped.begin(), mapped.end(), [](const MappedFile& a, const MappedFile& b) { return a.place.begin < b.place.begin; });
  // A program that loads and unloads a library again and again has two maps, not thousands.
  std::vector<uint64_t> content{mapped.size()};
  for (const MappedFile& file : mapped) {
    const abi::StackModule& place = file.place;
    content.insert(content.end(), {place.begin, place.end, place.bias, place.base, place.size, place.table});
  }
  auto [known, added] = maps_by_content_.try_emplace(std::move(content), 0);
  if (!added) return known->second;
  static_assert(sizeof(abi::ModuleMap) == 8 && sizeof(abi::StackModule) == 48);
  uint64_t at = put(std::span(reinterpret_cast<const uint8_t*>(known->first.data()), known->first.size() * 8));
  if (at == 0) {
    maps_by_content_.erase(known);
    return 0;
  }
  known->second = at;
  maps_.emplace(at, std::move(mapped));
  return at;
}

// The addresses come from records that any traced process can write, the names from its files: neither is kept without bound.
const UserStacks::Name& UserStacks::name_at(const LoadedFile& file, uint64_t file_address) {
  constexpr size_t kMostNames = 100'000, kLongestName = 4096;
  if (names_.size() >= kMostNames) names_.clear();
  auto [known, added] = names_.try_emplace({&file, file_address});
  Name& name = known->second;
  if (!added || !file.module) return name;
  if (auto function = file.module->code_at(FileAddress(file_address))) {
    name.function = function->name().substr(0, kLongestName);
    name.begin = function->address.value;
    name.size = function->size;
  }
  return name;
}

std::string_view UserStacks::jit_name_at(uint64_t map, uint64_t address) {
  const auto process = process_of_map_.find(map);
  return process == process_of_map_.end() || process->second == 0 ? std::string_view()
                                                                  : jit_names_.name_at(process->second, address);
}

void UserStacks::append_line(std::string& text, uint32_t style, uint64_t map, uint64_t address, uint64_t lookup) {
  const MappedFile* found = nullptr;
  if (auto known = maps_.find(map); known != maps_.end()) {
    auto after = std::upper_bound(known->second.begin(), known->second.end(), lookup,
                                  [](uint64_t value, const MappedFile& file) { return value < file.place.end; });
    if (after != known->second.end() && after->place.begin <= lookup) found = &*after;
  }
  const Name* name = found ? &name_at(*found->file, lookup - found->place.bias) : nullptr;
  bool named = name && !name->function.empty();
  uint64_t offset = named ? address - found->place.bias - name->begin : 0;
  if (style == abi::kSymbolBrief) {
    const std::string_view made = found ? std::string_view() : jit_name_at(map, lookup);
    text += named          ? fmt::format("{}+{:#x}\n", name->function, offset)
            : made.empty() ? fmt::format("{:#x}\n", address)
                           : fmt::format("{}\n", made);
  } else if (named) {
    text += fmt::format(" {:#x} : {}+{:#x}/{:#x} [{}]\n", address, name->function, offset, name->size, found->file->path);
  } else if (found) {
    text += fmt::format(" {:#x} [{}+{:#x}/{:#x}]\n", address, found->file->path, address - found->place.base, found->place.size);
  } else {
    const std::string_view made = jit_name_at(map, lookup);
    text += made.empty() ? fmt::format(" {:#x}\n", address) : fmt::format(" {:#x} : {} [JIT]\n", address, made);
  }
}

std::string UserStacks::text_of(uint32_t style, uint64_t map, std::span<const uint64_t> addresses) {
  std::string text;
  for (uint64_t word : addresses) {
    bool exact = word & abi::kExactAddress;
    uint64_t address = word & ~abi::kExactAddress;
    append_line(text, style, map, address, exact ? address : address - 1);
  }
  return text.empty() ? "<no user backtrace>\n" : text;
}

std::string UserStacks::backtrace_text(uint32_t style, size_t count, runs::PayloadReader& payload) {
  auto map = static_cast<uint64_t>(payload.next_long());
  std::vector<uint64_t> addresses(std::min<size_t>(count, abi::kMostFrames));
  for (uint64_t& address : addresses) address = static_cast<uint64_t>(payload.next_long());
  return text_of(style, map, addresses);
}

std::string UserStacks::symbols_text(uint32_t style, runs::PayloadReader& payload) {
  auto map = static_cast<uint64_t>(payload.next_long());
  std::string text;
  bool first = true;
  for (uint64_t address : runs::addresses_in(payload.next_string(), abi::kMostFrames)) {
    // The first one is where the thread was, the others are return addresses.
    append_line(text, style, map, address, std::exchange(first, false) ? address : address - 1);
  }
  return text;
}

}  // namespace spile::session
