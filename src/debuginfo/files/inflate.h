#pragma once
// Uncompresses the contents of a section with the flag SHF_COMPRESSED, piece by piece: a stream, of which no more than a piece is
// in memory. The bytes may be damaged, or made by somebody who wants us to crash. gABI, chapter 4, "Compression header"; zlib:
// RFC 1950; zstd: RFC 8878. Any thread.

#include <cstdint>
#include <string>

namespace spile::debuginfo {

enum class Compression : uint32_t { kNone = 0, kZlib = 1, kZstd = 2 };  // as ch_type has them

// Where bytes are that are to be uncompressed.
struct Packed {
  int fd = -1;                    // the caller keeps it open
  uint64_t offset = 0, size = 0;  // in the file, without the compression header
  Compression compression = Compression::kNone;
  uint64_t plain_size = 0;  // that they should have uncompressed
};

// Writes the bytes, uncompressed, to the file `to` from offset `at` on. Returns what has failed, as the end of a sentence that
// begins with their name; "": nothing. by_zlib: uses zlib even where ISA-L is installed.
std::string inflate(const Packed& packed, int to, uint64_t at, bool by_zlib = false);

}  // namespace spile::debuginfo
