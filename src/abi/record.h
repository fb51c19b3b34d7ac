#pragma once
// Records in an output ring, written by handlers in any domain, read by the controller. A record never wraps: where it
// would, a kPad record fills the end; of it only size and kind are written, as less than a header may be left. 8-byte
// aligned.

#include <stdint.h>

namespace spile::abi {

enum RecordKind : uint16_t {
  kPad = 0,
  kPrintf = 1,      // id: index of the script's format table; payload: the arguments in order
  kError = 2,       // id: index of the script's error table (place and text); payload: the arguments in order
  kText = 3,        // payload: a string, to be written as it is
  kWarning = 4,     // payload: a string, to be written to standard error as "WARNING: ..."
  kHistogram = 5,   // id: format index of the histogram; payload: the aggregate (aggregate.h), then its buckets
  kExit = 6,        // exit() was called (kernel domain; elsewhere ArenaHeader::exit_requested)
  kSystem = 12,     // payload: a string: a shell command that system() wants run
  kSwitchFile = 13, // switch_file(): output goes on in the next file of -S
  kErrorText = 7,   // payload: a string: error("...") of a script
};

// Arguments: a long is 8 bytes; a string is a 4-byte length, then its bytes without NUL, padded to 8 in all.
struct RecordHeader {
  uint32_t size;   // of header and payload together, a multiple of 8, at least 24
  uint16_t kind;   // RecordKind
  uint16_t cpu;
  uint32_t id;
  uint32_t probe;  // index of the probe that wrote it
  uint64_t time;   // orders records between threads: rdtsc in processes, ktime ns in the kernel
};
static_assert(sizeof(RecordHeader) == 24);

}  // namespace spile::abi
