#pragma once
// The samples of a run, as a part of the run's document (docs/decisions/038-a-run-is-a-document.md): which thread was where, and when. Stacks are interned: a
// stack is a node of a tree, whose parent is the stack of its caller. What shows samples (sample_files.h) reads nothing but this. Thread rule: one thread.
//
// Records of traced processes may be forged: texts are taken as they are, and what is kept has bounds.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace spile::session {

class Samples {
 public:
  struct Frame {
    std::string function;  // "": not known
    std::string module;    // name of the file, without folders; "": not known
  };
  struct Stack {
    uint32_t caller = 0;   // index into stacks(), less than the stack's own; of stack 0 itself
    uint32_t frame = 0;    // index into frames(); of stack 0 without meaning
    uint64_t samples = 0;  // that were taken just here
  };
  struct Sample {
    int64_t time_ns = 0;   // since 1970
    uint32_t thread = 0;   // index into threads()
    uint32_t stack = 0;    // index into stacks()
  };
  struct Thread {
    int64_t process = 0, thread = 0;
    std::string name;      // when its first sample was taken
  };

  Samples() : stacks_(1) {}

  // Adds a sample. text: the stack as sprint_ubacktrace() has it, innermost frame first, a line for each. is_whole: false where more frames may follow, and the
  // last line may be cut: it is left out, and "[cut]" stands for the callers.
  // Returns the index of the stack; null: the sample is lost.
  std::optional<uint32_t> add(int64_t time_ns, int64_t process, int64_t thread, std::string_view name, std::string_view text, bool is_whole);

  // Adds a sample of a stack that add() has returned, and which was whole or cut as that one was.
  void add_known(int64_t time_ns, int64_t process, int64_t thread, std::string_view name, uint32_t stack);

  const std::vector<Frame>& frames() const { return frames_; }
  // Stack 0 is empty. Callers come before callees.
  const std::vector<Stack>& stacks() const { return stacks_; }
  const std::vector<Sample>& samples() const { return samples_; }
  const std::vector<Thread>& threads() const { return threads_; }
  // Samples that are not kept, as the bounds were reached; and those whose outer callers are not known.
  uint64_t lost() const { return lost_; }
  uint64_t cut() const { return cut_; }

  static constexpr size_t kMostSamples = 8'000'000, kMostStacks = 2'000'000, kMostFrames = 500'000, kMostThreads = 100'000, kLongestText = 4096;

 private:
  uint32_t frame_of(std::string_view line);
  uint32_t frame_index(Frame frame);
  uint32_t stack_of(uint32_t caller, uint32_t frame);
  uint32_t thread_of(int64_t process, int64_t thread, std::string_view name);

  std::vector<Frame> frames_;
  std::vector<Stack> stacks_;
  std::vector<Sample> samples_;
  std::vector<Thread> threads_;
  std::unordered_set<uint32_t> cut_stacks_;  // those whose outer callers are not known
  std::unordered_map<std::string, uint32_t> frames_by_text_;
  std::unordered_map<uint64_t, uint32_t> stacks_by_place_;  // by caller << 32 | frame
  std::unordered_map<std::string, uint32_t> threads_by_key_;
  uint64_t lost_ = 0, cut_ = 0;
};

// Returns how a frame is shown: its function, else its module in brackets, else "[unknown]".
std::string text_of(const Samples::Frame& frame);

}  // namespace spile::session
