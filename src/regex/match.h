#pragma once
// Matches text with the tables and programs of program.h. Freestanding, no recursion, no allocation; steps are bounded by the
// length of the text times the instructions. A text ends at a NUL, or after `limit` bytes. Tables and programs are trusted: their
// indexes are not checked.

#include "regex/program.h"

namespace spile::regex {

// Reports whether the expression matches somewhere in the text.
inline bool table_matches(const Table* table, const char* text, uint32_t limit) {
  const uint16_t* next = reinterpret_cast<const uint16_t*>(table + 1);
  const uint32_t stride = table->stride;
  uint32_t state = table->start;
  for (uint32_t i = 0; i < limit && text[i] && state > kAcceptState; ++i) {
    state = next[state * stride + table->class_of[static_cast<uint8_t>(text[i])]];
  }
  if (state > kAcceptState) state = next[state * stride + stride - 1];
  return state == kAcceptState;
}

// The mark of a group that is not part of the match.
inline constexpr uint16_t kNowhere = 0xffff;

// Finds where a match and its groups lie. All threads of the automaton (a state, and the marks on the way there) advance
// together, byte by byte, in the order of their precedence. Of two in the same state only the first goes on. The leftmost match
// wins, of these the longest (POSIX), of these the first thread's.
//
// A Matcher is good for one search().
class Matcher {
 public:
  // How many bytes of memory a matcher needs for a Program's `count` and `groups`.
  static constexpr uint64_t memory_bytes(uint32_t count, uint32_t groups) {
    return count * (2ull * marks_bytes(groups) + 2 * 2 + 4 + 2 * sizeof(Step)) + 4 * sizeof(Step) + marks_bytes(groups) + 64;
  }

  // memory: memory_bytes() bytes, at a multiple of 8, which the matcher uses as long as it lives; their contents don't matter.
  // limit: most bytes of a text, below kNowhere.
  Matcher(const Program* program, void* memory, uint32_t limit)
      : code_(code_of(program)), sets_(sets_of(program)), marks_(2 * program->groups), limit_(limit) {
    char* at = static_cast<char*>(memory);
    auto take = [&](uint64_t bytes) {
      char* begin = at;
      at += (bytes + 7) / 8 * 8;
      return begin;
    };
    uint32_t count = program->count;
    seen_ = reinterpret_cast<uint32_t*>(take(4ull * count));
    for (List& list : lists_) {
      list.states = reinterpret_cast<uint16_t*>(take(2ull * count));
      list.marks = reinterpret_cast<uint16_t*>(take(2ull * marks_ * count));
      list.count = 0;
    }
    steps_ = reinterpret_cast<Step*>(take((2ull * count + 4) * sizeof(Step)));
    working_ = reinterpret_cast<uint16_t*>(take(2ull * marks_));
    for (uint32_t i = 0; i < count; ++i) {
      seen_[i] = 0;
      keep_loop();
    }
  }

  // Returns whether the expression matches somewhere in the text. If so, best has two marks for each of Program::groups, the
  // whole match first: the offsets in bytes where the group begins and ends, or kNowhere. Else best is left as it is. REQUIRES:
  // called once.
  bool search(const char* text, uint16_t* best) {
    bool matched = false;
    List *now = &lists_[0], *next = &lists_[1];
    for (uint32_t at = 0;; ++at) {
      bool at_end = ends(text, at);
      if (!matched) {
        for (uint32_t i = 0; i < marks_; ++i) {
          working_[i] = kNowhere;
          keep_loop();
        }
        if (now->count == 0) ++generation_;
        add(now, 0, at, at_end);
      }
      ++generation_;
      for (uint32_t i = 0; i < now->count; ++i) step(*now, i, text, at, next, &matched, best);
      if (at_end || (matched && next->count == 0)) return matched;
      now->count = 0;
      List* swapped = now;
      now = next;
      next = swapped;
    }
  }

 private:
  struct Step {
    uint16_t state;  // kRestore: the mark `mark` had this `value`
    uint16_t mark, value;
    uint16_t kind;
  };
  enum : uint16_t { kVisit, kRestore };
  struct List {
    uint16_t* states;
    uint16_t* marks;  // marks_ of them for each place in the list
    uint32_t count;
  };
  static constexpr uint64_t marks_bytes(uint32_t groups) { return 4ull * groups; }
  // Keeps copying and clearing loops from becoming calls of library functions.
  static void keep_loop() { asm volatile("" ::: "memory"); }

  void copy_marks(uint16_t* to, const uint16_t* from) {
    for (uint32_t i = 0; i < marks_; ++i) {
      to[i] = from[i];
      keep_loop();
    }
  }

  bool ends(const char* text, uint32_t at) const { return at >= limit_ || !text[at]; }

  void step(const List& now, uint32_t i, const char* text, uint32_t at, List* next, bool* matched, uint16_t* best) {
    const Instruction& instruction = code_[now.states[i]];
    const uint16_t* marks = now.marks + i * marks_;
    if (*matched && marks[0] > best[0]) return;  // begins later
    if (instruction.operation == kMatch) {
      if (!*matched || marks[0] < best[0] || at > best[1]) {
        copy_marks(best, marks);
        *matched = true;
      }
      return;
    }
    if (ends(text, at)) return;
    uint8_t byte = static_cast<uint8_t>(text[at]);
    if (!(sets_[32u * instruction.x + byte / 8] >> (byte & 7) & 1)) return;
    copy_marks(working_, marks);
    add(next, now.states[i] + 1u, at + 1, ends(text, at + 1));
  }

  // Follows everything that takes no byte, those with precedence first.
  void add(List* list, uint32_t state, uint32_t at, bool at_end) {
    uint32_t depth = 0;
    auto visit = [&](uint32_t s) { steps_[depth++] = {static_cast<uint16_t>(s), 0, 0, kVisit}; };
    visit(state);
    while (depth > 0) {
      Step top = steps_[--depth];
      if (top.kind == kRestore) {
        working_[top.mark] = top.value;
        continue;
      }
      if (seen_[top.state] == generation_) continue;
      seen_[top.state] = generation_;
      const Instruction& instruction = code_[top.state];
      switch (instruction.operation) {
        case kJump: visit(instruction.x); break;
        case kSplit:
          visit(instruction.y);
          visit(instruction.x);
          break;
        case kSave:
          steps_[depth++] = {0, instruction.x, working_[instruction.x], kRestore};
          working_[instruction.x] = static_cast<uint16_t>(at);
          visit(top.state + 1u);
          break;
        case kBegin:
          if (at == 0) visit(top.state + 1u);
          break;
        case kEnd:
          if (at_end) visit(top.state + 1u);
          break;
        default:
          list->states[list->count] = top.state;
          copy_marks(list->marks + list->count * marks_, working_);
          ++list->count;
      }
    }
  }

  const Instruction* code_;
  const uint8_t* sets_;
  uint32_t marks_;
  uint32_t limit_;
  uint32_t* seen_;
  uint32_t generation_ = 0;
  List lists_[2];
  Step* steps_;
  uint16_t* working_;
};

}  // namespace spile::regex
