#include <gmock/gmock.h>

#include "verbs/tables/table_rows.h"
#include "verbs/terms/glyphs.h"
#include "verbs/terms/option_values.h"

namespace spile::verbs {
namespace {

using testing::HasSubstr;

const std::vector<Column> kColumns = {{"name", "name", Unit::kText},
                                      {"pid", "pid", Unit::kId},
                                      {"calls", "calls", Unit::kCount},
                                      {"total", "total_ns", Unit::kTime},
                                      {"", "stack", Unit::kStack}};

Table two_rows() {
  return {kColumns,
          {{std::string("short"), int64_t{4711}, int64_t{1234567}, int64_t{1500}, std::string("f+0x1\nmain\n")},
           {std::string("b\x1b[2Jd"), int64_t{1}, int64_t{2}, int64_t{3}, std::string()}}};
}

// What a script's printf has: numbers in 8 bytes, strings as abi/record.h says.
class Payload {
 public:
  Payload& number(int64_t value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  runs::PayloadReader reader() const { return {bytes_.data(), bytes_.size()}; }

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
  EXPECT_EQ(table_text(table, 23, true), "file" + std::string(18, ' ') + "n\n" + std::string(9, 'x') + "...  1,000,000\n");
  EXPECT_EQ(table_text(table, 22, true), "file\n" + std::string(9, 'x') + "...\n");  // a number is whole, or absent
  EXPECT_EQ(table_text(table, 1, true), "file\n" + std::string(9, 'x') + "...\n");
}

TEST(Table, CountsColumnsOfTheTerminalRatherThanBytes) {
  // Sparklines (three bytes a character) that fit stay whole, and a name of wide characters takes two columns for each.
  Table table{{{"file", "file", Unit::kText}, {"", "", Unit::kText}, {"n", "n", Unit::kCount}},
              {{std::string(60, 'x'), std::string("▁▂▃▄▅▆▇█"), int64_t{1}}, {std::string("世界"), std::string("█"), int64_t{2}}}};
  EXPECT_EQ(table_text(table, 40), "file" + std::string(35, ' ') + "n\n" + std::string(24, 'x') + "...  ▁▂▃▄▅▆▇█  1\n" + "世界" +
                                       std::string(25, ' ') + "█         2\n");
}

TEST(Table, IsJsonLines) {
  EXPECT_EQ(table_json(two_rows(), 1'764'084'010'000'000'000),
            "{\"time\":\"2025-11-25T15:20:10Z\",\"name\":\"short\",\"pid\":4711,\"calls\":1234567,\"total_ns\":1500,\"stack\":["
            "\"f+0x1\",\"main\"]}\n"
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
    runs::PayloadReader nothing(nullptr, 0);
    rows.take("row ", nothing, out);
  }
  EXPECT_THAT(rows.losses(), testing::ElementsAre(testing::StartsWith("5 rows")));
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
  for (const char* text : {"", "1", "ms", "-1s", "1m", "1e30s", "nan s"})
    EXPECT_THAT(parse_time("--every", text).error().message, HasSubstr("not a time")) << text;
  EXPECT_THAT(parse_number("--limit", "0", 1, 9, "").error().message, HasSubstr("from 1 to 9"));
  EXPECT_EQ(function_point(parse_function("a\"b").value()), "process.function(\"a\\\"b\")");
  EXPECT_FALSE(parse_function("").ok());
  EXPECT_FALSE(parse_function("libc.so.6:").ok());
  EXPECT_EQ(function_point("libc.so.6:mal*"), "process.library(\"libc.so.6\").function(\"mal*\")");
  EXPECT_EQ(function_point("Shop::price"), "process.function(\"Shop::price\")");
  EXPECT_EQ(function_point("libx.so::f"), "process.function(\"libx.so::f\")");
  EXPECT_EQ(function_point("f@a.so.c:3"), "process.function(\"f@a.so.c:3\")");
}

TEST(TableRows, LeaveOutAnEmptyTableOfTheEnd) {
  const auto take = [](TableRows& rows, std::string_view head) {
    std::string out;
    Payload payload;
    runs::PayloadReader reader = payload.number(1'800'000'000'000'000'000).reader();
    rows.take(head, reader, out);
    return out;
  };
  TableRows::Settings settings{kColumns};
  settings.repeats = true;
  settings.empty = "nothing";
  TableRows several(settings), one(settings);
  EXPECT_THAT(take(several, "done "), HasSubstr("nothing"));
  EXPECT_EQ(take(several, "last\n"), "");
  EXPECT_EQ(take(several, "done "), "");
  EXPECT_EQ(take(one, "last\n"), "");
  EXPECT_THAT(take(one, "done "), HasSubstr("nothing"));
}

TEST(TableRows, AddUpRowsThatAreMadeEqual) {
  TableRows::Settings settings{{{"pid", "pid", Unit::kId}, {"calls", "calls", Unit::kCount}}};
  settings.merges = true;
  settings.json = true;
  TableRows rows(settings);
  std::string out;
  const auto take = [&](std::string_view head, std::initializer_list<int64_t> numbers) {
    Payload payload;
    for (const int64_t number : numbers) payload.number(number);
    runs::PayloadReader reader = payload.reader();
    rows.take(head, reader, out);
  };
  for (int table = 0; table < 2; ++table) {
    take("row ", {7, 2});
    take("row ", {8, 1});
    take("row ", {7, 3});
    take("done ", {1'800'000'000'000'000'000});
    EXPECT_THAT(out, HasSubstr("\"pid\":7,\"calls\":5}"));
    EXPECT_EQ(std::ranges::count(out, '\n'), 2);
    out.clear();
  }
}

TEST(TableRows, ShowCodeWithoutANameByItsFile) {
  EXPECT_EQ(place_in_file("0x556e2527159d [/usr/bin/postgres+0x47259d/0x8b8000]"), "[postgres+0x47259d]");
  for (const char* other : {"main", "0x1234", "0x1 [/", "0x1 [/x", "0x12 [heap]", "operator/(int)"})
    EXPECT_EQ(place_in_file(other), other);
}

TEST(OptionValues, TakeOneExpression) {
  for (const char* expression :
       {"$size", "pid()", "$p->length > 100 && tid() != 3", "\"a\" . execname()", "@cast($p, \"node\")->next"})
    EXPECT_TRUE(check_expression("--by", expression).ok()) << expression;
  EXPECT_EQ(check_expression("--by", "$x y").error().message,
            "--by '$x y': not an expression of the script language, from 'y' on");
  EXPECT_EQ(check_expression("--by", "$x +").error().message,
            "--by '$x +': not an expression of the script language: it lacks its end");
  for (const char* wrong : {"", " ", "1); (2", "1) } probe begin { (2", "if (1) 2", "1 // 2) }", "}"})
    EXPECT_FALSE(check_expression("--by", wrong).ok()) << wrong;
}

}  // namespace
}  // namespace spile::verbs
