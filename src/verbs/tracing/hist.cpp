#include "verbs/tracing/hist.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/diagnostics.h"
#include "base/embedded_text.h"
#include "verbs/terms/script_text.h"
#include "verbs/tracing/hist_filter.h"

SPILE_EMBEDDED_TEXT(spile_verb_hist_functions)

namespace spile::verbs {

namespace {

using Kind = EventField::Kind;

constexpr int kPendingEntries = 16384;  // first events that wait for their second one; processes that are counted

// A key or value as the script has it.
struct Column {
  HistField field;
  EventField source;
  // key: of the handler and of foreach, "k0". value: its array, "sum1"; the table itself for hits and the first sum
  std::string variable;
  std::string element;  // value: "sum1[k0, k1]", "@sum(table[k0])"
  std::string sorted;   // value: what foreach sorts by, without the order: "table @sum"
};

class HistScript {
 public:
  HistScript(const HistRequest& request, const std::vector<Event>& events, const Processes& processes)
      : request_(request), events_(events), processes_(processes), counted_(events.back()) {}

  Result<VerbScript> make() {
    TRY_DO(find_columns());
    TRY_DO(find_order());
    std::string handler, first;
    TRY(handler, counting_probe());
    if (events_.size() == 2) {
      TRY(first, first_probe());
    }
    VerbScript script;
    script.text = fmt::format("# spile hist {}\n", quoted(fmt::format("{} {}", fmt::join(names_of_events(), " "), trigger()))) +
                  globals() + functions() + first + handler + end_probe();
    script.when_full = "size=N keeps more entries";
    script.when_large = "a smaller size=N";
    // The end probe looks at each entry some times.
    script.limits.push_back(fmt::format("MAXACTION_INTERRUPTIBLE={}", 10000 + request_.size * 100));
    return script;
  }

 private:
  // ---- what the words name

  Error no_field(const Event& event, const std::string& name, const std::string& use) const {
    std::vector<std::string> names;
    // A parameter of the probe point and a variable of its alias can have one name.
    const auto add = [&](const EventField& field) {
      if (std::ranges::find(names, field.name) == names.end()) names.push_back(field.name);
    };
    std::ranges::for_each(event.fields, add);
    std::ranges::for_each(common_fields(event.in_process), add);
    if (events_.size() == 2 && &event == &counted_) names.insert(names.end(), {"latency", "latency_us"});
    const std::string near = nearest_name(name, names);
    return {
        fmt::format("{}: {} has no field '{}'", use, event.name, name),
        fmt::format("{}the fields are {}", near.empty() ? "" : fmt::format("did you mean '{}'? ", near), fmt::join(names, ", "))};
  }

  Result<EventField> field_of(const Event& event, const std::string& name, const std::string& use) {
    if (events_.size() == 2 && &event == &counted_) {
      if (name == "latency") return EventField{name, "latency"};
      if (name == "latency_us") return EventField{name, "latency / 1000"};
    }
    // A path of a probe point's variable: $file->f_pos.
    if (const size_t path = name.find_first_of("-["); name.starts_with("$") && path != std::string::npos) {
      if (!event.find(name.substr(0, path))) return no_field(event, name.substr(0, path), use);
      return EventField{name, name};
    }
    const EventField* field = event.find(name);
    if (!field) return no_field(event, name, use);
    if (std::ranges::find(event.ambiguous, field->name) != event.ambiguous.end())
      (&event == &counted_ ? record_read_ : first_record_read_) = true;
    return *field;
  }

  Result<EventField> number_of(const Event& event, const std::string& name, const std::string& use) {
    TRY(EventField field, field_of(event, name, use));
    if (field.kind == Kind::kNumber) return field;
    return Error{fmt::format("{}: '{}' is {}, not a number", use, name,
                             field.kind == Kind::kText ? "a text" : fmt::format("a {}", field.type)),
                 {}};
  }

  Result<Column> find_key(const HistField& key, size_t index) {
    const std::string use = fmt::format("key '{}'", key.text);
    TRY(EventField source, field_of(counted_, key.name, use));
    if (source.kind == Kind::kOther)
      return Error{fmt::format("{}: '{}' is a {}: neither a number nor a text", use, key.name, source.type), {}};
    if (source.kind == Kind::kText && key.shown != Shown::kPlain)
      return Error{fmt::format("{}: '{}' is a text: it takes no modifier", use, key.name), {}};
    if (key.shown == Shown::kProgram && source.name != "common_pid")
      return Error{
          fmt::format("{}: .execname is for common_pid alone: the name that is known is that of the running thread", use),
          "use a field of the event with a name, such as next_comm"};
    return Column{key, std::move(source), fmt::format("k{}", index), {}, {}};
  }

  Result<void> find_columns() {
    for (size_t i = 0; i < request_.keys.size(); ++i) {
      TRY(Column column, find_key(request_.keys[i], i));
      keys_.push_back(std::move(column));
    }
    const std::string at = fmt::format("[{}]", key_list());
    std::string summed;  // by the table
    for (const HistField& value : request_.values) {
      Column column{value, {}, {}, {}, {}};
      if (value.name != kHitcount) {
        TRY(column.source, number_of(counted_, value.name, fmt::format("value '{}'", value.text)));
        if (summed.empty()) summed = value.name;
        if (summed == value.name) {
          column.variable = "table";
          column.element = "@sum(table" + at + ")";
          column.sorted = "table @sum";
        } else {
          const auto same =
              std::ranges::find_if(values_, [&](const Column& other) { return other.source.name == column.source.name; });
          column.variable = same != values_.end() ? same->variable : fmt::format("sum{}", values_.size());
          column.element = column.variable + at;
          column.sorted = column.variable;
        }
      }
      values_.push_back(std::move(column));
    }
    hits_ = summed.empty() ? "table" + at : "@count(table" + at + ")";
    hits_sorted_ = summed.empty() ? "table" : "table @count";
    for (Column& value : values_) {
      if (value.field.name != kHitcount) continue;
      value.element = hits_;
      value.sorted = hits_sorted_;
    }
    if (!request_.max_of.empty()) {
      TRY(max_of_, number_of(counted_, request_.max_of, fmt::format("onmax({})", request_.max_of)));
    }
    for (const std::string& name : request_.saved) {
      TRY(EventField saved, field_of(counted_, name, fmt::format("save({})", name)));
      if (saved.kind == Kind::kOther)
        return Error{fmt::format("save({}): '{}' is a {}: neither a number nor a text", name, name, saved.type), {}};
      saved_.push_back(std::move(saved));
    }
    return {};
  }

  // What foreach runs over, in an order; value: of an entry, by which the order is.
  struct Order {
    std::string foreach_list, value;
  };
  Result<Order> order_by(const HistSort& sort) const {
    const std::string direction = sort.descending ? "-" : "+";
    auto over = [&](const std::string& sorted, const std::string& value) {
      return Order{
          fmt::format("([{}] in {}{})", key_list(), sorted, (sorted.find('@') == std::string::npos ? "" : " ") + direction),
          value};
    };
    if (sort.name == kHitcount) return over(hits_sorted_, hits_);
    for (const Column& value : values_) {
      if (value.field.name == sort.name) return over(value.sorted, value.element);
    }
    if (sort.name == "max" && !request_.max_of.empty()) return over("peak", fmt::format("peak[{}]", key_list()));
    std::string names = "hitcount";
    for (const Column& value : values_) names += value.field.name == kHitcount ? "" : ", " + value.field.name;
    for (const Column& key : keys_) {
      names += ", " + key.field.name;
      if (key.field.name != sort.name && key.field.text != sort.name) continue;
      std::string list;
      for (const Column& each : keys_) list += (list.empty() ? "" : ", ") + each.variable + (&each == &key ? direction : "");
      return Order{fmt::format("([{}] in table)", list), key.variable};
    }
    if (!request_.max_of.empty()) names += ", max";
    return Error{fmt::format("sort={}: neither a key nor a value of this histogram", sort.name), "it can be sorted by " + names};
  }

  Result<void> find_order() {
    std::vector<HistSort> sort = request_.sort;
    if (sort.empty()) sort.push_back({kHitcount, false});
    for (const HistSort& each : sort) {
      TRY(Order order, order_by(each));
      order_.push_back(std::move(order));
    }
    return {};
  }

  // ---- the script

  std::string key_list() const {
    std::string list;
    for (size_t i = 0; i < request_.keys.size(); ++i) list += fmt::format("{}k{}", i ? ", " : "", i);
    return list;
  }
  std::vector<std::string> names_of_events() const {
    std::vector<std::string> names;
    for (const Event& event : events_) names.push_back(event.name);
    return names;
  }

  // As ftrace shows a trigger.
  std::string trigger() const {
    std::vector<std::string> keys, values, sort;
    for (const Column& key : keys_) keys.push_back(key.field.text);
    if (request_.shows_hitcount) values.emplace_back(kHitcount);
    for (const Column& value : values_) values.push_back(value.field.text);
    for (const HistSort& each : request_.sort) sort.push_back(each.name + (each.descending ? ".descending" : ""));
    if (sort.empty()) sort.emplace_back(kHitcount);
    std::string text = fmt::format("hist:keys={}:vals={}:sort={}:size={}", fmt::join(keys, ","), fmt::join(values, ","),
                                   fmt::join(sort, ","), request_.size);
    for (const auto& [first, second] : request_.match)
      text += fmt::format("{}{}/{}", &request_.match.front().first == &first ? ":match=" : ",", first, second);
    if (!request_.max_of.empty()) text += fmt::format(":onmax({})", request_.max_of);
    if (!request_.saved.empty()) text += fmt::format(".save({})", fmt::join(request_.saved, ","));
    return request_.filter.empty() ? text : text + " if " + request_.filter;
  }

  bool counts_some_processes(const Event& event) const { return processes_.only_these && !event.in_process; }
  bool uses_ours() const {
    return std::ranges::any_of(events_, [&](const Event& event) { return counts_some_processes(event); });
  }
  bool shows(Shown shown) const {
    const auto is_shown = [&](const Column& column) { return column.field.shown == shown; };
    return std::ranges::any_of(keys_, is_shown) || std::ranges::any_of(values_, is_shown);
  }

  std::string globals() const {
    std::vector<std::string> arrays = {"table"};
    for (const Column& value : values_) {
      if (!value.variable.empty() && std::ranges::find(arrays, value.variable) == arrays.end()) arrays.push_back(value.variable);
    }
    if (shows(Shown::kProgram)) arrays.emplace_back("programs");
    if (!request_.max_of.empty()) arrays.emplace_back("peak");
    for (size_t i = 0; i < saved_.size(); ++i) arrays.push_back(fmt::format("saved{}", i));
    if (order_.size() > 1) arrays.emplace_back("order");
    std::string text = "global seen";
    for (const std::string& array : arrays) text += fmt::format(", {}[{}]", array, request_.size);
    if (events_.size() == 2) text += fmt::format(", dropped, started[{}]", kPendingEntries);
    if (uses_ours()) text += fmt::format(", ours[{}], uncounted", kPendingEntries);
    return text + "\n";
  }

  std::string functions() const {
    return script_text(spile_verb_hist_functions(), {{"LOG", when(shows(Shown::kLog2))},
                                                     {"PERCENT", when(shows(Shown::kPercent))},
                                                     {"GRAPH", when(shows(Shown::kGraph))},
                                                     {"OURS", uses_ours() ? statements_for(processes_, "ours") : ""}});
  }

  // A field that names a thread says whose event it is: it may come from an interrupt, or from whoever wakes the thread.
  static bool names_thread(const std::string& field) {
    return field == "pid" || (field.ends_with("_pid") && field != "common_pid");
  }

  Result<std::string> first_probe() {
    std::vector<std::string> keys;
    for (const auto& [first, second] : request_.match) {
      const std::string use = fmt::format("match={}/{}", first, second);
      TRY(EventField one, field_of(events_[0], first, use));
      TRY(EventField other, field_of(counted_, second, use));
      if (one.kind != other.kind || one.kind == Kind::kOther)
        return Error{fmt::format("{}: the fields must both be numbers, or both texts", use), {}};
      keys.push_back(one.expression);
    }
    std::string text = fmt::format("probe {} {{\n", events_[0].point);
    const std::string thread = names_thread(request_.match[0].first) ? keys[0] : "pid()";
    if (counts_some_processes(events_[0])) text += fmt::format("  if (!({} in ours)) next\n", thread);
    if (first_record_read_) text += "  if ($common_type < 0) next  # the fields are those of the record\n";
    text += fmt::format("  try {{ started[{}] = gettimeofday_ns() }} catch {{ dropped++ }}\n}}\n", fmt::join(keys, ", "));
    return text;
  }

  std::string key_value(const Column& key) const {
    if (key.field.shown == Shown::kLog2) return fmt::format("{} = hist_log2({})", key.variable, key.source.expression);
    if (key.field.shown == Shown::kMicroseconds) return fmt::format("{} = {} / 1000", key.variable, key.source.expression);
    if (key.field.shown == Shown::kBuckets)
      return fmt::format("{0} = {1}\n  {0} = {0} - {0} % {2}", key.variable, key.source.expression, key.field.bucket);
    return fmt::format("{} = {}", key.variable, key.source.expression);
  }

  // What a hit adds, statement by statement.
  std::vector<std::string> additions() const {
    const std::string at = fmt::format("[{}]", key_list());
    std::vector<std::string> all;
    std::set<std::string> seen;
    std::string table = "table" + at + "++";
    for (const Column& value : values_) {
      if (value.variable == "table") table = fmt::format("table{} <<< {}", at, value.source.expression);
      else if (!value.variable.empty() && seen.insert(value.variable).second)
        all.push_back(fmt::format("{} += {}", value.element, value.source.expression));
    }
    all.insert(all.begin(), table);
    for (const Column& key : keys_) {
      // By tid() itself, so that the array needs no lock.
      if (key.field.shown == Shown::kProgram) all.push_back("if (!(tid() in programs)) programs[tid()] = execname()");
    }
    if (request_.max_of.empty()) return all;
    std::string keep = fmt::format("peak{} = {}", at, max_of_.expression);
    for (size_t i = 0; i < saved_.size(); ++i) keep += fmt::format("; saved{}{} = {}", i, at, saved_[i].expression);
    all.push_back(fmt::format("if (!({} in peak) || {} > peak{}) {{ {} }}", at, max_of_.expression, at, keep));
    return all;
  }

  Result<std::string> counting_probe() {
    std::string text = fmt::format("probe {} {{\n", counted_.point), body;
    if (events_.size() == 1 && counts_some_processes(counted_)) text += "  if (!(pid() in ours)) next\n";
    if (events_.size() == 2) {
      std::vector<std::string> keys;
      for (const auto& [first, second] : request_.match) {
        TRY(EventField field, field_of(counted_, second, fmt::format("match={}/{}", first, second)));
        keys.push_back(field.expression);
      }
      const std::string list = fmt::format("{}", fmt::join(keys, ", "));
      body +=
          fmt::format("  at = started[{0}]\n  if (!at) next\n  delete started[{0}]\n  latency = gettimeofday_ns() - at\n", list);
    }
    if (!request_.filter.empty()) {
      const FindField find = [&](const std::string& name) {
        return field_of(counted_, name, fmt::format("filter '{}'", request_.filter));
      };
      TRY(std::string condition, filter_condition(request_.filter, find));
      body += fmt::format("  if (!({})) next\n", condition);
    }
    for (const Column& key : keys_) body += fmt::format("  {}\n", key_value(key));
    body += "  seen++\n  try {\n";
    for (const std::string& addition : additions()) body += fmt::format("    {}\n", addition);
    body += "  } catch { }\n}\n";
    if (record_read_) text += "  if ($common_type < 0) next  # the fields are those of the record\n";
    return text + body;
  }

  // ---- what the end probe prints

  // `{ KEY: VALUE, KEY: VALUE }`, with ftrace's widths.
  std::string print_key(const Column& key) const {
    const std::string& name = key.field.name;
    const std::string& variable = key.variable;
    const char* symbol = counted_.in_process ? "usymname" : "symname";
    const char* symbol_offset = counted_.in_process ? "usymdata" : "symdata";
    switch (key.field.shown) {
      case Shown::kHex: return fmt::format("printf(\"{}: %x\", {})", name, variable);
      case Shown::kSymbol: return fmt::format("printf(\"{0}: [%x] %-45s\", {1}, {2}({1}))", name, variable, symbol);
      case Shown::kSymbolOffset: return fmt::format("printf(\"{0}: [%x] %-55s\", {1}, {2}({1}))", name, variable, symbol_offset);
      case Shown::kSystemCall: return fmt::format("printf(\"{0}: sys_%-26s[%3d]\", syscall_name({1}), {1})", name, variable);
      case Shown::kProgram: return fmt::format("printf(\"{0}: %-16s[%10d]\", programs[{1}], {1})", name, variable);
      case Shown::kLog2: return fmt::format("printf(\"{}: ~ 2^%-2d\", {})", name, variable);
      case Shown::kBuckets: return fmt::format("printf(\"{0}: ~ %d-%d\", {1}, {1} + {2})", name, variable, key.field.bucket - 1);
      default: break;
    }
    if (key.source.name == "stacktrace" || key.source.name == "ustacktrace") {
      const bool of_process = counted_.in_process || key.source.name == "ustacktrace";
      return fmt::format("printf(\"{}:\\n\"); {}({})", name, of_process ? "print_ustack" : "print_stack", variable);
    }
    if (key.source.kind == Kind::kText) return fmt::format("printf(\"{}: %-50s\", {})", name, variable);
    return fmt::format("printf(\"{}: %10{}\", {})", name, key.source.is_signed ? 'd' : 'u', variable);
  }

  std::string print_value(const Column& value, size_t index) const {
    const std::string& name = value.field.name;
    switch (value.field.shown) {
      case Shown::kHex: return fmt::format("printf(\"  {}: %10x\", {})", name, value.element);
      case Shown::kPercent: return fmt::format("printf(\"  {} (%%): %6s\", hist_percent({}, all{}))", name, value.element, index);
      case Shown::kGraph: return fmt::format("printf(\"  {}: %-20s\", hist_graph({}, most{}))", name, value.element, index);
      default: return fmt::format("printf(\"  {}: %10d\", {})", name, value.element);
    }
  }

  std::string print_entry(const std::string& indent) const {
    std::string text;
    auto line = [&](const std::string& statement) { text += indent + statement + "\n"; };
    for (size_t i = 0; i < keys_.size(); ++i) {
      line(fmt::format("print(\"{}\")", i ? ", " : "{ "));
      line(print_key(keys_[i]));
    }
    line("print(\" }\")");
    if (request_.shows_hitcount) line(fmt::format("printf(\" hitcount: %10d\", {})", hits_));
    for (size_t i = 0; i < values_.size(); ++i) line(print_value(values_[i], i));
    const std::string at = fmt::format("[{}]", key_list());
    if (!request_.max_of.empty()) line(fmt::format("printf(\"  max: %10d\", peak{})", at));
    for (size_t i = 0; i < saved_.size(); ++i)
      line(fmt::format("printf(\"  {}: {}\", saved{}{})", saved_[i].name, saved_[i].kind == Kind::kText ? "%-16s" : "%10d", i,
                       at));
    line("print(\"\\n\")");
    return text;
  }

  // Before anything is printed: totals, and what percentages and bars relate to.
  std::string totals() const {
    std::string first, inside;
    for (size_t i = 0; i < values_.size(); ++i) {
      const std::string& element = values_[i].element;
      if (values_[i].field.shown == Shown::kPercent) {
        first += fmt::format("; all{} = 0", i);
        inside += fmt::format("\n    all{} += {}", i, element);
      } else if (values_[i].field.shown == Shown::kGraph) {
        first += fmt::format("; most{} = 0", i);
        inside += fmt::format("\n    if ({1} > most{0}) most{0} = {1}", i, element);
      }
    }
    return fmt::format("  hits = 0; entries = 0{}\n  foreach ([{}] in table) {{\n    hits += {}\n    entries++{}\n  }}\n", first,
                       key_list(), hits_, inside);
  }

  // An entry's place by two orders: how many values of the first order come before, and then its place in the second one.
  std::string two_orders() const {
    const std::string at = fmt::format("[{}]", key_list());
    return fmt::format(R"(  rank = 0
  foreach {0} {{
    if (rank == 0 || {1} != last) rank++
    last = {1}
    order{2} = rank << 32
  }}
  rank = 0
  foreach {3} order{2} += ++rank
)",
                       order_[0].foreach_list, order_[0].value, at, order_[1].foreach_list);
  }

  std::string end_probe() const {
    std::string text = "probe end {\n" + totals();
    text += fmt::format("  printf(\"# event histogram\\n#\\n# trigger info: %s\\n#\\n\\n\", {})\n",
                        quoted(fmt::format("{} {}", fmt::join(names_of_events(), " "), trigger())));
    if (order_.size() > 1) text += two_orders();
    text += fmt::format("  foreach {} {{\n{}  }}\n",
                        order_.size() > 1 ? fmt::format("([{}] in order+)", key_list()) : order_[0].foreach_list,
                        print_entry("    "));
    text += "  printf(\"\\nTotals:\\n    Hits: %d\\n    Entries: %d\\n    Dropped: %d\\n\", hits, entries, " +
            std::string(events_.size() == 2 ? "dropped + seen - hits" : "seen - hits") + ")\n";
    if (uses_ours()) text += "  if (uncounted) printf(\"    Processes not counted: %d\\n\", uncounted)\n";
    return text + "}\n";
  }

  const HistRequest& request_;
  const std::vector<Event>& events_;
  const Processes& processes_;
  const Event& counted_;
  std::vector<Column> keys_, values_;
  std::vector<EventField> saved_;
  std::vector<Order> order_;
  EventField max_of_;
  std::string hits_, hits_sorted_;  // an entry's number of hits, and what foreach sorts by to order entries by it
  bool record_read_ = false, first_record_read_ = false;
};

}  // namespace

Result<VerbScript> hist_script(const HistRequest& request, const std::vector<Event>& events, const Processes& processes) {
  if (request.keys.empty())
    return Error{"hist needs keys=", fmt::format("spile hist {} keys=common_pid.execname", request.events[0])};
  return HistScript(request, events, processes).make();
}

Result<VerbScript> make_hist(const VerbLine& line, const session::Options& options) {
  TRY(HistRequest request, parse_hist(line.words));
  std::vector<Event> events;
  for (const std::string& name : request.events) {
    TRY(Event event, find_event(name, options));
    events.push_back(std::move(event));
  }
  return hist_script(request, events, processes_of(options.target));
}

}  // namespace spile::verbs
