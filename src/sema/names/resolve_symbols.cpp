// resolve-symbols: finds the declaration of every name. It starts from the probes and resolves only declarations that they reach,
// so unused parts of the library cost nothing. Scopes, as in SystemTap: a name that is a global visible from the file
// it stands in is that global; else it is a local of its function or probe, made by its first use. Private declarations
// are visible in their own file only, and the user's are not in the library. Functions: of the same file, of the user's
// script, of the library, intrinsics.

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "base/text/number_text.h"
#include "sema/names/declarations.h"
#include "sema/targets/function_targets.h"
#include "sema/terms/elaboration.h"
#include "sema/terms/embedded_code.h"
#include "sema/terms/intrinsics.h"
#include "syntax/print_format.h"
#include "syntax/visitor.h"

namespace spile::sema {

namespace {

using namespace syntax;

// Functions of C and of bpftrace's language that people write here, too.
struct ForeignFunction {
  std::string_view name;
  const char* here;
};
constexpr ForeignFunction kForeignFunctions[] = {
    {"str", "user_string(ADDRESS), or kernel_string(ADDRESS)"},
    {"kstr", "kernel_string(ADDRESS)"},
    {"ksym", "symname(ADDRESS)"},
    {"usym", "usymname(ADDRESS)"},
    {"kstack", "backtrace(), print_backtrace()"},
    {"count", "values <<< 1, and @count(values)"},
    {"sum", "values <<< N, and @sum(values)"},
    {"avg", "values <<< N, and @avg(values)"},
    {"stats", "values <<< N, and @count(values), @avg(values), @sum(values)"},
    {"hist", "values <<< N, and print(@hist_log(values))"},
    {"lhist", "values <<< N, and print(@hist_linear(values, FROM, TO, STEP))"},
    {"strcmp", "a == b compares strings"},
    {"strncmp", "substr(a, 0, N) == substr(b, 0, N)"},
    {"strcontains", "isinstr(TEXT, PART)"},
    {"strstr", "isinstr(TEXT, PART)"},
    {"puts", "println(TEXT)"},
    {"fprintf", "printf(FORMAT, ...)"},
    {"strftime", "ctime(SECONDS), or tz_ctime(SECONDS)"},
    {"clear", "delete ARRAY"},
    {"atoi", "strtol(TEXT, 10)"},
};

// Functions of SystemTap's library that people will try and that later versions bring.
constexpr std::string_view kLaterFunctions[] = {
    "thread_indent",
    "indent",
    "tokenize",
    "system",
    "env_var",
    "user_string_utf16",
    "user_string_utf32",
    "user_buffer_quoted",
    "kernel_string",
    "kernel_int",
    "kernel_long",
    "kernel_char",
    "kernel_pointer",
    "pid2task",
    "pid2execname",
    "cmdline_str",
    "cmdline_args",
    "cmdline_arg",
    "target_set_pid",
    "target_set_report",
    "abort",
    "print_regs",
    "print_uregs",
    "probemod",
    "probe_type",
    "qs_wait",
    "speculation",
    "speculate",
    "commit",
    "discard",
    "set_kernel_string",
    "set_user_string",
    "set_user_int",
    "set_user_long",
    "panic",
    "mdelay",
    "udelay",
};

enum Usage { kRead = 1, kWrite = 2 };

SourceRange name_of(const Call& call) {
  SourceRange range = call.range;
  if (range) range.end = std::min<uint32_t>(range.end, range.begin + static_cast<uint32_t>(call.name.size()));
  return range;
}

class SymbolResolver {
 public:
  explicit SymbolResolver(Elaboration& e) : e_(e), declarations_(e) {}

  void run() {
    for (Probe& probe : e_.program.probes) resolve_probe(probe);
    if (e_.program.unoptimized) {
      for (auto& function : e_.program.scripts[0].functions) want(function.get());
    }
    while (!pending_.empty()) {
      Function* function = pending_.front();
      pending_.pop_front();
      resolve_function(*function);
    }
    collect_used();
  }

 private:
  // ---- scopes
  void resolve_probe(Probe& probe) {
    begin_scope(&probe.locals, &probe, probe.range);
    note_assigned(*probe.body);
    // Expressions that are saved at the entry run first.
    for (ExpressionPtr& save : probe.entry_saves) visit(save, kRead);
    if (probe.condition) visit(probe.condition, kRead);
    visit(*probe.body);
    end_scope();
  }

  void resolve_function(Function& function) {
    e_.function_bindings[&function] = bind_function(e_, function);
    begin_scope(&function.locals, nullptr, function.range);
    if (function.body) note_assigned(*function.body);
    for (size_t i = 0; i < function.parameters.size(); ++i) {
      Local* parameter = function.parameters[i].get();
      parameter->index = static_cast<int>(i);
      scope_.emplace(parameter->name, scope_traffic_.size());
      scope_traffic_.push_back({parameter, parameter->range, true, false, true, {}});
    }
    if (function.body) visit(*function.body);
    end_scope();
  }

  void begin_scope(std::vector<std::unique_ptr<Local>>* locals, Probe* probe, const SourceRange& home) {
    locals_ = locals;
    probe_ = probe;
    home_ = home;
    assigned_.clear();
    scope_.clear();
    scope_traffic_.clear();
  }

  void end_scope() {
    std::vector<std::string> names;
    for (const auto& entry : scope_) names.push_back(entry.first);
    for (LocalTraffic& traffic : scope_traffic_) {
      refuse_function_name(traffic);
      if (traffic.read && !traffic.written) traffic.alternatives = names;
      e_.local_traffic.push_back(std::move(traffic));
    }
  }

  // A variable may be called like a function, but one that is only read or only written is meant to be the function.
  void refuse_function_name(const LocalTraffic& traffic) {
    if (traffic.is_parameter || (traffic.read && traffic.written)) return;
    const Function* function = declarations_.own_function(traffic.local->name, traffic.first_use);
    if (!function) return;
    e_.diagnostics.error(traffic.first_use, fmt::format("function '{}' is used as a variable", traffic.local->name))
        .note(function->range, "defined here")
        .hint(fmt::format("to call it, write {}(...)", traffic.local->name));
  }

  // The names that the body assigns to.
  void note_assigned(const Statement& body) {
    auto note = [&](const Expression& target) {
      if (auto* variable = as<Variable>(target)) assigned_.insert(variable->name);
    };
    for_each_expression(body, [&](const Expression& x) {
      if (auto* assignment = as<Assignment>(x)) note(*assignment->target);
      if (auto* increment = as<Increment>(x)) note(*increment->operand);
    });
  }

  // argc and argv are the script's arguments where they are used like those; else anybody's variables.
  bool is_own_variable(const Variable& variable, const Global& global) const {
    if (!declarations_.is_of_session(global) || global.range.file == variable.range.file) return false;
    return global.declared_array || assigned_.count(variable.name) > 0;
  }

  // NULL is 0, unless the script has a variable of that name.
  bool is_null_pointer(const Variable& variable) const {
    return variable.name == "NULL" && scope_.count(variable.name) == 0 && assigned_.count(variable.name) == 0 &&
           !declarations_.find_global(variable.name, variable.range, home_);
  }

  // ---- variables
  void use_global(Global* global, int usage) {
    GlobalTraffic& traffic = e_.traffic[global];
    traffic.read |= (usage & kRead) != 0;
    traffic.written |= (usage & kWrite) != 0;
  }

  void visit_variable(Variable& variable, int usage) {
    auto known = scope_.find(variable.name);
    if (known != scope_.end() && scope_traffic_[known->second].is_parameter) {
      use_local(variable, known->second, usage);
      return;
    }
    if (Global* global = declarations_.find_global(variable.name, variable.range, home_);
        global && !is_own_variable(variable, *global)) {
      variable.global = global;
      use_global(global, usage);
      return;
    }
    if (known == scope_.end()) {
      auto local = std::make_unique<Local>();
      local->range = variable.range;
      local->name = variable.name;
      local->index = static_cast<int>(locals_->size());
      known = scope_.emplace(variable.name, scope_traffic_.size()).first;
      scope_traffic_.push_back({local.get(), variable.range, false, false, false, {}});
      locals_->push_back(std::move(local));
    }
    use_local(variable, known->second, usage);
  }

  void use_local(Variable& variable, size_t index, int usage) {
    LocalTraffic& traffic = scope_traffic_[index];
    variable.local = const_cast<Local*>(traffic.local);
    traffic.read |= (usage & kRead) != 0;
    traffic.written |= (usage & kWrite) != 0;
  }

  // Where only a global can stand: arrays and aggregates.
  void visit_global(Variable& variable, int usage, const char* what) {
    Global* global = declarations_.find_global(variable.name, variable.range, home_);
    if (!global) {
      std::string near = nearest_name(variable.name, declarations_.global_names());
      auto& error = e_.diagnostics.error(variable.range, fmt::format("unresolved {} '{}'", what, variable.name));
      error.hint(near.empty() ? fmt::format("declare it: global {}", variable.name) : fmt::format("did you mean '{}'?", near));
      return;
    }
    variable.global = global;
    use_global(global, usage);
  }

  // An operand that must be an aggregate: a global, or an element of one.
  void visit_aggregate(ExpressionPtr& slot, int usage) {
    if (auto* variable = as<Variable>(slot)) {
      auto known = scope_.find(variable->name);
      if (known == scope_.end() || !scope_traffic_[known->second].is_parameter) {
        visit_global(*variable, usage, "aggregate");
        return;
      }
    }
    visit(slot, usage);
  }

  // ---- expressions. usage: what happens to the value of this one; `unused`: it is a statement of its own.
  void visit(ExpressionPtr& slot, int usage, bool unused = false) {
    Expression& x = *slot;
    switch (x.kind) {
      case ExpressionKind::kVariable:
        if (usage == kRead && is_null_pointer(static_cast<Variable&>(x))) {
          slot = std::make_unique<Number>(x.range, 0);
          return;
        }
        visit_variable(static_cast<Variable&>(x), usage);
        return;
      case ExpressionKind::kIndex: {
        auto& index = static_cast<Index&>(x);
        visit_global(*index.array, usage, "array");
        for (ExpressionPtr& key : index.indexes) {
          if (key) visit(key, kRead);
        }
        return;
      }
      case ExpressionKind::kIn: {
        auto& in = static_cast<In&>(x);
        for (ExpressionPtr& key : in.indexes) {
          if (key) visit(key, kRead);
        }
        visit_global(*in.array, kRead, "array");
        return;
      }
      case ExpressionKind::kIncrement: visit(static_cast<Increment&>(x).operand, unused ? kWrite : kRead | kWrite); return;
      case ExpressionKind::kAssignment: {
        auto& assignment = static_cast<Assignment&>(x);
        bool only_writes = unused || assignment.op == Assignment::Operator::kSet;
        int target_usage = only_writes ? kWrite : kRead | kWrite;
        if (assignment.op == Assignment::Operator::kAccumulate) {
          visit_aggregate(assignment.target, kWrite);
        } else {
          visit(assignment.target, target_usage);
        }
        visit(assignment.value, kRead);
        return;
      }
      case ExpressionKind::kStatistic:
        visit_aggregate(static_cast<Statistic&>(x).stats, kRead);
        if (static_cast<Statistic&>(x).percent) visit(static_cast<Statistic&>(x).percent, kRead);
        return;
      case ExpressionKind::kHistogram: visit_aggregate(static_cast<Histogram&>(x).stats, kRead); return;
      case ExpressionKind::kHistogramIndex: {
        auto& index = static_cast<HistogramIndex&>(x);
        visit_aggregate(index.histogram->stats, kRead);
        visit(index.bucket, kRead);
        return;
      }
      case ExpressionKind::kCall: visit_call(slot); return;
      case ExpressionKind::kEmbedded:
        visit_embedded(static_cast<Embedded&>(x).code, x.range, static_cast<Embedded&>(x).globals);
        return;
      default: for_each_slot(x, [&](ExpressionPtr& child) { visit(child, kRead); });
    }
  }

  // ---- embedded C: the globals that it names in pragmas
  void visit_embedded(const std::string& code, const SourceRange& range, EmbeddedGlobals& globals) {
    EmbeddedTraits traits = embedded_traits(code);
    auto find = [&](const std::vector<std::string>& names, int usage, std::vector<Global*>& found) {
      for (const std::string& name : names) {
        if (Global* global = declarations_.find_global(name, range, home_)) {
          use_global(global, usage);
          found.push_back(global);
        } else {
          e_.diagnostics.error(range, fmt::format("unresolved global '{}' in a pragma of embedded C", name));
        }
      }
    };
    find(traits.reads, kRead, globals.read);
    find(traits.writes, kWrite, globals.written);
  }

  // ---- calls
  void visit_call(ExpressionPtr& slot) {
    auto& call = static_cast<Call&>(*slot);
    for (ExpressionPtr& argument : call.arguments) visit(argument, kRead);
    if (call.intrinsic >= 0) return lower_call(slot);
    if (call.function) return want(call.function);
    bool exists = false;
    if (find_functions(call, exists)) return;
    int intrinsic = find_intrinsic(call.name, call.arguments.size());
    if (exists || intrinsic < 0) {
      if (!exists) unresolved(call);
      return;
    }
    size_t wanted = intrinsics()[intrinsic].parameters.size();
    if (call.arguments.size() != wanted) {
      // cpu_clock_ns(cpu) and its like are called without the CPU as often as with it.
      if (call.arguments.empty() && call.name.starts_with("cpu_clock_")) {
        call.arguments.push_back(std::make_unique<Number>(call.range, 0));
      } else {
        const std::optional<size_t> also = other_count(call.name);
        e_.diagnostics.error(
            call.range, fmt::format("'{}' takes {}{} argument{}, not {}", call.name, also ? std::min(wanted, *also) : wanted,
                                    also ? fmt::format(" or {}", std::max(wanted, *also)) : "", wanted == 1 && !also ? "" : "s",
                                    call.arguments.size()));
        return;
      }
    }
    call.intrinsic = intrinsic;
    if (call.name.starts_with("usym") && call.arguments.size() == 1) refer_to_call(call.arguments[0]);
    lower_call(slot);
  }

  // usymname(ustack(1)), usymline(caller_addr()): of a return address, the call before it has the name and the line.
  void refer_to_call(ExpressionPtr& address) {
    auto* call = as<Call>(address);
    if (!call) return;
    const int reference = find_intrinsic("__ustack_reference", 1);
    if (call->intrinsic >= 0 && call->intrinsic == find_intrinsic("ustack", 1)) {
      call->intrinsic = reference;
    } else if (call->function && call->function->from_library && call->name == "caller_addr") {
      call->function = nullptr;
      call->fallbacks.clear();
      call->intrinsic = reference;
      call->arguments.push_back(std::make_unique<Number>(call->range, 1));
    }
  }

  // The script's functions that a call means. exists: some of that name do; the mismatch is reported here.
  bool find_functions(Call& call, bool& exists) {
    Declarations::Found found = declarations_.find_functions(call.name, call.arguments.size(), call.range, home_);
    add_intrinsic_overload(call, found.functions);
    if (!found.functions.empty()) {
      call.function = found.functions.front();
      call.fallbacks.assign(found.functions.begin() + 1, found.functions.end());
      add_defaults(call, *call.function);
      for (Function* function : found.functions) want(function);
      // Of the library, in script text: they have no row in the table of intrinsics that says so.
      if (call.function->from_library && !e_.program.guru && (call.name.starts_with("set_kernel_") || call.name == "panic"))
        e_.diagnostics.error(name_of(call), fmt::format("'{}' changes the kernel, which needs guru mode", call.name))
            .hint("run spile with -g");
      return true;
    }
    if (find_intrinsic(call.name) >= 0) return false;
    if (found.other_arity) {
      size_t wanted = found.other_arity->parameters.size();
      e_.diagnostics
          .error(call.range, fmt::format("'{}' takes {}, not {}", call.name, counted(wanted, "argument"), call.arguments.size()))
          .note(found.other_arity->range, "defined here");
    } else if (found.hidden) {
      e_.diagnostics.error(name_of(call), fmt::format("function '{}' is private to another file", call.name))
          .note(found.hidden->range, "defined here");
    }
    exists = found.other_arity || found.hidden;
    return false;
  }

  // If the last of them may execute `next`, the library's function of that name is tried next, as a script function would be.
  void add_intrinsic_overload(const Call& call, std::vector<Function*>& functions) {
    if (functions.empty() || !can_fall_through(*functions.back())) return;
    size_t count = functions.back()->parameters.size();
    int intrinsic = find_intrinsic(call.name, count);
    if (intrinsic < 0 || intrinsics()[intrinsic].parameters.size() != count) return;
    auto [known, added] = wrappers_.try_emplace({call.name, count});
    if (added) known->second = wrap_intrinsic(call.name, *functions.back());
    functions.push_back(known->second);
  }

  // function NAME(a, b) { return NAME(a, b) }, whose call means the library's.
  Function* wrap_intrinsic(const std::string& name, const Function& like) {
    auto function = std::make_unique<Function>();
    function->range = like.range;
    function->name = name;
    function->from_library = true;
    auto call = std::make_unique<Call>(SourceRange{}, name);
    call->intrinsic = find_intrinsic(name, like.parameters.size());
    for (const auto& parameter : like.parameters) {
      auto local = std::make_unique<Local>();
      local->range = parameter->range;
      local->name = parameter->name;
      function->parameters.push_back(std::move(local));
      function->defaults.emplace_back();
      call->arguments.push_back(std::make_unique<Variable>(parameter->range, parameter->name));
    }
    auto leave = std::make_unique<Return>(like.range);
    bool gives_value = intrinsics()[call->intrinsic].result != ValueType::kUnknown;
    auto body = std::make_unique<Block>(like.range);
    if (gives_value) {
      leave->value = std::move(call);
    } else {
      auto statement = std::make_unique<ExpressionStatement>(like.range);
      statement->expression = std::move(call);
      body->statements.push_back(std::move(statement));
    }
    body->statements.push_back(std::move(leave));
    function->body = std::move(body);
    e_.program.scripts[0].functions.push_back(std::move(function));
    return e_.program.scripts[0].functions.back().get();
  }

  static void add_defaults(Call& call, const Function& function) {
    for (size_t i = call.arguments.size(); i < function.parameters.size(); ++i) {
      call.arguments.push_back(clone(*function.defaults[i]));
    }
  }

  void unresolved(const Call& call) {
    if (std::find(std::begin(kLaterFunctions), std::end(kLaterFunctions), call.name) != std::end(kLaterFunctions)) {
      e_.diagnostics.error(name_of(call), fmt::format("function '{}' is not available in this version", call.name));
      return;
    }
    std::vector<std::string> known = {"print",  "println",  "printf",  "printd",  "printdln", "print_char",
                                      "sprint", "sprintln", "sprintf", "sprintd", "sprintdln"};
    for (std::string& name : declarations_.function_names()) known.push_back(std::move(name));
    known.insert(known.end(), e_.program.library_functions.begin(), e_.program.library_functions.end());
    for (const Intrinsic& intrinsic : intrinsics()) known.emplace_back(intrinsic.name);
    std::string near = nearest_name(call.name, known);
    auto& error = e_.diagnostics.error(name_of(call), fmt::format("unresolved function '{}'", call.name));
    for (const ForeignFunction& foreign : kForeignFunctions)
      if (call.name == foreign.name) return (void)error.hint(fmt::format("in this language: {}", foreign.here));
    error.hint(near.empty() ? "spile --dump-functions lists the functions of the library"
                            : fmt::format("did you mean '{}'?", near));
  }

  // Calls that other nodes say as well.
  void lower_call(ExpressionPtr& slot) {
    auto& call = static_cast<Call&>(*slot);
    if (call.name == "log" && call.arguments.size() == 1) {
      auto print = std::make_unique<Print>(call.range);
      print->with_format = true;  // println would take numbers as well
      print->format = "%s\n";
      print->format_range = call.range;
      print->parts = syntax::parse_format(print->format).parts;
      print->arguments = std::move(call.arguments);
      slot = std::move(print);
    } else if (probe_ && call.name == "is_return") {
      slot = std::make_unique<Number>(call.range, probe_->kind == ProbeKind::kFunctionReturn);
    } else if (probe_ && call.name == "user_mode") {
      // timer.profile interrupts either one, which is not known in advance.
      if (probe_->kind != ProbeKind::kProfile) slot = std::make_unique<Number>(call.range, info(probe_->kind).in_function);
    }
  }

  void want(Function* function) {
    if (!wanted_.insert(function).second) return;
    function->falls_through = can_fall_through(*function);
    pending_.push_back(function);
  }

  // ---- statements
  void visit(Statement& s) {
    switch (s.kind) {
      case StatementKind::kExpression: visit(static_cast<ExpressionStatement&>(s).expression, kRead, true); return;
      case StatementKind::kFor: {
        auto& loop = static_cast<For&>(s);
        if (loop.init) visit(loop.init, kRead, true);
        if (loop.condition) visit(loop.condition, kRead);
        if (loop.step) visit(loop.step, kRead, true);
        visit(*loop.body);
        return;
      }
      case StatementKind::kForeach: visit_foreach(static_cast<Foreach&>(s)); return;
      case StatementKind::kEmbedded:
        visit_embedded(static_cast<EmbeddedStatement&>(s).code, s.range, static_cast<EmbeddedStatement&>(s).globals);
        return;
      case StatementKind::kDelete: {
        auto& target = static_cast<Delete&>(s).target;
        auto* variable = as<Variable>(target);
        Global* global = variable ? declarations_.find_global(variable->name, variable->range, home_) : nullptr;
        if (global && global->declared_array) {
          variable->global = global;
          use_global(global, kWrite);
        } else if (variable) {
          visit_variable(*variable, kWrite);
        } else {
          visit(target, kWrite);
        }
        return;
      }
      case StatementKind::kTry: {
        auto& attempt = static_cast<Try&>(s);
        if (attempt.body) visit(*attempt.body);
        if (attempt.message) visit_variable(*attempt.message, kRead | kWrite);
        if (attempt.handler) visit(*attempt.handler);
        return;
      }
      default:
        for_each_slot(s, [&](ExpressionPtr& slot) { visit(slot, kRead); });
        for_each_statement(s, [&](StatementPtr& child) { visit(*child); });
    }
  }

  void visit_foreach(Foreach& loop) {
    if (loop.array) visit_global(*loop.array, kRead, "array");
    if (loop.histogram) visit_aggregate(loop.histogram->stats, kRead);
    // A key that the loop has to name but doesn't need is not a mistake: it counts as read.
    if (loop.value) visit_variable(*loop.value, kRead | kWrite);
    for (auto& key : loop.keys) visit_variable(*key, kRead | kWrite);
    for (ExpressionPtr& key : loop.slice) {
      if (key) visit(key, kRead);
    }
    if (loop.limit) visit(loop.limit, kRead);
    visit(*loop.body);
  }

  // In the order of their declaration, for readers and for lock order.
  void collect_used() {
    for (Script& script : e_.program.scripts) {
      bool keep_all = e_.program.unoptimized && Elaboration::is_user_script(script);
      for (auto& global : script.globals) {
        if (!keep_all && !e_.traffic.count(global.get())) continue;
        global->index = static_cast<int>(e_.program.globals.size());
        e_.program.globals.push_back(global.get());
      }
      for (auto& function : script.functions) {
        if (!wanted_.count(function.get())) continue;
        function->index = static_cast<int>(e_.program.functions.size());
        e_.program.functions.push_back(function.get());
        e_.program.function_bindings.push_back(std::move(e_.function_bindings[function.get()]));
      }
    }
  }

  Elaboration& e_;
  Declarations declarations_;
  std::set<Function*> wanted_;
  std::deque<Function*> pending_;
  std::map<std::pair<std::string, size_t>, Function*> wrappers_;  // by name and number of parameters

  // Of the probe or function being resolved.
  std::vector<std::unique_ptr<Local>>* locals_ = nullptr;
  Probe* probe_ = nullptr;
  SourceRange home_;
  std::set<std::string> assigned_;
  std::unordered_map<std::string, size_t> scope_;  // to scope_traffic_
  std::vector<LocalTraffic> scope_traffic_;
};

}  // namespace

void resolve_symbols(Elaboration& e) { SymbolResolver(e).run(); }

}  // namespace spile::sema
