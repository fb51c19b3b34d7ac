#include "codegen/module/unit.h"

#include <algorithm>
#include <set>

#include "abi/record.h"
#include "codegen/module/site_texts.h"
#include "regex/regex.h"
#include "sema/terms/intrinsics.h"
#include "syntax/visitor.h"

namespace spile::codegen {

namespace {

// The functions that a function calls itself.
std::vector<const syntax::Function*> callees_of(const syntax::Function& function) {
  std::vector<const syntax::Function*> callees;
  if (!function.body) return callees;
  syntax::for_each_expression(static_cast<const syntax::Statement&>(*function.body), [&](const syntax::Expression& e) {
    const auto* call = syntax::as<syntax::Call>(e);
    if (!call || !call->function) return;
    callees.push_back(call->function);
    callees.insert(callees.end(), call->fallbacks.begin(), call->fallbacks.end());
  });
  return callees;
}

// The functions that ask for the kernel's stack, themselves or through others.
std::set<const syntax::Function*> find_stack_askers(const std::vector<syntax::Function*>& functions) {
  std::set<const syntax::Function*> asking;
  for (const syntax::Function* function : functions) {
    if (!function->body) continue;
    syntax::for_each_expression(static_cast<const syntax::Statement&>(*function->body), [&](const syntax::Expression& e) {
      const auto* call = syntax::as<syntax::Call>(e);
      if (call && call->intrinsic >= 0 &&
          sema::intrinsics()[static_cast<size_t>(call->intrinsic)].needs & sema::kNeedsKernelStack)
        asking.insert(function);
    });
  }
  for (bool changed = !asking.empty(); changed;) {
    changed = false;
    for (const syntax::Function* function : functions) {
      if (asking.contains(function)) continue;
      const auto callees = callees_of(*function);
      if (std::ranges::none_of(callees, [&](const syntax::Function* callee) { return asking.contains(callee); })) continue;
      asking.insert(function);
      changed = true;
    }
  }
  return asking;
}

// Which functions can call themselves, through others too: those in a cycle of the graph of calls. Tarjan's strongly connected
// components, without recursion: scripts may have tens of thousands of functions.
class RecursiveFunctions {
 public:
  explicit RecursiveFunctions(size_t count) : nodes_(count), recursive_(count, 0) {}

  std::vector<int> find(const std::vector<syntax::Function*>& functions) {
    for (const syntax::Function* function : functions) {
      if (node(*function).number < 0) walk(*function);
    }
    return std::move(recursive_);
  }

 private:
  struct Node {
    int number = -1, lowest = 0;
    bool open = false;  // on stack_
    size_t next = 0;    // of callees
    std::vector<const syntax::Function*> callees;
  };

  Node& node(const syntax::Function& function) { return nodes_[static_cast<size_t>(function.index)]; }

  void enter(const syntax::Function& function) {
    Node& entered = node(function);
    entered.number = entered.lowest = numbered_++;
    entered.open = true;
    entered.callees = callees_of(function);
    stack_.push_back(&function);
    path_.push_back(&function);
  }

  void walk(const syntax::Function& root) {
    enter(root);
    while (!path_.empty()) {
      const syntax::Function& function = *path_.back();
      Node& current = node(function);
      if (current.next == current.callees.size()) {
        leave(function, current);
        continue;
      }
      const syntax::Function& callee = *current.callees[current.next++];
      if (&callee == &function) recursive_[static_cast<size_t>(function.index)] = 1;
      Node& called = node(callee);
      if (called.number < 0) enter(callee);
      else if (called.open) current.lowest = std::min(current.lowest, called.number);
    }
  }

  void leave(const syntax::Function& function, Node& done) {
    path_.pop_back();
    if (!path_.empty()) node(*path_.back()).lowest = std::min(node(*path_.back()).lowest, done.lowest);
    if (done.lowest != done.number) return;
    bool several = stack_.back() != &function;
    const syntax::Function* member = nullptr;
    do {
      member = stack_.back();
      stack_.pop_back();
      node(*member).open = false;
      if (several) recursive_[static_cast<size_t>(member->index)] = 1;
    } while (member != &function);
  }

  std::vector<Node> nodes_;
  std::vector<int> recursive_;
  std::vector<const syntax::Function*> stack_, path_;
  int numbered_ = 0;
};

}  // namespace

Unit::Unit(const sema::Program& p, const Layout& l, Tables& t, ScriptModule& m, Place& where)
    : program(p),
      layout(l),
      tables(t),
      module(m),
      place(where),
      map_shapes_(p.globals.size()),
      aggregate_shapes_(p.globals.size()),
      functions_(p.functions.size()) {}

const GlobalLayout& Unit::layout_of(const syntax::Global& global) const {
  return layout.globals[static_cast<size_t>(global.index)];
}

sema::Sharing Unit::sharing_of(const syntax::Global& global) const {
  const sema::Sharing sharing = program.sharing[static_cast<size_t>(global.index)];
  return over_maps && sharing == sema::Sharing::kAtomic ? sema::Sharing::kLocked : sharing;
}

llvm::Constant* Unit::map_shape(const syntax::Global& global) {
  llvm::Constant*& shape = map_shapes_[static_cast<size_t>(global.index)];
  if (!shape) {
    uint32_t words[sizeof(abi::MapShape) / 4];
    std::memcpy(words, &layout_of(global).map, sizeof words);
    shape = module.words("shape." + global.name, words);
  }
  return shape;
}

llvm::Constant* Unit::aggregate_shape(const syntax::Global& global) {
  llvm::Constant*& shape = aggregate_shapes_[static_cast<size_t>(global.index)];
  if (!shape) {
    // A typed struct, as loads of its 64-bit fields fold only where the initializer has that shape.
    const abi::AggregateShape& s = layout_of(global).aggregate;
    auto word = [&](uint32_t v) { return llvm::ConstantInt::get(module.i32(), v); };
    auto quad = [&](int64_t v) { return llvm::ConstantInt::get(module.i64(), static_cast<uint64_t>(v)); };
    auto* value = llvm::ConstantStruct::getAnon(
        {word(s.features), word(0), quad(s.low), quad(s.high), quad(s.width), word(s.linear_buckets), word(s.size)});
    shape = new llvm::GlobalVariable(module.module(), value->getType(), true, llvm::GlobalValue::InternalLinkage, value,
                                     "aggregate." + global.name);
  }
  return shape;
}

llvm::Function* Unit::function(const syntax::Function& function) {
  llvm::Function*& made = functions_[static_cast<size_t>(function.index)];
  if (made) return made;
  std::vector<llvm::Type*> types{module.ptr(), module.ptr()};
  for (const auto& parameter : function.parameters) {
    types.push_back(parameter->type == ValueType::kString ? static_cast<llvm::Type*>(module.ptr()) : module.i64());
  }
  types.push_back(module.ptr());
  made = module.add_function("script." + function.name, llvm::FunctionType::get(module.i32(), types, false));
  pending_.push_back(&function);
  return made;
}

bool Unit::is_recursive(const syntax::Function& function) {
  if (recursive_.empty()) recursive_ = RecursiveFunctions(program.functions.size()).find(program.functions);
  return recursive_[static_cast<size_t>(function.index)] != 0;
}

bool Unit::asks_for_kernel_stack(const syntax::Call& call) {
  if (!(program.needs & sema::kNeedsKernelStack)) return false;
  if (!kernel_stack_askers_) kernel_stack_askers_ = find_stack_askers(program.functions);
  return kernel_stack_askers_->contains(call.function) ||
         std::ranges::any_of(call.fallbacks,
                             [&](const syntax::Function* fallback) { return kernel_stack_askers_->contains(fallback); });
}

const syntax::Function* Unit::take_pending() {
  if (pending_.empty()) return nullptr;
  const syntax::Function* next = pending_.back();
  pending_.pop_back();
  return next;
}

const Unit::SiteTables& Unit::site_tables(const std::string& what) {
  auto [entry, fresh] = site_tables_.try_emplace(what);
  if (fresh) {
    SiteTexts texts = make_site_texts(program, what, layout.string_limit, !place.is_user_mode());
    auto* data = llvm::ConstantDataArray::getString(module.context(), texts.blob, false);
    auto* blob = new llvm::GlobalVariable(module.module(), data->getType(), true, llvm::GlobalValue::InternalLinkage, data,
                                          "texts." + what);
    blob->setAlignment(llvm::Align(8));
    entry->second.blob = blob;
    entry->second.offsets = module.words("offsets." + what, texts.offsets);
    entry->second.base = module.words("base." + what, texts.base);
    entry->second.mask = module.words("mask." + what, texts.mask);
  }
  return entry->second;
}

const Unit::SiteTables& Unit::site_callers() {
  if (!site_callers_) {
    const SiteCallers callers = make_site_callers(program);
    site_callers_ = SiteTables{.blob = module.words("callers", callers.words),
                               .offsets = module.words("offsets.callers", callers.offsets),
                               .base = module.words("base.callers", callers.base),
                               .mask = module.words("mask.callers", callers.mask)};
  }
  return *site_callers_;
}

const Unit::PlaceTables& Unit::place_tables() {
  if (!place_tables_) {
    PointTables made =
        make_point_tables(program, layout.string_limit, !place.is_user_mode(),
                          [&](const std::string& path, FileAddress function) { return kept_site_id(path, function); });
    // Constants are never empty.
    made.slots.push_back(0);
    made.places.push_back(0);
    made.lists.push_back(0);
    place_tables_ = PlaceTables{.where = {.blob = module.words("slots", made.slots),
                                          .offsets = module.words("offsets.slots", made.offsets),
                                          .base = module.words("base.slots", made.base),
                                          .mask = module.words("mask.slots", made.mask)},
                                .texts = module.text(made.texts),
                                .places = module.words("places", made.places),
                                .lists = module.words("lists", made.lists),
                                .registers = std::move(made.registers)};
  }
  return *place_tables_;
}

llvm::Constant* Unit::return_flags() {
  if (!return_flags_) {
    std::vector<uint32_t> flags;
    for (const sema::Probe& probe : program.probes) flags.push_back(sema::info(probe.kind).at_return);
    return_flags_ = module.words("return_flags", flags);
  }
  return return_flags_;
}

uint32_t Unit::kept_site_id(const std::string& path, FileAddress function) {
  if (kept_site_ids_.empty()) {
    for (size_t i = 0; i < program.sites.kept_functions().size(); ++i) {
      const sema::KeptFunction& kept = program.sites.kept_functions()[i];
      kept_site_ids_.emplace(std::pair(kept.module, kept.address.value), program.sites.kept_id(i));
    }
  }
  auto found = kept_site_ids_.find({path, function.value});
  CHECK(found != kept_site_ids_.end());
  return found->second;
}

static bool calls(const syntax::Statement& body, std::initializer_list<std::string_view> names) {
  bool found = false;
  syntax::for_each_expression(body, [&](const syntax::Expression& e) {
    const auto* call = syntax::as<syntax::Call>(e);
    if (!call || call->intrinsic < 0) return;
    std::string_view name = sema::intrinsics()[static_cast<size_t>(call->intrinsic)].name;
    found |= std::find(names.begin(), names.end(), name) != names.end();
  });
  return found;
}

// Whether the call asks for something that is only known when it runs.
static bool is_computed(const syntax::Call& call) {
  return !call.arguments.empty() && !syntax::as<syntax::Number>(call.arguments[0]) &&
         !syntax::as<syntax::String>(call.arguments[0]);
}

bool Unit::asks_for_site() {
  if (asks_for_site_) return *asks_for_site_;
  bool asks = false, in_function = false;
  auto look = [&](const syntax::Expression& e) {
    const auto* call = syntax::as<syntax::Call>(e);
    if (!call || call->intrinsic < 0) return;
    uint32_t needs = sema::intrinsics()[static_cast<size_t>(call->intrinsic)].needs;
    if (needs & (sema::kNeedsArguments | sema::kNeedsRegisters)) asks |= in_function || is_computed(*call);
  };
  for (const sema::Probe& probe : program.probes) {
    syntax::for_each_expression(static_cast<const syntax::Statement&>(*probe.body), look);
    if (probe.condition) syntax::for_each_expression(static_cast<const syntax::Expression&>(*probe.condition), look);
    for (const auto& save : probe.entry_saves) syntax::for_each_expression(static_cast<const syntax::Expression&>(*save), look);
  }
  in_function = true;
  for (const syntax::Function* function : program.functions) {
    if (function->body) syntax::for_each_expression(static_cast<const syntax::Statement&>(*function->body), look);
  }
  asks_for_site_ = asks;
  return asks;
}

bool Unit::repeats() {
  if (!repeats_) {
    repeats_ = place.repeats_by_calls() && std::ranges::any_of(program.probes, [](const sema::Probe& probe) {
                 return probe.domain == sema::Domain::kKernel && repetitions_of(probe).any;
               });
  }
  return *repeats_;
}

bool Unit::functions_ask_for_site() {
  if (functions_ask_for_site_) return *functions_ask_for_site_;
  bool asks = false;
  for (const syntax::Function* function : program.functions) {
    if (!function->body) continue;
    syntax::for_each_expression(static_cast<const syntax::Statement&>(*function->body), [&](const syntax::Expression& e) {
      const auto* call = syntax::as<syntax::Call>(e);
      asks |= call && call->intrinsic >= 0 && (sema::intrinsics()[static_cast<size_t>(call->intrinsic)].needs & sema::kNeedsSite);
    });
  }
  functions_ask_for_site_ = asks;
  return asks;
}

static bool has_try(const syntax::Statement& s) {
  bool found = s.kind == syntax::StatementKind::kTry;
  syntax::for_each_statement(s, [&](const syntax::Statement& inner) { found = found || has_try(inner); });
  return found;
}

bool Unit::functions_abort() {
  if (functions_abort_) return *functions_abort_;
  auto may_abort = [](const syntax::Function* f) { return f->body && (calls(*f->body, {"abort"}) || has_try(*f->body)); };
  functions_abort_ = std::ranges::any_of(program.functions, may_abort) ||
                     std::ranges::any_of(program.probes, [](const sema::Probe& p) { return p.body && has_try(*p.body); });
  return *functions_abort_;
}

bool Unit::targets_exit() {
  if (targets_exit_) return *targets_exit_;
  bool any_traced = false, exits = false;
  for (const sema::Probe& probe : program.probes) {
    if (probe.domain == sema::Domain::kController) continue;
    any_traced = true;
    exits = exits || calls(*probe.body, {"exit", "abort"});
  }
  // Which functions they reach is not asked: it costs one load at most.
  for (const syntax::Function* function : program.functions)
    exits = exits || (any_traced && function->body && calls(*function->body, {"exit", "abort"}));
  targets_exit_ = exits;
  return exits;
}

const Unit::RegexConstants& Unit::regex(const syntax::Regex& expression) {
  auto [entry, fresh] = regexes_.try_emplace(expression.pattern);
  if (!fresh) return entry->second;
  regex::Outcome outcome = regex::compile(expression.pattern);
  if (!outcome.compiled) {
    refuse(expression.pattern_range, outcome.mistake.message);
    outcome = regex::compile("");
  }
  auto constant = [&](const std::vector<uint8_t>& bytes) -> llvm::Constant* {
    if (bytes.empty()) return llvm::ConstantPointerNull::get(module.ptr());
    return module.text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  };
  entry->second = {constant(outcome.compiled->table), constant(outcome.compiled->program)};
  return entry->second;
}

bool Unit::remembers_matches() {
  if (!place.remembers_matches()) return false;
  if (remembers_matches_) return *remembers_matches_;
  bool used = false;
  auto look = [&](const syntax::Expression& e) {
    const auto* call = syntax::as<syntax::Call>(e);
    if (!call || call->intrinsic < 0) return;
    std::string_view name = sema::intrinsics()[static_cast<size_t>(call->intrinsic)].name;
    used |= name == "matched" || name == "matched_str" || name == "ngroups";
  };
  for (const sema::Probe& probe : program.probes) {
    syntax::for_each_expression(static_cast<const syntax::Statement&>(*probe.body), look);
    if (probe.condition) syntax::for_each_expression(static_cast<const syntax::Expression&>(*probe.condition), look);
  }
  for (const syntax::Function* function : program.functions) {
    if (function->body) syntax::for_each_expression(static_cast<const syntax::Statement&>(*function->body), look);
  }
  remembers_matches_ = used;
  return used;
}

void Unit::note_record(uint32_t kind) {
  if (!place.is_trusted()) tables.target_records |= abi::record_kind_bit(kind);
}

llvm::Function* Unit::raise_function() {
  if (raise_) return raise_;
  note_record(abi::kError);
  auto* type = llvm::FunctionType::get(module.none(), {module.ptr(), module.i32(), module.i64(), module.i64()}, false);
  raise_ = module.add_function("spile_raise", type);
  raise_->addFnAttr(llvm::Attribute::NoInline);
  raise_->addFnAttr(llvm::Attribute::Cold);
  if (place.has_preserve_most()) raise_->setCallingConv(llvm::CallingConv::PreserveMost);

  llvm::IRBuilder<> b(llvm::BasicBlock::Create(module.context(), "", raise_));
  auto* put = llvm::BasicBlock::Create(module.context(), "put", raise_);
  auto* end = llvm::BasicBlock::Create(module.context(), "end", raise_);
  llvm::Value* context = raise_->getArg(0);
  llvm::Value* record = module.call_runtime(b, "spile_rt_record_begin", module.ptr(),
                                            {context, b.getInt32(abi::kError), raise_->getArg(1), b.getInt32(16)});
  b.CreateCondBr(b.CreateIsNull(record), end, put);
  b.SetInsertPoint(put);
  llvm::Value* at = module.call_runtime(b, "spile_rt_record_put_long", module.ptr(), {record, raise_->getArg(2)});
  at = module.call_runtime(b, "spile_rt_record_put_long", module.ptr(), {at, raise_->getArg(3)});
  module.call_runtime(b, "spile_rt_record_end", module.none(), {context, record, at});
  b.CreateBr(end);
  b.SetInsertPoint(end);
  b.CreateRetVoid();
  return raise_;
}

void Unit::refuse(SourceRange range, const std::string& what, const std::string& hint) {
  refusals_.error(range, what).hint(hint);
}

}  // namespace spile::codegen
