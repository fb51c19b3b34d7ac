// check-domains: whether the library functions that a probe calls, itself or through its functions, make sense where it
// runs: a timer has no traced memory to read, a return has no arguments left.

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "abi/machine.h"
#include "abi/vector_register.h"
#include "sema/terms/elaboration.h"
#include "sema/terms/intrinsics.h"
#include "syntax/visitor.h"

namespace spile::sema {

namespace {

using namespace syntax;

class DomainChecker {
 public:
  explicit DomainChecker(Elaboration& e) : e_(e) {}

  void check(const Probe& probe) {
    probe_ = &probe;
    seen_ = &seen_by_kind_[{probe.kind, probe.domain}];
    at_return_ = false;
    for (const ExpressionPtr& save : probe.entry_saves) look(static_cast<const Expression&>(*save), {});
    at_return_ = probe.kind == ProbeKind::kFunctionReturn;
    if (probe.condition) look(static_cast<const Expression&>(*probe.condition), {});
    look(static_cast<const Statement&>(*probe.body), {});
  }

 private:
  // The calls through which code is reached: the probe's own, and the innermost one that the script's author wrote; and the
  // function that it stands in. Null: the code is the probe's.
  struct Way {
    const Call* outermost = nullptr;
    const Call* written = nullptr;
    const Function* inside = nullptr;
  };

  template <typename Node>
  void look(const Node& node, Way way) {
    for_each_expression(node, [&](const Expression& x) {
      if (auto* operation = as<AtOperation>(x); operation && operation->name == "@var") check_variable(*operation, way);
      auto* call = as<Call>(x);
      if (!call) return;
      // What a function of the library can't do, the script's call of it can't.
      const bool in_library = way.written && !e_.is_user_text(call->range);
      const Call* outermost = in_library && way.written == way.outermost ? nullptr : way.outermost;
      if (call->intrinsic >= 0) check_call(*call, in_library ? *way.written : *call, outermost);
      for_each_callee(*call, [&](const Function& callee) {
        if (!callee.body || !seen_->insert({&callee, at_return_}).second) return;
        look(static_cast<const Statement&>(*callee.body),
             {way.outermost ? way.outermost : call, in_library || !e_.is_user_text(call->range) ? way.written : call, &callee});
      });
    });
  }

  // The bits of Intrinsic::domains that hold for the probe's handlers: functions with one of them can run there.
  uint32_t domains() const {
    uint32_t domain = probe_->domain == Domain::kController ? kInController
                      : probe_->domain == Domain::kTarget   ? kInTarget
                                                            : kInKernel;
    if (info(probe_->kind).reads_subject && domain == kInController) domain |= kInTarget;
    return domain;
  }

  void check_variable(const AtOperation& variable, Way way) {
    if (domains() != kInController) return;
    const std::vector<Binding>& bindings =
        way.inside ? e_.program.function_bindings[static_cast<size_t>(way.inside->index)] : probe_->bindings;
    if (variable.binding >= 0 && bindings[static_cast<size_t>(variable.binding)].reads_kernel_memory) return;
    error(variable, way.outermost, fmt::format("'@var' needs a traced program, and {} probe does not run in one", article()),
          "@var(\"NAME\", \"kernel\") is a variable of the kernel");
  }

  // shown: the call that errors name, `call` itself or the one of the library's function that makes it
  void check_call(const Call& call, const Call& shown, const Call* from) {
    const Intrinsic& intrinsic = intrinsics()[call.intrinsic];
    const uint32_t domain = domains();
    if (!(intrinsic.domains & domain)) {
      if (domain == kInController) {
        error(shown, from, fmt::format("'{}' needs a traced program, and {} probe does not run in one", shown.name, article()),
              {});
      } else {
        const bool sets = (intrinsic.needs & (kNeedsArguments | kNeedsRegisters)) && (intrinsic.needs & kNeedsGuru);
        error(shown, from,
              sets ? fmt::format("'{}' in a handler that runs in the kernel: the kernel does not let handlers change registers",
                                 shown.name)
                   : fmt::format("'{}' is not available in probes that run in the kernel", shown.name),
              intrinsic.domains & kInTarget && may_run_in_process() ? "with -c or -x, --runtime=inproc runs them in the process"
                                                                    : "");
      }
      return;
    }
    if ((intrinsic.needs & kNeedsGuru) && !e_.program.guru) {
      const bool delays = intrinsic.name == "__udelay";
      error(shown, from,
            fmt::format("'{}' {} the traced program, which needs guru mode", shown.name, delays ? "holds up" : "changes"),
            "run spile with -g");
      return;
    }
    if ((intrinsic.needs & kNeedsGuru) && (intrinsic.needs & kNeedsArguments)) return check_set_argument(call, from);
    if ((intrinsic.needs & kNeedsGuru) && (intrinsic.needs & kNeedsRegisters)) {  // set_returnval()
      if (!at_return_) error(shown, from, fmt::format("'{}' needs a .return probe", shown.name), {});
      return;
    }
    // Elsewhere the function fails when it runs, and the script may catch the error.
    if (domain != kInKernel) return;
    bool in_function = info(probe_->kind).in_function;
    if ((intrinsic.needs & (kNeedsArguments | kNeedsRegisters)) && !in_function) {
      error(shown, from, fmt::format("'{}' needs a probe on a function", shown.name), {});
    } else if ((intrinsic.needs & kNeedsArguments) && at_return_) {
      error(shown, from, fmt::format("'{}' in a .return probe: the arguments are gone when the function returns", shown.name),
            fmt::format("@entry({}) is its value when the function was entered", to_source(shown)));
    } else if (intrinsic.needs & kNeedsArguments) {
      auto* number = as<Number>(call.arguments[0]);
      if (number && number->value < 1) error(call, from, "arguments are numbered from 1", {});
    } else if (intrinsic.name == "returnval") {
      if (!at_return_) error(shown, from, fmt::format("'{}' is only known in .return probes", shown.name), {});
    } else if (intrinsic.needs & kNeedsRegisters) {
      auto* name = as<String>(call.arguments[0]);
      if (!name) {
        error(call, from, fmt::format("'{}' needs the register's name as a literal", call.name), {});
      } else if (abi::find_vector_register(name->value.c_str()) >= 0) {
        error(call, from, fmt::format("register '{}' can't be read in handlers that run in the kernel", name->value),
              may_run_in_process() ? "with -c or -x, --runtime=inproc runs them in the process" : "");
      } else if (!abi::find_register(name->value.c_str())) {
        error(call, from, fmt::format("unknown register '{}'", name->value),
              fmt::format("register names are {}, {}, {} ...", abi::machine::kRegisterNames[0].text,
                          abi::machine::kRegisterNames[1].text, abi::register_name(8)));
      }
    }
  }

  // set_int_arg() and the like, in a process.
  void check_set_argument(const Call& call, const Call* from) {
    if (probe_->kind != ProbeKind::kFunctionEntry) {
      return error(call, from, fmt::format("'{}' needs a probe at a function's entry", call.name),
                   at_return_ ? "$return = value changes what the function returns"
                              : "$variable = value writes where debug information says that a variable is");
    }
    auto* number = as<Number>(call.arguments[0]);
    if (!number) return error(call, from, fmt::format("'{}' needs the argument's number as a literal", call.name), {});
    if (number->value < 1 || number->value > 1000) error(call, from, "arguments are numbered from 1", {});
  }

  // Probes of processes, and samples of them; not what only the kernel sees.
  bool may_run_in_process() const {
    bool of_kernel = std::ranges::any_of(probe_->points, [](const ResolvedPoint& point) { return point.site.kernel != nullptr; });
    const bool counts =
        probe_->kind == ProbeKind::kPerfSample || (probe_->kind == ProbeKind::kDataAccess && probe_->domain == Domain::kKernel);
    return info(probe_->kind).source != Source::kKernel && !of_kernel && !counts;
  }

  const char* article() const { return info(probe_->kind).article; }

  void error(const Expression& where, const Call* from, std::string message, std::string hint) {
    if (!told_.insert({where.range.file, where.range.begin, message}).second) return;
    auto& made = e_.diagnostics.error(where.range, std::move(message)).hint(std::move(hint));
    if (from) made.note(from->range, "called from here");
  }

  Elaboration& e_;
  const Probe* probe_ = nullptr;
  bool at_return_ = false;
  std::set<std::pair<const Function*, bool>>* seen_ = nullptr;
  std::map<std::pair<ProbeKind, Domain>, std::set<std::pair<const Function*, bool>>> seen_by_kind_;
  std::set<std::tuple<const SourceFile*, uint32_t, std::string>> told_;
};

// One more watchpoint than a thread can have would see nothing.
void check_watchpoints(Elaboration& e) {
  constexpr size_t kMost = abi::kKernelLayout.watchpoints;
  size_t count = 0;
  for (const Probe& probe : e.program.probes) {
    if (probe.kind != ProbeKind::kDataAccess) continue;
    count += probe.points.size();
    if (count <= kMost) continue;
    e.diagnostics.error(probe.range, fmt::format("more than {0} watchpoints: the processor has {0} for each thread", kMost))
        .hint("watch fewer variables at once; one watchpoint covers a structure of up to 8 bytes, with .length(8)");
    return;
  }
}

}  // namespace

void check_domains(Elaboration& e) {
  check_watchpoints(e);
  DomainChecker checker(e);
  for (const Probe& probe : e.program.probes) checker.check(probe);
}

}  // namespace spile::sema
