// run_fuzz SECONDS [SEED]: changes documents of `spile record` at random, with checksums that are right, reads them and makes
// every form of them. Status 0: nothing has crashed.
//
// A document is taken apart into its frames; payloads are changed, cut, doubled, exchanged and made longer, and numbers in them
// become ones that programs get wrong.

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "abi/aggregate.h"
#include "runs/run/otlp_message.h"
#include "runs/run/run_events.h"
#include "runs/run/run_metrics.h"
#include "runs/run/run_page.h"
#include "runs/run/run_reader.h"
#include "runs/run/run_text.h"
#include "runs/run/run_timeline.h"
#include "runs/run/run_writer.h"
#include "runs/stacks/sample_files.h"
#include "runs/timeline/perfetto_file.h"

namespace spile::runs {
namespace {

struct Frame {
  uint32_t kind;
  std::string payload;
};

std::mt19937_64 g_random;
size_t below(size_t bound) { return bound == 0 ? 0 : g_random() % bound; }

// A document with something of everything.
void write_document(const std::string& path) {
  RunFacts facts;
  facts.script = "probe begin {}\n";
  facts.host = "host";
  facts.begun_ns = 1'700'000'000'000'000'000;
  using Kind = syntax::FormatPart::Kind;
  const auto part = [](Kind kind, const char* literal = "") {
    syntax::FormatPart made;
    made.kind = kind;
    made.literal = literal;
    return made;
  };
  std::vector<syntax::OutputFormat> formats{
      syntax::printf_format({part(Kind::kLiteral, "x "), part(Kind::kSigned), part(Kind::kString), part(Kind::kPointer),
                             part(Kind::kChar), part(Kind::kMemoryHex)},
                            {ValueType::kLong, ValueType::kString, ValueType::kLong, ValueType::kLong, ValueType::kString}),
      syntax::printf_format({part(Kind::kLiteral, "sample "), part(Kind::kSigned), part(Kind::kSigned), part(Kind::kSigned),
                             part(Kind::kString), part(Kind::kString)},
                            {ValueType::kLong, ValueType::kLong, ValueType::kLong, ValueType::kString, ValueType::kString})};
  const std::vector<RunGlobal> globals{{"n", ValueType::kLong, {}, 0, 0, 0, 0},
                                       {"s", ValueType::kString, {ValueType::kString}, 0, 0, 0, 0},
                                       {"t", ValueType::kStats, {}, abi::kAggregateSketch, 0, 0, 0},
                                       {"l", ValueType::kStats, {ValueType::kLong}, abi::kAggregateLinear, 0, 100, 10}};
  auto writer = RunWriter::create(path, facts, {{"begin", "a:1:1", "spile", 1}, {"f", "a:2:1", "process", 1}}, globals, formats);
  if (!writer.ok()) std::exit(1);
  for (int64_t i = 0; i < 3; ++i) {
    const std::string text = "text" + std::to_string(i);
    (*writer)->add_event({facts.begun_ns + i, 0, 0, 0, 0},
                         std::vector<RunWriter::Value>{i, std::string_view(text), i, int64_t{65}, std::string_view("\1\2")});
    (*writer)->add_event({facts.begun_ns + i, 0, 1, 1, 1},
                         std::vector<RunWriter::Value>{facts.begun_ns, int64_t{1}, int64_t{2}, std::string_view("name"),
                                                       std::string_view("f+0x1 [x]\ng+0x2 [y]\n")});
    (*writer)->add_event({facts.begun_ns + i, 0, RunEvent::kText, RunEvent::kNoProbe, 0},
                         std::vector<RunWriter::Value>{std::string_view(text)});
    RunStatistics statistics;
    statistics.count = 3;
    statistics.sum = 10;
    statistics.min = INT64_MIN;
    statistics.max = 5;
    statistics.sketch = {{0, 1}, {abi::kSketchZero + 5, 2}};
    RunStatistics linear = statistics;
    linear.sketch.clear();
    linear.linear = {{1, 3}};
    (*writer)->set_global(0, {{{{}, i}}, 0, true});
    (*writer)->set_global(1, {{{{std::string("key")}, text}}, 0, true});
    (*writer)->set_global(2, {{{{}, statistics}}, 0, true});
    (*writer)->set_global(3, {{{{i}, linear}}, 1, true});
    RunTick tick;
    tick.time_ns = facts.begun_ns + i * 1'000'000;
    tick.hits = {1, std::nullopt};
    (*writer)->add_tick(tick);
  }
  (*writer)->add_modules({{"/bin/x", "ab"}});
  (*writer)->set_armed({{"jump", 2}}, 10);
  (*writer)->finish(facts.begun_ns + 10'000'000, {"1 lost"});
}

std::vector<Frame> take_apart(const std::string& bytes) {
  std::vector<Frame> frames;
  for (size_t at = 16; at + 32 <= bytes.size();) {
    uint32_t head[4];
    std::memcpy(head, bytes.data() + at, sizeof head);
    Frame frame{head[1], std::string(head[3], '\0')};
    ZSTD_decompress(frame.payload.data(), frame.payload.size(), bytes.data() + at + 32, head[2]);
    frames.push_back(std::move(frame));
    at += 32 + head[2];
  }
  return frames;
}

std::string put_together(const std::string& head, const std::vector<Frame>& frames) {
  std::string bytes = head;
  uint64_t number = 0;
  for (const Frame& frame : frames) {
    std::string packed(ZSTD_compressBound(frame.payload.size()), '\0');
    packed.resize(ZSTD_compress(packed.data(), packed.size(), frame.payload.data(), frame.payload.size(), 1));
    std::string words = "FRAM";
    const auto put = [&](auto word) { words.append(reinterpret_cast<const char*>(&word), sizeof word); };
    put(frame.kind);
    put(static_cast<uint32_t>(packed.size()));
    put(static_cast<uint32_t>(frame.payload.size()));
    put(number++);
    put(static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(packed.data()), packed.size())));
    put(static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(words.data()), words.size())));
    bytes += words + packed;
  }
  return bytes;
}

// Numbers that programs get wrong, in the form of ByteWriter.
std::string odd_number() {
  static const uint64_t kOdd[] = {0,
                                  1,
                                  2,
                                  63,
                                  64,
                                  127,
                                  128,
                                  129,
                                  255,
                                  0xffff,
                                  0x7fffffff,
                                  0x80000000,
                                  0xffffffff,
                                  uint64_t{1} << 62,
                                  uint64_t{1} << 63,
                                  ~uint64_t{0},
                                  ~uint64_t{0} - 1};
  ByteWriter out;
  out.number(kOdd[below(std::size(kOdd))]);
  return out.take();
}

// Numbers in the JSON of the first frame.
std::string odd_json() {
  static const char* const kOdd[] = {"0",
                                     "-1",
                                     "1",
                                     "null",
                                     "\"\"",
                                     "[]",
                                     "{}",
                                     "9223372036854775807",
                                     "-9223372036854775808",
                                     "18446744073709551615",
                                     "1e308",
                                     "\"\\u0000\"",
                                     "true"};
  return kOdd[below(std::size(kOdd))];
}

void change(Frame& frame) {
  std::string& payload = frame.payload;
  if (frame.kind == 1) {
    // A number becomes another one, or something else.
    const size_t at = payload.find_first_of("0123456789", below(payload.size()));
    if (at == std::string::npos) return;
    const size_t end = std::min(payload.find_first_not_of("0123456789", at), payload.size());
    payload.replace(at, end - at, odd_json());
    return;
  }
  const size_t at = below(payload.size() + 1);
  switch (below(6)) {
    case 0: payload.replace(at, std::min<size_t>(1, payload.size() - at), odd_number()); break;
    case 1: payload.insert(at, odd_number()); break;
    case 2:
      if (at < payload.size()) payload[at] = static_cast<char>(g_random());
      break;
    case 3: payload.resize(at); break;
    case 4: payload.insert(at, payload.substr(below(payload.size() + 1), below(20))); break;
    default:
      if (at < payload.size()) payload[at] = static_cast<char>(payload[at] ^ 1 << below(8));
  }
}

// Makes every form of a document. Returns how large they are together.
size_t show(const RunDocument& run) {
  size_t bytes = 0;
  const TakeText count = [&](std::string_view text) { bytes += text.size(); };
  const std::vector<RunDocument> runs{run, run};
  write_run_text(runs, count);
  write_run_json(runs, count);
  write_run_csv(runs, count);
  bytes += run_page(runs).size() + run_page({run}).size() + folded_stacks(samples_of(runs)).size() +
           perfetto_trace(timeline_of(runs), {"title", "script", "host"}, {}).size();
  bytes += perfetto_samples(samples_of(runs), {}).size();
  for (const RunTick& tick : run.ticks) {
    bytes += otlp_metrics(run.facts, run.probes, run.globals, tick).size();
    bytes += metrics_text(run.facts, run.probes, run.globals, tick, true).size();
  }
  return bytes;
}

int fuzz(double seconds, uint64_t seed) {
  g_random.seed(seed);
  fmt::print(stderr, "seed {}\n", seed);  // before a crash
  std::string path = "/tmp/spile-run-fuzz-XXXXXX";
  ::close(::mkstemp(path.data()));
  write_document(path);
  std::stringstream whole;
  whole << std::ifstream(path, std::ios::binary).rdbuf();
  const std::string head = whole.str().substr(0, 16);
  const std::vector<Frame> frames = take_apart(whole.str());
  uint64_t tried = 0, read = 0;
  size_t bytes = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (; std::chrono::steady_clock::now() < end; ++tried) {
    std::vector<Frame> changed = frames;
    for (size_t n = 1 + below(4); n > 0; --n) {
      if (below(8) == 0) std::swap(changed[below(changed.size())], changed[below(changed.size())]);
      else if (below(8) == 0)
        changed.insert(changed.begin() + static_cast<ptrdiff_t>(below(changed.size())), changed[below(changed.size())]);
      else change(changed[below(changed.size())]);
    }
    std::ofstream(path, std::ios::binary) << put_together(head, changed);
    if (const Result<RunDocument> run = read_run(path); run.ok()) ++read, bytes += show(*run);
  }
  ::unlink(path.c_str());
  fmt::print("{} documents, {} of them read, {} bytes shown\n", tried, read, bytes);
  return tried > 0 && read > 0 && read < tried ? 0 : 1;
}

}  // namespace
}  // namespace spile::runs

int main(int argc, char** argv) {
  return spile::runs::fuzz(argc > 1 ? std::atof(argv[1]) : 10,
                           argc > 2 ? std::strtoull(argv[2], nullptr, 10) : std::random_device()());
}
