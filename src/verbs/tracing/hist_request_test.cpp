#include "verbs/tracing/hist_request.h"

#include <gmock/gmock.h>

namespace spile::verbs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Error error_of(const std::vector<std::string>& words) {
  Result<HistRequest> request = parse_hist(words);
  return request.ok() ? Error{"no error", ""} : request.error();
}

TEST(HistRequest, ReadsKeysValuesAndSort) {
  HistRequest request =
      parse_hist({"kmem:kmalloc", "keys=call_site.sym,bytes_req.buckets=32", "vals=hitcount,bytes_alloc,bytes_req.hex",
                  "sort=bytes_alloc.descending,call_site", "size=512"})
          .value();
  EXPECT_THAT(request.events, ElementsAre("kmem:kmalloc"));
  ASSERT_THAT(request.keys, SizeIs(2));
  EXPECT_EQ(request.keys[0].name, "call_site");
  EXPECT_EQ(request.keys[0].shown, Shown::kSymbol);
  EXPECT_EQ(request.keys[1].shown, Shown::kBuckets);
  EXPECT_EQ(request.keys[1].bucket, 32);
  ASSERT_THAT(request.values, SizeIs(2));
  EXPECT_EQ(request.values[1].shown, Shown::kHex);
  ASSERT_THAT(request.sort, SizeIs(2));
  EXPECT_TRUE(request.sort[0].descending);
  EXPECT_FALSE(request.sort[1].descending);
  EXPECT_EQ(request.size, 512);
  EXPECT_TRUE(request.shows_hitcount);
}

TEST(HistRequest, ReadsAWholeTrigger) {
  HistRequest request =
      parse_hist({"net:netif_rx", "hist:key=skbaddr.hex:val=len:sort=len if len > 1000 && name == \"lo\""}).value();
  EXPECT_EQ(request.keys[0].shown, Shown::kHex);
  EXPECT_EQ(request.values[0].name, "len");
  EXPECT_EQ(request.sort[0].name, "len");
  EXPECT_EQ(request.filter, "len > 1000 && name == \"lo\"");
}

TEST(HistRequest, TakesTheFilterToTheEndOfTheLine) {
  EXPECT_EQ(parse_hist({"a:b", "keys=c", "if", "c", ">", "5"}).value().filter, "c > 5");
  EXPECT_EQ(parse_hist({"a:b", "keys=c", "if c > 5"}).value().filter, "c > 5");
  EXPECT_THAT(error_of({"a:b", "keys=c", "if"}).message, HasSubstr("needs a filter"));
}

TEST(HistRequest, HasALatencyOfTwoEvents) {
  HistRequest request = parse_hist({"sched:sched_waking", "sched:sched_switch", "match=pid/next_pid,common_cpu",
                                    "onmax(latency).save(next_comm,prev_comm)"})
                            .value();
  EXPECT_THAT(request.events, SizeIs(2));
  EXPECT_THAT(request.match, ElementsAre(testing::Pair("pid", "next_pid"), testing::Pair("common_cpu", "common_cpu")));
  EXPECT_EQ(request.keys[0].name, "latency");
  EXPECT_EQ(request.keys[0].shown, Shown::kLog2);
  EXPECT_EQ(request.max_of, "latency");
  EXPECT_THAT(request.saved, ElementsAre("next_comm", "prev_comm"));
}

TEST(HistRequest, TakesPathsAndProbePointsAsTheyAre) {
  HistRequest request =
      parse_hist({"kernel.function(\"vfs_read\")", "keys=$file->f_pos.hex,args[0]", "vals=$file->f_pos"}).value();
  EXPECT_EQ(request.events[0], "kernel.function(\"vfs_read\")");
  EXPECT_EQ(request.keys[0].name, "$file->f_pos");
  EXPECT_EQ(request.keys[0].shown, Shown::kHex);
  EXPECT_EQ(request.keys[1].name, "args[0]");
  EXPECT_EQ(request.values[0].name, "$file->f_pos");
}

TEST(HistRequest, SaysWhatIsWrong) {
  const std::pair<std::vector<std::string>, const char*> wrong[] = {
      {{}, "needs an event"},
      {{"a:b", "keys="}, "lacks the name"},
      {{"a:b", "keys=c,d,e,f"}, "4 keys; 3 are possible"},
      {{"a:b", "keys=c.hexx"}, "unknown modifier '.hexx'"},
      {{"a:b", "keys=c.percent"}, "'.percent' is for values"},
      {{"a:b", "keys=c", "vals=d.log2"}, "is for keys"},
      {{"a:b", "keys=c.buckets"}, "not a number"},
      {{"a:b", "keys=c.buckets=0"}, "not a number from 1"},
      {{"a:b", "keys=c.hex=3"}, "takes no value"},
      {{"a:b", "keys=c", "sort=c.up"}, ".descending"},
      {{"a:b", "keys=c", "sort=c,d,e"}, "2 are possible"},
      {{"a:b", "keys=c", "size=0"}, "size"},
      {{"a:b", "keys=c", "size=131073"}, "size"},
      {{"a:b", "keys=c", "kyes=d"}, "unknown word"},
      {{"a:b", "keys=c", "onmax()"}, "lacks the name"},
      {{"a:b", "keys=c", "onmax(d).trace(e)"}, ".save"},
      {{"a:b", "keys=c", "onmatch(a.b).trace(c)"}, "not in spile"},
      {{"a:b", "c:d", "keys=e"}, "match= must say"},
      {{"a:b", "keys=c", "match=c/d"}, "for two events"},
      {{"a:b", "c:d", "e:f", "keys=c"}, "third event"},
      {{"a:b", "keys=c", "nohitcount"}, "nohitcount needs a value"},
  };
  for (const auto& [words, message] : wrong) EXPECT_THAT(error_of(words).message, HasSubstr(message));
  EXPECT_THAT(error_of({"a:b", "keys=c", "kyes=d"}).hint, HasSubstr("did you mean 'keys='?"));
  EXPECT_THAT(error_of({"a:b", "keys=c.hexx"}).hint, HasSubstr(".sym-offset"));
}

}  // namespace
}  // namespace spile::verbs
