#include "verbs/table_rows.h"

#include <gmock/gmock.h>

#include "verbs/glyphs.h"
#include "verbs/option_values.h"

namespace spile::verbs {
namespace {

using testing::HasSubstr;

const std::vector<Column> kColumns = {{"name", "name", Unit::kText}, {"pid", "pid", Unit::kId}, {"calls", "calls", Unit::kCount}, {"total", "total_ns", Unit::kTime}, {"", "stack", Unit::kStack}};

Table two_rows() {
  return {kColumns, {{std::string("short"), int64_t{4711}, int64_t{1234567}, int64_t{1500}, std::string("f+0x1\nmain\n")}, {std::string("b\x1b[2Jd"), int64_t{1}, int64_t{2}, int64_t{3}, std::string()}}};
}

// What a script's printf has: numbers in 8 bytes, strings as abi/record.h says.
class Payload {
 public:
  Payload& number(int64_t value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  session::PayloadReader reader() const { return {bytes_.data(), bytes_.size()}; }

 private:
  std::string bytes_;
};

TEST(Table, AlignsColumnsAndShowsStacksBelow) {
  EXPECT_EQ(table_text(two_rows(), 100),
            "name        pid      calls    total\n"
            "short      4711  1,234,567  1.50 us\n"
            "      f+0x1\n"
            "      main\n"
            "b\\033[2Jd     1          2     3 ns\n");
}

TEST(Table, CutsTextsRatherThanNumbers) {
  Table table{{{"file", "file", Unit::kText}, {"n", "n", Unit::kCount}}, {{std::string(100, 'x'), int64_t{1'000'000}}}};
  EXPECT_EQ(table_text(table, 40), "file" + std::string(35, ' ') + "n\n" + std::string(26, 'x') + "...  1,000,000\n");
}

TEST(Table, IsJsonLines) {
  EXPECT_EQ(table_json(two_rows(), 1'764'084'010'000'000'000),
            "{\"time\":\"2025-11-25T15:20:10Z\",\"name\":\"short\",\"pid\":4711,\"calls\":1234567,\"total_ns\":1500,\"stack\":[\"f+0x1\",\"main\"]}\n"
            "{\"time\":\"2025-11-25T15:20:10Z\",\"name\":\"b\\u001b[2Jd\",\"pid\":1,\"calls\":2,\"total_ns\":3,\"stack\":[]}\n");
}

TEST(TableRows, SortsCutsAndCountsTheRest) {
  TableRows rows({{{"a", "a", Unit::kCount}, {"b", "b", Unit::kCount}}, 1, 2, false, false, "nothing"});
  std::string out;
  for (const int64_t i : {1, 3, 2}) {
    Payload cells;
    cells.number(10 * i).number(i);
    auto reader = cells.reader();
    rows.take("row ", reader, out);
  }
  Payload seven, time;
  seven.number(7);
  time.number(0);
  auto more = seven.reader();
  rows.take("more ", more, out);
  auto done = time.reader();
  rows.take("done ", done, out);
  EXPECT_EQ(out, " a  b\n30  3\n20  2\n... and 8 more (--limit)\n");
  out.clear();
  auto empty = time.reader();
  rows.take("done ", empty, out);
  EXPECT_EQ(out, "nothing\n");
}

TEST(TableRows, KeepsWhatForgersWriteWithinBounds) {
  TableRows rows({{{"a", "a", Unit::kText}, {"b", "b", Unit::kCount}}});
  std::string out;
  for (size_t i = 0; i < TableRows::kMostRows + 5; ++i) {
    session::PayloadReader nothing(nullptr, 0);
    rows.take("row ", nothing, out);
  }
  EXPECT_THAT(rows.losses(), HasSubstr("WARNING: 5 rows"));
  EXPECT_EQ(out, "");
}

TEST(Glyphs, OnlyNothingIsBlank) {
  EXPECT_EQ(shade(0, false), " ");
  EXPECT_EQ(shade(1e-9, false), ".");
  EXPECT_EQ(shade(1, true), "█");
  EXPECT_EQ(bar_part(0.5, true), "▄");
  EXPECT_EQ(bar_part(7, true), "█");
}

TEST(OptionValues, SayWhatIsWrong) {
  EXPECT_EQ(parse_time("--every", "1.5ms").value(), 1'500'000);
  for (const char* text : {"", "1", "ms", "-1s", "1m", "1e30s", "nan s"}) EXPECT_THAT(parse_time("--every", text).error().message, HasSubstr("not a time")) << text;
  EXPECT_THAT(parse_number("--limit", "0", 1, 9, "").error().message, HasSubstr("from 1 to 9"));
  EXPECT_FALSE(parse_function("a\"b").ok());
}

}  // namespace
}  // namespace spile::verbs
