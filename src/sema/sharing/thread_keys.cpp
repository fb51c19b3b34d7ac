#include "sema/sharing/thread_keys.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "sema/terms/intrinsics.h"
#include "syntax/visitor.h"

namespace spile::sema {

namespace {

using namespace syntax;

bool calls_tid(const Expression& x) {
  const auto* call = as<Call>(x);
  return call && call->intrinsic >= 0 && intrinsics()[static_cast<size_t>(call->intrinsic)].name == "tid";
}

bool sets_to_tid(const Assignment& assignment) {
  return assignment.op == Assignment::Operator::kSet && calls_tid(*assignment.value);
}

// `t = tid()` as a statement; null: it is another one.
const Local* takes_tid(const Statement& s) {
  const auto* statement = as<ExpressionStatement>(s);
  const auto* assignment = statement ? as<Assignment>(statement->expression) : nullptr;
  if (!assignment || !sets_to_tid(*assignment)) return nullptr;
  const auto* variable = as<Variable>(assignment->target);
  return variable ? variable->local : nullptr;
}

const Local* local_of(const Expression& x) {
  const auto* variable = as<Variable>(x);
  return variable ? variable->local : nullptr;
}

class ThreadKeySearch {
 public:
  // Looks through a body that runs outside of the controller.
  void visit(const Statement& body) {
    threads_.clear();
    changes_.clear();
    note_changes(body);
    visit_next(body);
  }
  void visit(const Expression& condition) {
    threads_.clear();
    uses(condition);
  }
  // No array that the expression uses is one that is searched for.
  void exclude(const Expression& x) {
    for_each_expression(x, [&](const Expression& e) { forget(e); });
  }

  std::set<const Global*> found() const {
    std::set<const Global*> arrays;
    for (const auto& [array, positions] : positions_) {
      if (positions != 0) arrays.insert(array);
    }
    return arrays;
  }

 private:
  // Statements of a body in order: from `t = tid()` on, t names the thread, to the end of the branch or of the loop's body that
  // says so; after an `if` where both of its branches do. Wherever else t is used it may be 0 still.
  void visit_next(const Statement& s) {
    if (const auto* block = as<Block>(s)) {
      for (const StatementPtr& statement : block->statements) visit_next(*statement);
    } else if (const auto* choice = as<If>(s)) {
      uses(*choice->condition);
      const std::set<const Local*> then_threads = visit_branch(choice->then_branch.get());
      const std::set<const Local*> else_threads = visit_branch(choice->else_branch.get());
      std::ranges::set_intersection(then_threads, else_threads, std::inserter(threads_, threads_.end()));
    } else if (const auto* loop = as<While>(s)) {
      uses(*loop->condition);
      visit_branch(loop->body.get());
    } else if (const auto* counted = as<For>(s)) {
      for (const ExpressionPtr* part : {&counted->init, &counted->condition, &counted->step}) {
        if (*part) uses(**part);
      }
      visit_branch(counted->body.get());
    } else if (const auto* attempt = as<Try>(s)) {
      visit_branch(attempt->body.get());
      visit_branch(attempt->handler.get());
    } else {
      uses_in(s);
      const Local* local = takes_tid(s);
      if (local && !changes_.contains(local)) threads_.insert(local);
    }
  }
  // Returns which locals name the thread at the branch's end; null: the statement has no such branch.
  std::set<const Local*> visit_branch(const Statement* branch) {
    const std::set<const Local*> before = threads_;
    if (branch) visit_next(*branch);
    return std::exchange(threads_, before);
  }

  void note_changes(const Statement& s) {
    auto changed = [&](const Expression& x) {
      if (const Local* local = local_of(x)) changes_.insert(local);
    };
    for_each_expression(s, [&](const Expression& e) {
      if (const auto* assignment = as<Assignment>(e); assignment && !sets_to_tid(*assignment)) changed(*assignment->target);
      if (const auto* increment = as<Increment>(e)) changed(*increment->operand);
    });
    each_statement(s, [&](const Statement& inner) {
      if (const auto* loop = as<Foreach>(inner)) {
        for (const auto& key : loop->keys) changed(*key);
        if (loop->value) changed(*loop->value);
      }
      if (const auto* attempt = as<Try>(inner); attempt && attempt->message) changed(*attempt->message);
      if (const auto* removal = as<Delete>(inner)) changed(*removal->target);
    });
  }

  template <typename F>
  static void each_statement(const Statement& s, const F& f) {
    f(s);
    for_each_statement(s, [&](const Statement& inner) { each_statement(inner, f); });
  }

  void uses_in(const Statement& s) {
    for_each_expression(s, [&](const Expression& e) { use(e); });
    each_statement(s, [&](const Statement& inner) {
      if (const auto* loop = as<Foreach>(inner); loop && loop->array) forget(*loop->array);
      if (const auto* removal = as<Delete>(inner)) forget(*removal->target);
      if (const auto* code = as<EmbeddedStatement>(inner)) {
        for (const Global* global : code->globals.read) positions_[global] = 0;
        for (const Global* global : code->globals.written) positions_[global] = 0;
      }
    });
  }
  void uses(const Expression& x) {
    for_each_expression(x, [&](const Expression& e) { use(e); });
  }

  void use(const Expression& e) {
    if (const auto* index = as<Index>(e)) narrow(index->array->global, index->indexes);
    if (const auto* in = as<In>(e)) narrow(in->array->global, in->indexes);
    if (const auto* code = as<Embedded>(e)) {
      for (const Global* global : code->globals.read) positions_[global] = 0;
      for (const Global* global : code->globals.written) positions_[global] = 0;
    }
  }

  // Keeps the positions of keys that name the thread here, too.
  void narrow(const Global* array, const std::vector<ExpressionPtr>& keys) {
    uint64_t here = 0;
    for (size_t i = 0; i < keys.size() && i < 64; ++i) {
      if (keys[i] && names_thread(*keys[i])) here |= uint64_t{1} << i;
    }
    auto [known, added] = positions_.try_emplace(array, here);
    if (!added) known->second &= here;
  }
  bool names_thread(const Expression& key) const {
    const Local* local = local_of(key);
    return calls_tid(key) || (local && threads_.contains(local));
  }

  // The variable stands for a whole array, or is one that something else changes.
  void forget(const Expression& x) {
    if (const auto* variable = as<Variable>(x); variable && variable->global) positions_[variable->global] = 0;
    if (const auto* index = as<Index>(x); index && std::ranges::any_of(index->indexes, [](const auto& key) { return !key; }))
      positions_[index->array->global] = 0;
  }

  std::map<const Global*, uint64_t> positions_;  // bit n: key n has named the thread in every use so far
  std::set<const Local*> changes_;               // of the body: the locals that get another value than tid()
  std::set<const Local*> threads_;               // of the body, up to the statement at hand
};

}  // namespace

std::set<const Global*> arrays_keyed_by_thread(const Program& program) {
  ThreadKeySearch search;
  for (const Probe& probe : program.probes) {
    if (probe.domain == Domain::kController || probe.kind == ProbeKind::kNever) continue;
    if (probe.condition) search.visit(*probe.condition);
    for (const ExpressionPtr& save : probe.entry_saves) search.exclude(*save);
    search.visit(*probe.body);
  }
  // A function may be called by handlers anywhere.
  for (const Function* function : program.functions) {
    if (function->body) search.visit(*function->body);
  }
  return search.found();
}

}  // namespace spile::sema
