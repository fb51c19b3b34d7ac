// describe-points: source lines, where something shows them.
// analyze-uses: decides what each handler needs around its body: which locks, whether it has to know its site, and whether it is
// so simple that it needs no guard against being interrupted by itself.

#include <algorithm>
#include <set>

#include "abi/machine.h"
#include "sema/sharing/global_uses.h"
#include "sema/terms/elaboration.h"
#include "sema/terms/intrinsics.h"
#include "syntax/visitor.h"

namespace spile::sema {

namespace {

using namespace syntax;

// Whether a handler only adds to sharded numbers. Such an addition is one instruction, so a second handler
// on the same thread (from a signal) can come at any moment. Nothing in it may fail, loop, print or call.
class PlainCheck {
 public:
  PlainCheck(const Program& program, const Probe& probe) : program_(program), probe_(probe) {}

  bool plain() const {
    if (!probe_.entry_saves.empty()) return false;
    return (!probe_.condition || probe_.switched || plain_value(*probe_.condition)) && plain(*probe_.body);
  }

 private:
  bool plain(const Statement& s) const {
    switch (s.kind) {
      case StatementKind::kNull:
      case StatementKind::kNext: return true;
      case StatementKind::kBlock:
      case StatementKind::kIf: {
        bool all = s.kind == StatementKind::kBlock || plain_value(*static_cast<const If&>(s).condition);
        for_each_statement(s, [&](const Statement& child) { all &= plain(child); });
        return all;
      }
      case StatementKind::kExpression: return plain_change(*static_cast<const ExpressionStatement&>(s).expression);
      default: return false;
    }
  }

  bool plain_change(const Expression& x) const {
    if (auto* increment = as<Increment>(x)) return plain_target(*increment->operand);
    auto* assignment = as<Assignment>(x);
    if (!assignment) return plain_value(x);
    if (!plain_value(*assignment->value)) return false;
    if (assignment->op == Assignment::Operator::kArithmetic) {
      bool adds = assignment->arithmetic == Binary::Operator::kAdd || assignment->arithmetic == Binary::Operator::kSubtract;
      return adds && plain_target(*assignment->target);
    }
    auto* variable = as<Variable>(assignment->target);
    return assignment->op == Assignment::Operator::kSet && variable && variable->local && variable->type == ValueType::kLong;
  }

  bool plain_target(const Expression& x) const {
    auto* variable = as<Variable>(x);
    if (!variable || variable->type != ValueType::kLong) return false;
    return variable->local || (variable->global && program_.sharing[variable->global->index] == Sharing::kSharded);
  }

  bool plain_value(const Expression& x) const {
    bool all = true;
    for_each_expression(x, [&](const Expression& inner) { all = all && plain_node(inner); });
    return all;
  }

  bool plain_node(const Expression& x) const {
    switch (x.kind) {
      case ExpressionKind::kNumber:
      case ExpressionKind::kUnary:
      case ExpressionKind::kLogical:
      case ExpressionKind::kTernary: return x.type == ValueType::kLong;
      case ExpressionKind::kCompare: return static_cast<const Compare&>(x).left->type == ValueType::kLong;
      case ExpressionKind::kBinary: {
        auto& binary = static_cast<const Binary&>(x);
        if (binary.op != Binary::Operator::kDivide && binary.op != Binary::Operator::kModulo) return true;
        auto* divisor = as<Number>(binary.right);
        return divisor && divisor->value != 0;
      }
      case ExpressionKind::kVariable: {
        auto& variable = static_cast<const Variable&>(x);
        if (variable.type != ValueType::kLong) return false;
        return variable.local || program_.sharing[variable.global->index] == Sharing::kReadOnly;
      }
      case ExpressionKind::kTargetVariable: {
        auto& variable = static_cast<const TargetVariable&>(x);
        return variable.type == ValueType::kLong && in_registers(probe_.bindings[variable.binding]);
      }
      case ExpressionKind::kCall: {
        // int_arg(1) to int_arg(6) are registers, where there are arguments.
        if (probe_.kind != ProbeKind::kFunctionEntry && probe_.kind != ProbeKind::kStatement) return false;
        auto& call = static_cast<const Call&>(x);
        if (call.intrinsic < 0 || !(intrinsics()[call.intrinsic].needs & kNeedsArguments) || !intrinsics()[call.intrinsic].pure)
          return false;
        auto* number = as<Number>(call.arguments[0]);
        return number && number->value >= 1 && number->value <= 6;
      }
      default: return false;
    }
  }

  static bool in_registers(const Binding& binding) {
    if (binding.by_point != Binding::ByPoint::kNo) return false;
    for (const location::Operation& op : binding.ops) {
      if (location::can_fail(op) || location::is<location::CalledFrom>(op) || location::is<location::EntryKnown>(op))
        return false;
    }
    return true;
  }

  const Program& program_;
  const Probe& probe_;
};

// At an entry the argument registers are at hand, at a return those of results. Anything else the trampoline must save.
bool reads_other_registers(const location::Operations& ops, bool at_return) {
  using abi::kConvention;
  for (const location::Operation& op : ops) {
    const auto* read = std::get_if<location::Register>(&op);
    if (!read) continue;
    bool is_result = kConvention.result_registers.has(read->number);
    bool is_argument = kConvention.argument_registers.has(read->number);
    if (read->number == kConvention.stack_pointer) continue;  // it follows from the CFA
    if (read->number >= kConvention.first_vector) continue;   // handlers leave vector registers as they are
    if (at_return ? !is_result && !is_argument : !is_argument) return true;
  }
  return false;
}

// Calls f(location::Operations) for the places of the probe's bindings, at all of its points.
template <typename F>
void for_each_place(const Probe& probe, F&& f) {
  for (const Binding& binding : probe.bindings) f(binding.ops);
  for (const std::vector<PointSlot>& slots : probe.tables) {
    for (const PointSlot& slot : slots) {
      for (const PointVariable& variable : slot) f(variable.ops);
    }
  }
}

uint32_t needs_of(const std::vector<Binding>& bindings) {
  uint32_t needs = 0;
  for (const Binding& binding : bindings) {
    if (!binding.other_module.empty()) needs |= kNeedsModules;
    if (std::ranges::any_of(binding.ops, location::is<location::CalledFrom>)) needs |= kNeedsStack | kNeedsSite;
  }
  return needs;
}

// $x = 1 where $x is in a register: only the saved registers are put back.
bool writes_register(const Probe& probe) {
  bool writes = false;
  for_each_expression(static_cast<const Statement&>(*probe.body), [&](const Expression& x) {
    const Expression* target = nullptr;
    if (auto* assignment = as<Assignment>(x)) target = assignment->target.get();
    if (auto* increment = as<Increment>(x)) target = increment->operand.get();
    auto* variable = target ? as<TargetVariable>(*target) : nullptr;
    if (!variable || variable->binding < 0) return;
    const auto& ops = probe.bindings[static_cast<size_t>(variable->binding)].ops;
    writes |= std::ranges::none_of(ops, location::is<location::Deref>);
  });
  return writes;
}

// Whether a handler of the controller reads the kernel's memory, by a cast or a library function.
bool reads_kernel_memory(const Program& program, const Probe& probe, GlobalUses& uses) {
  auto some_read = [](const std::vector<Binding>& bindings) {
    return std::ranges::any_of(bindings, &Binding::reads_kernel_memory);
  };
  return some_read(probe.bindings) ||
         std::ranges::any_of(uses.functions_of(probe),
                             [&](const Function* function) {
                               return some_read(program.function_bindings[static_cast<size_t>(function->index)]);
                             }) ||
         std::ranges::any_of(uses.intrinsics_of(probe), [](int intrinsic) {
           return (intrinsics()[static_cast<size_t>(intrinsic)].needs & kNeedsKernelMemory) != 0;
         });
}

// Whether a condition is only arithmetic on globals: then it can't fail, and has the same value wherever it is evaluated.
bool is_plain_condition(const Expression& condition) {
  bool plain = true;
  for_each_expression(condition, [&](const Expression& x) {
    switch (x.kind) {
      case ExpressionKind::kNumber:
      case ExpressionKind::kString:
      case ExpressionKind::kUnary:
      case ExpressionKind::kLogical:
      case ExpressionKind::kCompare:
      case ExpressionKind::kTernary: return;
      case ExpressionKind::kVariable: plain &= static_cast<const Variable&>(x).global != nullptr; return;
      case ExpressionKind::kBinary: {
        auto op = static_cast<const Binary&>(x).op;
        plain &= op != Binary::Operator::kDivide && op != Binary::Operator::kModulo;
        return;
      }
      default: plain = false;
    }
  });
  return plain;
}

void find_switched(Program& program, GlobalUses& uses) {
  std::set<const Global*> changed_by_targets;
  for (const Probe& probe : program.probes) {
    if (probe.domain == Domain::kController) continue;
    for (const auto& [global, touch] : uses.of(probe)) {
      if (touch.written || touch.accumulated) changed_by_targets.insert(global);
    }
  }
  for (Probe& probe : program.probes) {
    if (!probe.condition || probe.domain != Domain::kTarget || !is_plain_condition(*probe.condition)) continue;
    probe.switched = std::none_of(probe.condition_reads.begin(), probe.condition_reads.end(),
                                  [&](const Global* global) { return changed_by_targets.contains(global); });
  }
}

}  // namespace

void describe_points(Elaboration& e) {
  GlobalUses uses;
  for (Probe& probe : e.program.probes) {
    if (!e.program.describe_points && !uses.intrinsics_of(probe).count(find_intrinsic("pp"))) continue;
    for (ResolvedPoint& point : probe.points) e.target.describe(point);
  }
}

void analyze_uses(Elaboration& e) {
  GlobalUses uses;
  for (Probe& probe : e.program.probes) {
    if (probe.condition) probe.condition_reads = uses.read_by(*probe.condition);
  }
  find_switched(e.program, uses);
  for (const auto& bindings : e.program.function_bindings) e.program.needs |= needs_of(bindings);
  for (Probe& probe : e.program.probes) {
    // Of a switched condition only the result is looked at, and that takes no lock.
    ExpressionPtr apart;
    if (probe.switched) apart.swap(probe.condition);
    Touches touches = uses.of(probe);
    if (probe.switched) apart.swap(probe.condition);
    for (const auto& [global, touch] : touches) {
      if (has_lock(e.program.sharing[global->index])) {
        probe.uses.push_back({global, touch.written || touch.accumulated});
      }
    }
    std::sort(probe.uses.begin(), probe.uses.end(),
              [](const GlobalUse& a, const GlobalUse& b) { return a.global->index < b.global->index; });
    for (int intrinsic : uses.intrinsics_of(probe)) {
      uint32_t needs = intrinsics()[intrinsic].needs;
      if ((needs & kNeedsSite) && probe.points.size() > 1) probe.needs_site_id = true;
      // returnval() does not need saved registers: return probes have the value at hand.
      if ((needs & kNeedsRegisters) && intrinsics()[intrinsic].name != "returnval") probe.needs_registers = true;
      e.program.needs |= needs & ~uint32_t{kNeedsKernelMemory};
      if ((needs & kNeedsStack) && probe.domain == Domain::kTarget) probe.needs_stack = probe.needs_registers = true;
    }
    if (probe.domain == Domain::kController && reads_kernel_memory(e.program, probe, uses)) e.program.needs |= kNeedsKernelMemory;
    if (probe.domain == Domain::kTarget && writes_register(probe)) probe.needs_registers = true;
    const uint32_t needs = needs_of(probe.bindings);
    e.program.needs |= needs;
    if (needs & kNeedsStack) probe.needs_stack = probe.needs_registers = true;
    if ((needs & kNeedsSite) && probe.points.size() > 1) probe.needs_site_id = true;
    for_each_place(probe, [&](const location::Operations& ops) {
      if (probe.kind == ProbeKind::kStatement) probe.needs_registers |= !ops.empty();
      probe.needs_registers |= reads_other_registers(ops, probe.kind == ProbeKind::kFunctionReturn);
    });
    if (!probe.tables.empty() && probe.points.size() > 1) probe.needs_site_id = true;
    probe.only_accumulates = probe.domain != Domain::kController && PlainCheck(e.program, probe).plain();
  }
}

}  // namespace spile::sema
