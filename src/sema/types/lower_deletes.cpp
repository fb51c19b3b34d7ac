// lower-deletes: `delete x` of a local variable sets it to 0 or "": an assignment like any other.

#include "sema/terms/elaboration.h"
#include "syntax/visitor.h"

namespace spile::sema {

namespace {

using namespace syntax;

void lower(StatementPtr& slot) {
  auto* removal = as<Delete>(slot);
  auto* variable = removal ? as<Variable>(removal->target) : nullptr;
  if (!variable || !variable->local) return;
  auto assignment = std::make_unique<Assignment>(slot->range);
  assignment->op = Assignment::Operator::kSet;
  assignment->type = variable->type = variable->local->type;
  if (variable->type == ValueType::kString) {
    assignment->value = std::make_unique<String>(slot->range, std::string());
  } else {
    assignment->value = std::make_unique<Number>(slot->range, 0);
  }
  assignment->value->type = variable->type;
  assignment->target = std::move(removal->target);
  auto statement = std::make_unique<ExpressionStatement>(slot->range);
  statement->expression = std::move(assignment);
  slot = std::move(statement);
}

}  // namespace

void lower_deletes(Elaboration& e) {
  for (Probe& probe : e.program.probes) {
    for_each_statement(static_cast<Statement&>(*probe.body),
                       [](StatementPtr& child) { rewrite_statements(child, [](StatementPtr& s) { lower(s); }); });
  }
  for (Function* function : e.program.functions) {
    if (function->body) rewrite_statements(function->body, [](StatementPtr& s) { lower(s); });
  }
}

}  // namespace spile::sema
