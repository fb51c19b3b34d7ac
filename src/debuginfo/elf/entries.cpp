#include "debuginfo/elf/entries.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_set>

#include "debuginfo/elf/unwind_rows.h"

namespace spile::debuginfo {
namespace {

using Start = UnwindRange::Start;

enum class Suffix : uint8_t {
  kNone,
  kOfFunction,    // .isra.0: of a function that compilers have made of another one
  kCold,          // .cold
  kColdNumbered,  // .cold.0
  kPlacement,     // .warm .eh .__part.1: where code has been put
  kOther,
};

// A name taken apart at its last suffix: [base][.suffix][.number].
struct SuffixedName {
  std::string_view base;
  Suffix suffix = Suffix::kNone;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

SuffixedName take_apart(std::string_view name) {
  size_t end = name.size();
  while (end > 0 && is_digit(name[end - 1])) --end;
  const bool numbered = end < name.size() && end > 0 && name[end - 1] == '.';
  end = numbered ? end - 1 : name.size();
  const size_t dot = end == 0 ? name.npos : name.rfind('.', end - 1);
  if (dot == name.npos || dot == 0) return {name, Suffix::kNone};
  const std::string_view suffix = name.substr(dot + 1, end - dot - 1), base = name.substr(0, dot);
  auto is_any = [&](auto names) { return std::find(names.begin(), names.end(), suffix) != names.end(); };
  if (suffix == "cold") return {base, numbered ? Suffix::kColdNumbered : Suffix::kCold};
  if (numbered ? suffix == "__part" : suffix == "warm" || suffix == "eh") return {base, Suffix::kPlacement};
  if (numbered ? is_any(std::to_array<std::string_view>({"part", "isra", "constprop", "lto_priv", "llvm", "__uniq"}))
               : is_any(std::to_array<std::string_view>({"localalias", "cfi"})))
    return {base, Suffix::kOfFunction};
  return {base, Suffix::kOther};
}

// As take_apart(), without symbol version and with what compilers append to functions taken off before: foo.cold.1.llvm.5.
SuffixedName part_suffix(std::string_view name) {
  name = name.substr(0, name.find('@', 1));
  SuffixedName taken = take_apart(name);
  while (taken.suffix == Suffix::kOfFunction) taken = take_apart(taken.base);
  return taken;
}

bool has_function_type(const CodeSymbol& symbol) { return symbol.type == STT_FUNC || symbol.type == STT_GNU_IFUNC; }

// Returns those of the addresses that a call instruction leads to (e8, a 32-bit distance). Other bytes that look like one lead to
// a given address once in four billion times.
std::unordered_set<uint64_t> called_among(const ElfImage& image, const std::unordered_set<uint64_t>& addresses) {
  std::unordered_set<uint64_t> called;
  constexpr size_t kCall = 5;
  for (const ElfImage::Section& section : image.sections()) {
    if (addresses.empty() || section.type != SHT_PROGBITS || !(section.flags & SHF_EXECINSTR)) continue;
    const std::string_view code = image.contents(section);
    for (size_t at = code.find('\xe8'); at != code.npos && at + kCall <= code.size(); at = code.find('\xe8', at + 1)) {
      int32_t distance;
      memcpy(&distance, &code[at + 1], sizeof distance);
      const uint64_t target = section.address + at + kCall + static_cast<uint64_t>(int64_t{distance});
      if (addresses.contains(target)) called.insert(target);
    }
  }
  return called;
}

// Where code with a size is.
class KnownCode {
 public:
  KnownCode(std::span<const CodeSymbol> symbols, std::initializer_list<const std::vector<DoubtfulSymbol>*> others) {
    for (const CodeSymbol& symbol : symbols) add(symbol);
    for (const std::vector<DoubtfulSymbol>* more : others)
      for (const DoubtfulSymbol& symbol : *more) add(symbol);
    finish();
  }
  bool contains(uint64_t address) const {
    auto after =
        std::upper_bound(ranges_.begin(), ranges_.end(), address, [](uint64_t a, const Range& r) { return a < r.begin; });
    return after != ranges_.begin() && address < std::prev(after)->reach;
  }
  // Returns the first address behind this one at which code begins.
  uint64_t next(uint64_t address) const {
    auto after =
        std::upper_bound(ranges_.begin(), ranges_.end(), address, [](uint64_t a, const Range& r) { return a < r.begin; });
    return after == ranges_.end() ? UINT64_MAX : after->begin;
  }

 private:
  struct Range {
    uint64_t begin;
    uint64_t reach;  // the furthest end of this one and all before
  };
  void add(const CodeSymbol& symbol) { ranges_.push_back({symbol.address, symbol.address + symbol.size}); }
  void finish() {
    std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
    for (size_t i = 1; i < ranges_.size(); ++i) ranges_[i].reach = std::max(ranges_[i].reach, ranges_[i - 1].reach);
  }
  std::vector<Range> ranges_;
};

class Decision {
 public:
  Decision(const ElfImage& image, std::vector<DoubtfulSymbol>& doubtful, std::span<const CodeSymbol> known)
      : image_(image), doubtful_(doubtful), known_(known) {}

  DecidedSymbols make() {
    find_wholes();
    find_calls();
    std::vector<DoubtfulSymbol> unsized;
    for (DoubtfulSymbol& symbol : doubtful_) {
      if (is_part(symbol)) parts_.push_back(symbol);
      else if (has_function_type(symbol) && symbol.size > 0) functions_.push_back(symbol);
      else unsized.push_back(symbol);
    }
    add_functions_among(unsized);
    give_sizes(unsized);
    return {{functions_.begin(), functions_.end()}, std::move(parts_)};
  }

 private:
  static std::string_view plain(std::string_view name) { return name.substr(0, name.find('@', 1)); }

  // Of the functions that parts may be of, by their names, those that are there; also without a size.
  void find_wholes() {
    std::unordered_set<std::string_view> asked;
    for (const DoubtfulSymbol& symbol : doubtful_) {
      const SuffixedName name = part_suffix(symbol.name);
      if (name.suffix == Suffix::kPlacement || name.suffix == Suffix::kOther) asked.insert(name.base);
    }
    if (asked.empty()) return;
    auto look = [&](const CodeSymbol& symbol) {
      if (asked.contains(plain(symbol.name))) wholes_.insert(plain(symbol.name));
    };
    for (const CodeSymbol& symbol : known_) look(symbol);
    for (const CodeSymbol& symbol : doubtful_) look(symbol);
  }

  void find_calls() {
    std::unordered_set<uint64_t> asked;
    for (const DoubtfulSymbol& symbol : doubtful_) {
      const Suffix suffix = part_suffix(symbol.name).suffix;
      const bool may_be_outlined = suffix == Suffix::kColdNumbered && has_function_type(symbol);
      const bool may_be_assembly = suffix != Suffix::kCold && suffix != Suffix::kColdNumbered &&
                                   (symbol.size == 0 || !has_function_type(symbol)) && !range_at(symbol.address);
      if (may_be_outlined || may_be_assembly) asked.insert(symbol.address);
    }
    called_ = called_among(image_, asked);
  }

  const UnwindRange* range_at(uint64_t address) {
    if (!ranges_) ranges_ = read_unwind_ranges(image_);
    auto after = std::upper_bound(ranges_->begin(), ranges_->end(), address,
                                  [](uint64_t a, const UnwindRange& range) { return a < range.address.value; });
    if (after == ranges_->begin()) return nullptr;
    const UnwindRange& range = *std::prev(after);
    return address - range.address.value < range.size ? &range : nullptr;
  }
  bool begins(uint64_t address, Start start) {
    const UnwindRange* range = range_at(address);
    return range && range->address.value == address && range->start == start;
  }

  bool is_part(DoubtfulSymbol& symbol) {
    const SuffixedName name = part_suffix(symbol.name);
    symbol.whole = name.base;
    switch (name.suffix) {
      case Suffix::kNone:
      case Suffix::kOfFunction: return false;
      case Suffix::kCold: return true;
      case Suffix::kColdNumbered: return !called_.contains(symbol.address) || begins(symbol.address, Start::kInside);
      case Suffix::kPlacement: return wholes_.contains(name.base) || begins(symbol.address, Start::kInside);
      case Suffix::kOther: return wholes_.contains(name.base) && begins(symbol.address, Start::kInside);
    }
    return false;
  }

  bool is_function(const DoubtfulSymbol& symbol) {
    if (const UnwindRange* range = range_at(symbol.address))
      return range->address.value == symbol.address && range->start == Start::kCalled &&
             (symbol.global_in_source || has_function_type(symbol));
    return (has_function_type(symbol) && symbol.global_in_source && !image_.is_made_by_go()) || called_.contains(symbol.address);
  }

  void add_functions_among(const std::vector<DoubtfulSymbol>& unsized) {
    if (unsized.empty()) return;
    const KnownCode code(known_, {&functions_, &parts_});
    for (const DoubtfulSymbol& symbol : unsized)
      if (!code.contains(symbol.address) && is_function(symbol)) functions_.push_back(symbol);
  }

  // unsized: where these are, other code ends, whether they are functions or not.
  void give_sizes(const std::vector<DoubtfulSymbol>& unsized) {
    auto lacks = [](const CodeSymbol& symbol) { return symbol.size == 0; };
    if (std::ranges::none_of(functions_, lacks) && std::ranges::none_of(parts_, lacks)) return;
    const KnownCode code(known_, {&functions_, &parts_, &unsized});
    for (std::vector<DoubtfulSymbol>* symbols : {&functions_, &parts_}) {
      for (DoubtfulSymbol& symbol : *symbols) {
        if (symbol.size > 0) continue;
        const UnwindRange* range = range_at(symbol.address);
        uint64_t end = range ? range->address.value + range->size : symbol.section_end;
        if (!range || range->address.value != symbol.address) end = std::min(end, code.next(symbol.address));
        symbol.size = end - symbol.address;
      }
    }
  }

  const ElfImage& image_;
  std::vector<DoubtfulSymbol>& doubtful_;
  std::span<const CodeSymbol> known_;
  std::unordered_set<std::string_view> wholes_;
  std::unordered_set<uint64_t> called_;
  std::optional<std::vector<UnwindRange>> ranges_;
  std::vector<DoubtfulSymbol> functions_, parts_;
};

}  // namespace

bool is_doubtful(const DoubtfulSymbol& symbol, std::string_view section) {
  if (section.starts_with(".plt") || section == ".init" || section == ".fini") return false;
  const size_t dot = symbol.name.find('.', 1);
  const Suffix suffix = dot == symbol.name.npos ? Suffix::kNone : part_suffix(symbol.name).suffix;
  if (suffix == Suffix::kCold || suffix == Suffix::kColdNumbered || suffix == Suffix::kPlacement) return true;
  // Crtstuff.c's, and the way back from signal handlers, to which nothing but a return leads.
  constexpr auto kNeverCalled = std::to_array<std::string_view>(
      {"deregister_tm_clones", "register_tm_clones", "__do_global_dtors_aux", "frame_dummy", "__restore_rt", "__restore"});
  const bool called = std::find(kNeverCalled.begin(), kNeverCalled.end(), symbol.name) == kNeverCalled.end();
  return called && (symbol.global_in_source || has_function_type(symbol));
}

bool is_surely_function(const CodeSymbol& symbol) {
  if (!has_function_type(symbol) || symbol.size == 0) return false;
  if (symbol.name.find('.', 1) == symbol.name.npos) return true;
  const Suffix suffix = part_suffix(symbol.name).suffix;
  return suffix == Suffix::kNone || suffix == Suffix::kOfFunction;
}

DecidedSymbols decide_entries(const ElfImage& image, std::vector<DoubtfulSymbol> doubtful, std::span<const CodeSymbol> known) {
  return Decision(image, doubtful, known).make();
}

}  // namespace spile::debuginfo
