#pragma once
// The samples of a run, as a part of the run's document (docs/decisions/038-a-run-is-a-document.md): which thread was where, and
// when, or how much of something happened there (ns of waiting, bytes of memory). Stacks are interned: a
// stack is a node of a tree, whose parent is the stack of its caller. What shows samples (sample_files.h) reads nothing but this.
// Thread rule: one thread.
//
// Records of traced processes may be forged: texts are taken as they are, and what is kept has bounds.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace spile::runs {

class Samples {
 public:
  // What weights are of: each sample is 1, or ns, bytes or calls.
  enum class Unit : uint8_t { kSamples, kNs, kBytes, kCalls };
  struct Frame {
    std::string function;  // "": not known
    std::string module;    // name of the file, without folders; "": not known
  };
  struct Stack {
    uint32_t caller = 0;  // index into stacks(), less than the stack's own; of stack 0 itself
    uint32_t frame = 0;   // index into frames(); of stack 0 without meaning
    uint64_t weight = 0;  // of what was just here
  };
  struct Sample {
    int64_t time_ns = 0;  // since 1970
    uint32_t thread = 0;  // index into threads()
    uint32_t stack = 0;   // index into stacks()
  };
  struct Thread {
    int64_t process = 0, thread = 0;
    std::string name;  // when its first sample was taken
  };

  Samples() : Samples(Unit::kSamples) {}
  explicit Samples(Unit unit) : stacks_(1), unit_(unit) {}

  // Adds a sample. text: the stack as sprint_ubacktrace() has it, innermost frame first, a line for each. is_whole: false where
  // more frames may follow, and the last line may be cut: it is left out, and "[cut]" stands for the callers. weight: 1 where the
  // unit is kSamples. Sums that have no room stay at the greatest number. Returns the index of the stack; null: the sample is
  // lost.
  std::optional<uint32_t> add(int64_t time_ns, int64_t process, int64_t thread, std::string_view name, std::string_view text,
                              bool is_whole, uint64_t weight = 1);

  // Adds a sample of a stack that add() has returned, and which was whole or cut as that one was.
  void add_known(int64_t time_ns, int64_t process, int64_t thread, std::string_view name, uint32_t stack, uint64_t weight = 1);

  // Sets who names code that is in no file (jit_names.h): of a process, at an address. "": not known. The text need not outlive
  // the next call.
  using CodeNames = std::function<std::string_view(int64_t process, uint64_t address)>;
  void name_code_by(CodeNames names) { code_names_ = std::move(names); }

  const std::vector<Frame>& frames() const { return frames_; }
  // Stack 0 is empty. Callers come before callees.
  const std::vector<Stack>& stacks() const { return stacks_; }
  const std::vector<Sample>& samples() const { return samples_; }
  const std::vector<Thread>& threads() const { return threads_; }
  Unit unit() const { return unit_; }
  uint64_t weight_of(size_t sample) const { return unit_ == Unit::kSamples ? 1 : weights_[sample]; }
  // Samples that are not kept, as the bounds were reached; and those whose outer callers are not known.
  uint64_t lost() const { return lost_; }
  uint64_t cut() const { return cut_; }

  static constexpr size_t kMostSamples = 8'000'000, kMostStacks = 2'000'000, kMostFrames = 500'000, kMostThreads = 100'000,
                          kLongestText = 4096;

 private:
  // is_exact: the address is where the thread was rather than a return address.
  uint32_t frame_of(int64_t process, std::string_view line, bool is_exact);
  uint32_t frame_index(Frame frame);
  uint32_t stack_of(uint32_t caller, uint32_t frame);
  uint32_t thread_of(int64_t process, int64_t thread, std::string_view name);

  std::vector<Frame> frames_;
  std::vector<Stack> stacks_;
  std::vector<Sample> samples_;
  std::vector<uint64_t> weights_;  // by sample; empty where each is 1
  std::vector<Thread> threads_;
  std::unordered_set<uint32_t> cut_stacks_;  // those whose outer callers are not known
  std::unordered_map<std::string, uint32_t> frames_by_text_;
  std::unordered_map<uint64_t, uint32_t> stacks_by_place_;  // by caller << 32 | frame
  std::unordered_map<std::string, uint32_t> threads_by_key_;
  Unit unit_;
  CodeNames code_names_;
  uint64_t lost_ = 0, cut_ = 0;
};

// Returns how a frame is shown: its function, else its module in brackets, else "[unknown]".
std::string text_of(const Samples::Frame& frame);
// Returns "samples", "ns", "bytes" or "calls".
std::string_view unit_text(Samples::Unit unit);
// Returns a + b, or the greatest number.
uint64_t added(uint64_t a, uint64_t b);

}  // namespace spile::runs
