#include "engine/exit_sites.h"

#include <algorithm>

#include "engine/arch/architecture.h"

namespace spile::engine {
namespace {

constexpr uint64_t kLargestFunction = uint64_t{1} << 20;

bool wants_exits(const SiteRequest& request) { return request.landing_offset != 0; }

void add_exits(const AddressSpace& space, const Module& module, const SiteRequest& request, std::vector<SiteRequest>& placed) {
  std::vector<uint8_t> text(std::min(request.size, kLargestFunction));
  text.resize(space.memory.read_some(Address(request.address.value + module.bias), text));
  for (const FunctionExit& exit : native_architecture().find_exits(text)) {
    SiteRequest site = request;
    site.kind = abi::SiteKind::kInstruction;
    site.function = request.address;
    site.address = FileAddress(request.address.value + exit.offset);
    site.size = request.size - exit.offset;
    if (exit.lands) site.enter_offset = request.landing_offset;
    site.landing_offset = 0;
    placed.push_back(site);
  }
}

}  // namespace

std::optional<std::vector<SiteRequest>> place_exits(const AddressSpace& space, const Module& module,
                                                    std::span<const SiteRequest> requests) {
  if (std::none_of(requests.begin(), requests.end(), wants_exits)) return {};
  std::vector<SiteRequest> placed;
  placed.reserve(requests.size());
  for (const SiteRequest& request : requests) {
    if (wants_exits(request)) {
      add_exits(space, module, request, placed);
    } else {
      placed.push_back(request);
    }
  }
  return placed;
}

}  // namespace spile::engine
