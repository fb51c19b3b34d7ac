#include "verbs/tracing/flame.h"

#include <gmock/gmock.h>

namespace spile::verbs {
namespace {

using testing::HasSubstr;

session::Options options_for(const std::string& file) {
  session::Options options;
  options.target.processes = {1};
  options.output.file = file;
  return options;
}
Error error_of(const VerbLine& line, const session::Options& options) {
  Result<VerbScript> script = make_flame(line, options);
  return script.ok() ? Error{"no error", ""} : script.error();
}

TEST(Flame, MakesAScriptOfTheProfileTimer) {
  EXPECT_THAT(make_flame({}, options_for("")).value().text, HasSubstr("probe timer.profile {\n"));
  const VerbScript script = make_flame({{}, {{"hz", "999"}}}, options_for("a.html")).value();
  EXPECT_THAT(script.text, HasSubstr("# spile flame --hz 999\nprobe timer.profile.freq.hz(999) {\n"));
  EXPECT_TRUE(script.presenter);
}

TEST(Flame, MakesScriptsThatAddUpWeights) {
  EXPECT_THAT(make_flame({{}, {{"alloc", ""}}}, options_for("a.svg")).value().text,
              HasSubstr("# spile flame --alloc\n# Hits for which the table has no room are counted as updates lost.\nglobal "
                        "weights[20000]\nprobe heap.allocate {"));
  EXPECT_THAT(make_flame({{}, {{"lock", ""}}}, options_for("")).value().text, HasSubstr("probe syscall.futex.return {"));
  EXPECT_THAT(make_flame({{}, {{"off-cpu", ""}}}, options_for("")).value().text, HasSubstr("probe process.syscall.return {"));
  EXPECT_THAT(make_flame({{}, {{"off-cpu", ""}, {"kernel", ""}}}, options_for("")).value().text, HasSubstr("sched:sched_switch"));
  EXPECT_THAT(error_of({{}, {{"alloc", ""}, {"kernel", ""}}}, options_for("")).message, HasSubstr("goes with --off-cpu"));
  EXPECT_THAT(make_flame({{}, {{"of", "f*"}}}, options_for("")).value().text,
              HasSubstr("probe process.function(\"f*\").call {\n  try {\n    weights[pid(), tid(), execname(), "
                        "sprint_ubacktrace()] <<< 1\n  } catch {\n  }\n}"));
}

TEST(Flame, RejectsWhatHasNoMeaning) {
  EXPECT_THAT(error_of({{}, {{"alloc", ""}, {"lock", ""}}}, options_for("")).message,
              HasSubstr("--alloc and --lock can't be shown in one picture"));
  EXPECT_THAT(error_of({{}, {{"alloc", ""}}}, options_for("a.pftrace")).message, HasSubstr("no weights"));

  EXPECT_THAT(error_of({{"f"}, {}}, options_for("")).message, HasSubstr("takes no words, such as 'f'"));
  EXPECT_THAT(error_of({}, session::Options{}).message, HasSubstr("needs the processes"));
  EXPECT_THAT(error_of({}, options_for("a.png")).hint, HasSubstr(".speedscope.json"));
  for (const char* hz : {"0", "-1", "x", "5x", "", "100001", "99999999999"})
    EXPECT_THAT(error_of({{}, {{"hz", hz}}}, options_for("")).message, HasSubstr("not a number from"));
  session::Options rotated = options_for("a.html");
  rotated.output.rotate_bytes = 1;
  EXPECT_THAT(error_of({}, rotated).message, HasSubstr("-S"));
}

}  // namespace
}  // namespace spile::verbs
