#include "sema/sharing/own_text.h"

#include <algorithm>

#include "sema/sharing/global_uses.h"
#include "sema/terms/intrinsics.h"
#include "syntax/visitor.h"

namespace spile::sema {

using namespace syntax;

namespace {

// Intrinsics whose text is of their arguments' text.
bool keeps_text(const Call& call) {
  static constexpr std::string_view kNames[] = {"substr", "str_replace"};
  return call.intrinsic >= 0 &&
         std::ranges::find(kNames, intrinsics()[static_cast<size_t>(call.intrinsic)].name) != std::end(kNames);
}

}  // namespace

OwnText::OwnText(const Program& program) : program_(program) {
  for (size_t i = 0; i < program_.globals.size(); ++i) {
    const Global* global = program_.globals[i];
    if (const auto* initial = as<String>(global->initial)) literals_.insert(initial->value);
    // Traced programs can write to the memory of those that handlers in them use.
    const bool is_private =
        i < program_.sharing.size() && (program_.sharing[i] == Sharing::kController || program_.sharing[i] == Sharing::kUnused);
    if (!is_private) foreign_.insert(global);
  }
  do {
    changed_ = false;
    for (const Probe& probe : program_.probes) {
      if (probe.body) look_at(*probe.body, nullptr);
      for (const auto& save : probe.entry_saves) look_at(*save);
      if (probe.condition) look_at(*probe.condition);
    }
    for (const Function* function : program_.functions) {
      if (function->body) look_at(*function->body, function);
    }
  } while (changed_);
}

const std::string* OwnText::constant(const Expression& expression) const {
  if (const auto* literal = as<String>(expression)) return &literal->value;
  const auto* variable = as<Variable>(expression);
  if (!variable || !variable->global || variable->global->is_array || written_.contains(variable->global)) return nullptr;
  const auto* initial = as<String>(variable->global->initial);
  return initial ? &initial->value : nullptr;
}

bool OwnText::is_own(const Expression& expression) const {
  if (expression.type != ValueType::kString) return expression.kind == ExpressionKind::kNumber;
  auto all_own = [&](const std::vector<ExpressionPtr>& parts) {
    return std::ranges::all_of(parts,
                               [&](const ExpressionPtr& part) { return part->type != ValueType::kString || is_own(*part); });
  };
  switch (expression.kind) {
    case ExpressionKind::kString: return true;
    case ExpressionKind::kVariable:
    case ExpressionKind::kIndex: return variable_of(expression) && !foreign_.contains(variable_of(expression));
    case ExpressionKind::kConcatenation: {
      const auto& both = static_cast<const Concatenation&>(expression);
      return is_own(*both.left) && is_own(*both.right);
    }
    case ExpressionKind::kTernary: {
      const auto& choice = static_cast<const Ternary&>(expression);
      return is_own(*choice.if_true) && is_own(*choice.if_false);
    }
    case ExpressionKind::kComma: return is_own(*static_cast<const Comma&>(expression).right);
    case ExpressionKind::kAssignment: return is_own(*static_cast<const Assignment&>(expression).target);
    case ExpressionKind::kPrint: {
      const auto& print = static_cast<const Print&>(expression);
      bool makes_bytes = print.is_char || std::ranges::any_of(print.parts, [](const FormatPart& part) {
                           return part.kind == FormatPart::Kind::kChar || part.kind == FormatPart::Kind::kMemory;
                         });
      return !makes_bytes && all_own(print.arguments);
    }
    case ExpressionKind::kCall: {
      const auto& call = static_cast<const Call&>(expression);
      if (!call.function) return keeps_text(call) && all_own(call.arguments);
      if (foreign_.contains(call.function)) return false;
      return std::ranges::none_of(call.fallbacks, [&](const Function* other) { return foreign_.contains(other); });
    }
    default: return false;
  }
}

void OwnText::note_written(const Expression& target) {
  if (const auto* variable = as<Variable>(target)) written_.insert(variable->global);
}

void OwnText::spoil(const Expression& target) {
  note_written(target);
  if (const void* variable = variable_of(target)) spoil(variable);
}

void OwnText::put(const Expression& target, const Expression& value) {
  if (target.type == ValueType::kString && !is_own(value)) spoil(target);
}

void OwnText::look_at(const Expression& expression) {
  for_each_expression(expression, [&](const Expression& e) {
    if (const auto* literal = as<String>(e)) literals_.insert(literal->value);
    if (const auto* assignment = as<Assignment>(e)) {
      put(*assignment->target, *assignment->value);
      note_written(*assignment->target);
    } else if (const auto* call = as<Call>(e); call && call->function) {
      std::vector<const Function*> overloads{call->function};
      overloads.insert(overloads.end(), call->fallbacks.begin(), call->fallbacks.end());
      for (const Function* function : overloads) {
        for (size_t i = 0; i < call->arguments.size() && i < function->parameters.size(); ++i) {
          if (call->arguments[i]->type == ValueType::kString && !is_own(*call->arguments[i]))
            spoil(function->parameters[i].get());
        }
      }
    } else if (const auto* embedded = as<Embedded>(e)) {
      for (const Global* global : embedded->globals.written) spoil(global), written_.insert(global);
    }
  });
}

void OwnText::look_at(const Statement& statement, const Function* function) {
  for_each_child(statement, [&](const Expression& e) { look_at(e); });
  switch (statement.kind) {
    case StatementKind::kForeach: {
      const auto& loop = static_cast<const Foreach&>(statement);
      const bool own = loop.array && !foreign_.contains(loop.array->global);
      if (loop.value) note_written(*loop.value);
      if (loop.value && !own) spoil(*loop.value);
      for (const auto& key : loop.keys) spoil(*key);
      break;
    }
    case StatementKind::kReturn:
      if (const auto& value = static_cast<const Return&>(statement).value;
          function && value && value->type == ValueType::kString && !is_own(*value))
        spoil(function);
      break;
    case StatementKind::kDelete:
      if (const auto& target = static_cast<const Delete&>(statement).target) note_written(*target);
      break;
    case StatementKind::kTry:
      if (const auto& message = static_cast<const Try&>(statement).message) spoil(*message);
      break;
    case StatementKind::kEmbedded: {
      if (function) spoil(function);
      for (const Global* global : static_cast<const EmbeddedStatement&>(statement).globals.written)
        spoil(global), written_.insert(global);
      break;
    }
    default: break;
  }
  for_each_statement(statement, [&](const Statement& inner) { look_at(inner, function); });
}

}  // namespace spile::sema
