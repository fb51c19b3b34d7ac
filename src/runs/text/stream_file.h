#pragma once
// Bulk mode (-b): each thread's records, as they are in its ring, in a file of its own, FILE_0, FILE_1 ...; the text is made
// later, by --merge or another program. docs/stream-format.md describes the format.
//
//   "SPILESTR"  u32 version  u32 stream  u64 tsc  u64 ns  u64 mult  u32 shift  u32 length  JSON  records...
//
// The file stays readable when spile is killed: a record that is cut off ends it. Thread rule: one thread.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "abi/record.h"
#include "base/result.h"
#include "base/text/json.h"
#include "syntax/output_format.h"

namespace spile::runs {

inline constexpr uint32_t kStreamVersion = 2;
// the version whose records begin with an abi::RecordHeader, now with an OwnedHeader
inline constexpr uint32_t kStreamWithoutThreads = 1;
// The kind of a record that only streams have: how many records of this stream were lost so far (payload: a long).
inline constexpr uint16_t kStreamLost = 100;

struct StreamHeader {
  char magic[8];
  uint32_t version;
  uint32_t stream;  // N of FILE_N: the thread slot
  // A record's time as ns since the epoch: ns + ((time - tsc) * mult >> shift).
  uint64_t tsc, ns, mult;
  uint32_t shift;
  uint32_t json_length;
};
static_assert(sizeof(StreamHeader) == 48);

// Convert formats to JSON, and back from its text, which may come from anywhere: numbers in it are limited. Errors: the text is
// damaged.
Json formats_as_json(std::span<const syntax::OutputFormat> formats);
Result<std::vector<syntax::OutputFormat>> formats_from_json(const std::string& text);

}  // namespace spile::runs
