#pragma once
// The kernel's switches that keep handlers from its functions. The administrator of a machine may turn them at any time; the
// kernel attaches handlers all the same, and never calls them.
//
//   kernel.ftrace_enabled (sysctl)        fentry, fexit, kprobe.multi, and kprobes at a traceable function's beginning
//   kprobes/enabled (debugfs)             kprobes
//
// kernel/trace/ftrace.c, kernel/kprobes.c. Thread rule: any thread.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "bpf/bpf.h"

namespace spile::bpf {

enum class KernelSwitch : uint8_t { kFunctionTracing, kKprobes };

// What the kernel says, as text; nullopt: not known, as of a switch that it does not have.
struct SwitchFiles {
  std::optional<std::string> ftrace_enabled, kprobes_enabled;
};

// Names of the functions that ftrace can trace.
class TraceableNames {
 public:
  TraceableNames() = default;
  // text: of available_filter_functions in tracefs.
  explicit TraceableNames(std::string text);
  // Returns whether a function of this name can be traced; true also where no names are known.
  bool contains(std::string_view function) const { return names_.empty() || names_.contains(function); }

 private:
  std::shared_ptr<const std::string> text_;
  std::unordered_set<std::string_view> names_;  // in text_
};

// Returns whether a switch is off, going by the text of its file.
bool is_off(KernelSwitch which, const SwitchFiles& files);
// Returns whether handlers of a point run only while a switch is on. At a traceable function's first instruction, kprobes are
// made by ftrace.
bool needs(KernelSwitch which, const AttachPoint& point, const TraceableNames& traceable);

// Returns the switches that are off and keep handlers of points from running, with those points.
std::vector<SwitchedOff> find_switched_off(const std::vector<const AttachPoint*>& points);
// Returns the error of a script whose handlers a switch keeps from running.
Error error_of(const SwitchedOff& off);

}  // namespace spile::bpf
