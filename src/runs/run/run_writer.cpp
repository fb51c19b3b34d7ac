#include "runs/run/run_writer.h"

#include <algorithm>
#include <functional>

#include "base/text/json.h"
#include "runs/text/stream_file.h"

namespace spile::runs {

namespace {

constexpr size_t kFlushBytes = 1 << 20;
constexpr size_t kMostKnown = 64 << 20;  // bytes of texts that are remembered, so that they are written once
constexpr size_t kMostKnownOfStream = 8 << 20;
constexpr size_t kMostOfState = kMostPlain - (1 << 20);
constexpr size_t kMostText = 1 << 20;  // bytes; handlers make no longer ones

std::string dump(const Json& object) { return object.dump(); }

Json json_of(const std::vector<ValueType>& types) {
  Json names = Json::array();
  for (const ValueType type : types) names.push_back(type == ValueType::kString ? "string" : "long");
  return names;
}

const char* name_of(ValueType type) {
  return type == ValueType::kStats ? "stats" : type == ValueType::kString ? "string" : "long";
}

void write_buckets(ByteWriter& out, const RunStatistics::Buckets& buckets) {
  out.number(buckets.size());
  uint32_t last = 0;
  for (const auto& [bucket, count] : buckets) {
    out.number(bucket - last);
    out.number(count);
    last = bucket;
  }
}

void write_element(ByteWriter& out, const RunElement& element) {
  for (const RunKey& key : element.keys) {
    if (const auto* text = std::get_if<std::string>(&key)) out.text(*text);
    else out.signed_number(std::get<int64_t>(key));
  }
  if (const auto* number = std::get_if<int64_t>(&element.value)) return out.signed_number(*number);
  if (const auto* text = std::get_if<std::string>(&element.value)) return out.text(*text);
  const auto& statistics = std::get<RunStatistics>(element.value);
  out.number(statistics.count);
  for (const int64_t value : {statistics.sum, statistics.min, statistics.max}) out.signed_number(value);
  for (const auto* buckets : {&statistics.log, &statistics.linear, &statistics.sketch}) write_buckets(out, *buckets);
}

}  // namespace

Result<std::unique_ptr<RunWriter>> RunWriter::create(const std::string& path, const RunFacts& facts,
                                                     const std::vector<RunProbe>& probes, const std::vector<RunGlobal>& globals,
                                                     const std::vector<syntax::OutputFormat>& formats) {
  TRY(std::shared_ptr<FrameWriter> frames, FrameWriter::create(path));
  return begin(std::move(frames), facts, probes, globals, formats);
}

Result<std::unique_ptr<RunWriter>> RunWriter::begin(std::shared_ptr<FrameWriter> frames, const RunFacts& facts,
                                                    const std::vector<RunProbe>& probes, const std::vector<RunGlobal>& globals,
                                                    const std::vector<syntax::OutputFormat>& formats) {
  Json object{{"spile", facts.spile},
              {"host", facts.host},
              {"kernel", facts.kernel},
              {"machine", facts.machine},
              {"begun_ns", facts.begun_ns},
              {"every_ns", facts.every_ns},
              {"script_name", facts.script_name},
              {"script", facts.script},
              {"arguments", facts.arguments},
              {"command", facts.command},
              {"processes", facts.processes},
              {"probes", Json::array()},
              {"globals", Json::array()},
              {"formats", formats_as_json(formats)}};
  for (const RunProbe& probe : probes)
    object["probes"].push_back(
        {{"point", probe.point}, {"source", probe.source}, {"runs_in", probe.runs_in}, {"places", probe.places}});
  for (const RunGlobal& global : globals) {
    object["globals"].push_back({{"name", global.name},
                                 {"type", name_of(global.type)},
                                 {"keys", json_of(global.keys)},
                                 {"features", global.features},
                                 {"low", global.low},
                                 {"high", global.high},
                                 {"width", global.width}});
  }
  const std::string text = dump(object);
  if (text.size() > kMostPlain)
    return Error{"record the run in " + frames->path() + ": script and probes take more than 64 MiB", "use fewer probes"};
  std::unique_ptr<RunWriter> writer(new RunWriter(std::move(frames), globals));
  writer->last_time_ = facts.begun_ns;
  TRY_DO(writer->frames_->append(FrameKind::kFacts, text));
  return writer;
}

void RunWriter::append(FrameKind kind, std::string_view payload) {
  if (failure_) return;
  if (auto written = frames_->append(kind, payload); !written.ok()) failure_ = written.error();
}

uint64_t RunWriter::index_of(std::string_view text) {
  text = text.substr(0, kMostText);
  if (known_bytes_ > kMostKnown) {
    known_texts_.clear();
    known_bytes_ = 0;
  }
  const auto [known, is_new] = known_texts_.try_emplace(std::string(text), text_count_);
  if (!is_new) return known->second;
  known_bytes_ += text.size() + 64;
  new_texts_.text(text);
  ++new_text_count_;
  return text_count_++;
}

void RunWriter::add_event(const RunEvent& event, std::span<const Value> values) {
  ++events_;
  if (failure_) return;
  if (frames_->is_stream() && !make_room()) return void(++left_out_);
  new_events_.number(event.format == RunEvent::kText ? 0 : uint64_t{event.format} + 1);
  new_events_.number(event.probe == RunEvent::kNoProbe ? 0 : uint64_t{event.probe} + 1);
  new_events_.number(event.cpu);
  new_events_.signed_number(static_cast<int64_t>(static_cast<uint64_t>(event.time_ns) - static_cast<uint64_t>(last_time_)));
  last_time_ = event.time_ns;
  for (const Value& value : values) {
    if (const auto* text = std::get_if<std::string_view>(&value)) new_events_.number(index_of(*text));
    else new_events_.signed_number(std::get<int64_t>(value));
  }
  add_owner(new_processes_, event.process);
  add_owner(new_threads_, event.thread);
  ++new_event_count_;
  if (new_events_.size() > kFlushBytes || new_texts_.size() > kFlushBytes) flush();
}

// Readers of a stream keep no text for longer than events need it. Returns whether the reader of the stream keeps up.
bool RunWriter::make_room() {
  if (frames_->is_congested()) return false;
  if (known_bytes_ <= kMostKnownOfStream) return true;
  flush();
  append(FrameKind::kTextsAnew, {});
  known_texts_.clear();
  known_bytes_ = text_count_ = 0;
  return true;
}

void RunWriter::send() {
  flush();
  if (failure_) return;
  if (auto sent = frames_->send(); !sent.ok()) failure_ = sent.error();
}

void RunWriter::add_owner(Owners& owners, uint32_t owner) {
  if (owners.empty() || owners.back().second != owner) owners.emplace_back(0, owner);
  ++owners.back().first;
}

void RunWriter::append_owners(FrameKind kind, Owners& owners) {
  if (std::ranges::any_of(owners, [](const auto& some) { return some.second != 0; })) {
    ByteWriter out;
    out.number(owners.size());
    for (const auto& [count, owner] : owners) {
      out.number(count);
      out.number(owner);
    }
    append(kind, out.take());
  }
  owners.clear();
}

// Texts come before the events that have them.
void RunWriter::flush() {
  append_owners(FrameKind::kProcesses, new_processes_);
  append_owners(FrameKind::kThreads, new_threads_);
  for (auto [kind, bytes, count] : {std::tuple{FrameKind::kTexts, &new_texts_, &new_text_count_},
                                    std::tuple{FrameKind::kEvents, &new_events_, &new_event_count_}}) {
    if (*count == 0) continue;
    ByteWriter head;
    head.number(*count);
    append(kind, head.take() + bytes->take());
    *count = 0;
  }
}

void RunWriter::set_global(size_t index, const RunGlobalState& state) {
  ByteWriter elements;
  uint64_t count = 0;
  for (const RunElement& element : state.elements) {
    if (elements.size() > kMostOfState) break;
    write_element(elements, element);
    ++count;
  }
  ByteWriter head;
  head.number(index);
  head.number(state.is_known ? 1 : 0);
  head.number(state.left_out + state.elements.size() - count);
  head.number(count);
  const std::string payload = head.take() + elements.take();
  const size_t hash = std::hash<std::string>()(payload) | 1;
  if (std::exchange(last_states_[index], hash) != hash) append(FrameKind::kGlobal, payload);
}

void RunWriter::add_tick(const RunTick& tick) {
  flush();
  ByteWriter out;
  out.signed_number(tick.time_ns);
  for (const uint64_t number : {tick.skipped, tick.lost_records + left_out_, tick.lost_elements}) out.number(number);
  out.number(tick.hits.size());
  for (const std::optional<uint64_t>& hits : tick.hits) {
    out.number(hits ? 1 : 0);
    out.number(hits.value_or(0));
  }
  append(FrameKind::kTick, out.take());
}

void RunWriter::add_modules(const std::vector<RunModule>& modules) {
  ByteWriter out;
  out.number(modules.size());
  for (const RunModule& module : modules) {
    out.text(module.path);
    out.text(module.build_id);
  }
  append(FrameKind::kModules, out.take());
}

void RunWriter::set_armed(const std::map<std::string, uint64_t>& armed, int64_t paused_ns) {
  ByteWriter out;
  out.signed_number(paused_ns);
  out.number(armed.size());
  for (const auto& [mechanism, places] : armed) {
    out.text(mechanism);
    out.number(places);
  }
  append(FrameKind::kArmed, out.take());
}

void RunWriter::finish(int64_t ended_ns, const std::vector<std::string>& warnings) {
  flush();
  ByteWriter out;
  out.signed_number(ended_ns);
  out.number(warnings.size());
  for (const std::string& warning : warnings) out.text(warning);
  append(FrameKind::kEnd, out.take());
  if (failure_) return;
  if (auto synced = frames_->sync(); !synced.ok()) failure_ = synced.error();
}

}  // namespace spile::runs
