// =~ and what is remembered of the last match, for matched() and ngroups(). The matching itself: regex/match.h.

#include "regex/match.h"
#include "runtime/core/core.h"

namespace spile::rt {

// What a handler remembers. The lowering makes room for it in the handler's frame (abi::kMatchHead, and a string).
struct MatchMemory {
  uint32_t groups;  // with the whole match; 0: the last =~ failed, or none has run
  uint32_t pad;
  uint16_t marks[2 * (regex::kMaxGroups + 1)];
  char text[8];  // spile_rt_string_size bytes
};
static_assert(offsetof(MatchMemory, text) == abi::kMatchHead);

namespace {

// Released here: it is on top.
[[gnu::noinline]] int32_t search_groups(Context* context, const regex::Program* program, const char* text, uint16_t* marks) {
  uint64_t mark = spile_rt_frame_mark(context);
  void* memory = spile_rt_frame(context, static_cast<uint32_t>(regex::Matcher::memory_bytes(program->count, program->groups)));
  if (!memory) return -1;
  bool matched = regex::Matcher(program, memory, spile_rt_string_size - 1).search(text, marks);
  spile_rt_frame_release(context, mark);
  return matched;
}

}  // namespace

extern "C" {

void spile_rt_match_clear(MatchMemory* memory) { memory->groups = 0; }

bool spile_rt_regex_test(const void* table, const char* text) {
  return regex::table_matches(static_cast<const regex::Table*>(table), text, spile_rt_string_size - 1);
}

[[gnu::noinline]] int32_t spile_rt_regex_search(Context* context, const void* table, const void* code, const char* text,
                                                MatchMemory* memory) {
  const regex::Program* program = static_cast<const regex::Program*>(code);
  if (memory) memory->groups = 0;
  if (table && !spile_rt_regex_test(table, text)) return 0;
  if (table && !memory) return 1;
  uint16_t marks[2 * (regex::kMaxGroups + 1)];
  int32_t found = search_groups(context, program, text, memory ? memory->marks : marks);
  if (found > 0 && memory) {
    memory->groups = program->groups;
    spile_rt_string_copy(memory->text, text);
  }
  return found;
}

int64_t spile_rt_match_groups(const MatchMemory* memory) { return memory ? memory->groups : 0; }

// REQUIRES: 0 <= group < spile_rt_match_groups()
[[gnu::noinline]] void spile_rt_match_text(const MatchMemory* memory, int64_t group, char* out) {
  uint32_t begin = memory->marks[2 * group], end = memory->marks[2 * group + 1];
  uint32_t length = begin == regex::kNowhere || end == regex::kNowhere || end < begin ? 0 : end - begin;
  copy_bytes(out, memory->text + (length ? begin : 0), length);
  out[length] = 0;
}

}  // extern "C"

}  // namespace spile::rt
