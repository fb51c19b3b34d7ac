#pragma once
// Stores a run while it runs (docs/run-format.md). What was added is in the file at the next tick at the latest. Thread rule: one
// thread.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/files/bytes.h"
#include "base/result.h"
#include "runs/run/run_frames.h"
#include "runs/run/run_model.h"

namespace spile::runs {

class RunWriter {
 public:
  // Makes the file. Errors: it can't be written; the script is too large for it.
  static Result<std::unique_ptr<RunWriter>> create(const std::string& path, const RunFacts& facts,
                                                   const std::vector<RunProbe>& probes, const std::vector<RunGlobal>& globals,
                                                   const std::vector<syntax::OutputFormat>& formats);
  // The same for a file or stream that is open.
  static Result<std::unique_ptr<RunWriter>> begin(std::shared_ptr<FrameWriter> frames, const RunFacts& facts,
                                                  const std::vector<RunProbe>& probes, const std::vector<RunGlobal>& globals,
                                                  const std::vector<syntax::OutputFormat>& formats);

  // Adds what was printed. values: a printf's arguments, of the types that its format has; with RunEvent::kText the text alone.
  // first_value of event is not used.
  using Value = std::variant<int64_t, std::string_view>;
  void add_event(const RunEvent& event, std::span<const Value> values);
  // Sets what a global has from here on. A state that is the one before takes no room.
  void set_global(size_t index, const RunGlobalState& state);
  // Adds a tick, whose globals are those that were set. Writes all that was added until now. `globals` of tick is not used.
  void add_tick(const RunTick& tick);
  void add_modules(const std::vector<RunModule>& modules);
  // Notes how places were armed until now: RunDocument::armed and paused_ns.
  void set_armed(const std::map<std::string, uint64_t>& armed, int64_t paused_ns);
  // Says that the probes are armed. REQUIRES: a stream.
  void set_started() { append(FrameKind::kStarted, {}); }
  // Sends the events that were added, as far as the reader of a stream takes them. REQUIRES: a stream.
  void send();
  // Events that were left out, as the reader of a stream was too slow.
  uint64_t left_out() const { return left_out_; }
  // Ends the document. REQUIRES: nothing is added later.
  void finish(int64_t ended_ns, const std::vector<std::string>& warnings);

  // The first failure; nothing was written after it. Null: all is well.
  const Error* failure() const { return failure_ ? &*failure_ : nullptr; }
  const std::string& path() const { return frames_->path(); }
  uint64_t bytes() const { return frames_->bytes(); }
  uint64_t events() const { return events_; }

 private:
  RunWriter(std::shared_ptr<FrameWriter> frames, std::vector<RunGlobal> globals)
      : frames_(std::move(frames)), globals_(std::move(globals)), last_states_(globals_.size()) {}
  void append(FrameKind kind, std::string_view payload);
  bool make_room();
  uint64_t index_of(std::string_view text);
  void flush();

  std::shared_ptr<FrameWriter> frames_;
  std::vector<RunGlobal> globals_;
  std::vector<size_t> last_states_;  // by global: the hash of its last frame's payload; 0: none
  std::unordered_map<std::string, uint64_t> known_texts_;
  uint64_t known_bytes_ = 0, text_count_ = 0;
  ByteWriter new_texts_, new_events_;
  // Of new_events_: so many, one after another, have this process, and this thread.
  using Owners = std::vector<std::pair<uint64_t, uint32_t>>;
  static void add_owner(Owners& owners, uint32_t owner);
  void append_owners(FrameKind kind, Owners& owners);
  Owners new_processes_, new_threads_;
  uint64_t new_text_count_ = 0, new_event_count_ = 0, events_ = 0, left_out_ = 0;
  int64_t last_time_ = 0;
  std::optional<Error> failure_;
};

}  // namespace spile::runs
