#include "runs/run/run_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "abi/aggregate.h"
#include "base/files/bytes.h"
#include "runs/run/run_frames.h"
#include "runs/text/stream_file.h"

namespace spile::runs {

namespace {

using Json = nlohmann::json;

constexpr uint64_t kMostTextBytes = uint64_t{1} << 30;  // of all texts
constexpr int kDeepest = 16;                            // levels of the description
constexpr size_t kMostKeys = 64;                        // of an array
constexpr size_t kMostTickParts = 50'000'000;           // counts of probes and states of globals, in all ticks
// processes, or threads, of the events of a frame: writers make frames of at most some 200,000 events
constexpr size_t kMostOwners = 1'000'000;
constexpr size_t kMostModules = 1'000'000, kMostWarnings = 10'000, kMostMechanisms = 100;

ValueType type_of(const std::string& name) {
  if (name == "long") return ValueType::kLong;
  if (name == "string") return ValueType::kString;
  return name == "stats" ? ValueType::kStats : ValueType::kUnknown;
}

// Returns a time, or a duration, of a document that anybody may have written, or of a record that a traced process has forged: ns
// from 0 to 2^62 (the year 2116), so that the difference of any two of them is a number, too.
int64_t bounded_time(int64_t ns) { return std::clamp<int64_t>(ns, 0, int64_t{1} << 62); }

}  // namespace

class RunDecoder::Reader {
 public:
  std::string take(uint32_t kind, const std::string& payload);
  std::string finish();
  void forget_events();
  RunDocument& document() { return document_; }

 private:
  // Each returns what is wrong with the payload; "": nothing.
  std::string take_facts(const std::string& payload);
  std::string take_texts(ByteReader in);
  std::string take_events(ByteReader in);
  std::string take_event(ByteReader& in);
  // Of the events to come: so many, one after another, have this process, or thread.
  struct Owners {
    std::vector<std::pair<uint64_t, uint32_t>> runs;
    size_t at = 0;  // the run of the next event
    uint32_t next();
  };
  std::string take_owners(Owners& owners, ByteReader in);
  std::string take_global(ByteReader in);
  std::string take_tick(ByteReader in);
  std::string take_modules(ByteReader in);
  std::string take_armed(ByteReader in);
  std::string take_end(ByteReader in);
  RunElement element(ByteReader& in, const RunGlobal& global);
  static RunStatistics::Buckets buckets(ByteReader& in, uint32_t most);

  RunDocument document_;
  bool has_facts_ = false;
  std::set<RunModule> modules_;
  Owners processes_, threads_;
  uint64_t text_bytes_ = 0, kept_elements_ = 0;
  int64_t last_time_ = 0;
  std::vector<std::shared_ptr<const RunGlobalState>> current_;  // by global
  std::vector<bool> is_counted_;                                // of these, in kept_elements_
  std::shared_ptr<const RunGlobalState> left_out_ = std::make_shared<const RunGlobalState>(RunGlobalState{{}, 0, false});
};

std::string RunDecoder::Reader::take_facts(const std::string& payload) {
  if (has_facts_) return "there are two descriptions of the script";
  try {
    // Nothing in it is deep, and no number has a fraction: neither a conversion nor a recursion meets what it can't do.
    bool is_odd = false;
    const Json object = Json::parse(payload, [&](int depth, Json::parse_event_t event, const Json& parsed) {
      is_odd |= depth > kDeepest || (event == Json::parse_event_t::value && parsed.is_number_float());
      return !is_odd;
    });
    if (is_odd) return "the description of the script has a value that none has";
    RunFacts& facts = document_.facts;
    facts.spile = object.at("spile");
    facts.host = object.at("host");
    facts.kernel = object.at("kernel");
    facts.machine = object.at("machine");
    facts.begun_ns = bounded_time(object.at("begun_ns"));
    facts.every_ns = bounded_time(object.at("every_ns"));
    facts.script_name = object.at("script_name");
    facts.script = object.at("script");
    facts.arguments = object.at("arguments").get<std::vector<std::string>>();
    facts.command = object.at("command");
    facts.processes = object.at("processes").get<std::vector<int64_t>>();
    for (const Json& probe : object.at("probes"))
      document_.probes.push_back({probe.at("point"), probe.at("source"), probe.at("runs_in"), probe.at("places")});
    for (const Json& in : object.at("globals")) {
      RunGlobal global{in.at("name"), type_of(in.at("type")), {}, in.at("features"), in.at("low"), in.at("high"), in.at("width")};
      for (const Json& key : in.at("keys")) global.keys.push_back(type_of(key));
      const bool is_wrong =
          global.type == ValueType::kUnknown || global.keys.size() > kMostKeys ||
          std::ranges::any_of(global.keys, [](ValueType type) { return type != ValueType::kLong && type != ValueType::kString; });
      if (is_wrong) return "a global has a type that no global has";
      if (global.width < 0 || global.low > global.high || (global.width == 0 && (global.features & abi::kAggregateLinear)))
        return "a histogram has no buckets";
      document_.globals.push_back(std::move(global));
    }
    Result<std::vector<syntax::OutputFormat>> formats = formats_from_json(object.at("formats").dump());
    if (!formats.ok()) return formats.error().message;
    document_.formats = std::move(*formats);
  } catch (const Json::exception& error) {
    return fmt::format("the description of the script can't be read: {}", error.what());
  }
  has_facts_ = true;
  last_time_ = document_.facts.begun_ns;
  current_.assign(document_.globals.size(), std::make_shared<const RunGlobalState>());
  is_counted_.assign(document_.globals.size(), false);
  return {};
}

std::string RunDecoder::Reader::take_texts(ByteReader in) {
  for (uint64_t n = in.number(); n > 0 && in.ok(); --n) {
    std::string text = in.text();
    text_bytes_ += text.size() + sizeof text;
    // Texts beyond the bound are empty; events beyond another are not kept at all.
    document_.texts.push_back(text_bytes_ <= kMostTextBytes ? std::move(text) : std::string());
  }
  return in.ok() ? "" : "texts end too early";
}

std::string RunDecoder::Reader::take_event(ByteReader& in) {
  RunEvent event;
  const uint64_t format = in.number_up_to(document_.formats.size());
  const uint64_t probe = in.number_up_to(document_.probes.size());
  event.cpu = static_cast<uint16_t>(in.number_up_to(0xffff));
  last_time_ = static_cast<int64_t>(static_cast<uint64_t>(last_time_) + static_cast<uint64_t>(in.signed_number()));
  event.time_ns = bounded_time(last_time_);
  event.process = processes_.next();
  event.thread = threads_.next();
  event.format = format == 0 ? RunEvent::kText : static_cast<uint32_t>(format - 1);
  event.probe = probe == 0 ? RunEvent::kNoProbe : static_cast<uint32_t>(probe - 1);
  event.first_value = document_.values.size();
  if (!in.ok()) return "an event has no such format or probe";
  static const std::vector<ValueType> kOneText{ValueType::kString};
  if (format != 0 && document_.formats[event.format].kind != syntax::OutputFormat::Kind::kPrintf)
    return "an event has a format that is not a printf";
  const std::vector<ValueType>& types = format == 0 ? kOneText : document_.formats[event.format].arguments;
  const bool keeps = document_.events.size() < kMostRunEvents && document_.values.size() + types.size() <= kMostRunValues &&
                     text_bytes_ <= kMostTextBytes;
  for (const ValueType type : types) {
    const int64_t value = type == ValueType::kString ? static_cast<int64_t>(in.number()) : in.signed_number();
    if (type == ValueType::kString && static_cast<uint64_t>(value) >= document_.texts.size())
      return "an event has a text that is not there";
    if (keeps) document_.values.push_back(value);
  }
  if (!in.ok()) return "an event ends too early";
  if (keeps) document_.events.push_back(event);
  else ++document_.events_left_out;
  return {};
}

uint32_t RunDecoder::Reader::Owners::next() {
  if (at >= runs.size()) return 0;
  const uint32_t owner = runs[at].second;
  if (--runs[at].first == 0) ++at;
  return owner;
}

std::string RunDecoder::Reader::take_owners(Owners& owners, ByteReader in) {
  owners = {};
  for (uint64_t n = in.number_up_to(kMostOwners); n > 0 && in.ok(); --n) {
    const uint64_t count = in.number();
    owners.runs.emplace_back(count, static_cast<uint32_t>(in.number_up_to(INT32_MAX)));
    if (count == 0) in.refuse();
  }
  return in.ok() ? "" : "the processes or threads of events can't be read";
}

std::string RunDecoder::Reader::take_events(ByteReader in) {
  for (uint64_t n = in.number(); n > 0; --n) {
    if (!in.ok()) return "events end too early";
    if (std::string wrong = take_event(in); !wrong.empty()) return wrong;
  }
  return in.ok() ? "" : "events end too early";
}

RunStatistics::Buckets RunDecoder::Reader::buckets(ByteReader& in, uint32_t most) {
  RunStatistics::Buckets buckets;
  uint64_t bucket = 0;
  for (uint64_t n = in.number_up_to(most); n > 0 && in.ok(); --n) {
    const uint64_t step = in.number_up_to(most);
    bucket += step;
    if (bucket >= most || (step == 0 && !buckets.empty())) in.refuse();
    else buckets.emplace_back(static_cast<uint32_t>(bucket), in.number());
  }
  return buckets;
}

RunElement RunDecoder::Reader::element(ByteReader& in, const RunGlobal& global) {
  RunElement element;
  for (const ValueType type : global.keys)
    element.keys.push_back(type == ValueType::kString ? RunKey(in.text()) : RunKey(in.signed_number()));
  if (global.type == ValueType::kLong) {
    element.value = in.signed_number();
  } else if (global.type == ValueType::kString) {
    element.value = in.text();
  } else {
    RunStatistics statistics;
    statistics.count = in.number();
    statistics.sum = in.signed_number();
    statistics.min = in.signed_number();
    statistics.max = in.signed_number();
    statistics.log = buckets(in, abi::kLogBuckets);
    statistics.linear = buckets(in, global.width > 0 ? abi::linear_buckets(global.low, global.high, global.width) + 2 : 0);
    statistics.sketch = buckets(in, abi::kSketchBuckets);
    element.value = std::move(statistics);
  }
  return element;
}

std::string RunDecoder::Reader::take_global(ByteReader in) {
  const uint64_t index = in.number();
  if (!in.ok() || index >= document_.globals.size()) return "a global is not there";
  const RunGlobal& global = document_.globals[index];
  auto state = std::make_shared<RunGlobalState>();
  state->is_known = in.number_up_to(1) == 1;
  state->left_out = in.number();
  for (uint64_t n = in.number_up_to(global.keys.empty() ? 1 : RunDocument::kMostElements); n > 0 && in.ok(); --n)
    state->elements.push_back(element(in, global));
  if (!in.ok()) return fmt::format("the state of global {} can't be read", global.name);
  current_[index] = std::move(state);
  is_counted_[index] = false;
  return {};
}

std::string RunDecoder::Reader::take_tick(ByteReader in) {
  RunTick tick;
  tick.time_ns = bounded_time(in.signed_number());
  tick.skipped = in.number();
  tick.lost_records = in.number();
  tick.lost_elements = in.number();
  for (uint64_t n = in.number_up_to(document_.probes.size()); n > 0 && in.ok(); --n) {
    const bool is_counted = in.number_up_to(1) == 1;
    const uint64_t hits = in.number();
    tick.hits.push_back(is_counted ? std::optional(hits) : std::nullopt);
  }
  if (!in.ok() || tick.hits.size() != document_.probes.size()) return "a tick can't be read";
  for (size_t i = 0; i < current_.size(); ++i) {
    const bool fits = is_counted_[i] || kept_elements_ + current_[i]->elements.size() <= kMostRunElements;
    if (fits && !is_counted_[i]) {
      kept_elements_ += current_[i]->elements.size();
      is_counted_[i] = true;
    }
    if (!fits) ++document_.states_left_out;
    tick.globals.push_back(fits ? current_[i] : left_out_);
  }
  // Beyond the bound, the last tick takes the place of the one before.
  if (document_.ticks.size() * (document_.probes.size() + document_.globals.size() + 1) < kMostTickParts)
    return document_.ticks.push_back(std::move(tick)), std::string();
  document_.states_left_out += document_.globals.size();
  document_.ticks.back() = std::move(tick);
  return {};
}

std::string RunDecoder::Reader::take_modules(ByteReader in) {
  for (uint64_t n = in.number(); n > 0 && in.ok(); --n) {
    RunModule module;
    module.path = in.text();
    module.build_id = in.text();
    if (in.ok()) modules_.insert(std::move(module));
    if (modules_.size() > kMostModules) return "there are too many modules";
  }
  return in.ok() ? "" : "modules end too early";
}

std::string RunDecoder::Reader::take_armed(ByteReader in) {
  document_.armed.clear();
  document_.paused_ns = bounded_time(in.signed_number());
  for (uint64_t n = in.number_up_to(kMostMechanisms); n > 0 && in.ok(); --n) {
    const std::string mechanism = in.text();
    document_.armed[mechanism] = in.number();
  }
  return in.ok() ? "" : "how places were armed can't be read";
}

std::string RunDecoder::Reader::take_end(ByteReader in) {
  document_.ended_ns = bounded_time(in.signed_number());
  for (uint64_t n = in.number_up_to(kMostWarnings); n > 0 && in.ok(); --n) document_.warnings.push_back(in.text());
  return in.ok() ? "" : "the end can't be read";
}

std::string RunDecoder::Reader::take(uint32_t kind, const std::string& payload) {
  if (!has_facts_ && kind != static_cast<uint32_t>(FrameKind::kFacts))
    return "it does not begin with a description of the script";
  if (document_.ended_ns) return "something follows the end";
  switch (static_cast<FrameKind>(kind)) {
    case FrameKind::kFacts: return take_facts(payload);
    case FrameKind::kTexts: return take_texts(ByteReader(payload));
    case FrameKind::kEvents: return take_events(ByteReader(payload));
    case FrameKind::kGlobal: return take_global(ByteReader(payload));
    case FrameKind::kTick: return take_tick(ByteReader(payload));
    case FrameKind::kModules: return take_modules(ByteReader(payload));
    case FrameKind::kArmed: return take_armed(ByteReader(payload));
    case FrameKind::kEnd: return take_end(ByteReader(payload));
    case FrameKind::kProcesses: return take_owners(processes_, ByteReader(payload));
    case FrameKind::kThreads: return take_owners(threads_, ByteReader(payload));
    case FrameKind::kTextsAnew:
      if (!document_.events.empty()) return "texts are dropped that events have";
      document_.texts.clear();
      text_bytes_ = 0;
      return {};
    case FrameKind::kMessage:
    case FrameKind::kStarted: return {};
  }
  return {};  // of a later minor version
}

// Ticks and events of records that were forged, or read late, may be out of order.
std::string RunDecoder::Reader::finish() {
  if (!has_facts_) return "it has no description of the script";
  if (!document_.ticks.empty()) document_.ticks.back().globals = current_;
  std::ranges::stable_sort(document_.events, {}, &RunEvent::time_ns);
  document_.modules.assign(modules_.begin(), modules_.end());
  return {};
}

void RunDecoder::Reader::forget_events() {
  document_.events.clear();
  document_.values.clear();
  document_.ticks.clear();
  kept_elements_ = 0;
  is_counted_.assign(current_.size(), false);
}

RunDecoder::RunDecoder() : reader_(std::make_unique<Reader>()) {}
RunDecoder::~RunDecoder() = default;
std::string RunDecoder::take(uint32_t kind, const std::string& payload) { return reader_->take(kind, payload); }
RunDocument& RunDecoder::document() { return reader_->document(); }
std::string RunDecoder::finish() { return reader_->finish(); }
void RunDecoder::forget_events() { reader_->forget_events(); }

Result<RunDocument> read_run(const std::string& path) {
  TRY(FrameReader frames, FrameReader::open(path));
  RunDecoder decoder;
  while (true) {
    TRY(std::optional<Frame> frame, frames.next());
    if (!frame) break;
    if (const std::string wrong = decoder.take(frame->kind, frame->payload); !wrong.empty()) return frames.damaged(wrong);
  }
  if (const std::string wrong = decoder.finish(); !wrong.empty()) return frames.damaged(wrong);
  RunDocument document = std::move(decoder.document());
  document.is_cut = frames.is_cut();
  document.file = path;
  return document;
}

}  // namespace spile::runs
