#pragma once
// What a script prints with -b: the records themselves, as a stream in a file for each thread (runs/text/stream_file.h). They are
// in order there, so RecordQueue hands them on as it takes a ring, without a wait for others. Thread rule: one thread.

#include <span>
#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "session/arena/arena_view.h"
#include "session/output/address_names.h"
#include "session/output/record_sink.h"
#include "session/output/stream_files.h"

namespace spile::session {

class StreamSink final : public RecordSink {
 public:
  // base: FILE of the names FILE_N. Makes the files later, as records come. names must outlive this.
  StreamSink(std::string base, const codegen::CompiledScript& script, const AddressNames& names)
      : files_(std::move(base), script), names_(names) {}
  // Takes a record of the ring that is being taken.
  void take(const Record& record) override;
  // Appends what was taken since the last call to the file of a ring. ring: index of the thread slot.
  void end_ring(ArenaView& arena, uint32_t ring);
  // Writes to each stream how many records it has lost. REQUIRES: called after the last ring was taken.
  void finish(ArenaView& arena);
  // Returns whether all could be written; once false, it stays so. The first failure is printed.
  bool usable() const { return usable_; }

 private:
  void append(abi::OwnedHeader header, std::span<const char> payload);
  void append_text(abi::OwnedHeader header, const std::string& text);
  void note(const Result<void>& written);

  StreamFiles files_;
  const AddressNames& names_;
  std::vector<char> bytes_;  // of the ring that is being taken
  bool usable_ = true;
};

}  // namespace spile::session
