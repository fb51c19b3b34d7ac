// display-globals: has globals that the script only writes printed at its end, as SystemTap does: `global c probe ... { c++
// }` alone is a useful script. The last end probe is made of nodes, names and types already resolved.

#include <fmt/format.h>

#include <limits>

#include "sema/terms/elaboration.h"
#include "syntax/visitor.h"

namespace spile::sema {

namespace {

using namespace syntax;

class DisplayBuilder {
 public:
  // pointers: Elaboration::pointers. They are shown in hexadecimal.
  DisplayBuilder(Probe& probe, Global& global, const std::set<std::pair<const Global*, size_t>>& pointers)
      : probe_(probe), global_(global), pointers_(pointers), range_(global.range) {}

  StatementPtr build() {
    if (global_.key_types.empty()) {
      StatementPtr print = print_value({}, variable());
      return global_.type == ValueType::kStats ? when_counted(std::move(print), variable()) : std::move(print);
    }
    auto loop = std::make_unique<Foreach>(range_);
    std::string subscripts;
    for (size_t i = 0; i < global_.key_types.size(); ++i) {
      locals_.push_back(add_local(i));
      loop->keys.push_back(read(*locals_.back()));
      subscripts += (i ? "," : "") + format_of(global_.key_types[i], i + 1);
    }
    loop->array = variable();
    loop->sort_direction = -1;
    loop->body = print_value("[" + subscripts + "]", element());
    return loop;
  }

 private:
  std::string format_of(ValueType type, size_t part) const {
    if (type == ValueType::kString) return "\"%#s\"";
    return pointers_.count({&global_, part}) ? "%#x" : "%#d";
  }

  std::unique_ptr<Variable> variable() const {
    auto node = std::make_unique<Variable>(range_, global_.name);
    node->global = &global_;
    node->type = global_.type;
    return node;
  }

  ExpressionPtr element() const {
    auto node = std::make_unique<Index>(range_);
    node->array = variable();
    for (Local* local : locals_) node->indexes.push_back(read(*local));
    node->type = global_.type;
    return node;
  }

  Local* add_local(size_t key) {
    auto local = std::make_unique<Local>();
    local->range = range_;
    local->name = fmt::format("{}_key{}", global_.name, key + 1);
    local->type = global_.key_types[key];
    local->index = static_cast<int>(probe_.locals.size());
    probe_.locals.push_back(std::move(local));
    return probe_.locals.back().get();
  }

  std::unique_ptr<Variable> read(Local& local) const {
    auto node = std::make_unique<Variable>(range_, local.name);
    node->local = &local;
    node->type = local.type;
    return node;
  }

  ExpressionPtr statistic(Statistic::Operator op, const Expression& stats) const {
    auto node = std::make_unique<Statistic>(range_);
    node->op = op;
    node->stats = clone(stats);
    node->type = ValueType::kLong;
    return node;
  }

  // An aggregate without values has no minimum and no average to print.
  StatementPtr when_counted(StatementPtr print, ExpressionPtr stats) const {
    auto branch = std::make_unique<If>(range_);
    branch->condition = statistic(Statistic::Operator::kCount, *stats);
    branch->then_branch = std::move(print);
    return branch;
  }

  StatementPtr print_value(const std::string& subscripts, ExpressionPtr value) const {
    auto print = std::make_unique<Print>(range_);
    print->with_format = true;
    print->format_range = range_;
    print->format = global_.name + subscripts;
    for (Local* local : locals_) print->arguments.push_back(read(*local));
    if (global_.type == ValueType::kStats) {
      using Op = Statistic::Operator;
      for (auto [name, op] :
           {std::pair{"count", Op::kCount}, {"min", Op::kMin}, {"max", Op::kMax}, {"sum", Op::kSum}, {"avg", Op::kAverage}}) {
        bool is_value = op == Op::kMin || op == Op::kMax;
        print->format += fmt::format(" @{}={}", name, is_value ? format_of(ValueType::kLong, 0) : "%#d");
        print->arguments.push_back(statistic(op, *value));
      }
    } else {
      print->format += "=" + format_of(global_.type, 0);
      print->arguments.push_back(std::move(value));
    }
    print->format += "\n";
    parse_format(*print);
    auto statement = std::make_unique<ExpressionStatement>(range_);
    statement->expression = std::move(print);
    return statement;
  }

  // Of formats made above only: literal text and %#d %#x %#s.
  static void parse_format(Print& print) {
    FormatPart literal;
    const std::string& text = print.format;
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '%') {
        literal.literal += text[i];
        continue;
      }
      if (!literal.literal.empty()) print.parts.push_back(literal);
      literal.literal.clear();
      FormatPart part;
      part.alternate = true;
      char conversion = text[i += 2];
      part.kind = conversion == 'd'   ? FormatPart::Kind::kSigned
                  : conversion == 'x' ? FormatPart::Kind::kHex
                                      : FormatPart::Kind::kString;
      print.parts.push_back(part);
    }
    if (!literal.literal.empty()) print.parts.push_back(literal);
  }

  Probe& probe_;
  Global& global_;
  const std::set<std::pair<const Global*, size_t>>& pointers_;
  SourceRange range_;
  std::vector<Local*> locals_;
};

}  // namespace

void display_globals(Elaboration& e) {
  Probe probe;
  for (Global* global : e.program.globals) {
    auto traffic = e.traffic.find(global);
    if (!e.is_user_text(global->range) || traffic == e.traffic.end()) continue;
    if (traffic->second.read || !traffic->second.written) continue;
    if (global->name.starts_with("__spile_")) continue;  // the session's own: $value of procfs probes
    if (!probe.body) {
      probe.range = global->range;
      probe.body = std::make_unique<Block>(global->range);
    }
    probe.body->statements.push_back(DisplayBuilder(probe, *global, e.pointers).build());
  }
  if (!probe.body) return;
  probe.index = static_cast<int>(e.program.probes.size());
  probe.kind = ProbeKind::kEnd;
  probe.is_report = true;
  ResolvedPoint point;
  point.kind = ProbeKind::kEnd;
  point.text = point.name = "end";
  point.sequence = std::numeric_limits<int64_t>::max();
  probe.points.push_back(std::move(point));
  e.program.probes.push_back(std::move(probe));
}

}  // namespace spile::sema
