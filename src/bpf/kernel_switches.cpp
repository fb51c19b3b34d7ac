#include "bpf/kernel_switches.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/files/file.h"
#include "base/files/tracefs.h"
#include "bpf/kernel_function.h"

namespace spile::bpf {

using Kind = AttachPoint::Kind;

namespace {

// The bytes of endbr64, behind which ftrace's call stands.
constexpr uint64_t kLandingPad = 4;

bool is_kprobe(const AttachPoint& point) { return point.kind == Kind::kKprobe || point.kind == Kind::kKretprobe; }

bool is_at_entry(const AttachPoint& point) {
  return point.kind == Kind::kKretprobe || point.function_offset == 0 || point.function_offset == kLandingPad;
}

// "loop:lo_open" is lo_open of the module loop.
std::string_view name_of(const AttachPoint& point) {
  const std::string_view function = point.function;
  return function.substr(function.find(':') + 1);
}

std::optional<std::string> known(Result<std::string> text) {
  if (!text.ok()) return std::nullopt;
  return std::move(text).value();
}

}  // namespace

bool is_off(KernelSwitch which, const SwitchFiles& files) {
  const std::optional<std::string>& text = which == KernelSwitch::kKprobes ? files.kprobes_enabled : files.ftrace_enabled;
  return text && text->starts_with('0');
}

// "vfs_read", or "lo_open [loop]".
TraceableNames::TraceableNames(std::string text) : text_(std::make_shared<const std::string>(std::move(text))) {
  for (std::string_view rest = *text_; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    names_.insert(line.substr(0, line.find(' ')));
  }
}

bool needs(KernelSwitch which, const AttachPoint& point, const TraceableNames& traceable) {
  if (which == KernelSwitch::kKprobes) return is_kprobe(point);
  if (is_traced(point.kind) || is_multi(point.kind)) return true;
  return is_kprobe(point) && is_at_entry(point) && (point.function.empty() || traceable.contains(name_of(point)));
}

std::vector<SwitchedOff> find_switched_off(const std::vector<const AttachPoint*>& points) {
  const auto of_kernel = [](const AttachPoint* point) { return is_kernel_function(point->kind); };
  const auto by_kprobe = [](const AttachPoint* point) { return is_kprobe(*point); };
  if (std::ranges::none_of(points, of_kernel)) return {};
  const bool kprobes = std::ranges::any_of(points, by_kprobe);
  SwitchFiles files;
  files.ftrace_enabled = known(read_file("/proc/sys/kernel/ftrace_enabled"));
  if (kprobes) files.kprobes_enabled = known(read_debugfs("kprobes/enabled"));
  TraceableNames traceable;
  if (kprobes && is_off(KernelSwitch::kFunctionTracing, files))
    traceable = TraceableNames(known(read_tracefs("available_filter_functions")).value_or(""));
  std::vector<SwitchedOff> all;
  for (const KernelSwitch which : {KernelSwitch::kFunctionTracing, KernelSwitch::kKprobes}) {
    if (!is_off(which, files)) continue;
    SwitchedOff off =
        which == KernelSwitch::kKprobes
            ? SwitchedOff{"kprobes", "/sys/kernel/debug/kprobes/enabled",
                          "switch them on as root: echo 1 >/sys/kernel/debug/kprobes/enabled"}
            : SwitchedOff{"function tracing", "kernel.ftrace_enabled", "switch it on as root: sysctl kernel.ftrace_enabled=1"};
    for (const AttachPoint* point : points) {
      if (!of_kernel(point) || !needs(which, *point, traceable)) continue;
      if (off.points++ == 0) off.point = point->text;
    }
    if (off.points > 0) all.push_back(std::move(off));
  }
  return all;
}

Error error_of(const SwitchedOff& off) {
  return {fmt::format("attach {}: its handler would never run, as the kernel's {} {} switched off ({} is 0)", off.point, off.what,
                      off.what.ends_with('s') ? "are" : "is", off.file),
          off.remedy};
}

}  // namespace spile::bpf
