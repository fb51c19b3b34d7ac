#pragma once
// Writes the files of bulk mode (-b), of the format of runs/text/stream_file.h. Thread rule: one thread.

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "codegen/codegen.h"
#include "session/arena/arena_view.h"

namespace spile::session {

class StreamFiles {
 public:
  // base: FILE of the names FILE_N, with -o's % expanded. script: not kept.
  StreamFiles(std::string base, const codegen::CompiledScript& script);

  // Appends whole records, as they are in a ring, to the stream's file, which the first call makes. stream: index of the thread
  // slot. Errors: the file can't be made or written.
  Result<void> append(ArenaView& arena, uint32_t stream, std::span<const char> records);
  // Appends a kStreamLost record. lost: number of records.
  Result<void> append_lost(ArenaView& arena, uint32_t stream, uint64_t lost);

 private:
  Result<int> file_of(ArenaView& arena, uint32_t stream);
  std::string base_;
  std::string json_;
  std::map<uint32_t, UniqueFd> files_;
};

}  // namespace spile::session
