// Rejects what handlers in the kernel can't do, in the script's terms; kernel_lacks.h has the reasons. All of it works in the
// controller (end, timers), where results are usually presented. What the verifier of Linux 6.12 follows over a BPF arena
// (lower_arena.h) is rejected only over kernel maps.

#include "codegen/bodies/kernel_lacks.h"
#include "codegen/kernel/lower_kernel.h"
#include "sema/terms/intrinsics.h"
#include "syntax/visitor.h"

namespace spile::codegen {

namespace {

constexpr const char* kElsewhere =
    "do it in a timer or end probe; handlers in processes (-x or -c, without --runtime=bpf) have it, too";

class KernelCheck {
 public:
  KernelCheck(Unit& unit, const sema::Probe& probe, bool over_arena) : unit_(unit), probe_(probe), over_arena_(over_arena) {}

  void statement(const syntax::Statement& s) {
    syntax::for_each_expression(s, [&](const syntax::Expression& e) { expression(e); });
  }
  void expression(const syntax::Expression& e) {
    if (const auto* call = syntax::as<syntax::Call>(e)) {
      for (const syntax::Function* fallback : call->fallbacks) function(*fallback, *call);
      if (call->function) function(*call->function, *call);
      else if (call->intrinsic >= 0) intrinsic(*call);
    } else if (const auto* variable = syntax::as<syntax::Variable>(e); variable && variable->global) {
      const syntax::ArrayKindInfo& kind = syntax::info(variable->global->array_kind);
      if (kind.refused_in_kernel && !variable->global->is_made)
        refuse(e.range, kind.refused_in_kernel + (" (" + variable->global->name) + kind.mark + ")");
    }
  }

 private:
  void function(const syntax::Function& callee, const syntax::Call& call) {
    if (unit_.is_recursive(callee) && !over_arena_) refuse_always(call.range, "recursion", kElsewhere);
    else if (needs_structures(callee))
      unit_.refuse(
          call.range,
          "'" + callee.name +
              "' is not available in a handler that runs in the kernel: this version does not know the kernel's structures",
          "pid(), tid(), execname(), uid(), and the tracepoint's fields, say who runs");
    else if (seen_.insert(&callee).second) {
      const bool enters_library = !written_ && callee.from_library;
      if (enters_library) written_ = &call;
      ++depth_;
      statement(*callee.body);
      --depth_;
      if (enters_library) written_ = nullptr;
    }
  }
  // Functions of the library that are about the kernel's structures are errors everywhere: `error("NAME: only available to
  // ...")`.
  static bool needs_structures(const syntax::Function& callee) {
    bool needs = false;
    syntax::for_each_expression(static_cast<const syntax::Statement&>(*callee.body), [&](const syntax::Expression& e) {
      const auto* text = syntax::as<syntax::String>(e);
      needs |= text && text->value == callee.name + ": only available to probes that run in the kernel" &&
               callee.name != "task_current";
    });
    return needs;
  }
  void intrinsic(const syntax::Call& call) {
    // The lowering rejects what the runtime lacks.
    if (written_) unit_.written_calls.try_emplace(&call, written_);
    if (call.name == "matched" || call.name == "matched_str" || call.name == "ngroups") refuse(call.range, call.name + "()");
    bool needs_site = sema::intrinsics()[static_cast<size_t>(call.intrinsic)].needs & sema::kNeedsSite;
    if (needs_site && probe_.points.size() > 1 && depth_ > 0)
      refuse(call.range, call.name + "() inside a function, for a probe with many places,",
             "call it in the handler, and pass what it returns to the function");
  }
  void refuse(SourceRange range, const std::string& what, const char* hint = kElsewhere) {
    if (!over_arena_) refuse_always(range, what, hint);
  }
  void refuse_always(SourceRange range, const std::string& what, const char* hint) {
    const KernelLack* lack = kernel_lack(what);
    // What a function of the library can't do, the script's call of it can't.
    const std::string shown = written_ ? "'" + written_->name + "'" : what;
    if (written_) range = written_->range;
    unit_.refuse(range, kernel_lack_text(shown, lack), lack ? std::string(lack->instead) : hint);
  }

  Unit& unit_;
  const sema::Probe& probe_;
  const bool over_arena_;
  std::set<const syntax::Function*> seen_;
  const syntax::Call* written_ = nullptr;  // in a function of the library: the script's call by which it is reached
  int depth_ = 0;  // how many functions, each called by the one before, the walk is in; 0: in the handler itself
};

}  // namespace

void refuse_for_kernel(Unit& unit, bool over_arena) {
  for (const sema::Probe& probe : unit.program.probes) {
    if (probe.domain != sema::Domain::kKernel) continue;
    KernelCheck check(unit, probe, over_arena);
    check.statement(*probe.body);
    if (probe.condition) {
      syntax::for_each_expression(static_cast<const syntax::Expression&>(*probe.condition),
                                  [&](const syntax::Expression& e) { check.expression(e); });
    }
  }
}

}  // namespace spile::codegen
