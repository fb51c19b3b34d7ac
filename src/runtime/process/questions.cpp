// Questions to the controller (abi/questions.h), and what is kept of its answers.

#include "runtime/core/core.h"

namespace spile::rt {

// Stops the thread until the controller has answered. False: nobody answers.
SPILE_COLD bool ask_controller(abi::Question* question) {
  question->answered = 0;
  question->number = -1;
  if (controller_gone(arena_header())) return false;
  compiler_barrier();
  uint64_t nothing;
  (void)load_word<1>(abi::kQuestionBell + reinterpret_cast<uint64_t>(question), &nothing);
  compiler_barrier();
  return load_relaxed(&question->answered) == 1;
}

int64_t ask_number(abi::Question::What what, int64_t argument) {
  abi::Question question;
  question.what = what;
  question.argument = argument;
  return ask_controller(&question) ? question.number : -1;
}

namespace {

// A function counts itself when it begins, and changes the value a little later.
inline constexpr int64_t kChangeTime = 50'000'000;
// Changes that are not counted (another process writes the name, a program makes the call itself) are seen after this time.
inline constexpr int64_t kFreshTime = 200'000'000;

// Whether answers may be kept at this time.
bool is_quiet(abi::ProcessTable* table, int64_t now) {
  if (unlikely(load_relaxed(&table->keeps_nothing))) return false;
  const uint64_t changes = load_relaxed(&table->changes);
  if (unlikely(load_relaxed(&table->noticed_changes) != changes)) {
    store_relaxed(&table->noticed_ns, now);
    store_relaxed(&table->noticed_changes, changes);
  }
  return now - load_relaxed(&table->noticed_ns) > kChangeTime;
}

}  // namespace

// Returns the calling thread's values: kept ones, or in `room`. Null: nobody answers.
[[gnu::noinline]] const abi::ThreadValues* values_of_thread(Context* context, abi::Question* room) {
  abi::ProcessTable* table = process_table();
  const uint64_t number = load_relaxed(&context->slot->identity);
  const bool is_known = number != 0 && !context->overflow && !load_relaxed(&table->borrowers);
  const uint64_t index = (number - 1) % (abi::kThreadTableEntries + 1);
  const uint64_t tid = is_known ? load_relaxed(&table->identities[index].tid) : 0;
  const int64_t now = spile_rt_clock_ns(context);
  const bool may_keep = tid != 0 && is_quiet(table, now);
  abi::ThreadValues* kept = &table->values[index];
  const int64_t asked = load_relaxed(&kept->asked_ns);
  const bool is_fresh = static_cast<uint64_t>(now - asked) < kFreshTime && asked > load_relaxed(&table->noticed_ns);
  if (likely(may_keep && is_fresh && load_relaxed(&kept->tid) == static_cast<int32_t>(tid))) return kept;
  room->what = abi::Question::kThread;
  if (!ask_controller(room)) return nullptr;
  if (!may_keep || room->values.tid != static_cast<int32_t>(tid)) return &room->values;
  copy_bytes(reinterpret_cast<char*>(kept), reinterpret_cast<const char*>(&room->values), sizeof *kept);
  store_relaxed(&kept->asked_ns, now);
  return kept;
}

}  // namespace spile::rt
