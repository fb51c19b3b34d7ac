#include "verbs/calls/call_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/visible_text.h"
#include "runs/timeline/perfetto_file.h"
#include "verbs/calls/call_slices.h"

namespace spile::verbs {

namespace {

// Stacks further apart than this are different ones (of signal handlers, coroutines): nothing on one says that something on the
// other has been left.
constexpr uint64_t kSameStack = 8 << 20;
constexpr size_t kMostOpen = 100000;  // calls of a thread that have not returned
constexpr size_t kMostNames = 200000;

// Times may come from anywhere: the difference wraps around.
int64_t elapsed(int64_t from, int64_t to) {
  return static_cast<int64_t>(static_cast<uint64_t>(to) - static_cast<uint64_t>(from));
}

std::string printable(std::string_view text) {
  std::string made(text);
  std::ranges::replace_if(made, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; }, '?');
  return made;
}

// The name of an interrupt's or an idle processor's flow, as execution_flow() numbers them.
std::string flow_name(int64_t number) {
  static constexpr const char* kKinds[] = {"idle", "softirq", "interrupt", "nmi"};
  const uint64_t n = static_cast<uint64_t>(-(number + 1));
  return fmt::format("{} on CPU {}", kKinds[n % 4], n / 4);
}

// Flows of goroutines have the numbers behind this one, which no thread has.
constexpr int64_t kGoroutines = int64_t{1} << 32;
std::string goroutine_name(int64_t number) { return fmt::format("goroutine {}", number - kGoroutines); }

std::string joined(const std::vector<CallValue>& values) {
  std::string text;
  for (const CallValue& value : values)
    text += fmt::format("{}{}{}{}", text.empty() ? "" : ", ", value.name, value.name.empty() ? "" : "=", value.text);
  return text;
}

}  // namespace

std::string duration_text(int64_t ns) {
  const auto number = static_cast<double>(ns);
  // As many digits as fit: 999.9996 us would be 1000.000 us.
  if (ns < 999'999'500) return ns < 999'999 ? fmt::format("{:.3f} us", number / 1e3) : fmt::format("{:.3f} ms", number / 1e6);
  return fmt::format("{:.3f} s ", number / 1e9);
}

CallTree::Flow* CallTree::flow_of(int64_t number, bool makes) {
  if (auto known = flows_.find(number); known != flows_.end()) return &known->second;
  if (!makes) return nullptr;
  if (flows_.size() >= kMostFlows) std::erase_if(flows_, [](const auto& each) { return each.second.open.empty(); });
  if (flows_.size() >= kMostFlows) {
    ++flows_lost_;
    return nullptr;
  }
  Flow& flow = flows_[number];
  flow.number = number;
  return &flow;
}

int64_t CallTree::flow_of_goroutine(int64_t pid, int64_t goroutine) {
  if (auto known = goroutines_.find({pid, goroutine}); known != goroutines_.end()) return known->second;
  if (goroutines_.size() >= kMostFlows)
    std::erase_if(goroutines_, [&](const auto& each) { return !flows_.contains(each.second); });
  if (goroutines_.size() >= kMostFlows) goroutines_.clear();
  return goroutines_[{pid, goroutine}] = kGoroutines + ++last_goroutine_;
}

uint32_t CallTree::index_of(std::string_view function) {
  if (auto known = indexes_.find(std::string(function)); known != indexes_.end()) return known->second;
  if (names_.size() >= kMostNames) return 0;
  names_.push_back(visible_text(function));
  const auto index = static_cast<uint32_t>(names_.size() - 1);
  indexes_.emplace(function, index);
  return index;
}

void CallTree::take(std::string_view head, runs::PayloadReader& arguments, std::string& out) {
  const int64_t number = arguments.next_long();
  if (head == "root " || head == "call ") {
    const bool root = head == "root ";
    Flow* flow = flow_of(number, root);
    if (!flow || (!root && flow->open.empty())) {
      ++orphans_;
      return;
    }
    if (root && flow->open.empty()) {
      flow->pid = arguments.next_long();
      flow->tid = arguments.next_long();
    } else if (root) {
      arguments.next_long();
      arguments.next_long();
    }
    Call call;
    call.in_kernel = true;
    call.began = arguments.next_long();
    const auto stack = static_cast<uint64_t>(arguments.next_long());
    for (uint64_t& word : call.registers) word = static_cast<uint64_t>(arguments.next_long());
    call.function = index_of(arguments.next_string());
    if (root && flow->open.empty()) flow->name = printable(arguments.next_string());
    enter(*flow, stack, std::move(call), out);
  } else if (head == "name ") {
    if (Flow* flow = flow_of(number, true)) flow->name = printable(arguments.next_string());
  } else if (head == "enter ") {
    Flow* flow = flow_of(number, true);
    if (!flow) return;
    const int64_t pid = arguments.next_long();
    flow->pid = pid;
    flow->tid = number;
    Call call;
    call.began = arguments.next_long();
    const auto stack = static_cast<uint64_t>(arguments.next_long());
    call.function = index_of(arguments.next_string());
    call.parameters = printable(arguments.next_string());
    enter(*flow, stack, std::move(call), out);
  } else if (head == "genter ") {
    const int64_t tid = arguments.next_long(), pid = arguments.next_long();
    Flow* flow = flow_of(flow_of_goroutine(pid, number), true);
    if (!flow) return;
    flow->pid = pid;
    flow->tid = tid;
    if (const Flow* thread = flow_of(tid, false)) flow->name = thread->name;
    Call call;
    call.began = arguments.next_long();
    const auto depth = static_cast<uint64_t>(arguments.next_long());
    call.function = index_of(arguments.next_string());
    call.parameters = printable(arguments.next_string());
    enter(*flow, ~depth, std::move(call), out);
  } else if (head == "gexit ") {
    Flow* flow = flow_of(flow_of_goroutine(arguments.next_long(), number), false);
    const int64_t time = arguments.next_long();
    const auto depth = static_cast<uint64_t>(arguments.next_long());
    const std::string_view function = arguments.next_string();
    if (flow) leave(*flow, ~depth, function, time, 0, arguments.next_string(), out);
    else ++unmatched_;
  } else if (head == "leave " || head == "exit ") {
    Flow* flow = flow_of(number, false);
    const int64_t time = arguments.next_long();
    const auto stack = static_cast<uint64_t>(arguments.next_long());
    const uint64_t result = head == "leave " ? static_cast<uint64_t>(arguments.next_long()) : 0;
    const std::string_view function = arguments.next_string();
    if (flow) leave(*flow, stack, function, time, result, head == "leave " ? "" : arguments.next_string(), out);
    else ++unmatched_;
  } else if (head == "gone ") {
    end_flow(number, arguments.next_long(), out);
  } else if (head == "ggone ") {
    const auto known = goroutines_.find({arguments.next_long(), number});
    if (known == goroutines_.end()) return;
    end_flow(known->second, arguments.next_long(), out);
    goroutines_.erase(known);
  }
}

void CallTree::end_flow(int64_t number, int64_t time, std::string& out) {
  Flow* flow = flow_of(number, false);
  while (flow && !flow->open.empty()) {
    const Call root = flow->open.front().call;
    close(*flow, End::kThreadEnded, time, 0, {});
    if (flow->open.empty()) close_tree(*flow, root, out);
  }
  flows_.erase(number);
}

void CallTree::enter(Flow& flow, uint64_t stack, Call call, std::string& out) {
  seen_ = true;
  flow.jumped.clear();
  while (stack != 0 && !flow.open.empty()) {
    const Open& last = flow.open.back();
    // At the same place: the last call has jumped to this one as its last act, unless it is the same function, which was left
    // before.
    const bool left =
        last.stack < stack ? stack - last.stack < kSameStack : last.stack == stack && last.call.function == call.function;
    if (!left) break;
    const Call root = flow.open.front().call;
    close(flow, End::kLeft, call.began, 0, {});
    if (flow.open.empty()) close_tree(flow, root, out);
  }
  if (first_time_ == 0) first_time_ = call.began;
  flow.last = std::max(flow.last, call.began);
  if (flow.open.size() >= kMostOpen) {
    ++cut_;
    return;
  }
  if (flow.open.empty()) flow.printed_at = call.began;
  Open open;
  open.stack = stack;
  call.depth = static_cast<int>(flow.open.size()) + 1;
  call.id = ++last_id_;
  call.parent = flow.open.empty() ? 0 : flow.open.back().call.id;
  if (!flow.open.empty() && may_print(flow, call.began) &&
      (flow.items.size() + flow.ended.size() >= kMostCalls || elapsed(flow.printed_at, call.began) > kPatienceNs))
    print(flow, out);
  open.hidden = call.depth > settings_.depth;
  if (!open.hidden && flow.items.size() + flow.ended.size() >= kMostCalls) {
    open.hidden = true;
    ++flow.cut;
    ++cut_;
  }
  open.call = call;
  if (!open.hidden && is_text()) {
    open.item = flow.items.size();
    flow.items.push_back(std::move(call));
  }
  flow.open.push_back(std::move(open));
}

// Ends the innermost call.
void CallTree::close(Flow& flow, End end, int64_t time, uint64_t result, std::string_view returned) {
  Open& open = flow.open.back();
  Call& call = open.call;
  call.end = end;
  call.ended = std::max(time, call.began);
  flow.last = std::max(flow.last, call.ended);
  call.result = result;
  call.returned = printable(returned);
  if (!open.hidden && !is_text()) {
    flow.ended.push_back(record_of(flow, call));
  } else if (open.begun) {
    call.closes = true;
    flow.items.push_back(call);
  } else if (open.item != kNone) {
    flow.items[open.item] = call;
  }
  flow.open.pop_back();
}

void CallTree::leave(Flow& flow, uint64_t stack, std::string_view function, int64_t time, uint64_t result,
                     std::string_view returned, std::string& out) {
  size_t at = flow.open.size();
  const uint32_t index = stack == 0 ? index_of(function) : 0;
  while (at > 0 && !(stack != 0 ? flow.open[at - 1].stack == stack : flow.open[at - 1].call.function == index)) --at;
  if (at == 0) {
    // Of a function that jumped to another one: its return was that one's.
    const auto jumped = std::ranges::find(flow.jumped, std::pair(stack, index_of(function)));
    if (jumped != flow.jumped.end()) return void(flow.jumped.erase(jumped));
    if (flow.open.empty() ? true : flow.open.back().stack < stack) ++unmatched_;
    return;
  }
  const Call root = flow.open.front().call;
  while (flow.open.size() > at) close(flow, End::kLeft, time, 0, {});
  close(flow, End::kReturned, time, result, returned);
  while (stack != 0 && !flow.open.empty() && flow.open.back().stack == stack) {
    flow.jumped.emplace_back(stack, flow.open.back().call.function);
    close(flow, End::kReturned, time, result, returned);
  }
  if (flow.open.empty()) {
    Call ended = root;
    ended.end = End::kReturned;
    ended.ended = time;
    close_tree(flow, ended, out);
  }
}

void CallTree::close_tree(Flow& flow, const Call& root, std::string& out) {
  const bool shown = settings_.over_ns == 0 || elapsed(root.began, root.ended) > settings_.over_ns;
  if (shown || root.end == End::kRuns) {
    print(flow, out);
    if (flow.cut > 0 && is_text()) out += fmt::format("{:>11} | ... {} further calls of this tree are not shown\n", "", flow.cut);
  }
  flow.items.clear();
  flow.ended.clear();
  flow.cut = 0;
}

bool CallTree::may_print(const Flow& flow, int64_t now) const {
  return settings_.over_ns == 0 || elapsed(flow.open.front().call.began, now) > settings_.over_ns;
}

void CallTree::print_line(std::string& out, const Call& call, const std::string& text, bool ends) const {
  const std::string duration = ends && call.end != End::kRuns ? duration_text(elapsed(call.began, call.ended)) : "";
  out += fmt::format("{:>11} | {:{}}{}\n", duration, "", 2 * std::min(call.depth - 1, 100), text);
}

const std::map<std::string, std::string, std::less<>>* CallTree::types_of(const Call& call) const {
  const auto known = settings_.types.find(names_[call.function]);
  return known == settings_.types.end() ? nullptr : &known->second;
}

std::string CallTree::beginning_of(const Call& call) {
  std::string text = (names_.empty() ? "?" : names_[call.function]) + "(";
  if (!call.in_kernel) return text + joined(values_in(call.parameters, types_of(call))) + ")";
  if (!settings_.prototypes) return text + "...)";
  return text + joined(argument_texts(settings_.prototypes->of(names_[call.function]), call.registers)) + ")";
}

std::string CallTree::end_of(const Call& call) {
  switch (call.end) {
    case End::kRuns: return "  still runs";
    case End::kLeft: return "  did not return";
    case End::kThreadEnded:
      return call.in_kernel ? "  did not return: the thread ended" : "  did not return: the goroutine ended";
    case End::kReturned: break;
  }
  if (!call.in_kernel) {
    const std::vector<CallValue> values = values_in(call.returned, types_of(call));
    return values.empty() ? "" : " = " + values.front().text;
  }
  if (!settings_.prototypes) return "";
  const auto result = result_text(settings_.prototypes->of(names_[call.function]), call.result);
  return result ? " = " + result->text : "";
}

void CallTree::print_header(Flow& flow, std::string& out) {
  const bool same = any_printed_ && last_printed_ == flow.number;
  if (!same) {
    std::string who = flow.number < 0             ? fmt::format("{} (in {} {})", flow_name(flow.number), flow.name, flow.tid)
                      : flow.number > kGoroutines ? fmt::format("{} {}, {}", flow.name, flow.pid, goroutine_name(flow.number))
                                                  : fmt::format("{} {}", flow.name, flow.tid);
    if (flow.number >= 0 && flow.number < kGoroutines && flow.pid != flow.tid) who += fmt::format(" of process {}", flow.pid);
    out += fmt::format("{}------ {} ------\n", any_printed_ ? "\n" : "", who);
  }
  any_printed_ = true;
  last_printed_ = flow.number;
}

// Prints what is kept of the tree so far.
void CallTree::print(Flow& flow, std::string& out) {
  if (!is_text()) {
    for (const CallRecord& record : flow.ended) {
      if (settings_.spans) settings_.spans->add(record);
      else if (settings_.timeline) add_call(*settings_.timeline, record);
      else out += json_line(record);
    }
    flow.ended.clear();
    return;
  }
  if (flow.items.empty()) return;
  print_header(flow, out);
  std::vector<const Call*> begun;  // whose beginnings have been printed here
  const auto end_down_to = [&](int depth) {
    for (; !begun.empty() && begun.back()->depth >= depth; begun.pop_back()) {
      const Call& call = *begun.back();
      if (call.end != End::kRuns) print_line(out, call, "} " + names_[call.function] + end_of(call), true);
    }
  };
  int64_t now = flow.printed_at;
  for (size_t i = 0; i < flow.items.size(); ++i) {
    const Call& call = flow.items[i];
    end_down_to(call.depth);
    now = std::max({now, call.began, call.ended});
    const bool has_calls = i + 1 < flow.items.size() && flow.items[i + 1].depth > call.depth;
    if (call.closes) {
      print_line(out, call, "} " + names_[call.function] + end_of(call), true);
    } else if (has_calls || call.end == End::kRuns) {
      print_line(out, call, beginning_of(call) + " {", false);
      begun.push_back(&call);
    } else {
      print_line(out, call, beginning_of(call) + end_of(call), true);
    }
  }
  end_down_to(1);
  for (Open& open : flow.open) {
    open.begun |= open.item != kNone;
    open.item = kNone;
  }
  flow.items.clear();
  flow.printed_at = now;
}

CallRecord CallTree::record_of(const Flow& flow, const Call& call) {
  CallRecord record;
  record.id = call.id;
  record.parent = call.parent;
  record.root = flow.open.front().call.id;
  record.pid = flow.pid;
  record.tid = flow.tid;
  record.flow = flow.number;
  record.thread = flow.name;
  if (settings_.timeline || settings_.spans) {
    if (flow.number < 0) record.thread = flow_name(flow.number);
    if (flow.number > kGoroutines) record.thread = goroutine_name(flow.number);
  }
  record.depth = call.depth;
  record.function = names_.empty() ? "?" : names_[call.function];
  record.began = call.began;
  record.duration = elapsed(call.began, call.ended);
  record.returned = call.end == End::kReturned;
  record.runs = call.end == End::kRuns;
  if (call.in_kernel && settings_.prototypes) {
    const Prototype& prototype = settings_.prototypes->of(record.function);
    record.arguments = argument_texts(prototype, call.registers);
    if (record.returned) record.result = result_text(prototype, call.result);
  } else if (!call.in_kernel) {
    record.arguments = values_in(call.parameters, types_of(call));
    const std::vector<CallValue> results = values_in(call.returned, types_of(call));
    if (record.returned && !results.empty()) record.result = results.front();
  }
  return record;
}

void CallTree::finish(std::string& out) {
  std::vector<Flow*> flows;
  for (auto& [number, flow] : flows_) {
    if (!flow.open.empty()) flows.push_back(&flow);
  }
  std::ranges::sort(flows, {}, &Flow::number);
  for (Flow* flow : flows) {
    Call root = flow->open.front().call;
    const int64_t last = flow->last;
    root.ended = last;
    const bool shown = settings_.over_ns == 0 || elapsed(root.began, last) > settings_.over_ns;
    while (!flow->open.empty()) close(*flow, End::kRuns, last, 0, {});
    if (!shown) continue;
    if (is_text()) {
      // Calls that still run have no closing line; leaves among them say so.
      print_header(*flow, out);
    }
    print(*flow, out);
    if (is_text()) out += fmt::format("{:>11} | {}\n", "", "(still running at the end)");
  }
  flows_.clear();
  if (is_text() && !any_printed_) out += seen_ ? "no call took longer than --over\n" : "no call has been seen\n";
  if (settings_.spans) settings_.spans->finish(CallSpans::kPatienceMs);
  if (!settings_.timeline) return;
  for (const auto& [why, count] : missing()) settings_.timeline->note_missing(why, count);
  out += runs::perfetto_trace(*settings_.timeline, settings_.facts, runs::read_clocks());
}

std::vector<std::pair<std::string, uint64_t>> CallTree::missing() const {
  return {{"calls are not shown: their trees have more than 20000 calls before their time is over --over, or are too deep", cut_},
          {"calls are not shown: the calls that they belong to were lost", orphans_},
          {"returns are not shown: their calls were lost, or began before spile did", unmatched_},
          {"calls are not shown: there are too many threads", flows_lost_}};
}

std::vector<std::string> CallTree::losses() const {
  std::vector<std::string> warnings;
  const auto add = [&](uint64_t number, std::string_view what) {
    if (number > 0) warnings.push_back(fmt::format("{} {}", number, what));
  };
  for (const auto& [why, count] : missing()) add(count, why);
  if (settings_.timeline) add(settings_.timeline->lost(), "calls are not in the file: there are too many");
  if (settings_.spans) std::ranges::copy(settings_.spans->losses(), std::back_inserter(warnings));
  return warnings;
}

}  // namespace spile::verbs
