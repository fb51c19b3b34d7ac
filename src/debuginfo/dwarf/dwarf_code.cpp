#include "debuginfo/dwarf/dwarf_code.h"

#include <dwarf.h>

#include <algorithm>
#include <climits>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "debuginfo/terms/names.h"

namespace spile::debuginfo {
namespace {

constexpr int kDeepestScope = 200;
constexpr size_t kMostPlaces = 5'000'000;

// Functions of a unit and what is inlined into them, as a tree cut into address ranges.
class UnitScopes {
 public:
  struct Scope {
    Dwarf_Die die;
    bool inlined;
    uint64_t function;  // entry of the function around
    int depth;
    size_t around = kNone;  // the scope that has the inlined call
  };
  static constexpr size_t kNone = ~size_t{0};
  using Visitor = std::function<void(Dwarf_Die& die, int tag, const Scope& scope)>;

  // visit: for each label, call and inlined call, with the scope that it is in (of an inlined call: its own).
  UnitScopes(DwarfFile& file, DwarfFile::Unit& unit, const Visitor& visit) : visit_(visit) {
    std::unordered_map<void*, size_t> known;
    file.each_function(unit, [&](uint64_t start, uint64_t size, Dwarf_Die& die) {
      auto [entry, is_new] = known.try_emplace(die.addr, scopes_.size());
      if (is_new) scopes_.push_back({die, false, entry_of(die).value_or(start), 0});
      const size_t index = entry->second;
      ranges_.push_back({start, start + size, 0, index});
      if (is_new) walk(die, index, 0);
    });
    std::sort(ranges_.begin(), ranges_.end());
  }

  // The innermost function or inlined call that has code at pc; null: no code of a known function is at pc.
  const Scope* at(uint64_t pc) const {
    auto after = std::upper_bound(ranges_.begin(), ranges_.end(), Range{pc, 0, kDeepestScope + 1, 0});
    // Ranges nest: going back, the first that contains pc is the innermost.
    for (auto range = std::make_reverse_iterator(after); range != ranges_.rend(); ++range) {
      if (pc < range->end) return &scopes_[range->scope];
      if (range->depth == 0 && pc - range->start > (1u << 24)) break;
    }
    return nullptr;
  }

  // The scope whose source a line at pc is. Where an inlined call begins, so may lines of the function around it, which have no
  // instructions of their own: the call's line, and others that come before. And lines of a call may be at instructions of what
  // is around it, at which GCC's location views have the call begin. Among the scopes that have code at pc or begin there, and
  // are declared in the line's file, at or above it, the line is in the one that is declared last; a call's line is outside of
  // the call.
  const Scope* at_line(uint64_t pc, const std::string& source, int line,
                       const std::function<SourcePlace(const Scope&)>& declared) {
    const Scope* innermost = at(pc);
    if (!innermost) return nullptr;
    Owner owner;
    const auto [first, last] = begins_.equal_range(pc);
    if (innermost->inlined || first != last) find_owner(*innermost, source, line, declared, owner);
    for (auto begin = first; begin != last; ++begin) find_owner(scopes_[begin->second], source, line, declared, owner);
    return owner.scope ? owner.scope : innermost;
  }

  const std::vector<Scope>& all() const { return scopes_; }

 private:
  struct Owner {
    const Scope* scope = nullptr;
    int line = 0;  // that declares it
  };

  // Looks for a better owner of the line in the scope and those around it.
  void find_owner(const Scope& innermost, const std::string& source, int line,
                  const std::function<SourcePlace(const Scope&)>& declared, Owner& owner) {
    const auto same_file = [](const std::string& a, const std::string& b) {
      return a.substr(a.rfind('/') + 1) == b.substr(b.rfind('/') + 1);
    };
    const Scope* inner = nullptr;
    int inner_line = 0;
    for (const Scope* scope = &innermost; scope; scope = scope->around == kNone ? nullptr : &scopes_[scope->around]) {
      auto [entry, is_new] = declared_.try_emplace(static_cast<size_t>(scope - scopes_.data()));
      if (is_new) entry->second = declared(*scope);
      const SourcePlace& place = entry->second;
      const bool calls = inner && inner_line != line && calls_at(*inner, line);
      if (place.line > 0 && place.line <= line && same_file(place.file, source) && (place.line > owner.line || calls))
        owner = {scope, place.line};
      inner = scope, inner_line = place.line;
    }
  }

  static bool calls_at(const Scope& scope, int line) {
    Dwarf_Die die = scope.die;
    return scope.inlined && die_number(die, DW_AT_call_line).value_or(0) == static_cast<uint64_t>(line);
  }

  struct Range {
    uint64_t start, end;
    int depth;
    size_t scope;
    bool operator<(const Range& other) const { return start != other.start ? start < other.start : depth < other.depth; }
  };

  void walk(Dwarf_Die& parent, size_t scope, int depth) {
    if (depth > kDeepestScope || scopes_.size() > kMostPlaces) return;
    for (ChildDies children(parent); children.valid(); children.next()) {
      Dwarf_Die& die = children.die();
      const int tag = children.tag();
      switch (tag) {
        case DW_TAG_lexical_block:
        case DW_TAG_try_block:
        case DW_TAG_catch_block: walk(die, scope, depth + 1); break;
        case DW_TAG_label:
        case DW_TAG_call_site:
        case DW_TAG_GNU_call_site:
          if (visit_) visit_(die, tag, scopes_[scope]);
          break;
        case DW_TAG_inlined_subroutine: {
          const size_t inner = scopes_.size();
          scopes_.push_back({die, true, scopes_[scope].function, depth + 1, scope});
          Dwarf_Addr base, start, end;
          const std::optional<uint64_t> entry = dwarf_hasattr(&die, DW_AT_entry_pc) ? entry_of(die) : std::nullopt;
          bool has_entry = !entry;
          for (ptrdiff_t offset = 0; (offset = dwarf_ranges(&die, offset, &base, &start, &end)) > 0;) {
            if (start < end) ranges_.push_back({start, end, depth + 1, inner});
            else if (start != entry) begins_.emplace(start, inner);
            has_entry |= start <= entry && entry < end;
          }
          if (!has_entry) begins_.emplace(*entry, inner);
          if (visit_) visit_(die, tag, scopes_[inner]);
          walk(die, inner, depth + 1);
          break;
        }
        default: break;
      }
    }
  }

  const Visitor& visit_;
  std::vector<Scope> scopes_;
  std::vector<Range> ranges_;
  std::unordered_multimap<uint64_t, size_t> begins_;  // of inlined calls where they have no code: by address
  std::unordered_map<size_t, SourcePlace> declared_;  // where scopes' functions are, by index
};

CodePlace place_in(DwarfFile& file, UnitScopes::Scope scope, uint64_t address) {
  CodePlace place;
  place.address = FileAddress(address);
  place.function = FileAddress(scope.function);
  place.linkage_name = die_linkage_name(scope.die);
  if (scope.inlined) place.scope = file.id_of(scope.die);
  return place;
}

}  // namespace

std::optional<uint64_t> entry_of(Dwarf_Die& die) {
  Dwarf_Addr base, first, end;
  const bool has_range = dwarf_ranges(&die, 0, &base, &first, &end) > 0;
  Dwarf_Attribute attribute;
  Dwarf_Addr address;
  if (dwarf_attr(&die, DW_AT_entry_pc, &attribute)) {
    if (dwarf_formaddr(&attribute, &address) == 0) return address;
    // DWARF 5: an offset from the base address, which is the first range's where there is one.
    Dwarf_Word offset;
    if (has_range && dwarf_formudata(&attribute, &offset) == 0) return first + offset;
  }
  if (dwarf_lowpc(&die, &address) == 0) return address;
  if (has_range) return first;
  return std::nullopt;
}

// dwarf_decl_file() would do, but (0.188) it takes DWARF 5's file 0 for none, aborts on split units without a table,
// and decodes the whole line program first.
// The file that has the number in the unit `cu`, which is `unit` or another one that it has code of.
static std::string numbered_file(DwarfFile& file, DwarfFile::Unit& unit, Dwarf_CU* cu, Dwarf_Word number) {
  std::string name = file.file_name(cu, number);
  // A .dwo without a table of its own shares the skeleton's.
  if (name.empty() && cu == unit.die.cu && unit.die.cu != unit.skeleton.cu) name = file.file_name(unit.skeleton.cu, number);
  return name;
}

SourcePlace declared_at(DwarfFile& file, Dwarf_Die& die, DwarfFile::Unit& unit) {
  SourcePlace place;
  Dwarf_Attribute attribute;
  Dwarf_Word number;
  if (dwarf_formudata(dwarf_attr_integrate(&die, DW_AT_decl_file, &attribute), &number) != 0) {
    // GCC leaves it out for lambdas and for what the compiler adds to a class: it is where their class is.
    auto declaring = file.class_of(die);
    return declaring ? declared_at(file, *declaring, unit) : place;
  }
  place.line = static_cast<int>(die_number(die, DW_AT_decl_line).value_or(0));
  // The unit that the number belongs to: an inline function's may be another one.
  place.file = numbered_file(file, unit, attribute.cu, number);
  return place;
}

static const UnitScopes::Visitor kNothing;

struct CodeScopes::State {
  State(DwarfFile& in, DwarfFile::Unit& unit) : file(in), scopes(in, unit, kNothing) {}
  DwarfFile& file;
  UnitScopes scopes;
};

CodeScopes::CodeScopes(DwarfFile& file, DwarfFile::Unit& unit) : state_(std::make_unique<State>(file, unit)) {}
CodeScopes::~CodeScopes() = default;

std::optional<CodePlace> CodeScopes::at(FileAddress pc) const {
  const UnitScopes::Scope* scope = state_->scopes.at(pc.value);
  if (!scope) return std::nullopt;
  return place_in(state_->file, *scope, pc.value);
}

static void add_inlined_call(DwarfFile& file, DwarfFile::Unit& unit, const UnitScopes::Scope& scope, CodePlaces& places) {
  Dwarf_Die die = scope.die;
  auto entry = entry_of(die);
  if (!entry) return;
  CodePlace place = place_in(file, scope, *entry);
  if (place.linkage_name.empty() || place.scope == 0) return;
  place.source = declared_at(file, die, unit);
  places.push_back(std::move(place));
}

void add_inlined_calls(DwarfFile& file, DwarfFile::Unit& unit, const NamePattern* wanted, CodePlaces& places) {
  std::unordered_map<std::string, bool> known;  // one name is matched once
  auto matches = [&](Dwarf_Die& die) {
    auto [entry, is_new] = known.try_emplace(die_linkage_name(die), false);
    if (is_new) entry->second = wanted->matches(clone_name(entry->first).base);
    return entry->second;
  };
  UnitScopes::Visitor visit = [&](Dwarf_Die& die, int tag, const UnitScopes::Scope& scope) {
    if (tag == DW_TAG_inlined_subroutine && (!wanted || matches(die))) add_inlined_call(file, unit, scope, places);
  };
  UnitScopes scopes(file, unit, visit);
}

void add_inlined_call(DwarfFile& file, DwarfFile::Unit& unit, uint64_t call, uint64_t function, CodePlaces& places) {
  UnitScopes::Scope scope{{}, true, 0, 1};
  Dwarf_Die around;
  if (!dwarf_offdie(file.dwarf(), call, &scope.die) || !dwarf_offdie(file.dwarf(), function, &around)) return;
  const auto first = file.first_code(around);
  if (!first) return;
  scope.function = entry_of(around).value_or(*first);
  add_inlined_call(file, unit, scope, places);
}

namespace {

// A label in an inlined copy whose address the compiler did not write down.
struct UnplacedLabel {
  UnitScopes::Scope scope;
  CodePlace place;  // without address
  int best_line = 0;
};

// Where such labels are: the first code of the label's line or of one soon after it, in that copy.
void place_by_lines(DwarfFile::Unit& unit, const UnitScopes& scopes, std::vector<UnplacedLabel>& labels) {
  constexpr int kMostLinesAfter = 8;
  Dwarf_Lines* lines = nullptr;
  size_t count = 0;
  if (labels.empty() || dwarf_getsrclines(&unit.skeleton, &lines, &count) != 0) return;
  for (size_t i = 0; i < count; ++i) {
    Dwarf_Line* line = dwarf_onesrcline(lines, i);
    bool begins = false, ends = false;
    int number = 0;
    Dwarf_Addr address;
    if (!line || dwarf_linebeginstatement(line, &begins) != 0 || !begins) continue;
    if (dwarf_lineendsequence(line, &ends) != 0 || ends) continue;
    if (dwarf_lineno(line, &number) != 0 || dwarf_lineaddr(line, &address) != 0) continue;
    const char* source = dwarf_linesrc(line, nullptr, nullptr);
    const UnitScopes::Scope* scope = nullptr;
    for (UnplacedLabel& label : labels) {
      if (number < label.place.source.line || number > label.place.source.line + kMostLinesAfter) continue;
      if (!source || !file_matches(label.place.source.file, source)) continue;
      if (!scope) scope = scopes.at(address);
      if (!scope || scope->die.addr != label.scope.die.addr) continue;
      const bool better =
          label.best_line == 0 || number < label.best_line || (number == label.best_line && address < label.place.address.value);
      if (!better) continue;
      label.best_line = number;
      label.place.address = FileAddress(address);
    }
  }
}

// Labels with an address below the description of a function that stands for all of its copies: they are those of the copy that
// has that address.
void add_abstract_labels(DwarfFile& file, DwarfFile::Unit& unit, const UnitScopes& scopes, Dwarf_Die& parent, bool inside,
                         int depth, std::set<uint64_t>& known, CodePlaces& places) {
  for (ChildDies children(parent); children.valid(); children.next()) {
    Dwarf_Die& die = children.die();
    const int tag = children.tag();
    Dwarf_Addr address;
    if (inside && tag == DW_TAG_label && dwarf_lowpc(&die, &address) == 0) {
      const UnitScopes::Scope* scope = scopes.at(address);
      if (!scope || !known.insert(address).second) continue;
      CodePlace place = place_in(file, *scope, address);
      place.name = die_name(die);
      place.source = declared_at(file, die, unit);
      places.push_back(std::move(place));
      continue;
    }
    const bool abstract = tag == DW_TAG_subprogram && dwarf_hasattr(&die, DW_AT_inline);
    const bool scope = inside ? tag == DW_TAG_lexical_block
                              : tag == DW_TAG_namespace || tag == DW_TAG_structure_type || tag == DW_TAG_class_type;
    if ((abstract || scope) && depth < kDeepestScope)
      add_abstract_labels(file, unit, scopes, die, inside || abstract, depth + 1, known, places);
  }
}

}  // namespace

void add_labels(DwarfFile& file, DwarfFile::Unit& unit, CodePlaces& places) {
  std::vector<UnplacedLabel> unplaced;
  UnitScopes::Visitor visit = [&](Dwarf_Die& die, int tag, const UnitScopes::Scope& scope) {
    if (tag != DW_TAG_label) return;
    Dwarf_Addr address = 0;
    const bool placed = dwarf_lowpc(&die, &address) == 0;
    if (!placed && !scope.inlined) return;
    CodePlace place = place_in(file, scope, address);
    place.name = die_name(die);
    place.source = declared_at(file, die, unit);
    if (placed) places.push_back(std::move(place));
    else unplaced.push_back({scope, std::move(place)});
  };
  UnitScopes scopes(file, unit, visit);
  std::set<uint64_t> known;
  for (const CodePlace& place : places) known.insert(place.address.value);
  add_abstract_labels(file, unit, scopes, unit.die, false, 0, known, places);
  place_by_lines(unit, scopes, unplaced);
  for (UnplacedLabel& label : unplaced) {
    if (label.best_line != 0) places.push_back(std::move(label.place));
  }
}

std::vector<CodeRange> code_of(Dwarf_Die& die) {
  std::vector<CodeRange> ranges;
  Dwarf_Addr base, start, end;
  for (ptrdiff_t offset = 0; (offset = dwarf_ranges(&die, offset, &base, &start, &end)) > 0;)
    if (start < end) ranges.push_back({FileAddress(start), FileAddress(end)});
  return ranges;
}

namespace {

// The place of an inlined call's first statement. rows: addresses that begin statements, ascending. GCC says where the call is
// entered; code that Clang moved to before the call may have the lowest address, but begins no statement of it.
std::optional<uint64_t> begin_of_call(Dwarf_Die& call, const std::vector<uint64_t>& rows) {
  if (dwarf_hasattr(&call, DW_AT_entry_pc)) return entry_of(call);
  std::optional<uint64_t> lowest;
  for (const CodeRange& range : code_of(call)) {
    const auto row = std::lower_bound(rows.begin(), rows.end(), range.begin.value);
    if (row != rows.end() && *row < range.end.value) lowest = std::min(lowest.value_or(*row), *row);
  }
  return lowest ? lowest : entry_of(call);
}

// A line in a function or inlined call.
auto line_key(const CodePlace& place) {
  const std::string& path = place.source.file;
  return std::tuple(path.substr(path.rfind('/') + 1), place.source.line, place.function.value, place.scope);
}
using LineKeys = std::set<decltype(line_key(CodePlace()))>;

LineKeys line_keys(const CodePlaces& places) {
  LineKeys keys;
  for (const CodePlace& place : places) keys.insert(line_key(place));
  return keys;
}

// Appends the lines of inlined calls that have no row in `places`: Clang writes rows only for lines that have instructions of
// their own. Such a line begins where the call does.
void add_lines_of_calls(DwarfFile& file, DwarfFile::Unit& unit, const UnitScopes& scopes, const std::string& file_pattern,
                        const std::vector<uint64_t>& rows, CodePlaces& places) {
  const LineKeys known = line_keys(places);
  std::map<std::pair<Dwarf_CU*, uint64_t>, std::string> files;  // those that match; "" of others
  for (const UnitScopes::Scope& scope : scopes.all()) {
    if (!scope.inlined || scope.around == UnitScopes::kNone || places.size() >= kMostPlaces) continue;
    Dwarf_Die call = scope.die;
    const auto line = die_number(call, DW_AT_call_line), number = die_number(call, DW_AT_call_file);
    if (!line || !number || *line == 0 || *line > INT_MAX) continue;
    auto [source, is_new] = files.try_emplace({call.cu, *number});
    if (is_new) source->second = numbered_file(file, unit, call.cu, *number);
    if (is_new && !file_matches(file_pattern, source->second)) source->second.clear();
    if (source->second.empty()) continue;
    const auto begin = begin_of_call(call, rows);
    if (!begin) continue;
    CodePlace place = place_in(file, scopes.all()[scope.around], *begin);
    place.source = {source->second, static_cast<int>(*line)};
    if (!known.contains(line_key(place))) places.push_back(std::move(place));
  }
}

}  // namespace

void add_statements(DwarfFile& file, DwarfFile::Unit& unit, const std::string& file_pattern, CodePlaces& places) {
  if (!file.mentions_file(unit, file_pattern)) return;
  Dwarf_Lines* lines = nullptr;
  size_t count = 0;
  if (dwarf_getsrclines(&unit.skeleton, &lines, &count) != 0) return;
  UnitScopes scopes(file, unit, kNothing);
  const auto declared = [&](const UnitScopes::Scope& scope) {
    Dwarf_Die die = scope.die;
    return declared_at(file, die, unit);
  };
  const std::string producer = die_text(unit.die, DW_AT_producer);
  const bool is_llvm = producer.find("clang") != std::string::npos || producer.find("LLVM") != std::string::npos;
  std::vector<uint64_t> rows;
  CodePlaces found, unmarked;
  int line_before = 0;
  Dwarf_Addr address_before = 0;
  for (size_t i = 0; i < count && places.size() + found.size() + unmarked.size() < kMostPlaces; ++i) {
    Dwarf_Line* line = dwarf_onesrcline(lines, i);
    bool begins = false, ends = false;
    int number = 0;
    Dwarf_Addr address;
    if (!line || dwarf_lineendsequence(line, &ends) != 0 || ends) {
      line_before = 0;
      continue;
    }
    if (dwarf_linebeginstatement(line, &begins) != 0) continue;
    if (dwarf_lineno(line, &number) != 0 || number == 0 || dwarf_lineaddr(line, &address) != 0) continue;
    // LLVM marks no row as the beginning of a statement where the row before is of the same line, even of another copy of it.
    const bool goes_on = is_llvm && !begins && number == line_before;
    const Dwarf_Addr before = address_before;
    line_before = number, address_before = address;
    if (begins) rows.push_back(address);
    const char* source = begins || goes_on ? dwarf_linesrc(line, nullptr, nullptr) : nullptr;
    if (!source || !file_matches(file_pattern, source)) continue;
    if (goes_on && scopes.at(address) == scopes.at(before)) continue;
    const UnitScopes::Scope* scope = scopes.at_line(address, source, number, declared);
    if (!scope) continue;
    CodePlace place = place_in(file, *scope, address);
    place.source = {source, number};
    (begins ? found : unmarked).push_back(std::move(place));
  }
  if (!unmarked.empty()) {
    const LineKeys known = line_keys(found);
    std::ranges::copy_if(unmarked, std::back_inserter(found),
                         [&](const auto& place) { return !known.contains(line_key(place)); });
  }
  std::sort(rows.begin(), rows.end());
  add_lines_of_calls(file, unit, scopes, file_pattern, rows, found);
  std::move(found.begin(), found.end(), std::back_inserter(places));
}

void add_calls(DwarfFile& file, DwarfFile::Unit& unit, std::optional<FileAddress> function, CodePlaces& places) {
  UnitScopes::Visitor visit = [&](Dwarf_Die& die, int tag, const UnitScopes::Scope& scope) {
    if ((function && scope.function != function->value) || (tag != DW_TAG_call_site && tag != DW_TAG_GNU_call_site)) return;
    Dwarf_Attribute attribute;
    Dwarf_Addr after, at;
    const bool tail = die_flag(die, DW_AT_call_tail_call) || die_flag(die, DW_AT_GNU_tail_call);
    auto callee = die_reference(die, tag == DW_TAG_call_site ? DW_AT_call_origin : DW_AT_abstract_origin);
    bool known = dwarf_formaddr(dwarf_attr(&die, DW_AT_call_return_pc, &attribute), &after) == 0 ||
                 (tag == DW_TAG_GNU_call_site && dwarf_lowpc(&die, &after) == 0);
    // Clang tells of a tail call where it is.
    const bool exact = tail && dwarf_formaddr(dwarf_attr(&die, DW_AT_call_pc, &attribute), &at) == 0;
    if ((!known && !exact) || !callee) return;
    CodePlace place = place_in(file, scope, exact ? at : after);
    place.tail = tail;
    place.length = exact ? 1 : 0;
    place.name = die_linkage_name(*callee);
    place.source = declared_at(file, *callee, unit);
    places.push_back(std::move(place));
  };
  UnitScopes scopes(file, unit, visit);
}

}  // namespace spile::debuginfo
