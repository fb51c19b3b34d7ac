#pragma once
// What happened when, on which thread, as a part of the run's document (docs/decisions/038-a-run-is-a-document.md): slices
// (calls, spans) that have a begin and an end, instants, counters, and flows that join them. The faces over it (timeline_files.h)
// read nothing else. Thread rule: one thread.
//
// To fill it: add the process and its threads, then slices, instants and values of counters, in any order of time. Texts are
// interned: text() returns the same number for equal texts. An argument is a name and a value, both texts; numbers may be given
// as decimal text, and faces that know numbers write them as such.
//
//   Timeline timeline;
//   const auto thread = timeline.add_thread(timeline.add_process(4711, "shop"), 4712, "worker");
//   const Timeline::Argument arguments[] = {{timeline.text("count"), timeline.text("3")}};
//   timeline.add_slice({.begin_ns = 10, .end_ns = 90, .thread = thread, .name = timeline.text("price_of"), .depth = 0},
//   arguments);
//
// What comes from traced processes may be forged: any number and text is taken, what is kept has bounds, and lost() counts what
// is not kept. Times are made consistent by nested_events(), never by the one who adds.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace spile::runs {

class Timeline {
 public:
  // Of all times of a timeline, in ns: since 1970, or since the system has started (CLOCK_MONOTONIC).
  enum class Clock : uint8_t { kRealtime, kMonotonic };
  // Which ends of a slice are not those of what it stands for, but those of what is known of it.
  enum Cut : uint8_t { kWhole = 0, kBeginCut = 1, kEndCut = 2 };

  struct Process {
    int64_t id = 0;  // of the system
    std::string name;
  };
  struct Thread {
    uint32_t process = 0;  // index into processes()
    int64_t id = 0;        // of the system; below 0: not a thread but a track of its own, such as an interrupt's
    std::string name;
  };
  struct Argument {
    uint32_t name = 0, value = 0;  // numbers of texts
  };
  struct Slice {
    int64_t begin_ns = 0, end_ns = 0;
    uint32_t thread = 0;  // index into threads()
    uint32_t name = 0;    // number of a text
    // 0: the outermost. A slice is within the last one before it, by begin_ns, of its thread that has a lesser depth. Depths may
    // have gaps; slices that begin at the same ns nest by depth, too.
    uint32_t depth = 0;
    uint8_t cut = kWhole;                        // bits of Cut
    uint64_t flow = 0;                           // slices and instants with the same number, not 0, are joined in order of time
    uint32_t first_argument = 0, arguments = 0;  // set by add_slice()
  };
  struct Instant {
    int64_t time_ns = 0;
    uint32_t thread = 0, name = 0;
    uint64_t flow = 0;
    uint32_t first_argument = 0, arguments = 0;  // set by add_instant()
  };
  struct Counter {
    std::string name, unit;  // unit: "", or as people write it: "bytes", "ns"
    uint32_t process = 0;    // index into processes(); kNoProcess: of the whole run
  };
  struct Value {
    int64_t time_ns = 0;
    uint32_t counter = 0;  // index into counters()
    double value = 0;
  };
  static constexpr uint32_t kNoProcess = ~0u;

  explicit Timeline(Clock clock = Clock::kRealtime);

  // Return the index of what has this number, or of what is added; the name of a known one is replaced unless `name` is empty.
  uint32_t add_process(int64_t id, std::string_view name);
  uint32_t add_thread(uint32_t process, int64_t id, std::string_view name);
  uint32_t add_counter(std::string_view name, std::string_view unit = {}, uint32_t process = kNoProcess);
  // Returns the number of a text, which is cut off at kLongestText bytes; 0, the empty text, where the bounds are reached.
  uint32_t text(std::string_view text);

  // REQUIRES: indexes and numbers of texts were returned by functions above.
  void add_slice(Slice slice, std::span<const Argument> arguments = {});
  void add_instant(Instant instant, std::span<const Argument> arguments = {});
  void add_value(const Value& value);
  // Counts things that are missing for a reason of the caller's; `why` is a clause for people: "calls were overwritten".
  void note_missing(std::string_view why, uint64_t count);

  Clock clock() const { return clock_; }
  const std::vector<Process>& processes() const { return processes_; }
  const std::vector<Thread>& threads() const { return threads_; }
  const std::vector<Counter>& counters() const { return counters_; }
  const std::vector<Slice>& slices() const { return slices_; }
  const std::vector<Instant>& instants() const { return instants_; }
  const std::vector<Value>& values() const { return values_; }
  const std::string& text_at(uint32_t number) const { return *texts_[number]; }
  std::span<const Argument> arguments_of(const Slice& slice) const {
    return {arguments_.data() + slice.first_argument, slice.arguments};
  }
  std::span<const Argument> arguments_of(const Instant& instant) const {
    return {arguments_.data() + instant.first_argument, instant.arguments};
  }
  // Returns the number of slices, instants and values that are not kept, as the bounds were reached.
  uint64_t lost() const { return lost_; }
  const std::vector<std::pair<std::string, uint64_t>>& missing() const { return missing_; }
  // Returns the first and the last time; 0 and 0: the timeline is empty.
  std::pair<int64_t, int64_t> range() const;

  static constexpr size_t kMostSlices = 8'000'000, kMostInstants = 4'000'000, kMostValues = 4'000'000,
                          kMostArguments = 32'000'000, kMostTexts = 2'000'000, kMostThreads = 100'000, kMostCounters = 10'000,
                          kLongestText = 4096;
  static constexpr uint64_t kMostTextBytes = 512 << 20;

 private:
  bool keep_arguments(std::span<const Argument> arguments, uint32_t& first, uint32_t& count);

  Clock clock_;
  std::vector<Process> processes_;
  std::vector<Thread> threads_;
  std::vector<Counter> counters_;
  std::vector<Slice> slices_;
  std::vector<Instant> instants_;
  std::vector<Value> values_;
  std::vector<Argument> arguments_;
  std::unordered_map<std::string, uint32_t> numbers_;
  std::vector<const std::string*> texts_;  // keys of numbers_, which stay where they are
  uint64_t text_bytes_ = 0, lost_ = 0;
  std::unordered_map<int64_t, uint32_t> processes_by_id_;
  std::unordered_map<std::string, uint32_t> threads_by_key_, counters_by_key_;
  std::vector<std::pair<std::string, uint64_t>> missing_;
};

// An end of a slice, or an instant, of a thread.
struct NestedEvent {
  enum class Kind : uint8_t { kBegin, kEnd, kInstant };
  Kind kind;
  int64_t time_ns;
  uint32_t index;  // into slices() or instants()
};
// Calls visit for each thread with its events in order: times do not go back, each end belongs to the last slice that is open,
// and all slices are ended. Where slices of a thread cross, against the contract, the inner one is cut off where the outer one,
// or the next one of the same depth, says so: none is shown within a slice that is not around it. Returns how many were.
uint64_t nested_events(const Timeline& timeline,
                       const std::function<void(uint32_t thread, std::span<const NestedEvent> events)>& visit);

}  // namespace spile::runs
