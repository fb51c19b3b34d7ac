#pragma once
// Takes the records of all rings and hands them on in order of time. Thread rule: one thread.
//
// Records of one thread are in order by themselves. Records of several threads are put in order by holding each back until every
// older one has been published (RecordHorizon): for one more collection, and while a thread is interrupted before it publishes.
// When more than kMostHeld bytes are held, all are handed on at once.
//
// Whatever a traced process can write, it can forge (docs/security.md). From rings other than the controller's own, only those
// kinds of records are accepted that handlers of the script can write there (CompiledScript::target_records). Actions that
// processes could repeat without end are limited.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "abi/record.h"
#include "codegen/codegen.h"
#include "session/arena/arena_view.h"
#include "session/arena/ring_reader.h"
#include "session/output/handler_errors.h"
#include "session/output/record_horizon.h"
#include "session/output/record_sink.h"
#include "session/output/stream_sink.h"

namespace spile::session {

class RecordQueue {
 public:
  // All must outlive this. ordered: gets the records, and a flush() after the last of several. errors: counts what is not
  // accepted.
  RecordQueue(const codegen::CompiledScript& script, RecordSink& ordered, HandlerErrors& errors)
      : script_(script), owner_size_(script.layout.record_owner_size), ordered_(ordered), errors_(errors) {}

  // From here on, records that print are given to `streams` as they are taken, ring by ring, rather than in order of time. It
  // must outlive this.
  void stream_to(StreamSink& streams) { streams_ = &streams; }

  // Takes what all rings hold now, and holds it until hand_on(), but hands on what is old enough of much. Returns whether a ring
  // had new bytes. REQUIRES: all calls of this object get the same arena.
  bool collect(ArenaView& arena);
  // Takes what the controller's own ring holds. If it held anything, hands on all records at once, in order of time.
  void collect_controller(ArenaView& arena);
  // Adds a record of the kernel's ring buffer; copies what follows the abi::RecordHeader and computes header.size.
  void add(abi::RecordHeader header, std::span<const char> payload);
  // Hands on the records that are old enough, or everything.
  void hand_on(bool everything) { hand_on_until(everything ? UINT64_MAX : complete_); }

 private:
  struct Held {
    uint64_t time;
    size_t offset;  // into bytes_
    uint32_t size;
    Record::Origin origin;
  };
  static constexpr uint64_t kMostHeld = 256 << 20;  // bytes
  static constexpr uint64_t kPiece = 1 << 20;       // bytes of a ring that are taken at a time
  static constexpr int64_t kLeastAge = 2'000'000;   // ns, of records that are handed on while newer ones are held
  static constexpr uint64_t kMostActions = 1000;    // of processes, held at a time

  RingReader::Taken take_ring(ArenaView& arena, uint32_t index);
  // Returns whether to accept a record of a ring that traced processes can write to; counts the rejected ones.
  bool is_believed(const abi::RecordHeader& header);
  // Returns a record in bytes_. Where records have no owner, the header's is not known.
  Record record_at(size_t offset, size_t size, Record::Origin origin) const;
  void sort_held();
  void hand_on_until(uint64_t time);
  // Drops the bytes of records that have been handed on, once they take as much room as the others.
  void drop_old_bytes();

  const codegen::CompiledScript& script_;
  const uint32_t owner_size_;  // of each record
  RecordSink& ordered_;
  HandlerErrors& errors_;
  StreamSink* streams_ = nullptr;  // null: no -b
  std::unique_ptr<RingReader> rings_;
  std::vector<char> bytes_;  // records, whole, one after another: those that are held, and some that are not any more
  std::vector<char> rest_;   // reused
  uint64_t held_bytes_ = 0;
  std::vector<Held> held_;
  std::vector<size_t> sorted_from_;  // where in held_ each ring's records begin: from one to the next, they are in order
  uint64_t actions_held_ = 0;        // of processes
  RecordHorizon horizon_;
  uint64_t complete_ = 0;  // all records up to this time have been taken
};

}  // namespace spile::session
