// Copies of subtrees, sema's annotations included. Pointers to declarations (Variable::global, Call::function) still
// point to the same declarations: code that copies a declaration has to rebind them.

#include <utility>

#include "base/check.h"
#include "syntax/visitor.h"

namespace spile::syntax {

namespace {

ExpressionPtr clone(const ExpressionPtr& expression) { return expression ? syntax::clone(*expression) : nullptr; }
StatementPtr clone(const StatementPtr& statement) { return statement ? syntax::clone(*statement) : nullptr; }

template <typename T>
std::unique_ptr<T> clone_as(const std::unique_ptr<T>& node) {
  if (!node) return nullptr;
  return std::unique_ptr<T>(static_cast<T*>(syntax::clone(*node).release()));
}

template <typename T>
std::vector<std::unique_ptr<T>> clone_all(const std::vector<std::unique_ptr<T>>& nodes) {
  std::vector<std::unique_ptr<T>> out;
  out.reserve(nodes.size());
  for (const auto& node : nodes) out.push_back(clone_as(node));
  return out;
}

std::vector<PathStep> clone_path(const std::vector<PathStep>& path) {
  std::vector<PathStep> out;
  out.reserve(path.size());
  for (const PathStep& step : path) {
    out.push_back({step.kind, step.range, step.name, step.number, clone(step.expression)});
  }
  return out;
}

// A node of the same kind, with the fields that every expression has.
template <typename T, typename... Arguments>
std::unique_ptr<T> fresh(const T& from, Arguments&&... arguments) {
  auto to = std::make_unique<T>(from.range, std::forward<Arguments>(arguments)...);
  if constexpr (std::is_base_of_v<Expression, T>) {
    to->type = from.type;
    to->height = from.height;
  }
  return to;
}

ExpressionPtr copy(const Number& e) { return fresh(e, e.value); }
ExpressionPtr copy(const String& e) { return fresh(e, e.value); }
ExpressionPtr copy(const Variable& e) {
  auto to = fresh(e, e.name);
  to->global = e.global;
  to->local = e.local;
  return to;
}
ExpressionPtr copy(const Index& e) {
  auto to = fresh(e);
  to->array = clone_as(e.array);
  to->indexes = clone_all(e.indexes);
  return to;
}
ExpressionPtr copy(const TargetVariable& e) {
  auto to = fresh(e);
  to->name = e.name;
  to->address_of = e.address_of;
  to->path = clone_path(e.path);
  to->binding = e.binding;
  return to;
}
ExpressionPtr copy(const Dereference& e) {
  auto to = fresh(e);
  to->address_of = e.address_of;
  to->pointer = clone(e.pointer);
  to->path = clone_path(e.path);
  to->binding = e.binding;
  return to;
}
ExpressionPtr copy(const AtOperation& e) {
  auto to = fresh(e);
  to->name = e.name;
  to->address_of = e.address_of;
  to->arguments = clone_all(e.arguments);
  to->path = clone_path(e.path);
  to->binding = e.binding;
  return to;
}
ExpressionPtr copy(const Unary& e) {
  auto to = fresh(e);
  to->op = e.op;
  to->operand = clone(e.operand);
  return to;
}
ExpressionPtr copy(const Increment& e) {
  auto to = fresh(e);
  to->is_prefix = e.is_prefix;
  to->delta = e.delta;
  to->operand = clone(e.operand);
  return to;
}

template <typename T>
std::unique_ptr<T> copy_sides(const T& e) {
  auto to = fresh(e);
  to->left = clone(e.left);
  to->right = clone(e.right);
  return to;
}
ExpressionPtr copy(const Binary& e) {
  auto to = copy_sides(e);
  to->op = e.op;
  return to;
}
ExpressionPtr copy(const Logical& e) {
  auto to = copy_sides(e);
  to->is_and = e.is_and;
  return to;
}
ExpressionPtr copy(const Compare& e) {
  auto to = copy_sides(e);
  to->op = e.op;
  return to;
}
ExpressionPtr copy(const Concatenation& e) { return copy_sides(e); }
ExpressionPtr copy(const Regex& e) {
  auto to = fresh(e);
  to->negated = e.negated;
  to->subject = clone(e.subject);
  to->pattern = e.pattern;
  to->pattern_range = e.pattern_range;
  return to;
}
ExpressionPtr copy(const Comma& e) { return copy_sides(e); }
ExpressionPtr copy(const Ternary& e) {
  auto to = fresh(e);
  to->condition = clone(e.condition);
  to->if_true = clone(e.if_true);
  to->if_false = clone(e.if_false);
  return to;
}
ExpressionPtr copy(const Assignment& e) {
  auto to = fresh(e);
  to->op = e.op;
  to->arithmetic = e.arithmetic;
  to->target = clone(e.target);
  to->value = clone(e.value);
  return to;
}
ExpressionPtr copy(const In& e) {
  auto to = fresh(e);
  to->indexes = clone_all(e.indexes);
  to->array = clone_as(e.array);
  return to;
}
ExpressionPtr copy(const Call& e) {
  auto to = fresh(e, e.name);
  to->arguments = clone_all(e.arguments);
  to->function = e.function;
  to->fallbacks = e.fallbacks;
  to->intrinsic = e.intrinsic;
  return to;
}
ExpressionPtr copy(const Print& e) {
  auto to = fresh(e);
  to->to_stream = e.to_stream;
  to->with_format = e.with_format;
  to->with_delimiter = e.with_delimiter;
  to->with_newline = e.with_newline;
  to->is_char = e.is_char;
  to->format = e.format;
  to->format_range = e.format_range;
  to->parts = e.parts;
  to->delimiter = e.delimiter;
  to->arguments = clone_all(e.arguments);
  to->if_unreadable = e.if_unreadable;
  return to;
}
ExpressionPtr copy(const Statistic& e) {
  auto to = fresh(e);
  to->op = e.op;
  to->stats = clone(e.stats);
  to->bits = e.bits;
  if (e.percent) to->percent = clone(e.percent);
  to->percent_scale = e.percent_scale;
  return to;
}
ExpressionPtr copy(const Histogram& e) {
  auto to = fresh(e);
  to->is_log = e.is_log;
  to->low = e.low;
  to->high = e.high;
  to->width = e.width;
  to->has_summary = e.has_summary;
  to->unit = e.unit;
  to->stats = clone(e.stats);
  return to;
}
ExpressionPtr copy(const HistogramIndex& e) {
  auto to = fresh(e);
  to->histogram = clone_as(e.histogram);
  to->bucket = clone(e.bucket);
  to->tests = e.tests;
  return to;
}
ExpressionPtr copy(const Embedded& e) {
  auto to = fresh(e);
  to->code = e.code;
  to->globals = e.globals;
  return to;
}
ExpressionPtr copy(const Defined& e) {
  auto to = fresh(e);
  to->operand = clone(e.operand);
  return to;
}
ExpressionPtr copy(const Entry& e) {
  auto to = fresh(e);
  to->operand = clone(e.operand);
  return to;
}
ExpressionPtr copy(const EntryValue& e) { return fresh(e, e.index); }
ExpressionPtr copy(const Perf& e) {
  auto to = fresh(e);
  to->counter = e.counter;
  return to;
}

StatementPtr copy(const Block& s) {
  auto to = fresh(s);
  to->statements = clone_all(s.statements);
  return to;
}
StatementPtr copy(const ExpressionStatement& s) {
  auto to = fresh(s);
  to->expression = clone(s.expression);
  return to;
}
StatementPtr copy(const If& s) {
  auto to = fresh(s);
  to->condition = clone(s.condition);
  to->then_branch = clone(s.then_branch);
  to->else_branch = clone(s.else_branch);
  return to;
}
StatementPtr copy(const While& s) {
  auto to = fresh(s);
  to->condition = clone(s.condition);
  to->body = clone(s.body);
  return to;
}
StatementPtr copy(const For& s) {
  auto to = fresh(s);
  to->init = clone(s.init);
  to->condition = clone(s.condition);
  to->step = clone(s.step);
  to->body = clone(s.body);
  return to;
}
StatementPtr copy(const Foreach& s) {
  auto to = fresh(s);
  to->value = clone_as(s.value);
  to->keys = clone_all(s.keys);
  to->array = clone_as(s.array);
  to->histogram = clone_as(s.histogram);
  to->slice = clone_all(s.slice);
  to->sort_direction = s.sort_direction;
  to->sort_column = s.sort_column;
  to->sort_by = s.sort_by;
  to->limit = clone(s.limit);
  to->body = clone(s.body);
  return to;
}
StatementPtr copy(const Return& s) {
  auto to = fresh(s);
  to->value = clone(s.value);
  return to;
}
StatementPtr copy(const Delete& s) {
  auto to = fresh(s);
  to->target = clone(s.target);
  return to;
}
StatementPtr copy(const Try& s) {
  auto to = fresh(s);
  to->body = clone(s.body);
  to->handler = clone(s.handler);
  to->message = clone_as(s.message);
  return to;
}
StatementPtr copy(const EmbeddedStatement& s) {
  auto to = fresh(s);
  to->code = s.code;
  to->globals = s.globals;
  return to;
}

}  // namespace

ExpressionPtr clone(const Expression& e) {
  switch (e.kind) {
    case ExpressionKind::kNumber: return copy(static_cast<const Number&>(e));
    case ExpressionKind::kString: return copy(static_cast<const String&>(e));
    case ExpressionKind::kVariable: return copy(static_cast<const Variable&>(e));
    case ExpressionKind::kIndex: return copy(static_cast<const Index&>(e));
    case ExpressionKind::kTargetVariable: return copy(static_cast<const TargetVariable&>(e));
    case ExpressionKind::kDereference: return copy(static_cast<const Dereference&>(e));
    case ExpressionKind::kAtOperation: return copy(static_cast<const AtOperation&>(e));
    case ExpressionKind::kUnary: return copy(static_cast<const Unary&>(e));
    case ExpressionKind::kIncrement: return copy(static_cast<const Increment&>(e));
    case ExpressionKind::kBinary: return copy(static_cast<const Binary&>(e));
    case ExpressionKind::kLogical: return copy(static_cast<const Logical&>(e));
    case ExpressionKind::kCompare: return copy(static_cast<const Compare&>(e));
    case ExpressionKind::kConcatenation: return copy(static_cast<const Concatenation&>(e));
    case ExpressionKind::kRegex: return copy(static_cast<const Regex&>(e));
    case ExpressionKind::kComma: return copy(static_cast<const Comma&>(e));
    case ExpressionKind::kTernary: return copy(static_cast<const Ternary&>(e));
    case ExpressionKind::kAssignment: return copy(static_cast<const Assignment&>(e));
    case ExpressionKind::kIn: return copy(static_cast<const In&>(e));
    case ExpressionKind::kCall: return copy(static_cast<const Call&>(e));
    case ExpressionKind::kPrint: return copy(static_cast<const Print&>(e));
    case ExpressionKind::kStatistic: return copy(static_cast<const Statistic&>(e));
    case ExpressionKind::kHistogram: return copy(static_cast<const Histogram&>(e));
    case ExpressionKind::kHistogramIndex: return copy(static_cast<const HistogramIndex&>(e));
    case ExpressionKind::kEmbedded: return copy(static_cast<const Embedded&>(e));
    case ExpressionKind::kDefined: return copy(static_cast<const Defined&>(e));
    case ExpressionKind::kEntry: return copy(static_cast<const Entry&>(e));
    case ExpressionKind::kEntryValue: return copy(static_cast<const EntryValue&>(e));
    case ExpressionKind::kPerf: return copy(static_cast<const Perf&>(e));
  }
  CHECK(false);
  return nullptr;
}

StatementPtr clone(const Statement& s) {
  switch (s.kind) {
    case StatementKind::kBlock: return copy(static_cast<const Block&>(s));
    case StatementKind::kExpression: return copy(static_cast<const ExpressionStatement&>(s));
    case StatementKind::kNull: return fresh(static_cast<const Null&>(s));
    case StatementKind::kIf: return copy(static_cast<const If&>(s));
    case StatementKind::kWhile: return copy(static_cast<const While&>(s));
    case StatementKind::kFor: return copy(static_cast<const For&>(s));
    case StatementKind::kForeach: return copy(static_cast<const Foreach&>(s));
    case StatementKind::kReturn: return copy(static_cast<const Return&>(s));
    case StatementKind::kDelete: return copy(static_cast<const Delete&>(s));
    case StatementKind::kNext: return fresh(static_cast<const Next&>(s));
    case StatementKind::kBreak: return fresh(static_cast<const Break&>(s));
    case StatementKind::kContinue: return fresh(static_cast<const Continue&>(s));
    case StatementKind::kTry: return copy(static_cast<const Try&>(s));
    case StatementKind::kEmbedded: return copy(static_cast<const EmbeddedStatement&>(s));
  }
  CHECK(false);
  return nullptr;
}

ProbePoint clone(const ProbePoint& point) {
  ProbePoint to;
  to.range = point.range;
  to.components = point.components;
  to.optional = point.optional;
  to.sufficient = point.sufficient;
  to.condition = clone(point.condition);
  return to;
}

}  // namespace spile::syntax
