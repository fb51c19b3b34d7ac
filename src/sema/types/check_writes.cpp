// check-writes: each variable of the traced program that the script assigns to is stored somewhere (in guru mode; without it,
// earlier passes have rejected the assignment). If the compiler describes only how to compute a value, it can be read, but not
// written to.

#include <fmt/format.h>

#include <set>

#include "abi/machine.h"
#include "sema/terms/elaboration.h"
#include "sema/terms/written_place.h"
#include "syntax/visitor.h"

namespace spile::sema {

namespace {

using namespace syntax;

int binding_of(const Expression& target) {
  if (auto* variable = as<TargetVariable>(target)) return variable->binding;
  if (auto* operation = as<AtOperation>(target)) return operation->binding;
  if (auto* dereference = as<Dereference>(target)) return dereference->binding;
  return -1;
}

class WriteCheck {
 public:
  explicit WriteCheck(Elaboration& e) : e_(e) {}

  void check(const Statement& body, const std::vector<Binding>& bindings, const Probe* probe) {
    for_each_expression(body, [&](const Expression& x) {
      const Expression* target = nullptr;
      if (auto* assignment = as<Assignment>(x)) target = assignment->target.get();
      if (auto* increment = as<Increment>(x)) target = increment->operand.get();
      int binding = target ? binding_of(*target) : -1;
      if (binding < 0 || static_cast<size_t>(binding) >= bindings.size()) return;
      check_one(*target, bindings[static_cast<size_t>(binding)], probe);
    });
  }

 private:
  void check_one(const Expression& target, const Binding& binding, const Probe* probe) {
    std::string text = to_source(target);
    const bool is_uprobe = probe && info(probe->kind).in_function && !probe->points.front().site.kernel;
    if (probe && probe->domain == Domain::kKernel && !is_uprobe && text == "$return") {
      return error(
          target,
          "'$return' can't be written to: what the kernel's functions and system calls return is fixed when the handler runs",
          "a kernel with CONFIG_BPF_KPROBE_OVERRIDE, which distributions leave out, could skip some functions instead; with -x "
          "or -c, "
          "process(\"libc.so.6\").function(\"open\").return can change what the program gets");
    }
    if (probe && probe->domain == Domain::kKernel && !is_uprobe) {
      return error(target,
                   fmt::format("'{}' can't be written to: the kernel lets handlers write to memory of processes only", text),
                   "set_user_int(address, value) and its kind write there");
    }
    if (binding.type != ValueType::kLong)
      return error(target, fmt::format("'{}' can't be written to: it is not a number", text), "");
    auto place = written_place(binding.ops);
    if (!place) {
      return error(target, fmt::format("'{}' can't be written to: its value is computed from others, and stored nowhere", text),
                   "it may have storage elsewhere in the function, or in a build with less optimization");
    }
    if (!place->in_register) return;
    bool is_kept = probe && probe->domain == Domain::kTarget && abi::may_be_written(place->number);
    if (!is_kept) error(target, fmt::format("'{}' is in a register that can't be written to here", text), "");
  }

  void error(const Expression& target, std::string message, std::string hint) {
    if (!told_.insert({target.range.file, target.range.begin}).second) return;  // one body may stand in many probes
    e_.diagnostics.error(target.range, std::move(message)).hint(std::move(hint));
  }

  Elaboration& e_;
  std::set<std::pair<const SourceFile*, uint32_t>> told_;
};

}  // namespace

void check_writes(Elaboration& e) {
  if (!e.program.guru) return;
  WriteCheck check(e);
  for (const Probe& probe : e.program.probes) check.check(static_cast<const Statement&>(*probe.body), probe.bindings, &probe);
  for (const Function* function : e.program.functions) {
    if (!function->body) continue;
    check.check(static_cast<const Statement&>(*function->body), e.program.function_bindings[static_cast<size_t>(function->index)],
                nullptr);
  }
}

}  // namespace spile::sema
