#include "sema/sharing/guards.h"

#include <algorithm>

#include "sema/sharing/global_uses.h"
#include "sema/terms/side_effects.h"
#include "syntax/visitor.h"

namespace spile::sema {

namespace {

using namespace syntax;

class Division {
 public:
  explicit Division(const Program& program) : program_(program) {}

  GuardedBody divide(const Probe& probe) {
    made_.condition_first = !probe.condition || probe.switched || is_guard(*probe.condition);
    if (made_.condition_first) add_block(*probe.body);
    else made_.rest.push_back(probe.body.get());
    return std::move(made_);
  }

 private:
  bool is_guard(const Expression& condition) {
    if (!effects_.none_in(condition)) return false;
    const std::vector<Global*> globals = uses_.read_by(condition);
    return std::ranges::none_of(
        globals, [&](const Global* global) { return has_lock(program_.sharing[static_cast<size_t>(global->index)]); });
  }

  static const Statement* only_statement(const Statement& s) {
    const auto* block = as<Block>(s);
    return !block ? &s : block->statements.size() == 1 && !block->ends_at_next ? only_statement(*block->statements[0]) : nullptr;
  }
  static bool is_next(const Statement& s) {
    const Statement* only = only_statement(s);
    return only && only->kind == StatementKind::kNext;
  }

  void add_block(const Block& block) {
    if (block.ends_at_next) return made_.rest.push_back(&block);
    size_t i = 0;
    for (; i < block.statements.size(); ++i) {
      const auto* choice = as<If>(*block.statements[i]);
      if (!choice || choice->else_branch || !is_next(*choice->then_branch) || !is_guard(*choice->condition)) break;
      made_.guards.push_back({choice->condition.get(), false});
    }
    if (i + 1 == block.statements.size()) return add(*block.statements[i]);
    for (; i < block.statements.size(); ++i) made_.rest.push_back(block.statements[i].get());
  }

  // Of a statement that is all that is left of the body.
  void add(const Statement& s) {
    if (const auto* block = as<Block>(s)) return add_block(*block);
    const auto* choice = as<If>(s);
    if (!choice || choice->else_branch || !is_guard(*choice->condition)) return made_.rest.push_back(&s);
    made_.guards.push_back({choice->condition.get(), true});
    add(*choice->then_branch);
  }

  const Program& program_;
  GlobalUses uses_;
  SideEffects effects_;
  GuardedBody made_;
};

}  // namespace

GuardedBody divide_body(const Program& program, const Probe& probe) { return Division(program).divide(probe); }

}  // namespace spile::sema
