// count-hits: every probe whose handler runs in traced processes begins with `hits++`, for `spile list`. Each thread adds to a
// word of its own, without a lock or an atomic instruction, and the session reads these words when it is asked (codegen's
// CompiledScript::hit_counters). A counter costs 0.6 ns a hit at most. Handlers in the kernel have none, since their maps before
// Linux 6.12 make it dearer.

#include <fmt/format.h>

#include "sema/terms/elaboration.h"

namespace spile::sema {

using namespace syntax;

void count_hits(Elaboration& e) {
  if (e.program.probes.empty()) return;
  for (Probe& probe : e.program.probes) {
    if (probe.domain != Domain::kTarget || probe.kind == ProbeKind::kNever) continue;
    auto global = std::make_unique<Global>();
    global->range = probe.range;
    global->name = fmt::format("__hits_of_probe_{}", probe.index);
    global->type = ValueType::kLong;
    global->from_library = true;
    global->index = static_cast<int>(e.program.globals.size());
    auto counter = std::make_unique<Variable>(probe.range, global->name);
    counter->global = global.get();
    counter->type = ValueType::kLong;
    auto one = std::make_unique<Number>(probe.range, 1);
    one->type = ValueType::kLong;
    auto addition = std::make_unique<Assignment>(probe.range);
    addition->op = Assignment::Operator::kArithmetic;
    addition->type = ValueType::kLong;
    addition->target = std::move(counter);
    addition->value = std::move(one);
    auto statement = std::make_unique<ExpressionStatement>(probe.range);
    statement->expression = std::move(addition);
    auto counted = std::make_unique<Block>(probe.range);
    counted->statements.push_back(std::move(statement));
    counted->statements.push_back(std::move(probe.body));
    probe.body = std::move(counted);
    probe.hit_counter = global->index;
    e.program.globals.push_back(global.get());
    e.program.scripts.front().globals.push_back(std::move(global));
  }
}

}  // namespace spile::sema
