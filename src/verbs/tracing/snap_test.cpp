#include "verbs/tracing/snap.h"

#include <gmock/gmock.h>

#include "verbs/tracing/snap_condition.h"

namespace spile::verbs {
namespace {

using testing::HasSubstr;

session::Options some_process() {
  session::Options options;
  options.target.processes = {1};
  return options;
}
std::string script_of(const VerbLine& line) { return make_snap(line, some_process()).value().text; }

TEST(Snap, NotesAllCallsOfTheFunctions) {
  EXPECT_EQ(script_of({{"a", "b*"}, {}}),
            "# spile snap 'a' 'b*'\nprobe process.function(\"a\").return,\n  process.function(\"b*\").return {\n  "
            "call_history_add(@entry(get_cycles()))\n}\n"
            "probe process.begin, process.thread.begin {\n  printf(\"name %d %s\\n\", tid(), execname())\n}\n");
  EXPECT_THAT(script_of({{}, {}}), HasSubstr("process.function(\"*\").return {"));
}

TEST(Snap, NotesTheFunctionThatItWaitsForOnce) {
  EXPECT_THAT(script_of({{"a"}, {{"when", "f > 5ms"}}}),
              HasSubstr("process.function(\"a\").return,\n  process.function(\"f\").return {\n  call_history_add"));
  EXPECT_THAT(script_of({{"f*"}, {{"when", "f > 5ms"}}}),
              HasSubstr("probe process.function(\"f*\").return {\n  call_history_add"));
  EXPECT_THAT(script_of({{"f"}, {{"when", "f > 5ms"}}}), HasSubstr("if (took > 5000000 && call_history_stop())"));
}

TEST(Snap, ReadsConditions) {
  const SnapCondition over = parse_condition("f* > 1.5us").value();
  EXPECT_EQ(over.function, "f*");
  EXPECT_EQ(over.over_ns, 1500);
  const SnapCondition at_call = parse_condition("f if $n > 3 && $p->if_name").value();
  EXPECT_EQ(at_call.function, "f");
  EXPECT_EQ(at_call.expression, "$n > 3 && $p->if_name");
  EXPECT_FALSE(at_call.at_return);
  ScriptValues values;
  add_values(parse_condition("f.return if $return < 0").value(), values);
  EXPECT_EQ(values, (ScriptValues{{"WHEN", "process.function(\"f\").return"}, {"OVER_NS", ""}, {"CONDITION", "$return < 0"}}));
  for (const char* wrong : {"", "f", "f > ", "f > 5", "f > 0ms", "> 5ms", "f if ", " if 1", "f < 5ms"})
    EXPECT_FALSE(parse_condition(wrong).ok()) << wrong;
}

}  // namespace
}  // namespace spile::verbs
