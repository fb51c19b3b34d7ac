#include "probes/world/watchpoint.h"

#include <fmt/format.h>

#include "probes/terms/family.h"

namespace spile::probes {

std::vector<std::string> watch_components() { return {"write", "rw", "length"}; }

Result<WatchRequest> parse_watch(const syntax::ProbePoint& point) {
  const auto& parts = point.components;
  WatchRequest request;
  for (size_t i = 2; i < parts.size(); ++i) {
    const syntax::PointComponent& part = parts[i];
    if (part.name == "length" && part.number && request.length == 0) {
      request.length = *part.number;
    } else if ((part.name == "write" || part.name == "rw") && !part.text && !part.number && !request.is_write && !request.is_rw) {
      (part.name == "write" ? request.is_write : request.is_rw) = true;
    } else {
      return unexpected_component(point, i, watch_components());
    }
  }
  if (!request.is_write && !request.is_rw) {
    return Error{fmt::format("'{}' names no kind of access", text_of(point)), "add .write or .rw"};
  }
  return request;
}

// The processor compares 1, 2, 4 or 8 bytes at a multiple of their number (Intel SDM vol. 3, 18.2.5).
Result<uint64_t> watch_length(const syntax::ProbePoint& point, uint64_t address, int64_t length, uint64_t symbol_size) {
  bool given = length != 0;
  uint64_t size = given ? static_cast<uint64_t>(length) : symbol_size;
  if (!given && size == 0) size = address % 8 == 0 ? 8 : address % 4 == 0 ? 4 : 1;
  bool possible = size == 1 || size == 2 || size == 4 || size == 8;
  if (possible && address % size == 0) return size;
  return Error{fmt::format("'{}': {} bytes at {:#x} can't be watched", text_of(point), size, address),
               "the processor can watch 1, 2, 4 or 8 bytes, at a multiple of that number: choose it with .length(n)"};
}

}  // namespace spile::probes
