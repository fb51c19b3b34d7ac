// refuse-foreign-addresses: of a script with handlers in processes and in the kernel. A global that both change lies in memory
// that the traced processes can write, whatever their handlers do (docs/security.md). A handler in the kernel that reads memory
// at an address from there would read for them what they may not: the kernel's memory, or that of other processes, into globals
// that they can look at. The flow of control is not looked at: a variable is foreign where something foreign is ever put into it.

#include <set>

#include "sema/sharing/global_uses.h"
#include "sema/terms/elaboration.h"
#include "sema/terms/intrinsics.h"
#include "syntax/visitor.h"

namespace spile::sema {

namespace {

using namespace syntax;

// Whether an expression reads memory at a place that its children choose.
bool reads_memory(const Expression& x) {
  if (x.kind == ExpressionKind::kDereference || x.kind == ExpressionKind::kAtOperation ||
      x.kind == ExpressionKind::kTargetVariable)
    return true;
  if (const auto* print = as<Print>(x))
    return std::ranges::any_of(print->parts, [](const FormatPart& part) { return part.kind == FormatPart::Kind::kMemory; });
  const auto* call = as<Call>(x);
  if (!call || call->intrinsic < 0) return false;
  std::string_view name = intrinsics()[static_cast<size_t>(call->intrinsic)].name;
  return name.starts_with("kernel_") || name.starts_with("user_") || name.starts_with("__pretty_");
}

class ForeignSearch {
 public:
  explicit ForeignSearch(Elaboration& e) : e_(e) {
    for (size_t i = 0; i < e.program.globals.size(); ++i) {
      const Sides& sides = e.program.sides[i];
      if (sides.process && sides.kernel && e.program.sharing[i] == Sharing::kLocked)
        foreign_.emplace(e.program.globals[i], e.program.globals[i]);
    }
  }

  void run() {
    if (foreign_.empty()) return;
    do {
      changed_ = false;
      visited_.clear();
      for_each_handler([this](const Probe& probe) { visit(probe); });
    } while (changed_);
    reports_ = true;
    visited_.clear();
    for_each_handler([this](const Probe& probe) { visit(probe); });
  }

 private:
  template <typename Visit>
  void for_each_handler(Visit visit) {
    for (const Probe& probe : e_.program.probes) {
      if (probe.domain == Domain::kKernel && probe.kind != ProbeKind::kNever) visit(probe);
    }
  }

  void visit(const Probe& probe) {
    probe_ = &probe;
    for (const auto& save : probe.entry_saves) look(*save);
    if (probe.condition) look(*probe.condition);
    look(*probe.body, nullptr);
  }

  // The global from which an expression's value may come; null: from none.
  const Global* source(const Expression& x) const {
    const Global* found = nullptr;
    for_each_expression(x, [&](const Expression& e) {
      if (found) return;
      if (const auto known = foreign_.find(variable_of(e)); known != foreign_.end()) found = known->second;
      if (const auto* call = as<Call>(e); call && call->function) {
        if (const auto known = foreign_.find(call->function); known != foreign_.end()) found = known->second;
      }
      if (e.kind == ExpressionKind::kEntryValue) {
        const auto index = static_cast<size_t>(static_cast<const EntryValue&>(e).index);
        if (index < probe_->entry_saves.size() && probe_->entry_saves[index].get() != &e)
          found = source(*probe_->entry_saves[index]);
      }
    });
    return found;
  }

  void put(const void* where, const Global* from) {
    if (where && from) changed_ |= foreign_.emplace(where, from).second;
  }

  void look(const Expression& x) {
    for_each_expression(x, [&](const Expression& e) {
      if (const auto* assignment = as<Assignment>(e)) put(variable_of(*assignment->target), source(*assignment->value));
      if (const auto* call = as<Call>(e); call && call->function) {
        enter(*call->function, *call);
        for (const Function* other : call->fallbacks) enter(*other, *call);
      }
      if (reports_ && reads_memory(e)) report(e);
    });
  }

  void enter(const Function& function, const Call& call) {
    for (size_t i = 0; i < call.arguments.size() && i < function.parameters.size(); ++i)
      put(function.parameters[i].get(), source(*call.arguments[i]));
    if (visited_.insert(&function).second && function.body) look(*function.body, &function);
  }

  void look(const Statement& s, const Function* function) {
    for_each_child(s, [&](const Expression& e) { look(e); });
    if (const auto* result = as<Return>(s); result && result->value && function) put(function, source(*result->value));
    if (const auto* loop = as<Foreach>(s); loop && loop->array) {
      const Global* from = source(*loop->array);
      for (const auto& key : loop->keys) put(variable_of(*key), from);
      if (loop->value) put(variable_of(*loop->value), from);
    }
    for_each_statement(s, [&](const Statement& inner) { look(inner, function); });
  }

  void report(const Expression& x) {
    const Global* from = nullptr;
    for_each_child(x, [&](const Expression& child) { from = from ? from : source(child); });
    if (!from || !reported_.insert(&x).second) return;
    e_.diagnostics
        .error(x.range, "the address may come from '" + from->name +
                            "', which handlers in processes change, too: a traced process could have any memory read")
        .hint("keep the address in a global that handlers in the kernel alone use, or give --runtime=bpf; -g allows it");
  }

  Elaboration& e_;
  const Probe* probe_ = nullptr;
  // Locals, Globals and Functions that may hold or give what comes from the global
  std::map<const void*, const Global*> foreign_;
  std::set<const Function*> visited_;
  std::set<const Expression*> reported_;
  bool changed_ = false, reports_ = false;
};

}  // namespace

void refuse_foreign_addresses(Elaboration& e) {
  if (!e.program.guru) ForeignSearch(e).run();
}

}  // namespace spile::sema
