#pragma once
// Bundles in files: BundleHeader, then `packed_size` bytes of zlib's format, which are the fields of bundle_fields.h in order.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "session/bundle/bundle.h"
#include "session/live/script_run.h"
#include "session/terms/options.h"

namespace spile::session {

struct BundleHeader {
  char magic[8];           // kBundleMagic
  uint32_t version;        // kBundleVersion: others are rejected
  uint32_t checksum;       // CRC-32 of the packed bytes, as zlib computes it
  uint64_t packed_size;    // bytes that follow
  uint64_t unpacked_size;  // bytes that they unpack to
};
static_assert(sizeof(BundleHeader) == 32);
inline constexpr char kBundleMagic[8] = {'S', 'P', 'I', 'L', 'E', 'B', 'U', 'N'};
// Rises when the fields change, or the meaning of one, or what compiled code relies on (src/abi).
inline constexpr uint32_t kBundleVersion = 2;

// Whether the file begins as bundles do.
bool is_bundle(const std::string& path);

// Writes what a run needs. sources: the script's text and options. Errors: the file can't be written, in which case none is left
// behind.
Result<void> write_bundle(const std::string& path, const RunInput& input, const ScriptOptions& source,
                          const ProgramOptions& settings, const TargetOptions& target);

// Reads and checks a bundle. Errors: can't be read; of another user who could harm us with it; not a bundle, of another version,
// damaged, inconsistent.
Result<std::unique_ptr<Bundle>> read_bundle(const std::string& path);
// The same of bytes in memory; name: for messages.
Result<std::unique_ptr<Bundle>> parse_bundle(const std::string& name, std::string_view bytes);

// The bytes of a bundle's file around its fields, and back. Errors: not a bundle, of another version, damaged; packing: out of
// memory, too large.
Result<std::string> pack_bundle(std::string_view fields);
Result<std::string> unpack_bundle(const std::string& name, std::string_view bytes);

}  // namespace spile::session
