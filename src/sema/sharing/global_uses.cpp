#include "sema/sharing/global_uses.h"

#include "sema/terms/elaboration.h"
#include "syntax/visitor.h"

namespace spile::sema {

namespace {

using namespace syntax;

// Walks one body, without following calls.
template <typename Code>
class Scanner {
 public:
  explicit Scanner(Code& code) : code_(code) {}

  void visit(const Statement& s) {
    switch (s.kind) {
      case StatementKind::kExpression: visit(*static_cast<const ExpressionStatement&>(s).expression, true); break;
      case StatementKind::kFor: {
        auto& loop = static_cast<const For&>(s);
        if (loop.init) visit(*loop.init, true);
        if (loop.condition) visit(*loop.condition, false);
        if (loop.step) visit(*loop.step, true);
        break;
      }
      case StatementKind::kForeach: {
        auto& loop = static_cast<const Foreach&>(s);
        for (const auto& key : loop.keys) write(*key);
        if (loop.value) write(*loop.value);
        if (loop.array) code_.touches[loop.array->global].read = true;
        if (loop.histogram) visit(*loop.histogram, false);
        for (const ExpressionPtr& key : loop.slice) {
          if (key) visit(*key, false);
        }
        if (loop.limit) visit(*loop.limit, false);
        break;
      }
      case StatementKind::kDelete: write(*static_cast<const Delete&>(s).target); break;
      case StatementKind::kEmbedded: touch(static_cast<const EmbeddedStatement&>(s).globals); break;
      case StatementKind::kTry:
        if (auto& message = static_cast<const Try&>(s).message) write(*message);
        break;
      default: for_each_child(s, [&](const Expression& x) { visit(x, false); });
    }
    for_each_statement(s, [&](const Statement& child) { visit(child); });
  }

  void visit(const Expression& x, bool unused) {
    if (auto* increment = as<Increment>(x)) {
      change(*increment->operand, unused, !unused, increment->delta != 1);
      return;
    }
    if (auto* assignment = as<Assignment>(x)) {
      visit_assignment(*assignment, unused);
      return;
    }
    if (auto* code = as<Embedded>(x)) {
      touch(code->globals);
    } else if (auto* call = as<Call>(x)) {
      for_each_callee(*call, [&](const Function& callee) { code_.callees.insert(&callee); });
      if (call->intrinsic >= 0) code_.intrinsics.insert(call->intrinsic);
    } else if (Global* global = global_of(x)) {
      code_.touches[global].read = true;
    } else if (auto* in = as<In>(x)) {
      code_.touches[in->array->global].read = true;
    }
    for_each_child(x, [&](const Expression& child) { visit(child, false); });
  }

 private:
  void visit_assignment(const Assignment& x, bool unused) {
    switch (x.op) {
      case Assignment::Operator::kSet: write(*x.target); break;
      case Assignment::Operator::kAccumulate: change(*x.target, unused, false, true); break;
      case Assignment::Operator::kConcatenate: change(*x.target, false, true, true); break;
      case Assignment::Operator::kArithmetic: {
        bool adds = x.arithmetic == Binary::Operator::kAdd || x.arithmetic == Binary::Operator::kSubtract;
        change(*x.target, unused && adds, true, true);
        break;
      }
    }
    visit(*x.value, false);
  }

  void touch(const EmbeddedGlobals& globals) {
    for (Global* global : globals.read) code_.touches[global].read = true;
    for (Global* global : globals.written) code_.touches[global].written = true;
  }

  void change(const Expression& target, bool accumulates, bool also_reads, bool sums) {
    if (Global* global = global_of(target)) {
      Touch& touch = code_.touches[global];
      if (accumulates) {
        touch.accumulated = true;
        touch.summed |= sums;
      } else {
        touch.written = true;
        touch.read |= also_reads;
      }
    }
    visit_keys(target);
  }
  void write(const Expression& target) { change(target, false, false, false); }

  void visit_keys(const Expression& target) {
    auto* index = as<Index>(target);
    if (!index) return;
    for (const ExpressionPtr& key : index->indexes) {
      if (key) visit(*key, false);
    }
  }

  Code& code_;
};

}  // namespace

GlobalUses::Code GlobalUses::scan(const Probe& probe) {
  Code code;
  Scanner<Code> scanner(code);
  for (const ExpressionPtr& save : probe.entry_saves) scanner.visit(*save, false);
  if (probe.condition) scanner.visit(*probe.condition, false);
  scanner.visit(*probe.body);
  return code;
}

GlobalUses::Code GlobalUses::scan(const Function& function) {
  Code code;
  if (function.body) Scanner<Code>(code).visit(*function.body);
  return code;
}

GlobalUses::Code GlobalUses::close(Code code) {
  std::vector<const Function*> pending(code.callees.begin(), code.callees.end());
  while (!pending.empty()) {
    const Function* function = pending.back();
    pending.pop_back();
    auto [known, added] = functions_.try_emplace(function);
    if (added) known->second = scan(*function);
    const Code& callee = known->second;
    for (const auto& [global, touch] : callee.touches) {
      Touch& sum = code.touches[global];
      sum.read |= touch.read;
      sum.accumulated |= touch.accumulated;
      sum.summed |= touch.summed;
      sum.written |= touch.written;
    }
    code.intrinsics.insert(callee.intrinsics.begin(), callee.intrinsics.end());
    for (const Function* next : callee.callees) {
      if (code.callees.insert(next).second) pending.push_back(next);
    }
  }
  return code;
}

Touches GlobalUses::of(const Probe& probe) { return close(scan(probe)).touches; }
std::vector<Global*> GlobalUses::read_by(const Expression& x) {
  Code code;
  Scanner<Code>(code).visit(x, false);
  std::vector<Global*> globals;
  for (const auto& [global, touch] : close(std::move(code)).touches) {
    if (touch.read) globals.push_back(global);
  }
  return globals;
}
std::set<int> GlobalUses::intrinsics_of(const Probe& probe) { return close(scan(probe)).intrinsics; }
std::set<const Function*> GlobalUses::functions_of(const Probe& probe) { return close(scan(probe)).callees; }

}  // namespace spile::sema
