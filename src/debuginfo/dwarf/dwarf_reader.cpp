#include "debuginfo/dwarf/dwarf_reader.h"

#include <dwarf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "base/text/glob.h"
#include "debuginfo/dwarf/concrete_variables.h"
#include "debuginfo/dwarf/dwarf_code.h"
#include "debuginfo/dwarf/dwarf_expression.h"
#include "debuginfo/dwarf/dwarf_file.h"
#include "debuginfo/dwarf/dwarf_types.h"
#include "debuginfo/dwarf/frame_numbers.h"
#include "debuginfo/dwarf/name_search.h"
#include "debuginfo/dwarf/template_names.h"
#include "debuginfo/dwarf/unit_passes.h"
#include "debuginfo/dwarf/value_ranges.h"
#include "debuginfo/terms/names.h"

namespace spile::debuginfo {
namespace {

constexpr int kDeepestBlock = 200;
constexpr size_t kMostVariables = 10'000;

bool is_c(uint64_t language) {
  constexpr uint64_t kC17 = 0x2c;  // DWARF 6
  return language == DW_LANG_C89 || language == DW_LANG_C || language == DW_LANG_C99 || language == DW_LANG_C11 ||
         language == kC17;
}

// "clang LLVM (rustc version 1.63.0)": 63. Not of that form: 1, older than all.
uint32_t rustc_version(const std::string& producer) {
  constexpr std::string_view kVersion = "rustc version 1.";
  const size_t at = producer.find(kVersion);
  const long minor = at == producer.npos ? 0 : strtol(producer.c_str() + at + kVersion.size(), nullptr, 10);
  return static_cast<uint32_t>(std::clamp<long>(minor, 1, 100'000));
}

Place constant_place(Dwarf_Attribute& attribute) {
  Place place;
  place.kind = Place::Kind::kValue;
  Dwarf_Sword number;
  Dwarf_Word unsigned_number;
  Dwarf_Block block;
  if (dwarf_formsdata(&attribute, &number) == 0) {
  } else if (dwarf_formudata(&attribute, &unsigned_number) == 0) {
    number = static_cast<Dwarf_Sword>(unsigned_number);
  } else if (dwarf_formblock(&attribute, &block) == 0 && block.length <= sizeof number) {
    number = 0;
    memcpy(&number, block.data, block.length);
  } else {
    return unavailable("is a constant that can't be read");
  }
  place.operations.emplace_back(location::Constant{number});
  return place;
}

VariableRecord read_variable(Dwarf_Die& die, Variable::Kind kind, const FrameContext& context) {
  VariableRecord record;
  record.name = die_name(die);
  record.kind = kind;
  record.type = type_id_of(context.file, die);
  if (context.function) {
    record.die = context.file.id_of(die);
    if (auto origin = die_reference(die, DW_AT_abstract_origin)) record.origin = context.file.id_of(*origin);
    record.place.array_numbers = frame_numbers(record.type, context);
  }
  Dwarf_Attribute attribute;
  if (dwarf_attr_integrate(&die, DW_AT_location, &attribute)) {
    LocatedValue value = compile_location(attribute, context);
    value.place.array_numbers = std::move(record.place.array_numbers);
    record.place = std::move(value.place);
    using Slot = VariableRecord::Slot;
    if (value.in_future_frame) record.slot = value.by_reference ? Slot::kNotThereYetByReference : Slot::kNotThereYet;
    else if (kind == Variable::Kind::kParameter && !record.place.available() && is_passed_by_address(attribute, context))
      record.slot = Slot::kNotThereYetByReference;
  } else if (dwarf_attr_integrate(&die, DW_AT_const_value, &attribute)) {
    record.place = constant_place(attribute);
  } else {
    record.is_declaration = die_flag(die, DW_AT_declaration) || die_flag(die, DW_AT_external);
    if (record.is_declaration) record.symbol = die_linkage_name(die);
    record.place = unavailable(record.is_declaration ? "is only declared here" : "is optimized out");
  }
  record.is_result = die_flag(die, DW_AT_variable_parameter);
  if (record.is_result && context.at_entry) {
    record.place = unavailable("is a result, which the function has not set yet");
    record.slot = VariableRecord::Slot::kReady;
  }
  return record;
}

// Collects what a function's DIE and the blocks inside that contain pc declare.
class VariableCollector {
 public:
  explicit VariableCollector(const FrameContext& context) : context_(context) {}

  void collect(Dwarf_Die& function) {
    visit(function, 0);
    for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block)
      for (VariableRecord& record : *block) locals_.push_back(std::move(record));
    // In the source's order: GCC lists a clone's constant parameters last.
    std::sort(parameters_.begin(), parameters_.end(),
              [](const Parameter& a, const Parameter& b) { return a.position < b.position; });
  }

  std::vector<VariableRecord> take() {
    std::vector<VariableRecord> all;
    for (Parameter& parameter : parameters_) all.push_back(std::move(parameter.record));
    for (VariableRecord& record : locals_) all.push_back(std::move(record));
    return all;
  }

 private:
  void visit(Dwarf_Die& scope, int depth) {
    if (depth > kDeepestBlock) return;
    const size_t level = static_cast<size_t>(depth);
    if (blocks_.size() <= level) blocks_.resize(level + 1);
    for (ChildDies children(scope); children.valid() && seen_.size() < kMostVariables; children.next()) {
      Dwarf_Die& die = children.die();
      switch (children.tag()) {
        case DW_TAG_formal_parameter:
          parameters_.push_back({note(die), read_variable(die, Variable::Kind::kParameter, context_)});
          break;
        case DW_TAG_variable:
          note(die);
          blocks_[level].push_back(read_variable(die, Variable::Kind::kLocal, context_));
          break;
        case DW_TAG_lexical_block:
        case DW_TAG_try_block:
        case DW_TAG_catch_block:
          if (dwarf_haspc(&die, context_.pc.value) == 1) visit(die, depth + 1);
          break;
        case DW_TAG_GNU_formal_parameter_pack: visit(die, depth + 1); break;
        default: break;
      }
    }
    // A copy of a function that is also inlined, or of a block of it: what it doesn't mention is optimized out of it, or,
    // as static variables, the same for all copies.
    if (auto origin = die_reference(scope, DW_AT_abstract_origin)) inherit(*origin, level);
  }

  // Returns what parameters are ordered by: where they are first described.
  uintptr_t note(Dwarf_Die& die) {
    seen_.insert(die.addr);
    auto origin = die_reference(die, DW_AT_abstract_origin);
    if (origin) seen_.insert(origin->addr);
    return reinterpret_cast<uintptr_t>(origin ? origin->addr : die.addr);
  }

  void inherit(Dwarf_Die& origin, size_t level) {
    for (ChildDies children(origin); children.valid(); children.next()) {
      Dwarf_Die& die = children.die();
      const int tag = children.tag();
      if ((tag != DW_TAG_formal_parameter && tag != DW_TAG_variable) || seen_.contains(die.addr)) continue;
      if (tag == DW_TAG_formal_parameter)
        parameters_.push_back({note(die), read_variable(die, Variable::Kind::kParameter, context_)});
      else blocks_[level].push_back(read_variable(die, Variable::Kind::kLocal, context_));
    }
  }

  struct Parameter {
    uintptr_t position;
    VariableRecord record;
  };

  const FrameContext& context_;
  std::vector<Parameter> parameters_;
  std::vector<VariableRecord> locals_;
  std::vector<std::vector<VariableRecord>> blocks_;  // by nesting
  std::unordered_set<void*> seen_;
};

// Go moves variables that outlive their function to the heap. Then "&x" is described, a pointer to it: x is what the source calls
// it. Where a parameter has been moved, both are described, and keep their names.
void name_moved_variables(DwarfFile& file, std::vector<VariableRecord>& variables) {
  std::unordered_set<std::string> names;
  for (const VariableRecord& variable : variables) names.insert(variable.name);
  for (VariableRecord& variable : variables) {
    if (!variable.name.starts_with('&') || names.contains(variable.name.substr(1))) continue;
    const TypeNode pointer = read_type(file, variable.type);
    if (pointer.kind != TypeKind::kPointer) continue;
    Place& place = variable.place;
    if (place.kind == Place::Kind::kPieces) place = unavailable("is reached by a pointer in several places");
    if (place.kind == Place::Kind::kMemory) place.operations.emplace_back(location::Deref{8});
    if (place.kind == Place::Kind::kValue) place.kind = Place::Kind::kMemory;
    variable.name.erase(0, 1);
    variable.type = pointer.target;
  }
}

// The variables that numbers of arrays are in: their index among the function's, from 1 on; 0: another's value, which is known.
void name_by_index(std::vector<VariableRecord>& variables) {
  std::unordered_map<uint64_t, size_t> numbers;
  for (size_t i = 0; i < variables.size(); ++i) {
    if (variables[i].origin != 0) numbers.emplace(variables[i].origin, i + 1);
    numbers.emplace(variables[i].die, i + 1);
  }
  for (VariableRecord& variable : variables) {
    for (FrameNumber& number : variable.place.array_numbers) {
      auto known = numbers.find(number.variable);
      number.variable = number.variable != 0 && known != numbers.end() ? known->second : 0;
      if (number.variable != 0) number.operations.clear();
    }
    std::erase_if(variable.place.array_numbers,
                  [](const FrameNumber& number) { return number.variable == 0 && number.operations.empty(); });
  }
}

bool is_scope_of_globals(int tag) { return tag == DW_TAG_namespace || tag == DW_TAG_module; }

// Calls visit(die) for each variable at file or namespace scope until it returns false.
template <typename Visitor>
bool each_unit_variable(Dwarf_Die& scope, Visitor& visit, int depth = 0) {
  for (ChildDies children(scope); children.valid(); children.next()) {
    const int tag = children.tag();
    if (tag == DW_TAG_variable && !visit(children.die())) return false;
    if (is_scope_of_globals(tag) && depth < kDeepestBlock && !each_unit_variable(children.die(), visit, depth + 1)) return false;
  }
  return true;
}

// "ns::Stack<a::b>::count" cut at its "::"; the first is "" of "::count".
std::vector<std::string> scopes_in(std::string_view name) {
  std::vector<std::string> scopes(1);
  int depth = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    depth += name[i] == '<' ? 1 : name[i] == '>' ? -1 : 0;
    if (depth > 0 || !name.substr(i).starts_with("::")) {
      scopes.back() += name[i];
      continue;
    }
    scopes.emplace_back();
    ++i;
  }
  return scopes;
}

// How many named scopes are around the namespaces and classes `wanted`, innermost last, that a variable must lie in.
std::optional<size_t> scopes_around(Dwarf_Die& variable, std::span<const std::string> wanted) {
  Dwarf_Attribute attribute;
  Dwarf_Die declaration = variable;  // of a class's static member: inside the class
  if (dwarf_attr(&variable, DW_AT_specification, &attribute)) dwarf_formref_die(&attribute, &declaration);
  Dwarf_Die* around = nullptr;
  const int count = dwarf_getscopes_die(&declaration, &around);
  struct Scope {
    std::string name;
    bool is_inline;  // of an inline namespace, whose name may be left out
  };
  std::vector<Scope> scopes;             // innermost first; of an anonymous namespace nothing
  for (int i = 1; i < count - 1; ++i) {  // the last is the unit
    std::string name = die_name(around[i]);
    const bool is_inline = die_flag(around[i], DW_AT_export_symbols) || is_inline_namespace(name);
    if (!name.empty()) scopes.push_back({std::move(name), is_inline});
  }
  free(around);
  const bool anchored = wanted.front().empty();
  if (anchored) wanted = wanted.subspan(1);
  size_t at = 0;
  for (auto name = wanted.rbegin(); name != wanted.rend(); ++name, ++at) {
    while (at < scopes.size() && scopes[at].name != *name && scopes[at].is_inline) ++at;
    if (at == scopes.size() || scopes[at].name != *name) return std::nullopt;
  }
  const auto more = static_cast<size_t>(std::count_if(scopes.begin() + static_cast<ptrdiff_t>(at), scopes.end(),
                                                      [](const Scope& scope) { return !scope.is_inline; }));
  return anchored && more > 0 ? std::nullopt : std::optional(more);
}

// The definition of the name among a unit's variables, else a declaration of it. Of "A::x" the one with the fewest scopes
// around A.
std::optional<VariableRecord> search_unit(DwarfFile& file, DwarfFile::Unit& unit, const std::string& name,
                                          ConcreteVariables& concrete) {
  std::optional<VariableRecord> found;
  std::vector<std::string> scopes = scopes_in(name);
  const std::string last = scopes.back();
  scopes.pop_back();
  size_t fewest = SIZE_MAX;
  auto visit = [&](Dwarf_Die& die) {
    if (die_name(die) != last) return true;
    const std::optional<size_t> around = scopes.empty() ? 0 : scopes_around(die, scopes);
    if (!around || *around > fewest || (*around == fewest && found && !found->is_declaration)) return true;
    fewest = *around;
    const FrameContext nowhere{file, nullptr, FileAddress(), FileAddress(), false};
    found = read_variable(die, Variable::Kind::kGlobal, nowhere);
    if (!found->place.available())
      if (auto placed = concrete.of(die)) found = read_variable(*placed, Variable::Kind::kGlobal, nowhere);
    return found->is_declaration || fewest > 0;
  };
  each_unit_variable(unit.die, visit);
  return found;
}

}  // namespace

DwarfReader::DwarfReader(std::string path, std::unique_ptr<DwarfFile> file)
    : path_(std::move(path)), file_(std::move(file)), concrete_(std::make_unique<ConcreteVariables>(*file_)) {}
DwarfReader::~DwarfReader() = default;

Result<std::unique_ptr<DwarfReader>> DwarfReader::open(const DwarfSources& sources) {
  TRY(auto file, DwarfFile::open(sources));
  auto reader = std::unique_ptr<DwarfReader>(new DwarfReader(sources.path, std::move(file)));
  reader->missing_ = sources.missing;
  return reader;
}

bool DwarfReader::lacks_units() const { return file_->lacks_units(); }

// The error for a function that no unit describes; unit: that has its code, if any has.
static Error not_described(DwarfFile& file, const std::string& path, const std::string& missing_sections, FileAddress function,
                           DwarfFile::Unit& unit) {
  const std::string missing = unit.die.addr ? file.missing_split_file(unit) : "";
  if (!missing.empty())
    return {fmt::format("{}: the debug information of the function at 0x{:x} is in {}", path, function.value, missing),
            "-gsplit-dwarf leaves .dwo files beside the object files: copy them there, or put all into one .dwp file beside the "
            "program"};
  return {fmt::format("{}: the debug information does not describe the function at 0x{:x}", path, function.value),
          missing_sections.empty() ? "the file that defines it was compiled without -g" : missing_sections};
}

Result<FunctionRecord> DwarfReader::function(FileAddress function, FileAddress pc, uint64_t scope) {
  DwarfFile::Unit unit{};
  auto die = file_->function_die(function, &unit);
  if (!die) return not_described(*file_, path_, missing_, function, unit);
  // Of an inlined call: its own variables, in the frame of the function around it.
  std::optional<Dwarf_Die> inner = *die;
  if (scope != 0) {
    inner = file_->die_of(scope);
    if (!inner || dwarf_tag(&*inner) != DW_TAG_inlined_subroutine)
      return Error{fmt::format("{}: no function is inlined at 0x{:x}", path_, pc.value), {}};
  }
  FunctionRecord record;
  record.return_type = type_id_of(*file_, *inner);
  record.standard_convention = scope == 0 && die_number(*die, DW_AT_calling_convention).value_or(DW_CC_normal) != DW_CC_nocall;
  const bool is_gcc = die_text(unit.die, DW_AT_producer).starts_with("GNU ");
  if (is_gcc && is_c(die_number(unit.die, DW_AT_language).value_or(0))) record.flexible_arrays = FlexibleArrays::kIgnored;
  const FrameContext context{*file_, &*die, function, pc, pc == function};
  VariableCollector collector(context);
  collector.collect(*inner);
  record.variables = collector.take();
  name_by_index(record.variables);
  record.go = die_number(unit.die, DW_AT_language) == DW_LANG_Go;
  if (record.go) name_moved_variables(*file_, record.variables);
  if (die_number(unit.die, DW_AT_language) == DW_LANG_Rust) {
    const std::string linkage_name = die_linkage_name(*die);
    if (linkage_name.starts_with("_ZN") || linkage_name.starts_with("_R"))
      record.rust_version = rustc_version(die_text(unit.die, DW_AT_producer));
    const std::string name = die_name(*die);
    record.rust_closure = name.starts_with("{closure") || name.starts_with("{async") || name.starts_with("{coroutine") ||
                          name.starts_with("{generator");
  }
  record.go_registers = record.go && die_text(unit.die, DW_AT_producer).find("regabi") != std::string::npos;
  return record;
}

std::vector<CodeRange> DwarfReader::value_ranges(FileAddress function, const std::string& name, uint64_t scope) {
  DwarfFile::Unit unit{};
  auto die = scope != 0 ? file_->die_of(scope) : file_->function_die(function, &unit);
  return die ? debuginfo::value_ranges(*die, name) : std::vector<CodeRange>();
}

// The unit of the function's source, and of the inlined call's where scope is one.
static std::optional<DwarfFile::Unit> declaring_unit(DwarfFile& file, FileAddress function, uint64_t scope) {
  DwarfFile::Unit unit{};
  const auto die = scope != 0 ? file.die_of(scope) : file.function_die(function, &unit);
  auto source = die ? unit_of_source(*die) : std::nullopt;
  return source ? source : file.unit_of(function);
}

std::optional<VariableRecord> DwarfReader::unit_variable(FileAddress function, const std::string& name, uint64_t scope) {
  auto unit = declaring_unit(*file_, function, scope);
  return unit ? search_unit(*file_, *unit, name, *concrete_) : std::nullopt;
}

std::optional<VariableRecord> DwarfReader::global_variable(const std::string& name, const std::string& file) {
  std::optional<VariableRecord> found;
  const std::string last = scopes_in(name).back();
  for (NamingUnit& naming : units_naming(*file_, last)) {
    if (!naming.unsure && !naming.has_variable) continue;
    DwarfFile::Unit& unit = naming.unit;
    if (!file.empty()) {
      const std::string unit_file = die_name(unit.die);
      if (!file_matches(file, unit_file)) continue;
    }
    auto record = search_unit(*file_, unit, name, *concrete_);
    if (record && (!found || found->is_declaration)) found = std::move(record);
    if (found && !found->is_declaration) break;
  }
  return found;
}

std::vector<std::string> DwarfReader::unit_variable_names(FileAddress function) {
  std::vector<std::string> names;
  auto visit = [&](Dwarf_Die& die) {
    names.push_back(die_name(die));
    return names.size() < kMostVariables;
  };
  if (auto unit = declaring_unit(*file_, function, 0)) each_unit_variable(unit->die, visit);
  return names;
}

TypeNode DwarfReader::type(uint64_t id) { return read_type(*file_, id); }
uint64_t DwarfReader::definition(uint64_t id) { return find_definition(*file_, id); }
uint64_t DwarfReader::type_named(const std::string& name) { return find_named_type(*file_, name); }

Result<SourcePlace> DwarfReader::declaration(FileAddress function) {
  DwarfFile::Unit unit{};
  auto die = file_->function_die(function, &unit);
  if (!die) return not_described(*file_, path_, missing_, function, unit);
  SourcePlace place = declared_at(*file_, *die, unit);
  if (place.file.empty())
    return Error{fmt::format("{}: the function at 0x{:x} names no source file", path_, function.value), missing_};
  return place;
}

Result<SourcePlace> DwarfReader::source_line(FileAddress pc) {
  auto unit = file_->unit_of(pc);
  // Line tables belong to skeletons: .dwo files have none for code.
  Dwarf_Line* line = unit ? dwarf_getsrc_die(&unit->skeleton, pc.value) : nullptr;
  SourcePlace place;
  const char* file = line ? dwarf_linesrc(line, nullptr, nullptr) : nullptr;
  if (!file || dwarf_lineno(line, &place.line) != 0)
    return Error{fmt::format("{}: no source line is known for 0x{:x}", path_, pc.value), missing_};
  place.file = file;
  return place;
}

CodePlaces DwarfReader::inlined_calls(const std::string& name) {
  CodePlaces places;
  for (NamingUnit& naming : units_naming(*file_, name)) {
    if (naming.unsure) add_inlined_calls(*file_, naming.unit, nullptr, places);
    for (const NamingUnit::Call& call : naming.calls) add_inlined_call(*file_, naming.unit, call.die, call.function, places);
  }
  return places;
}

CodePlaces DwarfReader::inlined_calls_like(const NamePattern* pattern) {
  return read_all_units<CodePlaces>(*file_, [&](DwarfFile& file, DwarfFile::Unit& unit, CodePlaces& places) {
    add_inlined_calls(file, unit, pattern, places);
  });
}

// read(unit, function, places): of one function, or of all of the unit.
template <typename Read>
CodePlaces DwarfReader::places_in(PlacesOfUnits& known, FileAddress function, Read read) {
  CodePlaces places;
  auto unit = file_->unit_of(function);
  if (!unit) return places;
  auto [entry, is_first] = known.try_emplace(unit->die.addr);
  if (is_first) {
    read(*unit, std::optional(function), places);
    return places;
  }
  if (!entry->second.is_whole) {
    constexpr size_t kMostKept = 500'000;
    if (kept_places_ > kMostKept) {
      for (PlacesOfUnits* all : {&inlined_, &calls_})
        for (auto& [die, unit_places] : *all) unit_places = {};
      kept_places_ = 0;
    }
    CodePlaces all;
    read(*unit, std::nullopt, all);
    kept_places_ += all.size();
    for (CodePlace& place : all) entry->second.of_function[place.function.value].push_back(std::move(place));
    entry->second.is_whole = true;
  }
  auto found = entry->second.of_function.find(function.value);
  return found == entry->second.of_function.end() ? places : found->second;
}

CodePlaces DwarfReader::inlined_calls_in(FileAddress function) {
  return places_in(inlined_, function, [&](DwarfFile::Unit& unit, std::optional<FileAddress> only, CodePlaces& places) {
    add_inlined_calls(*file_, unit, nullptr, places);
    if (only) std::erase_if(places, [&](const CodePlace& place) { return place.function != *only; });
  });
}

std::vector<CodeRange> DwarfReader::code_of_call(uint64_t scope) {
  auto die = file_->die_of(scope);
  return die ? code_of(*die) : std::vector<CodeRange>();
}

CodePlaces DwarfReader::labels() { return read_all_units<CodePlaces>(*file_, add_labels); }

Result<CodePlaces> DwarfReader::statements(const std::string& file_pattern) {
  CodePlaces places = read_all_units<CodePlaces>(*file_, [&](DwarfFile& file, DwarfFile::Unit& unit, CodePlaces& found) {
    add_statements(file, unit, file_pattern, found);
  });
  if (!places.empty() || !file_->lacks_units()) return places;
  for (DwarfFile::Unit unit : file_->units()) {
    const std::string missing = file_->mentions_file(unit, file_pattern) ? file_->missing_split_file(unit) : "";
    if (!missing.empty())
      return Error{fmt::format("{}: the functions of '{}' are described in {}", path_, file_pattern, missing),
                   "-gsplit-dwarf leaves .dwo files beside the object files: copy them there, or put all into one .dwp file "
                   "beside the program"};
  }
  return places;
}

CodePlaces DwarfReader::statements_in(FileAddress function) {
  CodePlaces places;
  auto unit = file_->unit_of(function);
  auto declared = declaration(function);
  if (!unit || !declared.ok()) return places;
  // The path itself: brackets in it are not a pattern here.
  std::string pattern;
  for (char c : declared->file) pattern += is_glob({&c, 1}) ? '?' : c;
  add_statements(*file_, *unit, pattern, places);
  return places;
}

CodePlaces DwarfReader::place_at(FileAddress pc) {
  auto unit = file_->unit_of(pc);
  if (!unit) return {};
  auto [known, is_new] = scopes_.try_emplace(unit->die.addr);
  if (is_new) known->second = std::make_unique<CodeScopes>(*file_, *unit);
  auto place = known->second->at(pc);
  return place ? CodePlaces{std::move(*place)} : CodePlaces{};
}

CodePlaces DwarfReader::calls(FileAddress function) {
  return places_in(calls_, function, [&](DwarfFile::Unit& unit, std::optional<FileAddress> only, CodePlaces& places) {
    add_calls(*file_, unit, only, places);
  });
}

LineRows DwarfReader::line_rows() {
  LineRows made;
  std::unordered_map<std::string, uint32_t> files;
  for (DwarfFile::Unit unit : file_->units()) {
    Dwarf_Lines* lines = nullptr;
    size_t count = 0;
    if (dwarf_getsrclines(&unit.skeleton, &lines, &count) != 0) continue;
    for (size_t i = 0; i < count; ++i) {
      Dwarf_Line* line = dwarf_onesrcline(lines, i);
      Dwarf_Addr address = 0;
      int number = 0;
      bool ends = false;
      if (dwarf_lineaddr(line, &address) != 0 || dwarf_lineno(line, &number) != 0) continue;
      dwarf_lineendsequence(line, &ends);
      const char* name = dwarf_linesrc(line, nullptr, nullptr);
      if (!name || number < 0) continue;
      auto [file, added] = files.try_emplace(name, static_cast<uint32_t>(made.files.size()));
      if (added) made.files.emplace_back(name);
      made.rows.push_back({FileAddress(address), ends ? 0 : static_cast<uint32_t>(number), file->second});
    }
  }
  // Where a sequence ends and another begins at one address, the beginning counts; else the last of them does.
  std::stable_sort(made.rows.begin(), made.rows.end(), [](const LineRow& a, const LineRow& b) {
    if (a.address.value != b.address.value) return a.address.value < b.address.value;
    return a.line == 0 && b.line != 0;
  });
  return made;
}

std::vector<DwarfFunction> DwarfReader::all_functions() {
  return read_all_units<std::vector<DwarfFunction>>(
      *file_, [](DwarfFile& file, DwarfFile::Unit& unit, std::vector<DwarfFunction>& functions) {
        std::unordered_set<void*> seen;  // of a function in several parts, the first one has its entry
        file.each_function(unit, [&](uint64_t address, uint64_t size, Dwarf_Die& die) {
          if (!seen.insert(die.addr).second) return;
          functions.push_back({die_linkage_name(die), FileAddress(address), size});
        });
      });
}

}  // namespace spile::debuginfo
