#include "runs/text/stream_file.h"

#include <gtest/gtest.h>

namespace spile::runs {
namespace {

using Part = syntax::FormatPart;

TEST(StreamFormats, ComeBackAsTheyWere) {
  Part bytes;
  bytes.literal = std::string("\0\x7f\x80\xff\xc3\xa9 \"\\", 9);
  Part number;
  number.kind = Part::Kind::kHex;
  number.left = number.zero = number.plus = number.space = number.alternate = true;
  number.width = 12;
  number.precision_argument = true;
  Part text;
  text.kind = Part::Kind::kString;
  text.width_argument = true;
  text.precision = 3;
  syntax::OutputFormat printf =
      syntax::printf_format({bytes, number, text}, {ValueType::kLong, ValueType::kLong, ValueType::kLong, ValueType::kString});
  syntax::OutputFormat histogram{};
  histogram.kind = syntax::OutputFormat::Kind::kHistogram;
  histogram.low = -5, histogram.high = 95, histogram.width = 10, histogram.elision = 4;

  auto read = formats_from_json(formats_as_json(std::vector{printf, histogram}).dump());
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read->size(), 2u);
  const syntax::OutputFormat& format = (*read)[0];
  EXPECT_EQ(format.kind, syntax::OutputFormat::Kind::kPrintf);
  EXPECT_EQ(format.arguments, printf.arguments);
  ASSERT_EQ(format.parts.size(), 3u);
  EXPECT_EQ(format.parts[0].literal, bytes.literal);
  EXPECT_EQ(format.parts[1].kind, Part::Kind::kHex);
  EXPECT_TRUE(format.parts[1].left && format.parts[1].zero && format.parts[1].plus && format.parts[1].space &&
              format.parts[1].alternate);
  EXPECT_EQ(format.parts[1].width, 12);
  EXPECT_TRUE(format.parts[1].precision_argument);
  EXPECT_TRUE(format.parts[2].width_argument);
  EXPECT_EQ(format.parts[2].precision, 3);
  EXPECT_EQ((*read)[1].low, -5);
  EXPECT_EQ((*read)[1].high, 95);
  EXPECT_EQ((*read)[1].width, 10);
  EXPECT_EQ((*read)[1].elision, 4);
}

TEST(StreamFormats, OfAForeignFileHaveNoMoreColumnsThanAScripts) {
  auto read =
      formats_from_json(R"([{"printf":[{"conversion":"d","width":2000000000,"precision":-2000000000}],"arguments":["long"]}])");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ((*read)[0].parts[0].width, 1 << 16);
  EXPECT_EQ((*read)[0].parts[0].precision, -(1 << 16));
}

TEST(StreamFormats, RefusesATableThatIsDamaged) {
  for (const char* text :
       {"", "[", "[{}]", "[1]", R"([{"printf":[]}])", R"([{"printf":[{}],"arguments":[]}])", R"([{"histogram":"log"}])",
        R"([{"histogram":"linear","low":0,"high":10,"width":0}])", R"([{"histogram":"linear","low":10,"high":0,"width":1}])",
        R"([{"printf":[{"conversion":"d","width":[]}],"arguments":[]}])"}) {
    auto read = formats_from_json(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_TRUE(read.error().message.starts_with("its table of formats is damaged: ")) << read.error().message;
  }
}

}  // namespace
}  // namespace spile::runs
