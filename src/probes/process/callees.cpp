// At an entry the probed place is the call instruction, where registers are what the callee will find; at a return, the callee's
// own. Calls of functions that the probed function does not call itself are told from others by the return addresses on the
// stack (sema::Site::callers), and so are all returns.
//
// A tail call is a jump at the end of a function whose frame is gone when the callee runs: it is a place like a call, but
// leaves no return address, so neither the callee's return nor the next level behind it can be told from others.

#include "probes/process/callees.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/diagnostics.h"
#include "probes/process/code_points.h"
#include "syntax/printer.h"

namespace spile::probes {

namespace {

using debuginfo::CodePlace;
using debuginfo::Function;
using sema::ProbeKind;
using sema::ResolvedPoint;

constexpr size_t kMostWords = 1 << 16;  // of one Site::callers
using Callers = std::shared_ptr<const std::vector<uint64_t>>;

struct Call {
  CodePlace place;
  const Function* callee;
};

// Finds which function calls which, from the requested functions on, as deep as the request says.
class CallGraph {
 public:
  CallGraph(debuginfo::Module& module, const CalleeRequest& request) : module_(module), request_(request) {}

  Result<void> build() {
    TRY(callers_, module_.functions({request_.callers.name, request_.callers.file}));
    if (callers_.empty()) return no_function(module_, request_.callers);
    TRY(callees_, module_.functions({request_.callee, ""}));
    for (const Function& callee : callees_) {
      if (callee.is_ifunc) continue;  // only chooses who will be called
      by_address_.emplace(callee.address.value, &callee);
      by_name_.emplace(callee.linkage_name, &callee);
      for (const std::string& alias : callee.aliases) by_name_.emplace(alias, &callee);
    }
    for (const Function& caller : callers_) order_.push_back({&caller, 0});
    for (const Function& caller : callers_) level_.emplace(caller.address.value, 0);
    for (size_t next = 0; next < order_.size(); ++next) TRY_DO(follow(order_[next].function, order_[next].level));
    return {};
  }

  // Functions whose calls are meant, nearest first.
  struct Reached {
    const Function* function;
    int level;
  };
  const std::vector<Reached>& reached() const { return order_; }
  const std::vector<Call>& calls_of(const Function& function) const { return calls_.at(function.address.value); }
  // All that calls were found of, whether meant or not.
  const std::vector<std::string>& names() const { return names_; }

  // What the stack of the function must look like for its calls to be meant; null: it is one of those asked for.
  Result<Callers> callers_at_calls(const Function& function) {
    if (level_.at(function.address.value) == 0) return Callers();
    return tree(function, request_.levels - 1);
  }
  // ... for its own call to be meant.
  Result<Callers> callers_at_entry(const Function& function) { return tree(function, request_.levels); }
  std::vector<const Function*> called() const {
    std::vector<const Function*> all;
    for (const auto& [callee, sites] : called_from_) all.push_back(by_address_.at(callee));
    return all;
  }

 private:
  struct Caller {
    uint64_t return_address;
    uint64_t function;
  };

  Result<void> follow(const Function* function, int level) {
    TRY(debuginfo::CodePlaces places, module_.calls(function->address));
    std::vector<Call>& calls = calls_[function->address.value];
    for (CodePlace& place : places) {
      names_.push_back(plain_name(place.name));
      const Function* callee = find(place);
      if (!callee) continue;
      const uint64_t address = callee->address.value;
      if (!place.tail) {
        called_from_[address].push_back({place.address.value + place.length, function->address.value});
        if (level + 1 < request_.levels && level_.emplace(address, level + 1).second) order_.push_back({callee, level + 1});
      }
      calls.push_back({std::move(place), callee});
    }
    return {};
  }

  // Clones (foo.constprop.0) have the name of their original, but an address of their own. Behind an entry of the
  // procedure linkage table, names are all there is.
  const Function* find(const CodePlace& place) const {
    if (auto known = by_address_.find(place.target.value); known != by_address_.end()) return known->second;
    if (auto other = module_.function_at(place.target); other && other->address == place.target) return nullptr;
    auto known = by_name_.find(place.name);
    return known == by_name_.end() ? nullptr : known->second;
  }

  Result<Callers> tree(const Function& function, int levels) {
    std::vector<uint64_t> words{static_cast<uint64_t>(levels)};
    nodes_.clear();
    add_node(words, function.address.value, levels);
    if (words.size() > kMostWords) {
      return Error{
          fmt::format("callees({}): '{}' is called in too many ways to distinguish them", request_.levels, function.name()),
          "ask for fewer levels"};
    }
    return std::make_shared<const std::vector<uint64_t>>(std::move(words));
  }

  // The node for a frame of that function, which is to be called in at most `levels` calls. Its index.
  uint64_t add_node(std::vector<uint64_t>& words, uint64_t function, int levels) {
    if (auto known = nodes_.find({function, levels}); known != nodes_.end()) return known->second;
    const uint64_t index = words.size();
    nodes_.emplace(std::pair(function, levels), index);
    std::vector<Caller> callers;
    for (const Caller& caller : called_from_[function]) {
      if (level_.at(caller.function) < levels) callers.push_back(caller);
    }
    std::sort(callers.begin(), callers.end(),
              [](const Caller& a, const Caller& b) { return a.return_address < b.return_address; });
    words.push_back(callers.size());
    words.resize(words.size() + 2 * callers.size());
    for (size_t i = 0; i < callers.size() && words.size() <= kMostWords; ++i) {
      const bool enough = level_.at(callers[i].function) == 0;
      const uint64_t next = enough ? 0 : add_node(words, callers[i].function, levels - 1);
      words[index + 1 + 2 * i] = callers[i].return_address;
      words[index + 2 + 2 * i] = next;
    }
    return index;
  }

  debuginfo::Module& module_;
  const CalleeRequest& request_;
  std::vector<Function> callers_, callees_;
  std::unordered_map<uint64_t, const Function*> by_address_;
  std::unordered_map<std::string, const Function*> by_name_;
  std::vector<Reached> order_;
  std::unordered_map<uint64_t, int> level_;                // of functions in order_, by address
  std::unordered_map<uint64_t, std::vector<Call>> calls_;  // by the caller's address
  std::map<uint64_t, std::vector<Caller>> called_from_;    // by the callee's address; no tail calls
  std::map<std::pair<uint64_t, int>, uint64_t> nodes_;     // of the tree in the making
  std::vector<std::string> names_;
};

std::string text_of(const sema::Site& site, const std::string& caller, const std::string& callee, const char* suffix) {
  return fmt::format("{}.function({}).callee({}){}", head_of(site), syntax::quoted(caller), syntax::quoted(callee), suffix);
}

void add_calls(TracedWorld& world, const CalleeRequest& request, debuginfo::Module& module, const CallGraph& graph,
               const Function& caller, const Callers& callers, Points& points) {
  for (const Call& call : graph.calls_of(caller)) {
    ResolvedPoint point = point_at(world, request.part, module, call.place.address, ProbeKind::kStatement);
    sema::Site& site = point.site;
    site.around = call.place.function;
    // A part of the function may lie elsewhere.
    auto part = module.code_at(call.place.address);
    const Function& code = part ? *part : caller;
    site.size = code.address.value + code.size - call.place.address.value;
    site.callee = call.callee->address;
    site.tail_call = call.place.tail;
    site.function = call.callee->name();
    site.callers = callers;
    point.text = text_of(point.site, caller.name(), site.function, "");
    points.push_back(std::move(point));
  }
}

// The returns of all that are called by a call that was found.
Result<Points> find_returns(TracedWorld& world, const CalleeRequest& request, debuginfo::Module& module, CallGraph& graph) {
  Points points;
  for (const Function* callee : graph.called()) {
    if (refuses_return(callee->name()) || !module.is_entered_by_calls(callee->address)) continue;
    ResolvedPoint point = point_at(world, request.part, module, callee->address, ProbeKind::kFunctionReturn);
    point.site.size = callee->size;
    point.site.function = callee->name();
    TRY(point.site.callers, graph.callers_at_entry(*callee));
    point.text = text_of(point.site, request.callers.name, point.site.function, ".return");
    points.push_back(std::move(point));
  }
  return points;
}

Result<Points> find_calls(TracedWorld& world, const CalleeRequest& request, debuginfo::Module& module, CallGraph& graph) {
  Points points;
  for (const CallGraph::Reached& reached : graph.reached()) {
    TRY(Callers callers, graph.callers_at_calls(*reached.function));
    add_calls(world, request, module, graph, *reached.function, callers, points);
    if (request.without_inlined) continue;
    TRY(debuginfo::CodePlaces inlined, module.inlined_calls_in(reached.function->address));
    debuginfo::keep_matching({request.callee, ""}, inlined);
    for (const CodePlace& place : inlined) {
      ResolvedPoint point = point_inside(world, request.part, module, place);
      point.site.callers = callers;
      point.text = text_of(point.site, reached.function->name(), point.site.function, "");
      points.push_back(std::move(point));
    }
  }
  return points;
}

}  // namespace

Result<Points> find_callees(TracedWorld& world, const CalleeRequest& request, debuginfo::Module& module) {
  const bool in_kernel = request.part.of_kernel || world.process_domain() == sema::Domain::kKernel;
  if ((request.levels > 1 || request.is_return) && in_kernel) {
    return Error{request.part.of_kernel
                     ? "calls of the kernel's functions can't be chosen by their callers: handlers in the kernel don't look at "
                       "the stack for that"
                     : "calls can be chosen by their callers only in the process itself, since that needs the stack",
                 request.part.of_kernel ? "use .callee(\"NAME\") or .callees"
                                        : "run spile with -x or -c; the kernel can probe .callee(\"NAME\") and .callees"};
  }
  CallGraph graph(module, request);
  TRY_DO(graph.build());
  TRY(Points points, request.is_return ? find_returns(world, request, module, graph) : find_calls(world, request, module, graph));
  if (!points.empty()) return points;
  std::string near = nearest_name(request.callee, graph.names());
  return Error{
      fmt::format("no call of '{}' in function '{}' of {} is known", request.callee, request.callers.name, module.path()),
      !near.empty()           ? fmt::format("did you mean '{}'?", near)
      : graph.names().empty() ? "only the debug information of optimized code (-g -O2) describes calls"
                              : ""};
}

}  // namespace spile::probes
