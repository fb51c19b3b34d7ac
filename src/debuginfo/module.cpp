// Module: the one place where symbol tables, debug information and cache come together.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "base/text/glob.h"
#include "debuginfo/answers/debug_info.h"
#include "debuginfo/debuginfo.h"
#include "debuginfo/elf/debug_package.h"
#include "debuginfo/elf/elf_image.h"
#include "debuginfo/elf/link_tables.h"
#include "debuginfo/elf/mini_debug.h"
#include "debuginfo/elf/separate_debug.h"
#include "debuginfo/elf/symbols.h"
#include "debuginfo/elf/unwind_rows.h"
#include "debuginfo/files/debug_servers.h"

namespace spile::debuginfo {
namespace {

class ElfModule final : public Module {
 public:
  ElfModule(std::string path, OpenOptions options, std::shared_ptr<ElfImage> image)
      : path_(std::move(path)), options_(std::move(options)), image_(std::move(image)) {}
  ~ElfModule() override { save_cache(); }

  const std::string& path() const override { return path_; }
  const std::string& soname() const override { return image_->soname(); }
  const std::string& build_id() const override { return image_->build_id(); }
  bool position_independent() const override { return image_->type() == ET_DYN; }
  bool is_executable() const override {
    // libc.so.6 has an interpreter too: the flag decides, and for linkers that don't set it, the missing soname.
    return image_->type() == ET_EXEC || image_->has_dynamic_flag_pie() || (image_->has_interpreter() && !image_->has_soname());
  }
  bool is_made_by_go() const override { return image_->is_made_by_go(); }
  FileAddress entry_point() const override { return image_->entry_point(); }
  const std::string& truncation() const override { return image_->truncation(); }
  const std::vector<Segment>& segments() const override { return image_->segments(); }

  Result<std::vector<Function>> functions(const FunctionPattern& pattern) override;
  std::optional<Function> function_at(FileAddress address) override { return symbols().containing(address); }
  std::vector<std::string> function_names(const std::string& like) override {
    return symbols().names(NamePattern(like).scope_count());
  }
  std::optional<Function> unnamed_function_at(FileAddress address) override;
  std::vector<Function> parts() override { return symbols().parts(); }
  std::optional<Function> part_at(FileAddress address) override { return symbols().part_containing(address); }
  bool is_entered_by_calls(FileAddress function) override;
  size_t function_count() override { return symbols().count() ? symbols().count() : unnamed_functions().size(); }
  bool has_static_symbols() override { return symbols().has_static_symbols(); }
  std::optional<FileAddress> data_symbol(const std::string& name, uint64_t* size) override {
    return symbols().data_symbol(name, size);
  }
  std::vector<std::string> data_names() override { return symbols().data_names(); }

  std::vector<UnwindRow> unwind_rows() override { return read_unwind_rows(*image_, separate_debug()); }
  std::vector<Function> all_functions() override { return symbols().all(); }
  LineRows line_rows() override { return has_debug_info() ? info().line_rows() : LineRows{}; }

  bool has_debug_info() override { return !info().debug_file().empty(); }
  const std::string& debug_file() override { return info().debug_file(); }
  Error needs_debug_info(const std::string& what, const std::string& instead) override;
  Result<SourcePlace> declaration(FileAddress function) override { return info().declaration(function); }
  Result<SourcePlace> source_line(FileAddress pc) override { return info().source_line(pc); }
  const std::vector<Mark>& marks() override {
    if (!marks_) marks_ = read_marks(*image_);
    return *marks_;
  }
  const std::vector<PltEntry>& plt() override {
    if (!plt_) plt_ = read_plt(*image_);
    return *plt_;
  }
  std::vector<FileAddress> slots_of_ifunc(FileAddress resolver) override { return debuginfo::slots_of_ifunc(*image_, resolver); }
  std::vector<FileAddress> slots_of_import(const std::string& name) override {
    std::vector<FileAddress> found;
    for (const auto& [slot, symbol] : imported_slots(*image_))
      if (symbol == name) found.emplace_back(slot);
    return found;
  }
  Result<CodePlaces> inlined_calls(const FunctionPattern& pattern) override;
  Result<CodePlaces> inlined_calls_in(FileAddress function) override {
    return has_debug_info() ? info().inlined_calls_in(function) : CodePlaces{};
  }
  Result<CodePlaces> labels(const FunctionPattern& pattern, const std::string& label) override;
  std::vector<CodeRange> code_of_call(uint64_t scope) override {
    return has_debug_info() ? info().code_of_call(scope) : std::vector<CodeRange>();
  }
  Result<CodePlaces> statements(const std::string& file) override;
  CodePlaces statements_in(FileAddress function) override;
  std::optional<CodePlace> place_at(FileAddress pc) override;
  Result<CodePlaces> calls(FileAddress function) override;
  Result<std::vector<Variable>> variables(FileAddress function, FileAddress pc, uint64_t scope) override {
    return info().variables(function, pc, scope, symbol_facts(function));
  }
  Result<Variable> variable(FileAddress function, FileAddress pc, const std::string& name, uint64_t scope) override {
    return info().variable(function, pc, scope, name, symbol_facts(function));
  }
  Result<Variable> global_variable(const std::string& name, const std::string& file) override {
    return info().global_variable(name, file, symbol_facts({}));
  }
  Result<Variable> variable_of_unit(FileAddress function, const std::string& name) override {
    return info().variable_of_unit(function, name, symbol_facts(function));
  }
  std::vector<std::string> global_names(FileAddress function) override {
    return has_debug_info() ? info().global_names(function) : std::vector<std::string>();
  }
  std::vector<CodeRange> value_ranges(FileAddress function, const std::string& name, uint64_t scope) override {
    return has_debug_info() ? info().value_ranges(function, name, scope) : std::vector<CodeRange>();
  }
  Type type_with_id(uint64_t id) override { return info().type_with_id(id); }
  Result<Type> type_named(const std::string& name) override { return info().type_named(name); }
  Result<Place> return_value(FileAddress function, size_t index) override {
    return info().return_value(function, symbol_facts(function), index);
  }
  Result<size_t> learn_all() override;
  bool save_cache() override { return !info_ || info_->save_cache(); }
  bool opened_dwarf() const override { return info_ && info_->opened_dwarf(); }

 private:
  SymbolTable& symbols();
  const std::vector<Function>& unnamed_functions();
  bool find_branch(CodePlace& place);
  bool begins_function(FileAddress address);
  std::optional<Function> whole_of(FileAddress pc);
  DebugInfo& info();
  const ElfImage* separate_debug();
  DebugInfo::SymbolFacts symbol_facts(FileAddress function);

  std::string path_;
  OpenOptions options_;
  std::shared_ptr<ElfImage> image_;
  std::optional<std::shared_ptr<ElfImage>> separate_debug_;  // null inside: looked for and not found
  std::string why_not_separate_, missing_separate_;          // as in SeparateDebug
  std::optional<std::vector<std::string>> package_ways_;     // debug_package_ways()
  std::unique_ptr<ElfImage> mini_debug_;                     // symbols_ has views of its names
  std::vector<DwarfFunction> dwarf_functions_;               // symbols_ has views of their names
  std::optional<SymbolTable> symbols_;
  std::optional<std::vector<Function>> unnamed_functions_;       // by .eh_frame
  std::optional<std::vector<FileAddress>> entered_with_frames_;  // ascending: not is_entered_by_calls()
  std::shared_ptr<DebugInfo> info_;
  std::optional<std::vector<Mark>> marks_;
  std::optional<std::vector<PltEntry>> plt_;
};

// A line has many rows where its parts were moved about; the one of lowest address is where it begins.
CodePlaces first_of_lines(CodePlaces all) {
  using Key = std::tuple<std::string, int, uint64_t, uint64_t>;
  std::map<Key, size_t> first;
  CodePlaces places;
  for (CodePlace& place : all) {
    auto [entry, is_new] =
        first.try_emplace({place.source.file, place.source.line, place.function.value, place.scope}, places.size());
    if (is_new) places.push_back(std::move(place));
    else if (place.address < places[entry->second].address) places[entry->second] = std::move(place);
  }
  return places;
}

// The name that debug information has of functions that match: "do_op" of "PrimaryLogPG::do_op". "": the pattern fits several
// names.
std::string name_sought(const std::string& pattern) {
  const std::string last = NamePattern(pattern).name_alone();
  const size_t begin = last.starts_with('~') ? 1 : 0;
  const bool plain = last.size() > begin && std::all_of(last.begin() + static_cast<ptrdiff_t>(begin), last.end(),
                                                        [](unsigned char c) { return c == '_' || isalnum(c); });
  return plain ? last : std::string();
}

bool has_section_contents(const ElfImage& image, std::string_view name) {
  const ElfImage::Section* section = image.section(name);
  return section && !image.contents(*section).empty();
}

// .zdebug_info: compressed as it was before SHF_COMPRESSED.
bool has_dwarf(const ElfImage& image) {
  return has_section_contents(image, ".debug_info") || has_section_contents(image, ".zdebug_info");
}

const ElfImage* ElfModule::separate_debug() {
  if (!separate_debug_) {
    std::shared_ptr<ElfImage> found;
    if (!has_dwarf(*image_)) {
      SeparateDebug separate = find_separate_debug(*image_, path_, options_);
      found = std::move(separate.image);
      why_not_separate_ = std::move(separate.why);
      missing_separate_ = std::move(separate.missing);
    }
    separate_debug_ = std::move(found);
  }
  return separate_debug_->get();
}

Error ElfModule::needs_debug_info(const std::string& what, const std::string& instead) {
  if (!truncation().empty()) return {what, truncation()};
  separate_debug();
  // Asked once: a warning may be worked out for each of thousands of functions.
  if (!package_ways_) package_ways_ = debug_package_ways(path_, options_.root, options_.servers && options_.servers->enabled());
  std::vector<std::string> ways = *package_ways_;
  std::string why = why_not_separate_;
  // A package puts the file there that .gnu_debuglink names.
  if (ways.empty() && why.empty()) why = missing_separate_;
  if (ways.empty()) ways = {"install its debug symbols", "compile it with -g"};
  if (!instead.empty()) ways.push_back(instead);
  std::string hint = ways[0];
  for (size_t i = 1; i < ways.size(); ++i) hint += (i + 1 == ways.size() ? ", or " : ", ") + ways[i];
  return {why.empty() ? what : fmt::format("{} ({})", what, why), hint};
}

DebugInfo& ElfModule::info() {
  if (!info_) {
    separate_debug();
    std::shared_ptr<ElfImage> with_dwarf;
    if (has_dwarf(*image_)) with_dwarf = image_;
    else if (*separate_debug_ && has_dwarf(**separate_debug_)) with_dwarf = *separate_debug_;
    info_ = std::make_shared<DebugInfo>(path_, image_, with_dwarf, options_);
  }
  return *info_;
}

SymbolTable& ElfModule::symbols() {
  if (!symbols_) {
    const ElfImage* debug = separate_debug();
    if (!debug) mini_debug_ = read_mini_debug(*image_);
    symbols_.emplace(*image_, debug ? debug : mini_debug_.get());
    if (!symbols_->has_static_symbols() && has_debug_info()) dwarf_functions_ = info().all_functions();
    for (const DwarfFunction& function : dwarf_functions_)
      symbols_->add_dwarf_function(function.linkage_name, function.address, function.size);
  }
  return *symbols_;
}

DebugInfo::SymbolFacts ElfModule::symbol_facts(FileAddress function) {
  DebugInfo::SymbolFacts facts;
  facts.thread_local_offset = [this](const std::string& name) { return symbols().thread_local_symbol(name); };
  facts.thread_block = [this] { return thread_block(*image_, is_executable()); };
  facts.address_of = [this](const std::string& name) { return data_symbol(name, nullptr); };
  if (const auto known = symbols().containing(function)) {
    const CloneName clone = clone_name(known->linkage_name);
    facts.specialised = clone.specialised;
    facts.may_lose_result = clone.may_lose_result;
  }
  return facts;
}

const std::vector<Function>& ElfModule::unnamed_functions() {
  if (unnamed_functions_) return *unnamed_functions_;
  unnamed_functions_.emplace();
  for (const UnwindRange& range : read_unwind_ranges(*image_)) {
    if (range.start == UnwindRange::Start::kInside || part_at(range.address)) continue;
    Function& function = unnamed_functions_->emplace_back();
    function.linkage_name = fmt::format("{:#x}", range.address.value);
    function.address = range.address;
    function.size = range.size;
    function.source = Function::Source::kUnwind;
  }
  return *unnamed_functions_;
}

bool ElfModule::is_entered_by_calls(FileAddress function) {
  if (!entered_with_frames_) {
    entered_with_frames_.emplace();
    for (const UnwindRange& range : read_unwind_ranges(*image_)) {
      if (range.start == UnwindRange::Start::kInside) entered_with_frames_->push_back(range.address);
    }
  }
  return !std::ranges::binary_search(*entered_with_frames_, function);
}

std::optional<Function> ElfModule::unnamed_function_at(FileAddress address) {
  const auto& all = unnamed_functions();
  auto after = std::upper_bound(all.begin(), all.end(), address, [](FileAddress a, const Function& f) { return a < f.address; });
  if (after == all.begin() || address.value - std::prev(after)->address.value >= std::prev(after)->size) return std::nullopt;
  return *std::prev(after);
}

Result<std::vector<Function>> ElfModule::functions(const FunctionPattern& pattern) {
  std::vector<Function> found = symbols().matching(NamePattern(pattern.name), has_debug_info());
  if (found.empty() && (symbols().count() == 0 || pattern.name.starts_with("0x")))
    for (const Function& function : unnamed_functions())
      if (glob_matches(pattern.name, function.linkage_name)) found.push_back(function);
  if (pattern.file.empty()) return found;
  if (!has_debug_info())
    return needs_debug_info(fmt::format("{}: has no debug information, so functions can't be chosen by source file", path_),
                            "leave out the part from '@'");
  std::vector<Function> of_file;
  Error first_failure;
  bool any_known = false;
  for (Function& function : found) {
    auto place = info().declaration(function.address);
    any_known |= place.ok();
    if (!place.ok() && first_failure.message.empty()) first_failure = place.error();
    if (!place.ok() || !file_matches(pattern.file, place->file)) continue;
    function.declared = std::move(*place);
    of_file.push_back(std::move(function));
  }
  if (!found.empty() && !any_known) return first_failure;
  return of_file;
}

Result<CodePlaces> ElfModule::inlined_calls(const FunctionPattern& pattern) {
  if (!has_debug_info()) return CodePlaces{};
  const std::string name = name_sought(pattern.name);
  TRY(CodePlaces places, name.empty() ? info().inlined_calls_like(pattern.name) : info().inlined_calls(name));
  keep_matching(pattern, places);
  // "get()" is not the inlined "get() const" where a function fits better.
  if (const NamePattern wanted(pattern.name); wanted.has_signature() && !places.empty()) {
    const auto is_meant = [&](const auto& of) {
      return wanted.fit(clone_name(of.linkage_name).base) == NamePattern::Fit::kExact;
    };
    if (std::ranges::any_of(symbols().matching(wanted, true), is_meant))
      std::erase_if(places, [&](const CodePlace& place) { return !is_meant(place); });
  }
  return places;
}

Result<CodePlaces> ElfModule::labels(const FunctionPattern& pattern, const std::string& label) {
  if (!has_debug_info()) return CodePlaces{};
  TRY(CodePlaces places, info().labels());
  keep_matching(pattern, places, *this);
  std::erase_if(places, [&](const CodePlace& place) { return !glob_matches(label, place.name); });
  return places;
}

Result<CodePlaces> ElfModule::statements(const std::string& file) {
  if (!has_debug_info())
    return needs_debug_info(fmt::format("{}: has no debug information, so its source lines are not known", path_), "");
  TRY(CodePlaces all, info().statements(file));
  return first_of_lines(std::move(all));
}

CodePlaces ElfModule::statements_in(FileAddress function) {
  if (!has_debug_info()) return {};
  CodePlaces places = first_of_lines(info().statements_in(function));
  std::erase_if(places, [&](const CodePlace& place) { return place.function != function; });
  return places;
}

std::optional<CodePlace> ElfModule::place_at(FileAddress pc) {
  if (has_debug_info()) {
    auto found = info().place_at(pc);
    if (found.ok() && !found->empty()) return std::move((*found)[0]);
  }
  auto function = function_at(pc);
  if (!function) function = whole_of(pc);
  if (!function) return std::nullopt;
  CodePlace place;
  place.address = pc;
  place.function = function->address;
  place.linkage_name = function->linkage_name;
  return place;
}

// The function that the code at pc is a part of; nullopt: none, or several have its name.
std::optional<Function> ElfModule::whole_of(FileAddress pc) {
  const auto part = part_at(pc);
  if (!part) return std::nullopt;
  std::vector<Function> found = symbols().matching(NamePattern(part->part_of), true);
  std::erase_if(found, [&](const Function& function) {
    return function.linkage_name != part->part_of && std::ranges::find(function.aliases, part->part_of) == function.aliases.end();
  });
  return found.size() == 1 ? std::optional(std::move(found.front())) : std::nullopt;
}

Result<size_t> ElfModule::learn_all() {
  if (!has_debug_info()) return needs_debug_info(fmt::format("{} has no debug information", path_), "");
  std::vector<uint64_t> types;
  std::vector<DwarfFunction> named;
  size_t described = 0;
  auto keep_name = [&](const std::string& name, const Function& function) {
    named.push_back({name, function.address, function.size});
  };
  for (const Function& function : all_functions()) {
    keep_name(function.linkage_name, function);
    for (const std::string& alias : function.aliases) keep_name(alias, function);
    if (function.is_ifunc) continue;
    described += declaration(function.address).ok();
    (void)source_line(function.address);
    (void)place_at(function.address);
    (void)inlined_calls_in(function.address);
    if (auto found = variables(function.address, function.address, 0); found.ok())
      for (const Variable& variable : *found) types.push_back(variable.place.type.id());
    if (auto result = return_value(function.address, 0); result.ok()) types.push_back(result->type.id());
  }
  std::vector<std::string> names;
  for (const DwarfFunction& function : named) names.push_back(function.linkage_name);
  info().learn_inlined(names);
  (void)info().labels();
  info().learn_types(std::move(types));
  info().keep_functions(named);
  return described;
}

// A branch to a known function: its instruction, and where the address is in it.
struct BranchForm {
  bool tail;
  std::string_view opcode;
  uint8_t length;
  bool relative;  // the rest is the distance; else of a slot of the global offset table
};
constexpr BranchForm kBranchForms[] = {{false, "\xe8", 5, true},
                                       {false, "\xff\x15", 6, false},
                                       {true, "\xe9", 5, true},
                                       {true, "\xeb", 2, true},
                                       {true, "\xff\x25", 6, false}};

// Fills in address, length and target. False: the instruction is none of those (it depends on a condition or a register).
bool ElfModule::find_branch(CodePlace& place) {
  for (const BranchForm& form : kBranchForms) {
    if (form.tail != place.tail) continue;
    const FileAddress at(place.address.value - (place.length ? 0 : form.length));
    const auto offset = file_offset(at);
    if (!offset || *offset > image_->file().size()) continue;
    const std::string_view code = image_->file().substr(*offset, form.length);
    if (code.size() != form.length || !code.starts_with(form.opcode)) continue;
    FileAddress target;
    if (form.relative) {
      int32_t distance = static_cast<int8_t>(code[1]);
      if (form.length == 5) memcpy(&distance, code.data() + 1, sizeof distance);
      target = FileAddress(at.value + form.length + static_cast<uint64_t>(int64_t{distance}));
      // Seen from behind, other bytes may look like a jump.
      if (form.tail && !begins_function(target)) continue;
    }
    place.address = at;
    place.length = form.length;
    place.target = target;
    return true;
  }
  return false;
}

bool ElfModule::begins_function(FileAddress address) {
  const auto function = function_at(address);
  if (function && function->address == address) return true;
  return std::any_of(plt().begin(), plt().end(), [&](const PltEntry& entry) { return entry.address == address; });
}

Result<CodePlaces> ElfModule::calls(FileAddress function) {
  if (!has_debug_info()) return CodePlaces{};
  TRY(CodePlaces places, info().calls(function));
  std::erase_if(places, [&](CodePlace& place) { return !find_branch(place); });
  return places;
}

}  // namespace

Result<std::shared_ptr<Module>> Module::open(const std::string& path, const OpenOptions& options) {
  TRY(auto image, ElfImage::open(path, options.place_of(path)));
  return std::shared_ptr<Module>(std::make_shared<ElfModule>(path, options, std::move(image)));
}

std::vector<std::string> signatures_of(Module& module, const std::string& pattern) {
  const NamePattern name(pattern);
  std::vector<std::string> signatures;
  if (!name.has_signature()) return signatures;
  if (auto functions = module.functions({name.without_signature(), ""}); functions.ok())
    for (const Function& function : *functions) signatures.push_back(name_with_signature(clone_name(function.linkage_name).base));
  return signatures;
}

std::string name_with_scopes(Module& module, const std::string& pattern) {
  std::vector<std::string> names;
  for (const Function& function : module.all_functions()) names.push_back(function.name());
  return with_scopes(pattern, names);
}

// aliased: the entries of functions whose own places (not those inlined) are kept whatever their name is.
static void keep_matching(const FunctionPattern& pattern, CodePlaces& places, const std::unordered_set<uint64_t>& aliased) {
  using Fit = NamePattern::Fit;
  // One name is matched once: there may be thousands of calls of it.
  const NamePattern name(pattern.name);
  std::unordered_map<std::string, Fit> known;
  const auto fit_of = [&](const CodePlace& place) {
    auto [entry, is_new] = known.try_emplace(place.linkage_name, Fit::kNone);
    if (is_new) entry->second = name.fit(clone_name(place.linkage_name).base);
    return entry->second;
  };
  Fit best = Fit::kLoose;
  for (const CodePlace& place : places) best = std::max(best, fit_of(place));
  std::erase_if(places, [&](const CodePlace& place) {
    const bool named = fit_of(place) >= best || (place.scope == 0 && aliased.contains(place.function.value));
    return !named || (!pattern.file.empty() && !file_matches(pattern.file, place.source.file));
  });
}

void keep_matching(const FunctionPattern& pattern, CodePlaces& places) {
  keep_matching(pattern, places, std::unordered_set<uint64_t>());
}

void keep_matching(const FunctionPattern& pattern, CodePlaces& places, Module& module) {
  std::unordered_set<uint64_t> aliased;
  // Most names are what debug information says, and matching all symbols takes a while.
  if (pattern.name != "*")
    if (auto functions = module.functions({pattern.name, ""}); functions.ok())
      for (const Function& function : *functions) aliased.insert(function.address.value);
  keep_matching(pattern, places, aliased);
}

std::optional<uint64_t> Module::file_offset(FileAddress address) const {
  for (const Segment& s : segments())
    if (address >= s.address && address.value - s.address.value < s.file_size) return address.value - s.address.value + s.offset;
  return std::nullopt;
}

std::optional<FileAddress> Module::address_of(uint64_t file_offset) const {
  for (const Segment& s : segments())
    if (file_offset >= s.offset && file_offset - s.offset < s.file_size)
      return FileAddress(file_offset - s.offset + s.address.value);
  return std::nullopt;
}

std::string Function::name() const {
  const CloneName clone = clone_name(linkage_name);
  std::string joined;
  for (const std::string& scope : scopes_of(clone.base)) joined += (joined.empty() ? "" : "::") + scope;
  if (joined.empty()) joined = clone.base;
  return joined.append(clone.part_suffix);
}

std::optional<Function> Module::code_at(FileAddress address) {
  auto function = function_at(address);
  return function ? function : part_at(address);
}

}  // namespace spile::debuginfo
