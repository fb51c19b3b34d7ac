#include "engine/patch/exit_sites.h"

#include <algorithm>

#include "engine/arch/architecture.h"

namespace spile::engine {
namespace {

constexpr uint64_t kLargestFunction = uint64_t{1} << 20;
constexpr uint64_t kJumpRoom = 8;  // more than an entry's patch displaces of a short body
constexpr uint64_t kLargestRoom = 20;

bool returns_in_place(const SiteRequest& request) { return request.is<ReturnProbe>() && (request.flags & abi::kReturnsInPlace); }

std::vector<uint8_t> text_of(const AddressSpace& space, const Module& module, const SiteRequest& request) {
  std::vector<uint8_t> text(std::min(request.size, kLargestFunction));
  text.resize(space.memory.read_some(Address(request.address.value + module.bias), text));
  return text;
}

SiteRequest inside(const SiteRequest& request, uint64_t offset, Probe probe) {
  SiteRequest site = request;
  site.probe = std::move(probe);
  site.function = request.address;
  site.address = FileAddress(request.address.value + offset);
  site.size = request.size - offset;
  return site;
}

void add_exits(const AddressSpace& space, const Module& module, const SiteRequest& request, std::vector<SiteRequest>& placed) {
  const auto& ends = std::get<FunctionEndsProbe>(request.probe);
  for (const FunctionExit& exit : native_architecture().find_exits(text_of(space, module, request))) {
    placed.push_back(inside(request, exit.offset, InstructionProbe{exit.transfers ? ends.before_transfer : ends.before_return}));
  }
}

// A goroutine whose stack has to grow, or that is asked to give way, begins its function again after that.
void add_entry(std::span<const uint8_t> text, const SiteRequest& request, uint32_t enter, std::vector<SiteRequest>& placed) {
  placed.push_back(inside(request, native_architecture().behind_stack_check(text), EntryProbe{enter}));
}

// Adds the return instructions of a function of Go, and its entry. Returns why its returns can't be probed, or empty; the entry
// may be added in both cases.
std::string add_returns(const AddressSpace& space, const Module& module, const SiteRequest& request,
                        std::vector<SiteRequest>& placed) {
  const Architecture& machine = native_architecture();
  const auto& returns = std::get<ReturnProbe>(request.probe);
  std::vector<uint8_t> text = text_of(space, module, request);
  auto read = [&](Address from, std::span<uint8_t> into) { return space.memory.read_some(from, into); };
  FunctionFlow flow = machine.analyze_function(text, Address(request.address.value + module.bias), text.size(), read);
  FunctionReturns found = machine.find_returns(text, flow);
  uint64_t entry = 0;
  if (!found.obstacle.empty()) {
    if (returns.entry_alone != 0) add_entry(text, entry_alone(request), returns.entry_alone, placed);
    return found.obstacle;
  }
  if (returns.enter != 0) {
    add_entry(text, request, returns.enter, placed);
    entry = placed.back().address.value - request.address.value;
  }
  for (const ReturnSite& at : found.sites) {
    SiteRequest exit = inside(request, at.offset, ReturnInstructionProbe{returns.exit});
    exit.semaphore = FileAddress();
    // If the body is so short that the patch of its entry is in the way, one patch serves both.
    uint64_t begin = at.straight;
    if (returns.enter != 0 && at.first <= entry && entry < begin && begin < entry + kJumpRoom && at.end < entry + kLargestRoom) {
      begin = entry;
    }
    if (begin != at.offset) {
      SiteRequest room = exit;
      room.probe = PatchRoom{};
      room.address = FileAddress(request.address.value + begin);
      room.size = at.end - begin;
      placed.push_back(room);
    }
    placed.push_back(exit);
  }
  return {};
}

}  // namespace

std::optional<PlacedSites> place_exits(const AddressSpace& space, pid_t pid, const Module& module,
                                       std::span<const SiteRequest> requests) {
  // Whether the handler needs the thread's stack rather than the goroutine's, and that can't be found.
  auto has_no_stack = [&](const SiteRequest& request) {
    return module.go && module.goroutine == 0 && (request.flags & abi::kWantsRegisters);
  };
  auto moves = [&](const SiteRequest& request) {
    return has_no_stack(request) || request.is<FunctionEndsProbe>() || returns_in_place(request) ||
           (module.go && request.is<EntryProbe>());
  };
  if (std::none_of(requests.begin(), requests.end(), moves)) return {};
  PlacedSites placed;
  placed.sites.reserve(requests.size());
  for (const SiteRequest& request : requests) {
    std::string obstacle;
    if (has_no_stack(request)) {
      obstacle = "where the program keeps its goroutines is not known: only counting is possible";
    } else if (request.is<FunctionEndsProbe>()) {
      add_exits(space, module, request, placed.sites);
    } else if (returns_in_place(request)) {
      obstacle = add_returns(space, module, request, placed.sites);
    } else if (moves(request)) {
      add_entry(text_of(space, module, request), request, std::get<EntryProbe>(request.probe).enter, placed.sites);
    } else {
      placed.sites.push_back(request);
    }
    bool only_returns = returns_in_place(request) && !has_no_stack(request);
    if (!obstacle.empty()) placed.refused.push_back({request.site_id, pid, Mechanism::kRefused, obstacle, only_returns});
  }
  return placed;
}

SiteRequest entry_alone(const SiteRequest& request) {
  SiteRequest entry = request;
  entry.probe = EntryProbe{std::get<ReturnProbe>(request.probe).entry_alone};
  entry.flags &= ~static_cast<uint32_t>(abi::kReturnsInPlace);
  return entry;
}

}  // namespace spile::engine
