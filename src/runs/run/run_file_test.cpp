// Runs on their way into a file and back; files that end early, are damaged, or were made to harm.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "abi/aggregate.h"
#include "base/files/bytes.h"
#include "runs/run/run_events.h"
#include "runs/run/run_frames.h"
#include "runs/run/run_reader.h"
#include "runs/run/run_writer.h"

namespace spile::runs {
namespace {

using syntax::FormatPart;

struct TemporaryFile {
  std::string path = "/tmp/spile-run-test-XXXXXX";
  TemporaryFile() { ::close(::mkstemp(path.data())); }
  ~TemporaryFile() { ::unlink(path.c_str()); }
  void write(const std::string& bytes) const { std::ofstream(path, std::ios::binary) << bytes; }
  std::string read() const {
    std::stringstream bytes;
    bytes << std::ifstream(path, std::ios::binary).rdbuf();
    return bytes.str();
  }
};

FormatPart literal(const std::string& text) {
  FormatPart part;
  part.literal = text;
  return part;
}
FormatPart conversion(FormatPart::Kind kind) {
  FormatPart part;
  part.kind = kind;
  return part;
}

RunStatistics statistics_of(const std::vector<int64_t>& values) {
  RunStatistics made;
  std::map<uint32_t, uint64_t> sketch, log;
  for (const int64_t value : values) {
    made.min = made.count ? std::min(made.min, value) : value;
    made.max = made.count ? std::max(made.max, value) : value;
    ++made.count;
    made.sum += value;
    ++sketch[abi::sketch_bucket(value)];
  }
  made.sketch.assign(sketch.begin(), sketch.end());
  return made;
}

std::vector<RunGlobal> some_globals() {
  return {{"c", ValueType::kLong, {}, 0, 0, 0, 0},
          {"a", ValueType::kLong, {ValueType::kString, ValueType::kLong}, 0, 0, 0, 0},
          {"t", ValueType::kStats, {}, abi::kAggregateSketch, 0, 0, 0}};
}

// A run with two events and two ticks; of `value` depend its global c and its statistics.
void write_run(const std::string& path, int64_t value, const std::string& host = "one", bool ends = true) {
  RunFacts facts;
  facts.host = host;
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) facts.script += static_cast<char>(' ' + random() % 90);  // takes more than a block
  facts.begun_ns = 1'000'000'000;
  const std::vector<syntax::OutputFormat> formats{syntax::printf_format(
      {literal("x="), conversion(FormatPart::Kind::kSigned), literal(" "), conversion(FormatPart::Kind::kString), literal("\n")},
      {ValueType::kLong, ValueType::kString})};
  auto writer =
      RunWriter::create(path, facts, {{"begin", "a.stp:1:1", "spile", 1}, {"process.function", "a.stp:2:1", "process", 2}},
                        some_globals(), formats);
  ASSERT_TRUE(writer.ok());
  const std::string name = "name\xff";
  (*writer)->add_event({1'000'000'500, 0, 0, 1, 3}, std::vector<RunWriter::Value>{int64_t{-7}, std::string_view(name)});
  (*writer)->set_global(0, {{{{}, value}}, 0, true});
  (*writer)->set_global(1, {{{{std::string("k"), int64_t{5}}, value}}, 2, true});
  (*writer)->set_global(2, {{{{}, statistics_of({value, 2 * value, 3 * value})}}, 0, true});
  RunTick tick;
  tick.time_ns = 2'000'000'000;
  tick.hits = {1, std::nullopt};
  (*writer)->add_tick(tick);
  (*writer)->add_event({2'000'000'500, 0, RunEvent::kText, RunEvent::kNoProbe, 0},
                       std::vector<RunWriter::Value>{std::string_view(name)});
  tick.time_ns = 3'000'000'000;
  tick.hits = {1, 9};
  (*writer)->add_tick(tick);
  (*writer)->add_modules({{"/bin/x", "abcd"}});
  (*writer)->set_armed({{"int3", 1}, {"jump", 7}}, 1500);
  if (ends) (*writer)->finish(4'000'000'000, {"3 records lost"});
  EXPECT_EQ((*writer)->failure(), nullptr);
}

TEST(RunFile, KeepsWhatWasAdded) {
  TemporaryFile file;
  write_run(file.path, 100);
  const Result<RunDocument> run = read_run(file.path);
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_EQ(run->facts.host, "one");
  EXPECT_EQ(run->probes[1].places, 2u);
  ASSERT_EQ(run->events.size(), 2u);
  std::string text;
  append_event_text(text, *run, run->events[0]);
  EXPECT_EQ(text, "x=-7 name\xff\n");
  EXPECT_EQ(run->events[0].cpu, 3);
  EXPECT_EQ(run->texts.size(), 1u) << "equal texts are one";
  ASSERT_EQ(run->ticks.size(), 2u);
  EXPECT_EQ(run->ticks[0].hits, (std::vector<std::optional<uint64_t>>{1, std::nullopt}));
  EXPECT_EQ(run->ticks[1].hits[1], 9u);
  EXPECT_EQ(run->ticks[0].globals[0], run->ticks[1].globals[0]) << "states that did not change are shared";
  EXPECT_EQ(std::get<int64_t>(run->ticks[1].globals[1]->elements[0].value), 100);
  EXPECT_EQ(run->ticks[1].globals[1]->left_out, 2u);
  EXPECT_EQ(std::get<RunStatistics>(run->ticks[1].globals[2]->elements[0].value).sum, 600);
  EXPECT_EQ(run->modules[0].build_id, "abcd");
  EXPECT_EQ(run->armed, (std::map<std::string, uint64_t>{{"int3", 1}, {"jump", 7}}));
  EXPECT_EQ(run->paused_ns, 1500);
  EXPECT_EQ(run->ended_ns, 4'000'000'000);
  EXPECT_EQ(run->warnings, std::vector<std::string>{"3 records lost"});
}

TEST(RunFile, IsReadableUpToItsLastWholeFrame) {
  TemporaryFile file;
  write_run(file.path, 100);
  const std::string whole = file.read();
  size_t with_events = 0;
  for (size_t size = 0; size < whole.size();
       size += size < 64 || whole.size() - size < 300 || size % 512 == 511 ? 1 : std::min<size_t>(13, 511 - size % 512)) {
    file.write(whole.substr(0, size));
    const Result<RunDocument> run = read_run(file.path);
    if (!run.ok()) {
      EXPECT_EQ(with_events, 0u) << "of " << size << " bytes: " << run.error().message;
      continue;
    }
    EXPECT_FALSE(run->ended_ns) << size;
    EXPECT_GE(run->events.size() + run->ticks.size(), with_events);
    with_events = run->events.size() + run->ticks.size();
    if (size % 512 != 0) continue;
    // What a file system leaves of it after a crash of the machine.
    file.write(whole.substr(0, size) + std::string(whole.size() - size, '\0'));
    const Result<RunDocument> zeros = read_run(file.path);
    ASSERT_TRUE(zeros.ok()) << zeros.error().message;
    EXPECT_EQ(zeros->events.size() + zeros->ticks.size(), with_events) << size;
  }
  EXPECT_EQ(with_events, 4u);
}

TEST(RunFile, RejectsDamage) {
  TemporaryFile file;
  write_run(file.path, 100);
  const std::string whole = file.read();
  size_t accepted = 0;
  for (size_t at = 0; at < whole.size(); at += at < 80 || whole.size() - at < 300 ? 1 : 11) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1 << at % 8);
    file.write(damaged);
    const Result<RunDocument> run = read_run(file.path);
    if (run.ok()) ++accepted;
  }
  EXPECT_LE(accepted, 4u) << "only the four bytes of the head that mean nothing may differ";
}

// A frame with right checksums, so that only its meaning is wrong.
std::string frame(uint32_t kind, uint64_t number, const std::string& payload) {
  std::string packed(ZSTD_compressBound(payload.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), payload.data(), payload.size(), 1));
  std::string head = "FRAM";
  const auto put = [&](auto word) { head.append(reinterpret_cast<const char*>(&word), sizeof word); };
  put(kind);
  put(static_cast<uint32_t>(packed.size()));
  put(static_cast<uint32_t>(payload.size()));
  put(number);
  put(static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(packed.data()), packed.size())));
  put(static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(head.data()), head.size())));
  return head + packed;
}

// Counts the frames of a file's bytes.
uint64_t frames_of(const std::string& whole) {
  uint32_t stored = 0;
  uint64_t frames = 0;
  for (size_t at = 16; at < whole.size(); at += 32 + stored) std::memcpy(&stored, whole.data() + at + 8, 4), ++frames;
  return frames;
}

TEST(RunFile, SurvivesHostilePayloads) {
  TemporaryFile file;
  write_run(file.path, 100, "one", false);
  const std::string whole = file.read();
  const uint64_t frames = frames_of(whole);
  const std::string huge = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";  // 2^64 - 1
  std::mt19937 random(7);
  size_t rejected = 0, tried = 0;
  for (uint32_t kind = 0; kind < 10; ++kind) {
    std::vector<std::string> payloads{
        "", huge, huge + huge, std::string("\x01", 1) + huge, std::string(1000, '\xff'), std::string("\0\1", 2) + huge + huge};
    for (int i = 0; i < 60; ++i) {
      std::string bytes(random() % 60, '\0');
      for (char& c : bytes) c = static_cast<char>(random() % 4 ? random() % 12 : random());
      payloads.push_back(std::move(bytes));
    }
    for (const std::string& payload : payloads) {
      file.write(whole + frame(kind, frames, payload));
      const Result<RunDocument> run = read_run(file.path);
      ++tried;
      if (!run.ok()) ++rejected;
      else EXPECT_LT(run->events.size(), 100u);
    }
  }
  EXPECT_GT(rejected, tried / 3);
  // A frame that says it has 4 GiB, and one of which a gigabyte of zeros comes out.
  std::string bomb = frame(2, frames, std::string(1000, '\0'));
  const uint32_t large = ~uint32_t{0};
  std::memcpy(bomb.data() + 12, &large, 4);
  const uint32_t crc = static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bomb.data()), 28));
  std::memcpy(bomb.data() + 28, &crc, 4);
  file.write(whole + bomb);
  const Result<RunDocument> run = read_run(file.path);
  ASSERT_FALSE(run.ok());
  EXPECT_NE(run.error().message.find("a frame is too large"), std::string::npos) << run.error().message;
}

TEST(RunFile, BoundsTimesSoThatTheirDifferencesAreNumbers) {
  TemporaryFile file;
  write_run(file.path, 100, "one", false);
  const std::string whole = file.read();
  const uint64_t frames = frames_of(whole);
  for (const int64_t time : {INT64_MIN, int64_t{-1}, INT64_MAX}) {
    ByteWriter end;
    end.signed_number(time);
    end.number(0);
    file.write(whole + frame(static_cast<uint32_t>(FrameKind::kEnd), frames, end.take()));
    const Result<RunDocument> run = read_run(file.path);
    ASSERT_TRUE(run.ok()) << run.error().message;
    EXPECT_EQ(run->ended_ns, time < 0 ? 0 : int64_t{1} << 62);
  }
}

TEST(RunFile, RejectsADeepDescription) {
  TemporaryFile file;
  write_run(file.path, 100);
  const std::string head = file.read().substr(0, 16);
  for (const std::string& json :
       {std::string(5'000'000, '['), "{\"spile\":" + std::string(5'000'000, '[') + std::string(5'000'000, ']') + "}",
        std::string("{\"begun_ns\": 1e300}")}) {
    file.write(head + frame(1, 0, json));
    EXPECT_FALSE(read_run(file.path).ok());
  }
}

TEST(RunFile, RejectsOtherFiles) {
  TemporaryFile file;
  file.write("");
  EXPECT_FALSE(read_run(file.path).ok());
  file.write("SPILESTR and so on, which is a stream of -b");
  EXPECT_NE(read_run(file.path).error().message.find("not a run of spile record"), std::string::npos);
  std::string later("SPILERUN\x02\0\0\0\0\0\0\0", 16);
  file.write(later);
  EXPECT_NE(read_run(file.path).error().message.find("a run of version 2, but this spile reads version 1"), std::string::npos);
  EXPECT_FALSE(read_run("/nowhere/at/all").ok());
}

TEST(RunModel, MergesDocumentsWithTheirPercentiles) {
  std::vector<RunDocument> runs;
  std::vector<int64_t> all;
  for (const int64_t value : {100, 7'000}) {
    TemporaryFile file;
    write_run(file.path, value);
    Result<RunDocument> run = read_run(file.path);
    ASSERT_TRUE(run.ok());
    runs.push_back(std::move(*run));
    for (int64_t i = 1; i <= 3; ++i) all.push_back(i * value);
  }
  const std::vector<MergedGlobal> merged = merge_globals(runs);
  ASSERT_EQ(merged.size(), 3u);
  EXPECT_EQ(std::get<int64_t>(merged[0].elements[0].value), 7'100);
  ASSERT_EQ(merged[1].elements.size(), 1u) << "equal keys are one element";
  EXPECT_EQ(std::get<int64_t>(merged[1].elements[0].value), 7'100);
  EXPECT_EQ(merged[1].left_out, 4u);
  const auto& statistics = std::get<RunStatistics>(merged[2].elements[0].value);
  const RunStatistics at_once = statistics_of(all);
  EXPECT_EQ(statistics.count, 6u);
  EXPECT_EQ(statistics.max, 21'000);
  for (const double percent : {1.0, 50.0, 66.0, 90.0, 99.9})
    EXPECT_EQ(percentile(statistics, percent), percentile(at_once, percent)) << percent;
  EXPECT_NEAR(static_cast<double>(*percentile(statistics, 50)), 300, 300.0 / 128);
}

TEST(RunModel, TakesDifferencesOfMoments) {
  const RunStatistics early = statistics_of({1, 2}), late = statistics_of({1, 2, 2, 900});
  const RunStatistics between = difference(early, late);
  EXPECT_EQ(between.count, 2u);
  EXPECT_EQ(between.sum, 902);
  EXPECT_EQ(between.sketch, (RunStatistics::Buckets{{abi::sketch_bucket(2), 1}, {abi::sketch_bucket(900), 1}}));
  EXPECT_EQ(difference(late, early).count, 2u) << "the script has cleared it";
}

}  // namespace
}  // namespace spile::runs
