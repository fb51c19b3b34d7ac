// check-domains: whether the library functions that a probe calls, itself or through its functions, make sense where it
// runs: a timer has no traced memory to read, a return has no arguments left.

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "abi/machine.h"
#include "sema/elaboration.h"
#include "sema/intrinsics.h"
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
    for (const ExpressionPtr& save : probe.entry_saves) look(static_cast<const Expression&>(*save), nullptr);
    at_return_ = probe.kind == ProbeKind::kFunctionReturn;
    if (probe.condition) look(static_cast<const Expression&>(*probe.condition), nullptr);
    look(static_cast<const Statement&>(*probe.body), nullptr);
  }

 private:
  // from: the call through which the code is reached, or null for the probe's own.
  template <typename Node>
  void look(const Node& node, const Call* from) {
    for_each_expression(node, [&](const Expression& x) {
      if (auto* operation = as<AtOperation>(x); operation && operation->name == "@var") check_variable(*operation, from);
      auto* call = as<Call>(x);
      if (!call) return;
      if (call->intrinsic >= 0) check_call(*call, from);
      for_each_callee(*call, [&](const Function& callee) {
        if (!callee.body || !seen_->insert({&callee, at_return_}).second) return;
        look(static_cast<const Statement&>(*callee.body), from ? from : call);
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

  void check_variable(const AtOperation& variable, const Call* from) {
    if (domains() != kInController) return;
    error(variable, from, fmt::format("'@var' needs a traced program, and {} probe does not run in one", article()), {});
  }

  void check_call(const Call& call, const Call* from) {
    const Intrinsic& intrinsic = intrinsics()[call.intrinsic];
    const uint32_t domain = domains();
    if (!(intrinsic.domains & domain)) {
      if (domain == kInController) {
        error(call, from, fmt::format("'{}' needs a traced program, and {} probe does not run in one", call.name, article()),
              {});
      } else {
        error(call, from, fmt::format("'{}' is not available in probes that run in the kernel", call.name),
              intrinsic.domains & kInTarget && may_run_in_process() ? "with -c or -x, --runtime=inproc runs them in the process" : "");
      }
      return;
    }
    if (probe_->kind == ProbeKind::kPacket && is_about_thread(intrinsic.name)) {
      error(call, from, fmt::format("'{}' in a netfilter probe: a packet belongs to no process, it passes while any may run", call.name),
            "kernel.function(\"tcp_sendmsg\") and its kin are called by the process itself");
      return;
    }
    if ((intrinsic.needs & kNeedsGuru) && !e_.program.guru) {
      error(call, from, fmt::format("'{}' changes the traced program, which needs guru mode", call.name), "run spile with -g");
      return;
    }
    // Elsewhere the function fails when it runs, and the script may catch the error.
    if (domain != kInKernel) return;
    bool in_function = info(probe_->kind).in_function;
    if ((intrinsic.needs & (kNeedsArguments | kNeedsRegisters)) && !in_function) {
      error(call, from, fmt::format("'{}' needs a probe on a function", call.name), {});
    } else if ((intrinsic.needs & kNeedsArguments) && at_return_) {
      error(call, from,
            fmt::format("'{}' in a .return probe: the arguments are gone when the function returns", call.name),
            fmt::format("@entry({}) is its value when the function was entered", to_source(call)));
    } else if (intrinsic.needs & kNeedsArguments) {
      auto* number = as<Number>(call.arguments[0]);
      if (number && number->value < 1) error(call, from, "arguments are numbered from 1", {});
    } else if (intrinsic.name == "returnval") {
      if (!at_return_) error(call, from, "'returnval' is only known in .return probes", {});
    } else if (intrinsic.needs & kNeedsRegisters) {
      auto* name = as<String>(call.arguments[0]);
      if (!name) {
        error(call, from, fmt::format("'{}' needs the register's name as a literal", call.name), {});
      } else if (!abi::find_register(name->value.c_str())) {
        error(call, from, fmt::format("unknown register '{}'", name->value),
              fmt::format("register names are {}, {}, {} ...", abi::machine::kRegisterNames[0].text, abi::machine::kRegisterNames[1].text, abi::register_name(8)));
      }
    }
  }

  static bool is_about_thread(std::string_view name) {
    constexpr std::string_view kAbout[] = {"pid", "tid", "ppid", "uid", "euid", "gid", "egid", "execname", "__pgrp", "__sid", "__memory_bound"};
    return name.starts_with("__ns_") || std::ranges::find(kAbout, name) != std::end(kAbout);
  }

  // Probes of processes, and samples of them; not what only the kernel sees.
  bool may_run_in_process() const {
    bool of_kernel = std::ranges::any_of(probe_->points, [](const ResolvedPoint& point) { return point.site.kernel != nullptr; });
    const bool counts = probe_->kind == ProbeKind::kPerfSample || (probe_->kind == ProbeKind::kDataAccess && probe_->domain == Domain::kKernel);
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
