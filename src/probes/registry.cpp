#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/diagnostics.h"
#include "probes/terms/family.h"
#include "probes/terms/probes.h"

namespace spile::probes {

// Each is defined in the file of its family.
extern const Family init_family, begin_family, oneshot_family, end_family, error_family, never_family;
extern const Family timer_family;
extern const Family procfs_family;
extern const Family process_function_family, process_statement_family, process_mark_family, process_plt_family;
extern const Family process_lifecycle_family, process_data_family, process_allocator_family;
extern const Family kernel_trace_family, module_trace_family, perf_counter_family, perf_sample_family, perfcounter_family;
extern const Family kernel_data_family, netfilter_family;
extern const Family lsm_family, kernel_function_family, module_function_family, kprobe_family;
extern const Family unavailable_family;

const std::vector<const Family*>& families() {
  static const std::vector<const Family*> all = {
      &init_family,
      &begin_family,
      &oneshot_family,
      &end_family,
      &error_family,
      &never_family,
      &timer_family,
      &procfs_family,
      &process_function_family,
      &process_statement_family,
      &process_mark_family,
      &process_plt_family,
      &process_lifecycle_family,
      &process_data_family,
      &process_allocator_family,
      &kernel_trace_family,
      &module_trace_family,
      &perf_counter_family,
      &perf_sample_family,
      &perfcounter_family,
      &kernel_data_family,
      &netfilter_family,
      &kernel_function_family,
      &lsm_family,
      &module_function_family,
      &kprobe_family,
      &unavailable_family,  // last: it takes what the others leave
  };
  return all;
}

std::vector<std::string> probe_types() {
  std::vector<std::string> types;
  for (const Family* family : families()) {
    for (const char* type : family->types) {
      if (type[0] != '.') {
        types.emplace_back(type);
        continue;
      }
      for (const char* process : {"process", "process(string)", "process(number)"}) {
        types.push_back(fmt::format("{}{}", process, type));
        types.push_back(fmt::format("{}.library(string){}", process, type));
      }
    }
  }
  std::sort(types.begin(), types.end());
  return types;
}

std::string text_of(const syntax::ProbePoint& point) {
  std::string text;
  for (const syntax::PointComponent& component : point.components) {
    if (!text.empty()) text += '.';
    text += component.name;
    if (component.text) text += fmt::format("(\"{}\")", *component.text);
    // Addresses of the kernel are negative as numbers of the script.
    const bool is_address = component.number && *component.number < 0 &&
                            (component.name == "data" || component.name == "statement" || component.name == "function");
    if (is_address) text += fmt::format("({:#x})", static_cast<uint64_t>(*component.number));
    else if (component.number) text += fmt::format("({})", *component.number);
  }
  return text;
}

Error unexpected_component(const syntax::ProbePoint& point, size_t index, const std::vector<std::string>& known) {
  const syntax::PointComponent& component = point.components[index];
  std::string before;
  for (size_t i = 0; i < index; ++i) before += (i ? "." : "") + point.components[i].name;
  for (const std::string& name : known) {
    if (name != component.name) continue;
    if (!component.text && !component.number)
      return {fmt::format("unknown probe point '{}': '{}' can't follow '{}'", text_of(point), component.name, before), ""};
    return {fmt::format("'{}' in probe point '{}' has an unexpected parameter", component.name, text_of(point)), ""};
  }
  if (component.name.find('*') != std::string::npos && !known.empty()) {
    return {fmt::format("probe point '{}': a '*' outside of quotes matches only aliases, not what follows '{}'", text_of(point),
                        before),
            fmt::format("choose one of: {}", fmt::join(known, ", "))};
  }
  std::string near = nearest_name(component.name, known);
  return {fmt::format("unknown probe point '{}': '{}' can't follow '{}'", text_of(point), component.name, before),
          !near.empty()                            ? fmt::format("did you mean '{}'?", near)
          : known.size() > 1 && known.size() <= 16 ? fmt::format("after '{}' there may be: {}", before, fmt::join(known, ", "))
                                                   : ""};
}

}  // namespace spile::probes
