#include "kernelinfo/mechanisms.h"

#include <algorithm>
#include <iterator>

namespace spile::kernelinfo {

bool may_be_traced(std::string_view function) {
  // kernel/bpf/trampoline.c, __bpf_prog_enter and __bpf_prog_exit in all their forms; kernel/bpf/verifier.c, btf_id_deny
  static constexpr std::string_view kOnTheWay[] = {"__rcu_read_lock",
                                                   "__rcu_read_unlock",
                                                   "rcu_read_unlock_strict",
                                                   "rcu_read_unlock_special",
                                                   "migrate_disable",
                                                   "migrate_enable",
                                                   "preempt_count_add",
                                                   "preempt_count_sub",
                                                   "__srcu_read_lock",
                                                   "__srcu_read_unlock",
                                                   "rcu_lockdep_current_cpu_online"};
  return std::ranges::find(kOnTheWay, function) == std::end(kOnTheWay) && !function.starts_with("__bpf_prog_") &&
         !function.starts_with("__bpf_tramp_");
}

std::vector<Mechanism> plan(const Features& features, const PlaceTraits& traits) {
  std::vector<Mechanism> mechanisms;
  const bool few = traits.places == 1 || (features.tracing_cookie && traits.places <= kMostTracingPlaces);
  if (features.tracing && traits.function_entry && traits.described && few) mechanisms.push_back(Mechanism::kTracing);
  const bool finds_values = !traits.at_return || !traits.saves_values || features.multi_return_stack;
  if (features.multi && traits.function_entry && !traits.unknown_address && finds_values) mechanisms.push_back(Mechanism::kMulti);
  if (features.kprobe && (traits.function_entry || !traits.at_return)) mechanisms.push_back(Mechanism::kKprobe);
  return mechanisms;
}

}  // namespace spile::kernelinfo
