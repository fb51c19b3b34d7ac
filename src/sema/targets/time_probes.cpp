// time-probes: for -t, every probe measures its own runs, and the last end probe (or error probe) prints the results,
// as SystemTap does. All of it is made of the language's own parts, so it works wherever handlers can run, and without -t
// nothing of it is there:
//
//   begun = get_cycles()
//   { the probe's statements; `next` leads to the end of this block }
//   times <<< get_cycles() - begun          or, for a probe of many points, times[pp()] <<< ...

#include <fmt/format.h>

#include <limits>

#include "sema/terms/elaboration.h"
#include "sema/terms/intrinsics.h"
#include "syntax/visitor.h"

namespace spile::sema {

namespace {

using namespace syntax;

ExpressionPtr call_intrinsic(SourceRange range, const char* name) {
  auto call = std::make_unique<Call>(range, name);
  call->intrinsic = find_intrinsic(name);
  call->type = intrinsics()[static_cast<size_t>(call->intrinsic)].result;
  return call;
}

std::unique_ptr<Variable> read(Local& local, SourceRange range) {
  auto node = std::make_unique<Variable>(range, local.name);
  node->local = &local;
  node->type = local.type;
  return node;
}

Local& add_local(Probe& probe, std::string name, ValueType type) {
  auto local = std::make_unique<Local>();
  local->range = probe.range;
  local->name = std::move(name);
  local->type = type;
  local->index = static_cast<int>(probe.locals.size());
  probe.locals.push_back(std::move(local));
  return *probe.locals.back();
}

StatementPtr statement_of(ExpressionPtr expression) {
  auto statement = std::make_unique<ExpressionStatement>(expression->range);
  statement->expression = std::move(expression);
  return statement;
}

StatementPtr assign(Assignment::Operator op, ExpressionPtr target, ExpressionPtr value) {
  auto assignment = std::make_unique<Assignment>(value->range);
  assignment->op = op;
  assignment->type = value->type;
  assignment->target = std::move(target);
  assignment->value = std::move(value);
  return statement_of(std::move(assignment));
}

// The measurements of one probe: an aggregate, or one for each of its points.
class Stopwatch {
 public:
  Stopwatch(Probe& probe, Global& times) : range_(probe.range), times_(times), index_(probe.index) {
    times.range = probe.range;
    times.name = fmt::format("__probe_times_{}", probe.index);
    times.type = ValueType::kStats;
    times.from_library = true;
    if (probe.points.size() <= 1) return;
    times.is_array = times.declared_array = true;
    times.declared_size = static_cast<int64_t>(probe.points.size());
    times.key_types = {ValueType::kString};
  }

  void measure(Probe& probe) const {
    Local& begun = add_local(probe, "__begun", ValueType::kLong);
    auto spent = std::make_unique<Binary>(range_);
    spent->op = Binary::Operator::kSubtract;
    spent->type = ValueType::kLong;
    spent->left = call_intrinsic(range_, "get_cycles");
    spent->right = read(begun, range_);
    auto timed = std::make_unique<Block>(range_);
    probe.body->ends_at_next = true;
    timed->statements.push_back(assign(Assignment::Operator::kSet, read(begun, range_), call_intrinsic(range_, "get_cycles")));
    timed->statements.push_back(std::move(probe.body));
    timed->statements.push_back(assign(Assignment::Operator::kAccumulate,
                                       times(times_.is_array ? call_intrinsic(range_, "pp") : nullptr), std::move(spent)));
    probe.body = std::move(timed);
  }

  StatementPtr report(const Probe& timed, Probe& reporter) const {
    if (!times_.is_array) {
      auto branch = std::make_unique<If>(range_);
      branch->condition = statistic(Statistic::Operator::kCount, nullptr);
      auto point = std::make_unique<String>(range_, timed.points.front().text);
      point->type = ValueType::kString;
      branch->then_branch = print(timed, std::move(point), nullptr);
      return branch;
    }
    Local& point = add_local(reporter, fmt::format("__point_{}", index_), ValueType::kString);
    auto loop = std::make_unique<Foreach>(range_);
    loop->keys.push_back(read(point, range_));
    loop->array = variable();
    loop->sort_direction = -1;
    loop->body = print(timed, read(point, range_), &point);
    return loop;
  }

 private:
  std::unique_ptr<Variable> variable() const {
    auto node = std::make_unique<Variable>(range_, times_.name);
    node->global = &times_;
    node->type = times_.type;
    return node;
  }

  ExpressionPtr times(ExpressionPtr key) const {
    if (!key) return variable();
    auto node = std::make_unique<Index>(range_);
    node->array = variable();
    node->indexes.push_back(std::move(key));
    node->type = times_.type;
    return node;
  }

  ExpressionPtr statistic(Statistic::Operator op, Local* key) const {
    auto node = std::make_unique<Statistic>(range_);
    node->op = op;
    node->stats = times(key ? read(*key, range_) : nullptr);
    node->type = ValueType::kLong;
    return node;
  }

  // probe begin (<input>:1:1), hits: 1, cycles: 3022min/3022avg/3022max, from: begin, index: 0
  StatementPtr print(const Probe& timed, ExpressionPtr point, Local* key) const {
    auto print = std::make_unique<Print>(range_);
    print->with_format = true;
    print->format_range = range_;
    auto literal = [&](std::string text) {
      FormatPart part;
      part.literal = std::move(text);
      print->format += part.literal;
      print->parts.push_back(std::move(part));
    };
    auto value = [&](FormatPart::Kind kind, ExpressionPtr argument) {
      FormatPart part;
      part.kind = kind;
      print->format += kind == FormatPart::Kind::kString ? "%s" : "%d";
      print->parts.push_back(std::move(part));
      print->arguments.push_back(std::move(argument));
    };
    using Op = Statistic::Operator;
    auto number = [&](Op op) { value(FormatPart::Kind::kSigned, statistic(op, key)); };
    literal("probe ");
    value(FormatPart::Kind::kString, std::move(point));
    literal(fmt::format(" ({}), hits: ", range_.to_string()));
    number(Op::kCount);
    // In the kernel, the clock stands for the cycle counter, which eBPF can't read.
    literal(timed.domain == Domain::kKernel ? ", ns: " : ", cycles: ");
    number(Op::kMin);
    literal("min/");
    number(Op::kAverage);
    literal("avg/");
    number(Op::kMax);
    literal(fmt::format("max, from: {}, index: {}\n", timed.points.front().name, index_));
    return statement_of(std::move(print));
  }

  SourceRange range_;
  Global& times_;
  int index_;
};

StatementPtr print_heading(SourceRange range) {
  auto print = std::make_unique<Print>(range);
  print->with_format = true;
  print->format_range = range;
  FormatPart part;
  part.literal = print->format = "----- probe hit report: \n";
  print->parts.push_back(std::move(part));
  return statement_of(std::move(print));
}

Probe last_probe(const Program& program, ProbeKind kind, const char* name) {
  Probe probe;
  probe.range = program.probes.front().range;
  probe.body = std::make_unique<Block>(probe.range);
  probe.kind = kind;
  probe.is_report = true;
  ResolvedPoint point;
  point.kind = kind;
  point.text = point.name = name;
  point.sequence = std::numeric_limits<int64_t>::max();
  probe.points.push_back(std::move(point));
  return probe;
}

}  // namespace

void time_probes(Elaboration& e) {
  if (e.program.probes.empty()) return;
  std::vector<std::pair<int, Stopwatch>> stopwatches;  // by index of the probe
  for (Probe& probe : e.program.probes) {
    if (probe.is_report) continue;
    auto global = std::make_unique<Global>();
    global->index = static_cast<int>(e.program.globals.size());
    e.program.globals.push_back(global.get());
    stopwatches.emplace_back(probe.index, Stopwatch(probe, *global));
    stopwatches.back().second.measure(probe);
    e.program.scripts.front().globals.push_back(std::move(global));
  }
  // One of the two runs.
  for (auto [kind, name] : {std::pair{ProbeKind::kEnd, "end"}, {ProbeKind::kError, "error"}}) {
    Probe reporter = last_probe(e.program, kind, name);
    reporter.body->statements.push_back(print_heading(reporter.range));
    for (const auto& [index, stopwatch] : stopwatches) {
      const Probe& timed = e.program.probes[static_cast<size_t>(index)];
      reporter.body->statements.push_back(stopwatch.report(timed, reporter));
    }
    reporter.index = static_cast<int>(e.program.probes.size());
    e.program.probes.push_back(std::move(reporter));
  }
}

}  // namespace spile::sema
