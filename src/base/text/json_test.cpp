#include "base/text/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

namespace spile {
namespace {

TEST(Json, WritesListsAsObjectsWhereAllElementsAreNamedPairs) {
  const Json object = {{"name", "x"}, {"sizes", Json::array({1, -2, 3.5})}, {"none", nullptr}, {"yes", true}};
  EXPECT_EQ(object.dump(), R"({"name":"x","sizes":[1,-2,3.5],"none":null,"yes":true})");
  EXPECT_EQ((Json{{"a", 1}, {2, "b"}}).dump(), R"([["a",1],[2,"b"]])");
  EXPECT_EQ(Json::array({"a", 1}).dump(), R"(["a",1])");
  EXPECT_EQ(Json(std::vector<std::string>{"a", "b"}).dump(), R"(["a","b"])");
  EXPECT_EQ(Json(std::map<std::string, int>{{"a", 1}}).dump(), R"({"a":1})");
}

TEST(Json, KeepsTheOrderOfMembersAndReplacesThemInPlace) {
  Json object;
  object["b"] = 1;
  object["a"] = 2;
  object["b"] = "again";
  EXPECT_EQ(object.dump(), R"({"b":"again","a":2})");
  object.update({{"a", 3}, {"c", Json::object()}});
  EXPECT_EQ(object.dump(), R"({"b":"again","a":3,"c":{}})");
  EXPECT_FALSE(object.contains("d"));
  EXPECT_EQ(object.find("a")->number(), 3);
}

TEST(Json, WritesTextThatEveryReaderTakes) {
  EXPECT_EQ(Json("a\"\\\n\x01\x7f").dump(), "\"a\\\"\\\\\\n\\u0001\x7f\"");
  EXPECT_EQ(Json("\xc3\xa4").dump(), "\"\xc3\xa4\"");
  EXPECT_EQ(Json("a\xff"
                 "b")
                .dump(),
            "\"a\xef\xbf\xbd"
            "b\"");
  EXPECT_EQ(Json(std::string("a\0b", 3)).dump(), "\"a\\u0000b\"");
}

TEST(Json, WritesNumbersExactly) {
  EXPECT_EQ(Json(std::numeric_limits<int64_t>::min()).dump(), "-9223372036854775808");
  EXPECT_EQ(Json(std::numeric_limits<uint64_t>::max()).dump(), "18446744073709551615");
  EXPECT_EQ(Json(1.0).dump(), "1.0");
  EXPECT_EQ(Json(0.1).dump(), "0.1");
  EXPECT_EQ(Json(NAN).dump(), "null");
  EXPECT_EQ(Json(INFINITY).dump(), "null");
}

TEST(Json, CopiesAndMovesWholeValues) {
  Json object = {{"list", Json::array({1, 2})}};
  Json copy = object;
  copy["list"].push_back(3);
  EXPECT_EQ(object.dump(), R"({"list":[1,2]})");
  object = std::move(copy);
  EXPECT_EQ(object.dump(), R"({"list":[1,2,3]})");
  object = object["list"];
  EXPECT_EQ(object.dump(), "[1,2,3]");
  EXPECT_EQ(object[1].number(), 2);
}

TEST(Json, ReadsWhatItWrites) {
  for (const char* text : {R"({"b":[1,-2,3.5,"x",null,true],"a":{"c":18446744073709551615}})", "[]", "{}", "\"\xc3\xa4\"", "0"}) {
    const std::optional<Json> read = Json::parse(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->dump(), text);
  }
}

TEST(Json, RejectsWhatIsNotOneDocument) {
  for (const char* text : {"", "{", "[1,]", "nul", "{\"a\":1}{}", "\"\xff\""}) EXPECT_FALSE(Json::parse(text)) << text;
  EXPECT_TRUE(Json::parse(std::string(200, '[') + std::string(200, ']')));
  EXPECT_FALSE(Json::parse(std::string(100'000, '[') + std::string(100'000, ']')));
}

}  // namespace
}  // namespace spile
