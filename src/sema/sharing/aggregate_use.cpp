// Finds which values a script extracts from each aggregate: the runtime keeps only those up to date.

#include "sema/sharing/global_uses.h"
#include "sema/terms/recorded.h"
#include "syntax/visitor.h"

namespace spile::sema {

namespace {

using namespace syntax;

uint32_t bit(Statistic::Operator op) { return 1u << static_cast<unsigned>(op); }

class Collector {
 public:
  Collector(const Global& global, AggregateUse& use) : global_(global), use_(use) {}

  void look(const Expression& x) {
    for_each_expression(x, [&](const Expression& inner) { look_one(inner); });
  }
  void look(const Statement& s) {
    for_each_expression(s, [&](const Expression& inner) { look_one(inner); });
    look_loops(s);
  }

 private:
  void look_one(const Expression& x) {
    if (auto* statistic = as<Statistic>(x); statistic && global_of(*statistic->stats) == &global_) {
      use_.statistics |= bit(statistic->op);
    } else if (auto* histogram = as<Histogram>(x); histogram && global_of(*histogram->stats) == &global_) {
      if (histogram->has_summary) use_.statistics |= bit(Statistic::Operator::kPercentile);
      if (histogram->is_log) {
        use_.log = true;
      } else {
        use_.linear = true;
        use_.low = histogram->low;
        use_.high = histogram->high;
        use_.width = histogram->width;
      }
    }
  }

  // foreach sorted by value needs the statistic that it sorts by.
  void look_loops(const Statement& s) {
    if (auto* loop = as<Foreach>(s); loop && loop->array && loop->array->global == &global_) {
      if (loop->sort_by) use_.statistics |= bit(*loop->sort_by);
      if (!loop->sort_by && loop->sort_direction && loop->sort_column == 0) use_.statistics |= bit(Statistic::Operator::kCount);
    }
    for_each_statement(s, [&](const Statement& child) { look_loops(child); });
  }

  const Global& global_;
  AggregateUse& use_;
};

// A sketch takes 58 KiB, so elements of arrays have one only where the script asks for percentiles; else they have the buckets of
// @hist_log.
void add_recorded(const Program& program, const Global& global, AggregateUse& use) {
  using Operator = Statistic::Operator;
  for (const Operator op : {Operator::kCount, Operator::kSum, Operator::kMin, Operator::kMax}) use.statistics |= bit(op);
  const auto index = static_cast<size_t>(global.index);
  const bool in_kernel = index < program.sides.size() && program.sides[index].kernel;
  const bool can_sketch = !global.is_array && (!in_kernel || (program.needs & kNeedsKernelSketches) != 0);
  if (can_sketch) use.statistics |= bit(Operator::kPercentile);
  const bool has_sketch = use.statistics & bit(Operator::kPercentile);
  if (!has_sketch && !use.linear) use.log = true;
}

}  // namespace

AggregateUse aggregate_use(const Program& program, const Global& global) {
  AggregateUse use;
  Collector collector(global, use);
  for (const Probe& probe : program.probes) {
    collector.look(static_cast<const Statement&>(*probe.body));
    if (probe.condition) collector.look(*probe.condition);
    for (const ExpressionPtr& save : probe.entry_saves) collector.look(*save);
  }
  for (const Function* function : program.functions) {
    if (function->body) collector.look(static_cast<const Statement&>(*function->body));
  }
  if (is_recorded(program)) add_recorded(program, global, use);
  return use;
}

}  // namespace spile::sema
