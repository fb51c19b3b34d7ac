#include "engine/patch/return_refusals.h"

#include <algorithm>

#include "engine/arch/architecture.h"
#include "engine/patch/text_image.h"

namespace spile::engine {
namespace {

bool wants_return(const SiteRequest& request) { return request.is<ReturnProbe>(); }

TextImage read_functions(const AddressSpace& space, const Module& module, std::span<const SiteRequest> requests) {
  Address low(~uint64_t{0}), high;
  for (const SiteRequest& request : requests) {
    if (!wants_return(request)) continue;
    Address at(request.address.value + module.bias);
    low = std::min(low, at);
    high = std::max(high, at + static_cast<int64_t>(request.size));
  }
  return TextImage(space.memory, module, low, high + 4096);
}

std::string obstacle_of(const AddressSpace& space, const Module& module, const SiteRequest& request, const TextImage& text,
                        const ReturnReaders& readers) {
  if (const std::string& known = std::get<ReturnProbe>(request.probe).obstacle; !known.empty()) return known;
  if (!space.arming.return_obstacle().empty()) return space.arming.return_obstacle();
  if (request.flags & abi::kReturnsInPlace) return {};
  if (module.go) return "Go's runtime moves stacks and walks them, and the file that was analyzed is not a Go program";
  // Behind a function that ends with a call that does not return, another begins.
  Address begin(request.address.value + module.bias), end = begin + static_cast<int64_t>(request.size);
  const Architecture& machine = native_architecture();
  Address entry = begin + static_cast<int64_t>(machine.entry_mark(text.at(begin, std::max(machine.lookahead(), request.size))));
  auto read = [&](Address from, std::span<uint8_t> into) { return space.memory.read_some(from, into); };
  auto text_of = [&](Address at, uint64_t length) {
    bool inside = at >= entry && at < end;
    return text.at(at, inside ? std::min(length, static_cast<uint64_t>(end - at)) : length);
  };
  return machine.return_obstacle(entry, text_of, read, readers);
}

ReturnReaders readers_in(pid_t pid, const Module& module, const ReturnReaderFinder& find) {
  ReturnReaders readers;
  if (!find || module.is_vdso()) return readers;
  const ReturnReaders in_file = find(pid, module);
  for (uint64_t address : in_file.own) readers.own.insert(address + module.bias);
  for (uint64_t address : in_file.callers) readers.callers.insert(address + module.bias);
  return readers;
}

}  // namespace

std::optional<PlacedSites> refuse_returns(const AddressSpace& space, pid_t pid, const Module& module,
                                          std::span<const SiteRequest> requests, const ReturnReaderFinder& return_readers) {
  if (std::none_of(requests.begin(), requests.end(), wants_return)) return {};
  TextImage text = read_functions(space, module, requests);
  for (const PatchedSite& site : space.sites.in_text()) text.overlay(site.begin, {site.original, site.overwritten});
  const ReturnReaders readers = readers_in(pid, module, return_readers);
  std::map<uint64_t, std::string> obstacles;  // by address: no client's return may be at a place where another's can't
  for (const SiteRequest& request : requests) {
    if (!wants_return(request)) continue;
    std::string obstacle = obstacle_of(space, module, request, text, readers);
    if (!obstacle.empty()) obstacles.try_emplace(request.address.value, std::move(obstacle));
  }
  if (obstacles.empty()) return {};
  PlacedSites placed;
  placed.sites.reserve(requests.size());
  for (const SiteRequest& request : requests) {
    auto found = obstacles.find(request.address.value);
    if (!wants_return(request) || found == obstacles.end()) {
      placed.sites.push_back(request);
      continue;
    }
    placed.refused.push_back({request.site_id, pid, Mechanism::kRefused, found->second, true});
    if (std::get<ReturnProbe>(request.probe).entry_alone != 0) placed.sites.push_back(entry_alone(request));
  }
  return placed;
}

}  // namespace spile::engine
