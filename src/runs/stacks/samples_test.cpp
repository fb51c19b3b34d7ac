#include "runs/stacks/samples.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runs/stacks/sample_files.h"

namespace spile::runs {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kInner = "leaf+0x4 [libx.so]\ncaller+0x10 [prog]\n0x401000 [prog+0x1000]\n";
constexpr const char* kOuter = "caller+0x14 [prog]\n0x401000 [prog+0x1000]\n";

Samples example() {
  Samples samples;
  samples.add(10, 7, 8, "worker", kInner, true);
  samples.add(20, 7, 8, "worker", kOuter, true);
  samples.add(30, 7, 9, "worker", kInner, true);
  samples.add(40, 7, 9, "worker", "", true);
  return samples;
}

TEST(Samples, InternStacks) {
  const Samples samples = example();
  EXPECT_EQ(samples.frames().size(), 4u);  // three, and the unknown one
  EXPECT_EQ(samples.stacks().size(), 5u);
  EXPECT_EQ(samples.threads().size(), 2u);
  ASSERT_EQ(samples.samples().size(), 4u);
  EXPECT_EQ(samples.samples()[0].stack, samples.samples()[2].stack);
  EXPECT_EQ(samples.stacks()[samples.samples()[0].stack].weight, 2u);
  EXPECT_EQ(samples.stacks()[samples.samples()[0].stack].caller, samples.samples()[1].stack);
  for (uint32_t i = 1; i < samples.stacks().size(); ++i) EXPECT_LT(samples.stacks()[i].caller, i);
}

TEST(Samples, KeepNamesWithBlanksAndBrackets) {
  Samples samples;
  samples.add(0, 1, 1, "t", "std::array<int (*)[3], 2>::operator+(int)+0x3 [a b.so]\n0x7f00\n", true);
  EXPECT_EQ(folded_stacks(samples), "t;[unknown];std::array<int (*)[3], 2>::operator+(int) 1\n");
  EXPECT_EQ(samples.frames()[1].module, "a b.so");
}

TEST(Samples, SayThatCallersAreCut) {
  Samples samples;
  samples.add(0, 1, 1, "t", "leaf+0x3 [p]\nmid+0x1 [p]\ncall", false);
  EXPECT_EQ(samples.cut(), 1u);
  EXPECT_EQ(folded_stacks(samples), "t;[cut];mid;leaf 1\n");
}

TEST(Samples, ForgedTextsAreHarmless) {
  Samples samples;
  samples.add(-1, -1, -1, std::string_view("\n;\0x", 4), std::string(100000, '['), true);
  samples.add(0, 0, 0, "", "\n\n\n", true);
  samples.add(0, 0, 0, "</script><b>", "</script>\xff+0x1 [+0x]\n0x [x]\n+0x\n [\n]\n", true);
  EXPECT_THAT(folded_stacks(samples), Not(HasSubstr("\n\n")));
  EXPECT_FALSE(nlohmann::json::parse(speedscope_file(samples, {})).is_null());
  const std::string page = html_page(samples, {"</script>", "<!--", "h"});
  size_t ends = 0;
  for (size_t at = page.find("</script>"); at != std::string::npos; at = page.find("</script>", at + 1)) ++ends;
  EXPECT_EQ(ends, 2u);  // the page's own two
}

TEST(Samples, NameCodeThatIsInNoFile) {
  Samples samples;
  samples.name_code_by([](int64_t process, uint64_t address) -> std::string_view {
    return process == 7 && address < 0x2000 ? address == 0x1000 ? "inner" : "outer" : "";
  });
  samples.add(0, 7, 7, "node", "0x1000\n0x2000\n0x3000\n0x1000 [p+0x10]\nf+0x1 [p]\n", true);
  EXPECT_EQ(folded_stacks(samples), "node;f;[p];[unknown];outer;inner 1\n");
  EXPECT_EQ(samples.frames()[samples.stacks()[samples.samples()[0].stack].frame].module, "[JIT]");
}

TEST(Samples, HaveWeights) {
  Samples samples(Samples::Unit::kBytes);
  samples.add(0, 1, 1, "t", "f+0x1 [p]\n", true, 100);
  samples.add(0, 1, 1, "t", "g+0x1 [p]\n", true, 20);
  samples.add(0, 1, 2, "t", "g+0x1 [p]\n", true, ~uint64_t{0});
  EXPECT_EQ(folded_stacks(samples), "t;f 100\nt;g 18446744073709551615\n");
  const auto profile = nlohmann::json::parse(speedscope_file(samples, {}))["profiles"][0];
  EXPECT_EQ(profile["unit"], "bytes");
  EXPECT_EQ(profile["endValue"], 120);
  EXPECT_THAT(profile["weights"], testing::ElementsAre(100, 20));
}

TEST(Samples, StopAtTheirBounds) {
  Samples samples;
  for (size_t i = 0; i < Samples::kMostThreads + 5; ++i) samples.add(0, 1, static_cast<int64_t>(i), "t", "f+0x1 [p]\n", true);
  EXPECT_EQ(samples.threads().size(), Samples::kMostThreads);
  EXPECT_EQ(samples.lost(), 5u);
}

TEST(SampleFiles, FoldedStacksCountByThreadsName) {
  EXPECT_EQ(folded_stacks(example()), "worker;[prog];caller 1\nworker;[prog];caller;leaf 2\nworker;[unknown] 1\n");
  EXPECT_EQ(folded_stacks({}), "");
  Samples odd;
  odd.add(0, 1, 1, "a;b\n", "f;g+0x1 [p]\n", true);
  EXPECT_EQ(folded_stacks(odd), "a_b_;f_g 1\n");
}

TEST(SampleFiles, PprofIsGzip) {
  for (const Samples& samples : {example(), Samples()})
    EXPECT_EQ(pprof_file(samples, {"title", "", ""}).substr(0, 3), "\x1f\x8b\x08");
}

TEST(SampleFiles, SpeedscopeHasAProfileForEachThread) {
  const auto file = nlohmann::json::parse(speedscope_file(example(), {"title", "", ""}));
  EXPECT_EQ(file["profiles"].size(), 2u);
  EXPECT_EQ(file["profiles"][0]["samples"].size(), file["profiles"][0]["endValue"]);
  EXPECT_EQ(file["profiles"][0]["weights"].size(), 2u);
  const auto& stack = file["profiles"][0]["samples"][0];
  ASSERT_EQ(stack.size(), 3u);
  EXPECT_EQ(file["shared"]["frames"][stack[0].get<size_t>()]["name"], "[prog]");
  EXPECT_EQ(file["shared"]["frames"][stack[2].get<size_t>()]["name"], "leaf");
  EXPECT_EQ(file["shared"]["frames"][stack[2].get<size_t>()]["file"], "libx.so");
}

TEST(SampleFiles, PictureHasABoxForEachStack) {
  const std::string picture = svg_picture(example(), {"spile flame -c '<&>'", "", "h"});
  EXPECT_THAT(picture, HasSubstr("spile flame -c '&lt;&amp;&gt;': 4 samples on h"));
  EXPECT_THAT(
      picture,
      HasSubstr("<title>caller\n3 samples, 75.00 %; 1 samples in itself</title><rect x=\"0.00\" y=\"66\" width=\"900.00\""));
  EXPECT_THAT(
      picture,
      HasSubstr("<title>leaf\n2 samples, 50.00 %; 2 samples in itself</title><rect x=\"300.00\" y=\"84\" width=\"600.00\""));
  Samples odd;
  odd.add(0, 1, 1, "t", "\x01\xff<script>\xef\xbf\xbf&+0x1 [p]\n", true);
  EXPECT_THAT(svg_picture(odd, {}), HasSubstr("<title>_\xef\xbf\xbd&lt;script&gt;_&amp;\n1 samples"));
  EXPECT_THAT(svg_picture({}, {}), HasSubstr(": 0 samples on"));
}

TEST(SampleFiles, PageIsSmallAndAsksForNothing) {
  const std::string page = html_page({}, {"title", "script", "host"});
  EXPECT_LT(page.size(), 100'000u);
  for (const char* word : {"http://", "https://", "src=", "href=", "@import", "url("}) EXPECT_THAT(page, Not(HasSubstr(word)));
}

}  // namespace
}  // namespace spile::runs
