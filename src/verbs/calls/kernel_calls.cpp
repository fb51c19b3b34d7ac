#include "verbs/calls/kernel_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/diagnostics.h"
#include "base/text/glob.h"
#include "debuginfo/terms/names.h"
#include "engine/arch/code_branches.h"
#include "kernelinfo/code_map.h"
#include "kernelinfo/code_names.h"
#include "kernelinfo/kernel_code.h"

namespace spile::verbs {

namespace {

constexpr size_t kLargestFunction = 256 << 10;  // bytes that are decoded of one
constexpr size_t kMostFunctions = 20000;

bool is_any_of(const std::vector<std::string>& patterns, std::string_view name) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) { return glob_matches(pattern, name); });
}

// Code that the kernel's functions enter, but that is not theirs: ftrace's, calls through registers, checks; and what reports a
// mistake, which calls half of the kernel if it ever happens.
bool is_opaque(std::string_view name) {
  static constexpr std::string_view kBeginnings[] = {"__fentry__",  "ftrace_", "__x86_",        "srso_",
                                                     "retbleed_",   "__asan",  "__sanitizer",   "__ubsan",
                                                     "__stack_chk", "__warn",  "warn_slowpath", "vprintk"};
  static constexpr std::string_view kNames[] = {"_printk",
                                                "panic",
                                                "vsnprintf",
                                                "snprintf",
                                                "scnprintf",
                                                "sprintf",
                                                "dump_stack",
                                                "dump_stack_lvl",
                                                "schedule",
                                                "preempt_schedule",
                                                "preempt_schedule_thunk",
                                                "__die",
                                                "oops_end",
                                                "BUG_func"};
  return std::ranges::any_of(kBeginnings, [&](std::string_view beginning) { return name.starts_with(beginning); }) ||
         std::ranges::find(kNames, name) != std::end(kNames);
}

}  // namespace

std::map<uint64_t, int> CallSearch::find(std::span<const uint64_t> roots, int levels) {
  std::map<uint64_t, int> reached;
  // Nearest first, so that the first level at which a function is reached is its least one; functions that are not traced do not
  // add a level.
  std::deque<std::pair<const Function*, int>> next;
  std::unordered_map<uint64_t, int> looked_at;
  const auto reach = [&](const Function& function, int level) {
    if (level > levels || reached.size() >= kMostFunctions) return;
    if (auto known = looked_at.find(function.begin); known != looked_at.end() && known->second <= level) return;
    looked_at[function.begin] = level;
    if (function.traced) {
      auto [at, added] = reached.emplace(function.begin, level);
      at->second = std::min(at->second, level);
      next.emplace_back(&function, level);
    } else {
      next.emplace_front(&function, level);
    }
  };
  for (const uint64_t root : roots) {
    if (const Function* function = source_.function_at(root)) reach(*function, 1);
  }
  while (!next.empty()) {
    const auto [function, level] = next.front();
    next.pop_front();
    // The level of its callees.
    const int below = function->traced ? level + 1 : level;
    if (function->opaque || below > levels) continue;
    const std::vector<uint8_t> code = source_.code(*function);
    for (const engine::BranchOut& branch : engine::branches_out(code, Address(function->begin))) {
      const Function* target = source_.function_at(branch.to.value);
      if (!target || target == function) continue;
      // A jump into the midst of a function is none of calling it, but a part is entered anywhere.
      if (target->part || target->begin == branch.to.value) reach(*target, below);
    }
  }
  return reached;
}

namespace {

class KernelSearch {
 public:
  KernelSearch(kernelinfo::KernelInfo& kernel, const KernelCallsWish& wish) : kernel_(kernel), wish_(wish) {}

  Result<KernelCalls> find() {
    TRY_DO(read_lists());
    TRY_DO(find_roots());
    if (wish_.levels > 1) TRY_DO(find_callees());
    add_also();
    KernelCalls calls;
    calls.roots.assign(roots_.begin(), roots_.end());
    for (const KernelFunction& callee : callees_) {
      if (!roots_.contains(callee)) calls.callees.push_back(callee);
    }
    if (calls.roots.size() + calls.callees.size() >= kMostFunctions)
      return Error{fmt::format("more than {} functions are called to a depth of {}", kMostFunctions, wish_.levels),
                   "give a smaller --depth, or leave out functions by '!PATTERN'"};
    calls.left_out = std::move(left_out_);
    return calls;
  }

 private:
  Result<void> read_lists() {
    TRY(const kernelinfo::Symbols* symbols, kernel_.symbols());
    if (symbols->addresses_hidden())
      return Error{"the kernel hides the addresses of its functions (/proc/kallsyms)",
                   "run as root, with sysctl kernel.kptr_restrict=1 or 0"};
    Result<const std::vector<kernelinfo::TraceableFunction>*> traceable = kernel_.traceable();
    if (!traceable.ok()) {
      Error error = traceable.error();
      if (error.hint.starts_with("patterns need"))
        error.hint =
            "trace --kernel needs a kernel that is built with CONFIG_FUNCTION_TRACER and not locked down "
            "(/sys/kernel/security/lockdown)";
      return error;
    }
    traceable_ = *traceable;
    for (const kernelinfo::TraceableFunction& function : *traceable_) {
      if (function.address != 0) traceable_at_.insert(function.address);
      else traceable_names_.insert(function.name);
    }
    names_.emplace(*symbols);
    map_ = kernelinfo::CodeMap::make(*symbols, kernelinfo::loaded_modules());
    return {};
  }

  bool is_traceable(uint64_t address, std::string_view name) const {
    return traceable_at_.contains(address) || traceable_names_.contains(name);
  }

  // Why a function that ftrace could trace is not; "": it is.
  static std::string own_reason(std::string_view name) {
    return kernelinfo::may_be_traced(name) ? "" : "is one that handlers themselves need";
  }

  // The name by which a script finds the function: without what compilers add to names of copies, which a point on the name
  // stands for, too. All of these must be traceable, or one that is not would keep the others from being traced.
  std::optional<KernelFunction> named(std::string_view symbol, const std::string& module) {
    const debuginfo::CloneName clone = debuginfo::clone_name(symbol);
    if (clone.fragment) return std::nullopt;
    const std::string_view name = clone.split ? symbol : clone.base;
    if (!own_reason(name).empty()) return std::nullopt;
    auto [known, added] = nameable_.try_emplace({std::string(name), module}, true);
    if (added) {
      for (const kernelinfo::Symbol& each : names_->named(name)) {
        if (each.module != module) continue;
        const debuginfo::CloneName copy = debuginfo::clone_name(each.name);
        if (copy.fragment || (copy.split && each.name != name)) continue;
        if (!is_traceable(each.address, each.name) || !kernel_.refusal(each).empty()) known->second = false;
      }
    }
    if (known->second) return KernelFunction{std::string(name), module};
    return std::nullopt;
  }

  Result<void> find_roots() {
    for (const std::string& pattern : wish_.roots) {
      const size_t before = roots_.size();
      std::string reason;
      for (const kernelinfo::CodeMap::Function& function : map_.functions()) {
        const debuginfo::CloneName clone = debuginfo::clone_name(function.name);
        if (clone.fragment || !glob_matches(pattern, is_glob(pattern) ? function.name : clone.base) ||
            is_any_of(wish_.excluded, clone.base))
          continue;
        const std::string module = module_of(function);
        const auto root = is_traceable(function.begin, function.name) ? named(function.name, module) : std::nullopt;
        if (root) {
          roots_.insert(*root);
          root_addresses_.push_back(function.begin);
        } else {
          reason = why_not(function);
          if (is_glob(pattern)) left_out_.emplace(function.name, reason);
        }
      }
      if (roots_.size() == before && !already_there(pattern)) return no_root(pattern, reason);
    }
    return {};
  }

  bool already_there(const std::string& pattern) const {
    return std::ranges::any_of(roots_, [&](const KernelFunction& root) { return glob_matches(pattern, root.name); });
  }

  Error no_root(const std::string& pattern, const std::string& reason) const {
    if (!reason.empty() && !is_glob(pattern))
      return {fmt::format("the function '{}' can't be traced: it {}", pattern, reason),
              "trace a function that calls it, or one that it calls"};
    if (is_glob(pattern)) return {fmt::format("no function of this kernel that can be traced matches '{}'", pattern), ""};
    std::vector<std::string> names;
    for (const kernelinfo::CodeMap::Function& function : map_.functions())
      names.emplace_back(debuginfo::clone_name(function.name).base);
    const std::string near = nearest_name(pattern, names);
    return {fmt::format("no function '{}' in this kernel", pattern),
            near.empty() ? "all of its calls may be inlined" : fmt::format("did you mean '{}'?", near)};
  }

  std::string why_not(const kernelinfo::CodeMap::Function& function) {
    if (std::string reason = own_reason(debuginfo::clone_name(function.name).base); !reason.empty()) return reason;
    for (const kernelinfo::Symbol& symbol : names_->named(function.name)) {
      if (symbol.address != function.begin) continue;
      if (std::string reason = kernel_.refusal(symbol); !reason.empty()) return reason;
    }
    if (is_traceable(function.begin, function.name)) return "shares its name with a function that can't be traced";
    return "is not among those that ftrace can trace (notrace, or written in assembly)";
  }

  std::string module_of(const kernelinfo::CodeMap::Function& function) const {
    const std::string& module = map_.modules()[function.module].name;
    return module == "kernel" ? "" : module;
  }

  const CallSearch::Function* search_function(uint64_t address) {
    const kernelinfo::CodeMap::Function* function = map_.function_at(address);
    if (!function) return nullptr;
    auto [known, added] = functions_.try_emplace(function->begin);
    if (added) {
      const debuginfo::CloneName clone = debuginfo::clone_name(function->name);
      CallSearch::Function& made = known->second;
      made.begin = function->begin;
      made.end = std::min(function->end, function->begin + kLargestFunction);
      made.part = clone.fragment;
      made.traced = is_traceable(function->begin, function->name) && !clone.fragment;
      made.opaque = is_opaque(clone.base) || is_any_of(wish_.excluded, clone.base);
    }
    return &known->second;
  }

  Result<void> find_callees() {
    TRY(kernelinfo::KernelCode code, kernelinfo::KernelCode::open());
    CallSearch search(
        {[&](uint64_t address) { return search_function(address); },
         [&](const CallSearch::Function& function) { return code.read(function.begin, function.end - function.begin); }});
    for (const auto& [begin, level] : search.find(root_addresses_, wish_.levels)) {
      const kernelinfo::CodeMap::Function& function = *map_.function_at(begin);
      if (is_any_of(wish_.excluded, debuginfo::clone_name(function.name).base)) continue;
      if (auto callee = named(function.name, module_of(function))) callees_.insert(*callee);
      else left_out_.emplace(function.name, why_not(function));
    }
    for (const auto& [begin, function] : functions_) {
      if (function.traced || function.part || function.opaque) continue;
      const kernelinfo::CodeMap::Function& code_function = *map_.function_at(begin);
      left_out_.emplace(code_function.name, why_not(code_function));
    }
    return {};
  }

  void add_also() {
    if (wish_.also.empty()) return;
    for (const kernelinfo::TraceableFunction& function : *traceable_) {
      const std::string_view base = debuginfo::clone_name(function.name).base;
      if (!is_any_of(wish_.also, base) || is_any_of(wish_.excluded, base)) continue;
      if (auto callee = named(function.name, function.module)) callees_.insert(*callee);
      else
        left_out_.emplace(function.name,
                          own_reason(base).empty() ? "shares its name with a function that can't be traced" : own_reason(base));
    }
  }

  kernelinfo::KernelInfo& kernel_;
  const KernelCallsWish& wish_;
  kernelinfo::CodeMap map_;
  std::optional<kernelinfo::CodeNames> names_;
  const std::vector<kernelinfo::TraceableFunction>* traceable_ = nullptr;
  std::unordered_set<uint64_t> traceable_at_;
  std::unordered_set<std::string_view> traceable_names_;  // of those whose addresses are not known
  std::map<std::pair<std::string, std::string>, bool> nameable_;
  std::unordered_map<uint64_t, CallSearch::Function> functions_;
  std::set<KernelFunction> roots_, callees_;
  std::vector<uint64_t> root_addresses_;
  std::map<std::string, std::string> left_out_;
};

}  // namespace

Result<KernelCalls> find_kernel_calls(kernelinfo::KernelInfo& kernel, const KernelCallsWish& wish) {
  return KernelSearch(kernel, wish).find();
}

}  // namespace spile::verbs
