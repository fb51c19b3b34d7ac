#include "debuginfo/elf/symbols.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "base/text/glob.h"

namespace spile::debuginfo {
namespace {

bool in_executable_segment(const ElfImage& image, uint64_t address) {
  for (const Segment& s : image.segments())
    if (s.executable && address >= s.address.value && address - s.address.value < s.file_size) return true;
  return false;
}

// Where the jump at the address leads, perhaps behind a landing mark; 0: no jump is there.
uint64_t jump_target(const ElfImage& image, uint64_t address) {
  constexpr std::string_view kMark("\xf3\x0f\x1e\xfa", 4);  // endbr64
  constexpr size_t kJump = 5;                               // e9 rel32
  for (const Segment& segment : image.segments()) {
    uint64_t offset = address - segment.address.value;
    if (!segment.executable || address < segment.address.value || offset >= segment.file_size) continue;
    if (segment.offset > image.file().size()) return 0;
    std::string_view code = image.file().substr(segment.offset);
    if (offset > code.size()) return 0;
    code = code.substr(offset);
    uint64_t before = code.starts_with(kMark) ? kMark.size() : 0;
    code = code.substr(before);
    if (code.size() < kJump || code[0] != '\xe9') return 0;
    int32_t distance;
    memcpy(&distance, &code[1], sizeof distance);
    return address + before + kJump + static_cast<uint64_t>(int64_t{distance});
  }
  return 0;
}

}  // namespace

SymbolTable::SymbolTable(const ElfImage& image, const ElfImage* debug) : image_(image), debug_(debug) {
  std::vector<DoubtfulSymbol> doubtful;
  add_section(image, SHT_SYMTAB, Function::Source::kSymtab, doubtful);
  if (symbols_.empty() && debug) add_section(*debug, SHT_SYMTAB, Function::Source::kSymtab, doubtful);
  has_static_symbols_ = !symbols_.empty();
  add_section(image, SHT_DYNSYM, Function::Source::kDynsym, doubtful);
  decide(std::move(doubtful));
  leave_out_integrity_checks();
}

void SymbolTable::add_section(const ElfImage& image, uint32_t type, Function::Source source,
                              std::vector<DoubtfulSymbol>& doubtful) {
  for (const ElfImage::Section& section : image.sections()) {
    if (section.type != type) continue;
    const auto symbols = image.symbols(section);
    const auto strings = image.strings_of(section);
    symbols_.reserve(symbols_.size() + symbols.size());
    for (const Elf64_Sym& symbol : symbols) {
      const auto kind = static_cast<uint8_t>(ELF64_ST_TYPE(symbol.st_info));
      const auto binding = static_cast<uint8_t>(ELF64_ST_BIND(symbol.st_info));
      if ((kind != STT_FUNC && kind != STT_GNU_IFUNC && kind != STT_NOTYPE) || symbol.st_shndx == SHN_UNDEF) continue;
      const std::string_view name = ElfImage::string_at(strings, symbol.st_name);
      if (name.empty() || !in_executable_segment(image_, symbol.st_value)) continue;
      const CodeSymbol known{symbol.st_value, symbol.st_size, name, source, kind, binding};
      if (is_surely_function(known)) {
        symbols_.push_back(known);
        continue;
      }
      if (symbol.st_shndx >= image.sections().size()) continue;
      const ElfImage::Section& around = image.sections()[symbol.st_shndx];
      if (!(around.flags & SHF_EXECINSTR) || symbol.st_value - around.address >= around.size) continue;
      const uint8_t visibility = ELF64_ST_VISIBILITY(symbol.st_other);
      const bool global = binding != STB_LOCAL || visibility == STV_HIDDEN || visibility == STV_INTERNAL;
      DoubtfulSymbol other{{known}, global, around.address + around.size};
      if (is_doubtful(other, around.name)) doubtful.push_back(other);
    }
  }
}

void SymbolTable::decide(std::vector<DoubtfulSymbol> doubtful) {
  if (doubtful.empty()) return;
  DecidedSymbols decided = decide_entries(image_, std::move(doubtful), symbols_);
  symbols_.insert(symbols_.end(), decided.functions.begin(), decided.functions.end());
  parts_ = std::move(decided.parts);
  auto place = [](const DoubtfulSymbol& part) { return part.address; };
  std::ranges::stable_sort(parts_, {}, place);
  auto same = std::ranges::unique(parts_, {}, place);
  parts_.erase(same.begin(), same.end());
}

static Function part_of(const DoubtfulSymbol& symbol) {
  Function part;
  part.linkage_name = symbol.name;
  part.part_of = symbol.whole;
  part.address = FileAddress(symbol.address);
  part.size = symbol.size;
  part.source = symbol.source;
  return part;
}

std::vector<Function> SymbolTable::parts() const {
  std::vector<Function> parts;
  for (const DoubtfulSymbol& symbol : parts_) parts.push_back(part_of(symbol));
  return parts;
}

std::optional<Function> SymbolTable::part_containing(FileAddress address) const {
  auto after = std::upper_bound(parts_.begin(), parts_.end(), address.value,
                                [](uint64_t a, const DoubtfulSymbol& part) { return a < part.address; });
  if (after == parts_.begin() || address.value - std::prev(after)->address >= std::prev(after)->size) return std::nullopt;
  return part_of(*std::prev(after));
}

// __cfi_foo is a preamble of foo: data, which a check before an indirect call reads. foo is the entry of a jump table where
// there is a foo.cfi: indirect calls come by it, direct ones don't.
void SymbolTable::leave_out_integrity_checks() {
  constexpr std::string_view kPreamble = "__cfi_", kReal = ".cfi", kTable = ".cfi_jt";
  constexpr uint64_t kMostPadding = 64;                           // room for patches between the preamble and its function
  std::unordered_multimap<std::string_view, uint64_t> functions;  // by name
  bool any = std::any_of(symbols_.begin(), symbols_.end(), [&](const Symbol& symbol) {
    return symbol.name.starts_with(kPreamble) || symbol.name.find(kReal) != symbol.name.npos;
  });
  if (!any) return;
  for (const Symbol& symbol : symbols_) functions.emplace(symbol.name, symbol.address);
  auto is_at = [&](std::string_view name, auto suits) {
    auto [first, last] = functions.equal_range(name);
    return std::any_of(first, last, [&](const auto& function) { return suits(function.second); });
  };
  std::erase_if(symbols_, [&](const Symbol& symbol) {
    std::string_view name = symbol.name.substr(0, symbol.name.find('@', 1));
    if (name.ends_with(kTable)) return true;
    uint64_t leads_to = jump_target(image_, symbol.address), end = symbol.address + symbol.size;
    if (leads_to != 0 && is_at(std::string(name).append(kReal), [&](uint64_t address) { return address == leads_to; }))
      return true;
    return name.starts_with(kPreamble) &&
           is_at(name.substr(kPreamble.size()), [&](uint64_t address) { return address >= end && address - end < kMostPadding; });
  });
}

void SymbolTable::add_dwarf_function(std::string_view name, FileAddress address, uint64_t size) {
  if (size == 0 || name.empty() || !in_executable_segment(image_, address.value)) return;
  symbols_.push_back({address.value, size, name, Function::Source::kDwarf, STT_FUNC, STB_LOCAL});
  sorted_ = false;
}

void SymbolTable::sort() {
  if (sorted_) return;
  std::sort(symbols_.begin(), symbols_.end(),
            [](const Symbol& a, const Symbol& b) { return a.address != b.address ? a.address < b.address : a.name < b.name; });
  sorted_ = true;
}

size_t SymbolTable::end_of_group(size_t first) const {
  size_t last = first + 1;
  while (last < symbols_.size() && symbols_[last].address == symbols_[first].address) ++last;
  return last;
}

bool SymbolTable::better_name(const Symbol& a, const Symbol& b) {
  auto underscores = [](std::string_view n) { return n.substr(0, 2) == "_Z" ? 0 : std::min(n.find_first_not_of('_'), n.size()); };
  auto rank = [](uint8_t binding) { return binding == STB_LOCAL ? 2 : binding == STB_WEAK ? 1 : 0; };
  if (underscores(a.name) != underscores(b.name)) return underscores(a.name) < underscores(b.name);
  if (rank(a.binding) != rank(b.binding)) return rank(a.binding) < rank(b.binding);
  return a.name.size() < b.name.size();
}

Function SymbolTable::function_of(size_t first, size_t last, size_t chosen) const {
  Function function;
  const Symbol& best = symbols_[chosen];
  auto without_version = [](std::string_view name) { return std::string(name.substr(0, name.find('@', 1))); };
  function.linkage_name = without_version(best.name);
  function.address = FileAddress(best.address);
  function.size = best.size;
  function.source = best.source;
  for (size_t i = first; i < last; ++i) {
    const Symbol& symbol = symbols_[i];
    function.size = std::max(function.size, symbol.size);
    function.exported |= symbol.source == Function::Source::kDynsym;
    function.is_ifunc |= symbol.type == STT_GNU_IFUNC;
    if (symbol.name == best.name) continue;
    std::string alias = without_version(symbol.name);
    if (alias != function.linkage_name &&
        std::find(function.aliases.begin(), function.aliases.end(), alias) == function.aliases.end())
      function.aliases.push_back(std::move(alias));
  }
  return function;
}

std::vector<Function> SymbolTable::matching(const NamePattern& pattern, bool with_split) {
  sort();
  using Fit = NamePattern::Fit;
  std::vector<Function> found;
  Fit best = Fit::kLoose;
  for (size_t first = 0; first < symbols_.size();) {
    const size_t last = end_of_group(first);
    size_t chosen = last;
    for (size_t i = first; i < last; ++i) {
      const std::string_view name = symbols_[i].name;
      if (!pattern.may_match(name)) continue;
      const CloneName clone = clone_name(name);
      // foo.cold.1 that is a function is code that was taken out of foo: a call of it is none of foo.
      const bool split_matches = !clone.fragment && (!clone.split || with_split);
      Fit fit = split_matches ? pattern.fit(clone.base) : Fit::kNone;
      if (fit != Fit::kExact && name != clone.base) fit = std::max(fit, pattern.fit(name));
      if (fit < best) continue;
      if (fit > best) found.clear(), chosen = last, best = fit;
      if (chosen == last || better_name(symbols_[i], symbols_[chosen])) chosen = i;
    }
    if (chosen != last) found.push_back(function_of(first, last, chosen));
    first = last;
  }
  return found;
}

std::optional<Function> SymbolTable::containing(FileAddress address) {
  sort();
  auto after = std::upper_bound(symbols_.begin(), symbols_.end(), address.value,
                                [](uint64_t a, const Symbol& s) { return a < s.address; });
  if (after == symbols_.begin()) return std::nullopt;
  const uint64_t start = std::prev(after)->address;
  auto begin = std::lower_bound(symbols_.begin(), after, start, [](const Symbol& s, uint64_t a) { return s.address < a; });
  const size_t first = static_cast<size_t>(begin - symbols_.begin());
  const size_t last = static_cast<size_t>(after - symbols_.begin());
  size_t chosen = first;
  for (size_t i = first + 1; i < last; ++i)
    if (better_name(symbols_[i], symbols_[chosen])) chosen = i;
  Function function = function_of(first, last, chosen);
  if (address.value - start >= function.size) return std::nullopt;
  return function;
}

std::vector<Function> SymbolTable::all() {
  sort();
  std::vector<Function> functions;
  for (size_t first = 0; first < symbols_.size();) {
    const size_t last = end_of_group(first);
    size_t chosen = first;
    for (size_t i = first + 1; i < last; ++i)
      if (better_name(symbols_[i], symbols_[chosen])) chosen = i;
    functions.push_back(function_of(first, last, chosen));
    first = last;
  }
  return functions;
}

std::vector<std::string> SymbolTable::names(size_t scopes) {
  std::unordered_set<std::string> names;
  for (const Symbol& symbol : symbols_) {
    std::string name = last_scopes(symbol.name, scopes);
    if (!name.empty()) names.insert(std::move(name));
  }
  std::vector<std::string> sorted(names.begin(), names.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

size_t SymbolTable::count() {
  sort();
  size_t count = 0;
  for (size_t first = 0; first < symbols_.size(); first = end_of_group(first)) ++count;
  return count;
}

std::optional<uint64_t> SymbolTable::symbol_value(std::string_view name, int type, uint64_t* size) const {
  // shop::total: a variable of C++ or Rust by its name for people.
  const bool has_scopes = name.find("::") != name.npos && !is_glob(name);
  const std::optional<NamePattern> scoped = has_scopes ? std::optional<NamePattern>(name) : std::nullopt;
  const auto is_meant = [&](std::string_view symbol) {
    const std::string_view base = clone_name(symbol).base;
    return base == name || (scoped && scoped->matches(base));
  };
  for (const ElfImage* image : {&image_, debug_}) {
    if (!image) continue;
    for (const ElfImage::Section& section : image->sections()) {
      if (section.type != SHT_SYMTAB && section.type != SHT_DYNSYM) continue;
      const auto strings = image->strings_of(section);
      for (const Elf64_Sym& symbol : image->symbols(section))
        if (ELF64_ST_TYPE(symbol.st_info) == type && symbol.st_shndx != SHN_UNDEF &&
            is_meant(ElfImage::string_at(strings, symbol.st_name))) {
          if (size) *size = symbol.st_size;
          return symbol.st_value;
        }
    }
  }
  return std::nullopt;
}

std::optional<FileAddress> SymbolTable::data_symbol(std::string_view name, uint64_t* size) const {
  auto value = symbol_value(name, STT_OBJECT, size);
  return value ? std::optional(FileAddress(*value)) : std::nullopt;
}

std::vector<std::string> SymbolTable::data_names() const {
  std::set<std::string> names;
  for (const ElfImage* image : {&image_, debug_}) {
    if (!image) continue;
    for (const ElfImage::Section& section : image->sections()) {
      if (section.type != SHT_SYMTAB && section.type != SHT_DYNSYM) continue;
      const auto strings = image->strings_of(section);
      for (const Elf64_Sym& symbol : image->symbols(section)) {
        if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_shndx == SHN_UNDEF) continue;
        std::string name = last_scopes(ElfImage::string_at(strings, symbol.st_name), SIZE_MAX);
        if (!name.empty()) names.insert(std::move(name));
      }
    }
  }
  return {names.begin(), names.end()};
}

std::optional<uint64_t> SymbolTable::thread_local_symbol(std::string_view name) const {
  return symbol_value(name, STT_TLS, nullptr);
}

}  // namespace spile::debuginfo
