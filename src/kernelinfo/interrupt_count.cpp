#include "kernelinfo/interrupt_count.h"

namespace spile::kernelinfo {

std::optional<InterruptCount> find_interrupt_count(KernelInfo& kernel) {
  Result<const Symbols*> all = kernel.symbols();
  if (!all.ok() || (*all)->addresses_hidden()) return std::nullopt;
  InterruptCount place;
  std::optional<uint64_t> alone, hot;  // the count in a variable of its own; in `struct pcpu_hot` (Linux 6.2 to 6.14)
  for (const Symbol& symbol : (*all)->all()) {
    if (!symbol.module.empty()) break;
    if (symbol.name == "__per_cpu_offset") place.per_cpu_offsets = symbol.address;
    if (symbol.name == "__preempt_count") alone = symbol.address;
    if (symbol.name == "pcpu_hot") hot = symbol.address;
  }
  if (place.per_cpu_offsets == 0) return std::nullopt;
  if (alone) {
    place.count = *alone;
    return place;
  }
  Result<std::shared_ptr<Btf>> described = kernel.types("");
  if (!hot || !described.ok()) return std::nullopt;
  auto type = (*described)->type_named("struct pcpu_hot");
  auto member = type ? type->member("preempt_count") : std::nullopt;
  if (!member) return std::nullopt;
  place.count = *hot + member->offset;
  return place;
}

}  // namespace spile::kernelinfo
