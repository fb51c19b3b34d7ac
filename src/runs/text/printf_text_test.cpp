#include "runs/text/printf_text.h"

#include <gtest/gtest.h>

#include <cstring>

#include "abi/aggregate.h"

namespace spile::runs {
namespace {

using Part = syntax::FormatPart;

// A payload as handlers write it (abi/record.h).
class Payload {
 public:
  Payload& number(int64_t value) { return raw(&value, sizeof value); }
  Payload& string(std::string_view text) {
    auto length = static_cast<uint32_t>(text.size());
    raw(&length, sizeof length);
    raw(text.data(), text.size());
    bytes_.resize((bytes_.size() + 7) / 8 * 8);
    return *this;
  }
  Payload& raw(const void* bytes, size_t size) {
    const char* from = static_cast<const char*>(bytes);
    bytes_.insert(bytes_.end(), from, from + size);
    return *this;
  }
  PayloadReader reader() const { return PayloadReader(bytes_.data(), bytes_.size()); }
  const char* data() const { return bytes_.data(); }
  size_t size() const { return bytes_.size(); }

 private:
  std::vector<char> bytes_;
};

Part literal(const std::string& text) {
  Part part;
  part.literal = text;
  return part;
}
Part conversion(Part::Kind kind) {
  Part part;
  part.kind = kind;
  return part;
}

std::string printed(const syntax::OutputFormat& format, const Payload& payload, const TextRules& rules = {}) {
  std::string out;
  PayloadReader arguments = payload.reader();
  append_printf(out, format, arguments, rules);
  return out;
}

TEST(PayloadReader, Gives0AndNothingWhereThePayloadEnds) {
  Payload payload;
  payload.number(7);
  PayloadReader reader = payload.reader();
  EXPECT_EQ(reader.next_long(), 7);
  EXPECT_EQ(reader.next_long(), 0);
  EXPECT_EQ(reader.next_string(), "");
}

TEST(PayloadReader, ReadsNoStringThatIsLongerThanThePayload) {
  for (uint32_t length : {5u, 100u, UINT32_MAX}) {
    SCOPED_TRACE(length);
    Payload payload;
    payload.raw(&length, sizeof length).raw("abcd", 4);
    PayloadReader reader = payload.reader();
    EXPECT_EQ(reader.next_string(), "");
    EXPECT_EQ(reader.next_long(), 0) << "what follows a damaged string has no meaning";
  }
}

TEST(PayloadReader, PassesOverTheStringsPadding) {
  Payload payload;
  payload.string("abcde").number(9);
  PayloadReader reader = payload.reader();
  EXPECT_EQ(reader.peek_string(), "abcde");
  EXPECT_EQ(reader.next_string(), "abcde");
  EXPECT_EQ(reader.next_long(), 9);
}

TEST(PrintfText, PutsArgumentsBetweenLiterals) {
  auto format = syntax::printf_format(
      {literal("<"), conversion(Part::Kind::kString), literal("="), conversion(Part::Kind::kSigned), literal(">")},
      {ValueType::kString, ValueType::kLong});
  EXPECT_EQ(printed(format, Payload().string("x").number(-3)), "<x=-3>");
}

TEST(PrintfText, BoundsTheWidthMoreWhereTheRecordMayBeForged) {
  Part wide = conversion(Part::Kind::kSigned);
  wide.width_argument = true;
  auto format = syntax::printf_format({wide}, {ValueType::kLong, ValueType::kLong});
  Payload payload;
  payload.number(INT64_MAX).number(1);
  EXPECT_EQ(printed(format, payload).size(), size_t{1} << 16);
  EXPECT_EQ(printed(format, payload, {.is_forgeable = true}).size(), size_t{1} << 10);
}

TEST(PrintfText, LetsATerminalObeyTheScriptsOwnStringsOnly) {
  auto format = syntax::printf_format({conversion(Part::Kind::kString), conversion(Part::Kind::kString)},
                                      {ValueType::kString, ValueType::kString}, {true, false});
  TerminalText terminal;
  EXPECT_EQ(printed(format, Payload().string("\033[1m").string("\033[2m"), {.terminal = &terminal}), "\033[1m\\033[2m");
}

TEST(PrintfText, BelievesAForgeableRecordsStringIfTheScriptSpellsItOut) {
  auto format = syntax::printf_format({conversion(Part::Kind::kString)}, {ValueType::kString}, {true});
  TerminalText terminal;
  std::set<std::string, std::less<>> literals = {"\033[1m"};
  TextRules rules{.is_forgeable = true, .terminal = &terminal, .literals = &literals};
  EXPECT_EQ(printed(format, Payload().string("\033[1m"), rules), "\033[1m");
  EXPECT_EQ(printed(format, Payload().string("\033[2m"), rules), "\\033[2m");
}

TEST(RecordText, IsEmptyForAnUnknownFormat) {
  auto format = syntax::printf_format({literal("x")}, {});
  abi::RecordHeader header{24, abi::kPrintf, 0, 1, 0, 0};
  std::string out;
  append_record_text(out, {&format, 1}, header, nullptr, 0);
  EXPECT_EQ(out, "");
  header.id = 0;
  append_record_text(out, {&format, 1}, header, nullptr, 0);
  EXPECT_EQ(out, "x");
}

TEST(RecordText, MakesNoHistogramOfAPayloadOfAnotherSize) {
  syntax::OutputFormat format{};
  format.kind = syntax::OutputFormat::Kind::kHistogram;
  format.low = 0, format.high = 10, format.width = 5;
  abi::RecordHeader header{24, abi::kHistogram, 0, 0, 0, 0};
  const size_t buckets = abi::linear_buckets(0, 10, 5) + 2;
  std::vector<char> payload(sizeof(abi::Aggregate) + buckets * 8);
  for (size_t size : {size_t{0}, payload.size() - 8}) {
    std::string out;
    append_record_text(out, {&format, 1}, header, payload.data(), size);
    EXPECT_EQ(out, "<damaged histogram>\n");
  }
}

TEST(ErrorText, ReplacesItsConversionsInOrder) {
  Payload payload;
  payload.number(-1).number(-1).number(255).string("where");
  PayloadReader arguments = payload.reader();
  EXPECT_EQ(error_text({"%d %u %x %s 100%% %", "", ""}, arguments), "-1 18446744073709551615 0xff where 100% %");
}

TEST(Addresses, AreReadUpToTheFirstWordThatIsNone) {
  using Addresses = std::vector<uint64_t>;
  EXPECT_EQ(addresses_in("0xffffffff81000000 0X10\n20", 10), (Addresses{0xffffffff81000000, 0x10, 0x20}));
  EXPECT_EQ(addresses_in(" 0x1  0x2", 1), Addresses{1});
  EXPECT_EQ(addresses_in("1 x 2", 10), Addresses{1});
  EXPECT_EQ(addresses_in("11111111111111111 1", 10), Addresses{});
  EXPECT_EQ(addresses_in("", 10), Addresses{});
}

}  // namespace
}  // namespace spile::runs
