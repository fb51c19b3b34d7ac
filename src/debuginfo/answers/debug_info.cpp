#include "debuginfo/answers/debug_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/diagnostics.h"
#include "debuginfo/answers/records.h"
#include "debuginfo/conventions/calling_convention.h"
#include "debuginfo/conventions/go_convention.h"
#include "debuginfo/conventions/rust_convention.h"
#include "debuginfo/dwarf/dwarf_file.h"

namespace spile::debuginfo {
namespace {

// Without a build-id, the file itself (its stamp is compared too) has to tell one build from another.
std::string cache_path(const ElfImage& image, const OpenOptions& options, bool imported) {
  const std::string directory = options.cache_directory.empty() ? AnswerCache::default_directory() : options.cache_directory;
  if (!options.use_cache || directory.empty() || (imported && image.build_id().empty())) return {};
  if (imported) return imported_path(directory, image.build_id());
  const std::string name =
      image.build_id().empty() ? fmt::format("path-{:016x}", std::hash<std::string>()(image.opened_path())) : image.build_id();
  return fmt::format("{}/{}.answers", directory, name);
}

std::string kept_path(const ElfImage& image, const OpenOptions& options) {
  const std::string path = image.build_id().empty() ? "" : cache_path(image, options, true);
  return path.empty() ? path : path.substr(0, path.rfind('.')) + kSectionsEnding;
}

}  // namespace

DebugInfo::DebugInfo(std::string path, std::shared_ptr<ElfImage> image, std::shared_ptr<ElfImage> with_dwarf,
                     const OpenOptions& options)
    : path_(std::move(path)),
      image_(std::move(image)),
      with_dwarf_(std::move(with_dwarf)),
      debug_file_(with_dwarf_ ? with_dwarf_->opened_path() : ""),
      kept_{kept_path(*image_, options), file_stamp(debug_file_), path_},
      servers_(options.servers),
      cache_(cache_path(*image_, options, !with_dwarf_), with_dwarf_ ? file_stamp(debug_file_) : kImportedStamp, path_) {
  if (with_dwarf_ || !cache_.has_file()) return;
  imported_ = true;
  debug_file_ = cache_path(*image_, options, true);
}

// Sections that units refer to and that are not there: somebody has stripped them (strip -R, objcopy). Debug information without
// them names no source files, or describes nothing.
static std::string missing_sections(const ElfImage& image) {
  std::string missing;
  for (const char* name : {".debug_abbrev", ".debug_str", ".debug_line", ".debug_line_str"}) {
    if (image.section(name)) continue;
    const ElfImage::Section* info = image.section(".debug_info");
    const std::string_view unit = info ? image.contents(*info) : std::string_view();
    constexpr size_t kVersionAt = 4;                                                                 // in a unit of 32-bit DWARF
    const bool is_old = unit.size() > kVersionAt && unit[kVersionAt] >= 2 && unit[kVersionAt] <= 4;  // not in compressed ones
    if (std::string_view(name) == ".debug_line_str" && is_old) continue;
    missing += fmt::format("{}{}", missing.empty() ? "" : ", ", name);
  }
  return missing.empty()
             ? missing
             : fmt::format("its debug information lacks {}, which may have been stripped: use the file as it was linked",
                           missing);
}

Result<DwarfReader*> DebugInfo::reader() {
  if (reader_) return reader_.get();
  if (open_error_) return *open_error_;
  if (imported_)
    return Error{
        fmt::format("{}: its debug information is not here, and the imported answers (spile cache) do not have this", path_),
        "where the debug information is: spile cache add FILE, then spile cache export"};
  if (!with_dwarf_)
    return Error{fmt::format("{}: has no debug information", path_),
                 !image_->truncation().empty()
                     ? image_->truncation()
                     : "install its debug symbols (package NAME-dbgsym or NAME-dbg), or build it with -g; without them, function "
                       "arguments can be read by number: int_arg(1), pointer_arg(2)"};
  opened_ = true;
  DwarfSources sources{.path = path_,
                       .main_fd = image_->fd(),
                       .debug_fd = with_dwarf_->fd(),
                       .debug_file = debug_file_,
                       .main_file = image_->opened_path(),
                       .alternate = {},
                       .alternate_id = {},
                       .kept = kept_,
                       .servers = servers_.get(),
                       .missing = missing_sections(*with_dwarf_)};
  if (const ElfImage::Section* link = with_dwarf_->section(".gnu_debugaltlink")) {
    const std::string_view contents = with_dwarf_->contents(*link);
    sources.alternate = ElfImage::string_at(contents, 0);
    constexpr size_t kLongestId = 64;
    for (unsigned char c : contents.substr(std::min(sources.alternate.size() + 1, contents.size())).substr(0, kLongestId))
      sources.alternate_id += fmt::format("{:02x}", c);
  }
  auto opened = DwarfReader::open(sources);
  if (!opened.ok()) {
    open_error_ = opened.error();
    return *open_error_;
  }
  reader_ = std::move(*opened);
  return reader_.get();
}

template <typename T, typename Read, typename Compute>
Result<T> DebugInfo::remembered(const std::string& key, Read read, Compute compute) {
  if (with_dwarf_ || imported_)
    if (const std::string* bytes = cache_.find(key))
      if (auto value = read(*bytes)) return std::move(*value);
  TRY(DwarfReader * dwarf, reader());
  Result<T> computed = compute(*dwarf);
  // What is missing today may be there the next time.
  if (computed.ok() && !dwarf->lacks_units()) cache_.put(key, to_bytes(*computed));
  return computed;
}

Result<SourcePlace> DebugInfo::declaration(FileAddress function) {
  return remembered<SourcePlace>(fmt::format("declaration {:x}", function.value), place_from_bytes,
                                 [&](DwarfReader& dwarf) { return dwarf.declaration(function); });
}

Result<SourcePlace> DebugInfo::source_line(FileAddress pc) {
  return remembered<SourcePlace>(fmt::format("line {:x}", pc.value), place_from_bytes,
                                 [&](DwarfReader& dwarf) { return dwarf.source_line(pc); });
}

LineRows DebugInfo::line_rows() {
  auto dwarf = reader();
  return dwarf.ok() ? (*dwarf)->line_rows() : LineRows{};
}

Result<FunctionRecord> DebugInfo::function_record(FileAddress function, FileAddress pc, uint64_t scope) {
  std::string key = fmt::format("function {:x} {:x}", function.value, pc.value);
  if (scope != 0) key += fmt::format(" {:x}", scope);
  auto read = [&](std::string_view bytes) { return function_from_bytes(bytes, function); };
  return remembered<FunctionRecord>(key, read, [&](DwarfReader& dwarf) { return dwarf.function(function, pc, scope); });
}

Result<CodePlaces> DebugInfo::inlined_calls(const std::string& name) {
  std::string key = "inlined " + name;
  // Another machine may have asked for all only.
  if (imported_ && !cache_.find(key)) key = "inlined";
  return remembered<CodePlaces>(key, places_from_bytes,
                                [&](DwarfReader& dwarf) -> Result<CodePlaces> { return dwarf.inlined_calls(name); });
}
Result<CodePlaces> DebugInfo::inlined_calls_like(const std::string& pattern) {
  std::string key = "inlined-like " + pattern;
  const bool wants_all = pattern == "*" || (!cache_.find(key) && (imported_ || cache_.find("inlined")));
  if (wants_all) key = "inlined";
  return remembered<CodePlaces>(key, places_from_bytes, [&](DwarfReader& dwarf) -> Result<CodePlaces> {
    const NamePattern name(pattern);
    return dwarf.inlined_calls_like(wants_all ? nullptr : &name);
  });
}
Result<CodePlaces> DebugInfo::inlined_calls_in(FileAddress function) {
  return remembered<CodePlaces>(fmt::format("inlined-in {:x}", function.value), places_from_bytes,
                                [&](DwarfReader& dwarf) -> Result<CodePlaces> { return dwarf.inlined_calls_in(function); });
}
std::vector<CodeRange> DebugInfo::code_of_call(uint64_t scope) {
  using Ranges = std::vector<CodeRange>;
  auto ranges = remembered<Ranges>(fmt::format("code-ranges {:x}", scope), ranges_from_bytes,
                                   [&](DwarfReader& dwarf) -> Result<Ranges> { return dwarf.code_of_call(scope); });
  return ranges.ok() ? std::move(*ranges) : Ranges();
}
Result<CodePlaces> DebugInfo::labels() {
  return remembered<CodePlaces>("labels", places_from_bytes,
                                [&](DwarfReader& dwarf) -> Result<CodePlaces> { return dwarf.labels(); });
}
Result<CodePlaces> DebugInfo::statements(const std::string& file_pattern) {
  return remembered<CodePlaces>("statements and calls " + file_pattern, places_from_bytes,
                                [&](DwarfReader& dwarf) { return dwarf.statements(file_pattern); });
}
CodePlaces DebugInfo::statements_in(FileAddress function) {
  auto dwarf = reader();
  return dwarf.ok() ? (*dwarf)->statements_in(function) : CodePlaces();
}
Result<CodePlaces> DebugInfo::place_at(FileAddress pc) {
  return remembered<CodePlaces>(fmt::format("place {:x}", pc.value), places_from_bytes,
                                [&](DwarfReader& dwarf) -> Result<CodePlaces> { return dwarf.place_at(pc); });
}
Result<CodePlaces> DebugInfo::calls(FileAddress function) {
  return remembered<CodePlaces>(fmt::format("calls {:x}", function.value), places_from_bytes,
                                [&](DwarfReader& dwarf) -> Result<CodePlaces> { return dwarf.calls(function); });
}

const TypeNode& DebugInfo::type_node(uint64_t id) {
  auto& kept = types_[id];
  if (!kept) {
    auto node = remembered<TypeNode>(fmt::format("type {:x}", id), type_from_bytes,
                                     [&](DwarfReader& dwarf) -> Result<TypeNode> { return dwarf.type(id); });
    kept = std::make_unique<TypeNode>(node.ok() ? std::move(*node) : TypeNode{});
  }
  return *kept;
}

uint64_t DebugInfo::type_definition(uint64_t id) {
  auto [entry, is_new] = definitions_.try_emplace(id, kUnknownType);
  if (!is_new) return entry->second;
  // Remembered as a node that stands for the definition.
  auto node =
      remembered<TypeNode>(fmt::format("definition {:x}", id), type_from_bytes, [&](DwarfReader& dwarf) -> Result<TypeNode> {
        TypeNode alias;
        alias.target = dwarf.definition(id);
        return alias;
      });
  return definitions_[id] = node.ok() ? node->target : kUnknownType;
}

// Replaces FormTlsAddress by what a handler can do.
static void place_thread_locals(Place& place, const DebugInfo::SymbolFacts& symbols) {
  auto say = [&](location::Operations& operations) {
    location::Operations said;
    for (const location::Operation& operation : operations) {
      if (!location::is<location::FormTlsAddress>(operation)) {
        said.push_back(operation);
        continue;
      }
      Result<location::Operations> block = symbols.thread_block();
      if (!block.ok()) {
        place.kind = Place::Kind::kUnavailable;
        place.reason = block.error().message;
        return;
      }
      const auto* constant = std::get_if<location::Constant>(&said.back());
      const std::optional<int64_t> offset = constant ? std::optional(constant->value) : std::nullopt;
      if (offset) said.pop_back();
      said.insert(said.end(), block->begin(), block->end());
      if (offset) append_offset(said, *offset);
      else said.emplace_back(location::Binary::kPlus);
    }
    operations = std::move(said);
  };
  say(place.operations);
  for (Piece& piece : place.pieces) say(piece.operations);
}

Variable DebugInfo::made_from(const VariableRecord& record, const SymbolFacts& symbols) {
  Variable variable;
  variable.name = record.name;
  variable.kind = record.kind;
  variable.place = record.place;
  variable.place.type = Type(shared_from_this(), record.type);
  if (record.is_declaration) {
    variable.kind = Variable::Kind::kGlobal;
    if (auto address = symbols.address_of(record.symbol)) {
      variable.place.kind = Place::Kind::kMemory;
      variable.place.operations = {location::Address{*address}};
      variable.place.reason.clear();
    } else if (auto offset = symbols.thread_local_offset(record.symbol)) {
      variable.place.kind = Place::Kind::kMemory;
      variable.place.operations = {location::Constant{static_cast<int64_t>(*offset)}, location::FormTlsAddress{}};
      variable.place.reason.clear();
    } else {
      variable.place.reason = "is defined in another module";
    }
  }
  place_thread_locals(variable.place, symbols);
  return variable;
}

// Parameters whose stack slots the function has yet to fill are where the calling convention has them.
void DebugInfo::place_waiting_parameters(const FunctionRecord& record, bool standard_convention,
                                         std::vector<Variable>& variables) {
  using Slot = VariableRecord::Slot;
  std::vector<PassedParameter> passed;
  bool any_waits = false;
  for (size_t i = 0; i < variables.size(); ++i) {
    const Slot slot = record.variables[i].slot;
    any_waits |= slot != Slot::kReady;
    if (variables[i].kind != Variable::Kind::kParameter) continue;
    // Fortran passes numbers so, too.
    const bool by_reference = variables[i].place.type.passed_by_reference() || slot == Slot::kNotThereYetByReference;
    passed.push_back({variables[i].place.type, by_reference});
  }
  if (!any_waits) return;
  const std::vector<Place> places =
      record.rust_version ? rust_places(record, variables)
                          : parameter_places(Type(shared_from_this(), record.return_type), passed, record.flexible_arrays);
  size_t next_parameter = 0;
  for (size_t i = 0; i < variables.size(); ++i) {
    const bool parameter = variables[i].kind == Variable::Kind::kParameter;
    const size_t number = parameter ? next_parameter++ : 0;
    if (record.variables[i].slot == Slot::kReady) continue;
    Place replaced;
    replaced.type = variables[i].place.type;
    if (!parameter) replaced.reason = "has no value yet at the function's entry";
    else if (!standard_convention || record.rust_closure) replaced.reason = "is passed in a compiler-specific way";
    else replaced = places[number];
    replaced.array_numbers = std::move(variables[i].place.array_numbers);
    variables[i].place = std::move(replaced);
  }
}

// Operations that leave the number at a place; empty: it can't be read.
static location::Operations value_of(const Place& place) {
  const auto size = static_cast<uint8_t>(place.type.size());
  location::Operations operations = place.operations;
  if (!place.type.is_scalar()) return {};
  if (place.kind == Place::Kind::kMemory) operations.emplace_back(location::Deref{size, place.type.is_signed()});
  else if (place.kind == Place::Kind::kValue) operations.emplace_back(location::Convert{size, place.type.is_signed()});
  return operations;
}

// Gives arrays the numbers that other variables of the function have.
static void place_array_numbers(std::vector<Variable>& variables) {
  std::vector<std::optional<location::Operations>> values(variables.size());
  for (Variable& variable : variables) {
    for (FrameNumber& number : variable.place.array_numbers) {
      if (number.variable == 0 || number.variable > variables.size()) continue;
      auto& value = values[number.variable - 1];
      if (!value) {
        value = value_of(variables[number.variable - 1].place);
      }
      number.operations = *value;
    }
    std::erase_if(variable.place.array_numbers, [](const FrameNumber& number) { return number.operations.empty(); });
  }
}

// As parameter_places(), by Rust's convention.
std::vector<Place> DebugInfo::rust_places(const FunctionRecord& record, const std::vector<Variable>& variables) {
  using Slot = VariableRecord::Slot;
  std::vector<RustParameter> passed;
  for (size_t i = 0; i < variables.size(); ++i) {
    if (variables[i].kind != Variable::Kind::kParameter) continue;
    const Slot slot = record.variables[i].slot;
    passed.push_back({variables[i].place.type, slot == Slot::kNotThereYet              ? RustParameter::Slot::kObject
                                               : slot == Slot::kNotThereYetByReference ? RustParameter::Slot::kAddress
                                                                                       : RustParameter::Slot::kNotKnown});
  }
  return rust_parameter_places(Type(shared_from_this(), record.return_type), passed, record.rust_version);
}

Result<std::vector<Variable>> DebugInfo::variables(FileAddress function, FileAddress pc, uint64_t scope,
                                                   const SymbolFacts& symbols) {
  TRY(FunctionRecord record, function_record(function, pc, scope));
  std::vector<Variable> variables;
  for (const VariableRecord& r : record.variables) variables.push_back(made_from(r, symbols));
  place_waiting_parameters(record, record.standard_convention && !symbols.specialised, variables);
  place_array_numbers(variables);
  // Go's results without a name are called ~r0 ...
  std::erase_if(variables, [](const Variable& v) { return v.name.empty() || v.name[0] == '~'; });
  return variables;
}

Result<Variable> DebugInfo::variable(FileAddress function, FileAddress pc, uint64_t scope, const std::string& name,
                                     const SymbolFacts& symbols) {
  TRY(std::vector<Variable> visible, variables(function, pc, scope, symbols));
  // Locals of inner blocks hide outer ones, and those hide parameters (which C forbids for the outermost block only).
  for (Variable::Kind kind : {Variable::Kind::kLocal, Variable::Kind::kGlobal, Variable::Kind::kParameter})
    for (Variable& candidate : visible)
      if (candidate.kind == kind && candidate.name == name) return std::move(candidate);
  TRY(VariableRecord record, unit_variable(function, name, scope, visible));
  return made_from(record, symbols);
}

Result<VariableRecord> DebugInfo::unit_variable(FileAddress function, const std::string& name, uint64_t scope,
                                                const std::vector<Variable>& visible) {
  std::string key = fmt::format("unit-variable {:x} {}", function.value, name);
  if (scope != 0) key += fmt::format(" {:x}", scope);
  return remembered<VariableRecord>(key, variable_from_bytes, [&](DwarfReader& dwarf) -> Result<VariableRecord> {
    auto found = dwarf.unit_variable(function, name, scope);
    if (!found) return no_such_variable(function, visible, name);
    return std::move(*found);
  });
}

Result<Variable> DebugInfo::variable_of_unit(FileAddress function, const std::string& name, const SymbolFacts& symbols) {
  TRY(VariableRecord record, unit_variable(function, name, 0, {}));
  return made_from(record, symbols);
}

std::vector<std::string> DebugInfo::global_names(FileAddress function) {
  auto dwarf = reader();
  return dwarf.ok() ? (*dwarf)->unit_variable_names(function) : std::vector<std::string>();
}

std::vector<CodeRange> DebugInfo::value_ranges(FileAddress function, const std::string& name, uint64_t scope) {
  auto dwarf = reader();
  return dwarf.ok() ? (*dwarf)->value_ranges(function, name, scope) : std::vector<CodeRange>();
}

Error DebugInfo::no_such_variable(FileAddress function, const std::vector<Variable>& visible, const std::string& name) {
  std::vector<std::string> names;
  for (const Variable& variable : visible)
    if (std::find(names.begin(), names.end(), variable.name) == names.end()) names.push_back(variable.name);
  std::string seen;
  for (const std::string& n : names) seen += (seen.empty() ? "$" : ", $") + n;
  if (reader_)
    for (std::string& n : reader_->unit_variable_names(function)) names.push_back(std::move(n));
  const std::string near = nearest_name(name, names);
  return {fmt::format("no variable '${}' is visible here", name),
          !near.empty()   ? fmt::format("did you mean '${}'?", near)
          : !seen.empty() ? fmt::format("there are: {}", seen)
                          : "debug information describes no parameters or locals of the function"};
}

Result<Variable> DebugInfo::global_variable(const std::string& name, const std::string& file, const SymbolFacts& symbols) {
  auto record = remembered<VariableRecord>(
      fmt::format("global-variable {}@{}", name, file), variable_from_bytes, [&](DwarfReader& dwarf) -> Result<VariableRecord> {
        auto found = dwarf.global_variable(name, file);
        if (!found)
          return Error{fmt::format("{}: no global variable '{}'{}", path_, name, file.empty() ? "" : " in a file like " + file),
                       {}};
        return std::move(*found);
      });
  if (!record.ok()) return record.error();
  return made_from(*record, symbols);
}

Result<Type> DebugInfo::type_named(const std::string& name) {
  // Remembered as a node that stands for it.
  auto node =
      remembered<TypeNode>(fmt::format("type-named {}", name), type_from_bytes, [&](DwarfReader& dwarf) -> Result<TypeNode> {
        TypeNode alias;
        alias.target = dwarf.type_named(name);
        if (alias.target != kUnknownType) return alias;
        return Error{fmt::format("{}: its debug information has no type '{}'", path_, name), {}};
      });
  if (!node.ok()) return node.error();
  return Type(shared_from_this(), node->target);
}

Result<Place> DebugInfo::go_result(const FunctionRecord& record, size_t index) {
  std::vector<Type> results;
  for (const VariableRecord& variable : record.variables) {
    if (variable.is_result) results.push_back(Type(shared_from_this(), variable.type));
  }
  if (results.empty()) return Error{"the function returns nothing, so it has no $return", {}};
  if (index >= results.size()) {
    return Error{fmt::format("there is no result {}: the function returns {}", index, results.size()), "$r0 is the first"};
  }
  if (record.go_registers) return go_result_places(results)[index];
  Place place;
  place.type = results[index];
  place.reason = "is returned on the stack";
  return place;
}

Result<Place> DebugInfo::return_value(FileAddress function, const SymbolFacts& symbols, size_t index) {
  TRY(FunctionRecord record, function_record(function, function, 0));
  if (record.go) return go_result(record, index);
  if (record.return_type == kVoidType) return Error{"the function returns nothing, so it has no $return", {}};
  const Type returned(shared_from_this(), record.return_type);
  Place place = record.rust_version ? rust_return_place(returned, function, record.rust_version)
                                    : return_place(returned, record.flexible_arrays);
  if (!symbols.may_lose_result && record.standard_convention) return place;
  Place lost;
  lost.type = place.type;
  lost.reason = symbols.may_lose_result
                    ? "may be optimized out of this clone of the function"
                    : "may be optimized out: the compiler has changed how the function is called (DW_CC_nocall)";
  return lost;
}

void DebugInfo::learn_types(std::vector<uint64_t> types) {
  std::unordered_set<uint64_t> seen(types.begin(), types.end());
  auto add = [&](uint64_t id) {
    if (id != kUnknownType && seen.insert(id).second) types.push_back(id);
  };
  while (!types.empty()) {
    const uint64_t id = types.back();
    types.pop_back();
    const TypeNode& node = type_node(id);
    add(node.target);
    add(node.shape.element);
    for (const MemberNode& member : node.members) add(member.type);
    for (const VirtualBaseNode& base : node.virtual_bases) add(base.type);
    if (node.is_declaration) add(type_definition(id));
  }
}

void DebugInfo::learn_inlined(const std::vector<std::string>& names) {
  auto all = inlined_calls_like("*");
  if (!all.ok()) return;
  std::unordered_map<std::string, CodePlaces> by_name;
  for (const std::string& name : names) by_name.try_emplace(name);
  for (CodePlace& place : *all) {
    // Names of C++ and Rust are asked for by their last part, and others match that, too.
    if (place.linkage_name.starts_with("_Z") || place.linkage_name.starts_with("_R")) return;
    const std::string name = place.linkage_name;
    by_name[name].push_back(std::move(place));
  }
  for (const auto& [name, places] : by_name) cache_.put("inlined " + name, to_bytes(places));
}

void DebugInfo::keep_functions(const std::vector<DwarfFunction>& functions) { cache_.put("functions", to_bytes(functions)); }

std::vector<DwarfFunction> DebugInfo::all_functions() {
  if (imported_) {
    const std::string* bytes = cache_.find("functions");
    auto functions = bytes ? functions_from_bytes(*bytes) : std::nullopt;
    return functions ? std::move(*functions) : std::vector<DwarfFunction>();
  }
  auto dwarf = reader();
  return dwarf.ok() ? (*dwarf)->all_functions() : std::vector<DwarfFunction>();
}

}  // namespace spile::debuginfo
