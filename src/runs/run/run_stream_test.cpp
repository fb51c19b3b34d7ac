// Runs on their way over a socket: whole, to a reader that is slow, and damaged.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>

#include "runs/run/run_events.h"
#include "runs/run/run_reader.h"
#include "runs/run/run_writer.h"

namespace spile::runs {
namespace {

struct Sockets {
  UniqueFd ours, theirs;
  Sockets() {
    int pair[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    ours.reset(pair[0]);
    theirs.reset(pair[1]);
  }
  // What has come.
  std::string receive() const {
    std::string all(1 << 20, '\0');
    const ssize_t got = ::recv(ours.get(), all.data(), all.size(), MSG_DONTWAIT);
    all.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
    return all;
  }
};

std::unique_ptr<RunWriter> begin(const std::shared_ptr<FrameWriter>& frames) {
  RunFacts facts;
  facts.begun_ns = 1000;
  syntax::OutputFormat format{};
  format.kind = syntax::OutputFormat::Kind::kPrintf;
  syntax::FormatPart number;
  number.kind = syntax::FormatPart::Kind::kSigned;
  syntax::FormatPart text;
  text.kind = syntax::FormatPart::Kind::kString;
  format.parts = {number, text};
  format.arguments = {ValueType::kLong, ValueType::kString};
  return std::move(RunWriter::begin(frames, facts, {{"begin", "a.stp:1:1", "spile", 1}}, {}, {format})).value();
}

void add(RunWriter& writer, int64_t number, const std::string& text) {
  const RunWriter::Value values[] = {number, std::string_view(text)};
  writer.add_event({1000 + number, 0, 0, 0, 3, static_cast<uint32_t>(number / 3)}, values);
}

// A text that zstd can't make smaller, different for each number.
std::string text_of(int64_t number, size_t size) {
  std::mt19937_64 chance(static_cast<uint64_t>(number));
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(chance());
  return text;
}

// Reads as libspile does: each frame's events are looked at before the next frame.
struct StreamReader {
  FrameParser parser;
  RunDecoder decoder;
  std::vector<int64_t> numbers;
  std::vector<std::string> texts;
  uint64_t lost = 0;
  size_t most_texts = 0;
  bool ended = false;

  void take(std::string_view bytes) {
    parser.add(bytes);
    while (true) {
      Result<std::optional<Frame>> frame = parser.next();
      ASSERT_TRUE(frame.ok()) << frame.error().message;
      if (!*frame) return;
      ASSERT_EQ(decoder.take((*frame)->kind, (*frame)->payload), "");
      const RunDocument& document = decoder.document();
      for (const RunEvent& event : document.events) {
        numbers.push_back(document.values[event.first_value]);
        EXPECT_EQ(event.process, static_cast<uint32_t>(numbers.back() / 3));
        texts.push_back(document.texts[static_cast<size_t>(document.values[event.first_value + 1])]);
      }
      most_texts = std::max(most_texts, document.texts.size());
      if (!document.ticks.empty()) lost = document.ticks.back().lost_records;
      ended = document.ended_ns.has_value();
      decoder.forget_events();
    }
  }
};

TEST(RunStream, ArrivesInPieces) {
  Sockets sockets;
  auto frames = std::move(FrameWriter::stream(std::move(sockets.theirs))).value();
  auto writer = begin(frames);
  for (int64_t i = 0; i < 100; ++i) {
    add(*writer, i, "text " + std::to_string(i % 7));
    if (i % 10 == 0) writer->send();
  }
  writer->finish(5000, {});
  StreamReader reader;
  const std::string bytes = sockets.receive();
  for (const char c : bytes) ASSERT_NO_FATAL_FAILURE(reader.take({&c, 1}));
  ASSERT_EQ(reader.numbers.size(), 100u);
  for (size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(reader.numbers[i], static_cast<int64_t>(i));
    EXPECT_EQ(reader.texts[i], "text " + std::to_string(i % 7));
  }
  EXPECT_TRUE(reader.ended);
}

TEST(RunStream, CountsWhatASlowReaderMisses) {
  Sockets sockets;
  auto frames = std::move(FrameWriter::stream(std::move(sockets.theirs))).value();
  auto writer = begin(frames);
  constexpr int64_t kEvents = 50'000;
  for (int64_t i = 0; i < kEvents; ++i) {
    add(*writer, i, text_of(i, 1000));
    if (i % 100 == 0) writer->send();
  }
  EXPECT_GT(writer->left_out(), 0u);
  RunTick tick;
  tick.hits = {7};
  writer->add_tick(tick);
  StreamReader reader;
  for (std::string bytes; !(bytes = sockets.receive()).empty();) {
    ASSERT_NO_FATAL_FAILURE(reader.take(bytes));
    writer->send();
  }
  EXPECT_EQ(reader.numbers.size() + writer->left_out(), static_cast<size_t>(kEvents));
  EXPECT_EQ(reader.lost, writer->left_out());
  for (size_t i = 0; i < reader.numbers.size(); i += 999) EXPECT_EQ(reader.texts[i], text_of(reader.numbers[i], 1000));
  EXPECT_EQ(writer->failure(), nullptr);
}

TEST(RunStream, KeepsFewTexts) {
  Sockets sockets;
  auto frames = std::move(FrameWriter::stream(std::move(sockets.theirs))).value();
  auto writer = begin(frames);
  StreamReader reader;
  constexpr int64_t kEvents = 30'000;
  for (int64_t i = 0; i < kEvents; ++i) {
    add(*writer, i, text_of(i / 2, 1000));
    if (i % 100 != 0) continue;
    writer->send();
    ASSERT_NO_FATAL_FAILURE(reader.take(sockets.receive()));
  }
  writer->send();
  for (std::string bytes; !(bytes = sockets.receive()).empty(); writer->send()) ASSERT_NO_FATAL_FAILURE(reader.take(bytes));
  ASSERT_EQ(reader.numbers.size(), static_cast<size_t>(kEvents));
  EXPECT_LT(reader.most_texts, 10'000u);
  for (int64_t i = 0; i < kEvents; i += 777) EXPECT_EQ(reader.texts[static_cast<size_t>(i)], text_of(i / 2, 1000));
}

TEST(RunStream, ReaderThatHasEndedIsAFailure) {
  Sockets sockets;
  auto frames = std::move(FrameWriter::stream(std::move(sockets.theirs))).value();
  auto writer = begin(frames);
  sockets.ours.reset();
  add(*writer, 1, "a");
  writer->send();
  ASSERT_NE(writer->failure(), nullptr);
}

TEST(RunDecoder, RejectsDroppingTextsOfEvents) {
  Sockets sockets;
  auto frames = std::move(FrameWriter::stream(std::move(sockets.theirs))).value();
  auto writer = begin(frames);
  add(*writer, 1, "a");
  writer->send();
  FrameParser parser;
  parser.add(sockets.receive());
  RunDecoder decoder;
  for (int i = 0; i < 3; ++i) {  // facts, texts, events
    Frame frame = **parser.next();
    ASSERT_EQ(decoder.take(frame.kind, frame.payload), "");
  }
  EXPECT_NE(decoder.take(static_cast<uint32_t>(FrameKind::kTextsAnew), ""), "");
  decoder.forget_events();
  EXPECT_EQ(decoder.take(static_cast<uint32_t>(FrameKind::kTextsAnew), ""), "");
}

TEST(FrameParser, RejectsWhatIsDamaged) {
  Sockets sockets;
  auto frames = std::move(FrameWriter::stream(std::move(sockets.theirs))).value();
  auto writer = begin(frames);
  const std::string whole = sockets.receive();
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    FrameParser parser;
    parser.add(damaged);
    EXPECT_FALSE(parser.next().ok()) << i;
  }
}

}  // namespace
}  // namespace spile::runs
