#pragma once
// What process.data and kernel.data have in common: the words behind the variable, and which bytes the processor can watch.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "syntax/tree.h"

namespace spile::probes {

struct WatchRequest {
  int64_t length = 0;                    // bytes; 0: not said
  bool is_write = false, is_rw = false;  // one of them is true
};

// Returns the names that may stand behind data(...).
std::vector<std::string> watch_components();
// Parses the components from the third on: length(N), then write or rw. Errors: another component; no kind of access.
Result<WatchRequest> parse_watch(const syntax::ProbePoint& point);
// Returns the number of bytes to watch at an address: the length if it is not 0, else the symbol's size, else (0) what the
// address allows. Error: the processor can't watch these bytes.
Result<uint64_t> watch_length(const syntax::ProbePoint& point, uint64_t address, int64_t length, uint64_t symbol_size);

}  // namespace spile::probes
