#include "session/output/live_run.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cstring>

#include "abi/aggregate.h"
#include "base/clock.h"
#include "codegen/module/layout.h"
#include "session/arena/skips.h"
#include "session/serve/session_status.h"

namespace spile::session {

namespace {

// Names that the session itself has given to globals hold nothing that the script's author knows.
bool is_of_script(const syntax::Global& global) {
  return !global.is_made && !global.from_library && !global.name.starts_with("__");
}

// ---- values, as abi/aggregate.h and the runtime's packed keys lay them out

uint64_t word_at(const char* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

// place: returns where the count of a bucket is.
runs::RunStatistics::Buckets buckets_at(const char* bytes, uint32_t first, uint32_t last, uint32_t (*place)(uint32_t)) {
  runs::RunStatistics::Buckets buckets;
  for (uint32_t i = first; i < last; ++i) {
    if (const uint64_t count = word_at(bytes + 8 * size_t{place(i)})) buckets.emplace_back(i, count);
  }
  return buckets;
}
runs::RunStatistics::Buckets buckets_at(const char* bytes, uint32_t count) {
  return buckets_at(bytes, 0, count, [](uint32_t bucket) { return bucket; });
}

runs::RunStatistics statistics_at(const char* bytes, const runs::RunGlobal& global, uint32_t size) {
  abi::Aggregate aggregate;
  std::memcpy(&aggregate, bytes, sizeof aggregate);
  runs::RunStatistics statistics;
  if (aggregate.count == 0) return statistics;
  statistics.count = aggregate.count;
  statistics.sum = aggregate.sum;
  statistics.min = aggregate.min;
  statistics.max = aggregate.max;
  const char* buckets = bytes + sizeof aggregate;
  if (global.features & abi::kAggregateLinear)
    statistics.linear = buckets_at(buckets, abi::linear_buckets(global.low, global.high, global.width) + 2);
  else if (global.features & abi::kAggregateLog) statistics.log = buckets_at(buckets, abi::kLogBuckets);
  // Buckets outside of those of min and max are 0; both may be forged.
  if (global.features & abi::kAggregateSketch) {
    const uint32_t first = abi::sketch_bucket(aggregate.min), last = abi::sketch_bucket(aggregate.max);
    statistics.sketch = buckets_at(bytes + size - abi::kSketchBytes, first, std::max(first, last + 1), abi::sketch_place);
  }
  return statistics;
}

std::string string_at(const char* bytes, size_t most) { return {bytes, ::strnlen(bytes, most)}; }

// string_size: bytes of a string at most, with its NUL.
std::vector<runs::RunKey> keys_of(const runs::RunGlobal& global, std::span<const char> packed, size_t string_size) {
  std::vector<runs::RunKey> keys;
  size_t at = 0, most = 0;
  for (const ValueType type : global.keys) most += type == ValueType::kString ? (string_size + 7) / 8 * 8 : 8;
  packed = packed.first(std::min(packed.size(), most));  // a process may have overwritten the end of a string
  for (const ValueType type : global.keys) {
    const size_t left = packed.size() - std::min(at, packed.size());
    if (type == ValueType::kString) {
      std::string text = string_at(packed.data() + at, left);
      at += text.size() / 8 * 8 + 8;  // with its NUL
      keys.emplace_back(std::move(text));
    } else {
      keys.emplace_back(left >= 8 ? static_cast<int64_t>(word_at(packed.data() + at)) : 0);
      at += 8;
    }
  }
  return keys;
}

}  // namespace

LiveRun::LiveRun(const sema::Program& program, const codegen::CompiledScript& script, ArenaView& arena,
                 const TargetOptions& target, const RecordOptions& options)
    : program_(program), script_(script), arena_(arena) {
  set_facts(target, options);
  for (const sema::Probe& probe : program.probes) {
    probes_.push_back({point_text(probe), probe.range.file ? probe.range.to_string() : "", place_of(probe), probe.points.size()});
  }
  for (size_t i = 0; i < program.globals.size(); ++i) {
    const syntax::Global& global = *program.globals[i];
    if (!is_of_script(global) || program.sharing[i] == sema::Sharing::kUnused || global.type == ValueType::kUnknown) continue;
    runs::RunGlobal made{global.name, global.type, global.key_types, 0, 0, 0, 0};
    uint32_t size = 0;
    if (global.type == ValueType::kStats) {
      const abi::AggregateShape shape = codegen::measure_global(program, global, script.string_limit).aggregate;
      made.features = shape.features;
      if (shape.features & abi::kAggregateLinear) made.low = shape.low, made.high = shape.high, made.width = shape.width;
      size = shape.size;
    }
    globals_.push_back(std::move(made));
    indexes_.push_back(i);
    sizes_.push_back(size);
  }
}

void LiveRun::set_facts(const TargetOptions& target, const RecordOptions& options) {
  facts_.spile = SPILE_VERSION;
  utsname names{};
  ::uname(&names);
  facts_.host = names.nodename;
  facts_.kernel = names.release;
  facts_.machine = names.machine;
  if (!program_.scripts.empty() && program_.scripts.front().file) {
    const SourceFile& file = *program_.scripts.front().file;
    facts_.script_name = file.verb().empty() ? file.name() : std::string(file.verb());
    facts_.script = std::string(file.text());
  }
  facts_.arguments = options.arguments;
  facts_.command = target.processes.empty() ? target.command : target.workload;
  facts_.processes.assign(target.processes.begin(), target.processes.end());
  facts_.begun_ns = realtime_offset_ns() + monotonic_ns();
  facts_.every_ns = options.every_ns;
}

runs::RunGlobalState LiveRun::state_of(size_t index, Controller& controller) const {
  const runs::RunGlobal& global = globals_[index];
  runs::RunGlobalState state;
  state.is_known =
      controller.for_each_element(static_cast<int>(indexes_[index]), [&](std::span<const char> key, const void* value) {
        if (state.elements.size() >= runs::RunDocument::kMostElements) return void(++state.left_out);
        const char* bytes = static_cast<const char*>(value);
        runs::RunElement element{keys_of(global, key, script_.string_limit), static_cast<int64_t>(0)};
        if (global.type == ValueType::kStats) element.value = statistics_at(bytes, global, sizes_[index]);
        else if (global.type == ValueType::kString) element.value = string_at(bytes, script_.string_limit);
        else element.value = static_cast<int64_t>(word_at(bytes));
        state.elements.push_back(std::move(element));
      });
  return state;
}

runs::RunTick LiveRun::tick(Controller& controller, std::span<const uint64_t> runs) const {
  runs::RunTick tick;
  tick.time_ns = realtime_offset_ns() + monotonic_ns();
  for (size_t i = 0; i < globals_.size(); ++i)
    tick.globals.push_back(std::make_shared<const runs::RunGlobalState>(state_of(i, controller)));
  const Skips skips = count_skips(arena_);
  tick.skipped = skips.skipped_probes();
  tick.lost_records = skips.lost_records();
  tick.lost_elements = skips.by_reason[abi::kSkipMapFull] + controller.lost_updates();
  for (const sema::Probe& probe : program_.probes) tick.hits.push_back(hits_of(probe, script_, arena_, runs));
  return tick;
}

}  // namespace spile::session
