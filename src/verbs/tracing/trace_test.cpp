#include "verbs/tracing/trace.h"

#include <gmock/gmock.h>

#include <cstring>

#include "base/source.h"
#include "verbs/calls/call_json.h"
#include "verbs/calls/call_tree.h"

namespace spile::verbs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

// ---- words

Error error_of(const VerbLine& line) {
  Result<TraceRequest> request = parse_trace(line);
  return request.ok() ? Error{"no error", ""} : request.error();
}

TEST(TraceWords, AreFunctionsAndOptions) {
  const TraceRequest request =
      parse_trace({{"vfs_read", "!lock_*"}, {{"kernel", ""}, {"depth", "5"}, {"over", "1.5ms"}, {"also", "ext4_*,xfs_*"}}})
          .value();
  EXPECT_TRUE(request.in_kernel);
  EXPECT_THAT(request.functions, ElementsAre("vfs_read"));
  EXPECT_THAT(request.excluded, ElementsAre("lock_*"));
  EXPECT_THAT(request.also, ElementsAre("ext4_*", "xfs_*"));
  EXPECT_EQ(request.depth, 5);
  EXPECT_EQ(request.over_ns, 1'500'000);
  EXPECT_EQ(parse_trace({{"f"}, {{"kernel", ""}}}).value().depth, kDefaultKernelDepth);
}

TEST(TraceWords, AreRejectedWithWhatTheyMayBe) {
  EXPECT_THAT(error_of({}).message, HasSubstr("needs the name of a function"));
  EXPECT_THAT(error_of({{"f"}, {{"depth", "0"}}}).message, HasSubstr("from 1 to 500"));
  EXPECT_THAT(error_of({{"f"}, {{"depth", "3x"}}}).message, HasSubstr("--depth 3x"));
  EXPECT_THAT(error_of({{"f"}, {{"over", "5"}}}).hint, HasSubstr("1.5ms"));
  EXPECT_THAT(error_of({{"f"}, {{"over", "-1ms"}}}).message, HasSubstr("not a time"));
  EXPECT_THAT(error_of({{"f"}, {{"also", "g"}}}).message, HasSubstr("for the kernel"));
}

// ---- scripts

TEST(TraceScript, ProbesRootsAndCallees) {
  TraceRequest request;
  const std::string text =
      kernel_trace_script(request, {{{"vfs_read", ""}}, {{"rw_verify_area", ""}, {"ext4_get", "ext4"}}, {}}, {});
  EXPECT_THAT(text, HasSubstr("probe kernel.function(\"vfs_read\") {\n  # Before"));
  EXPECT_THAT(text, HasSubstr("  if (execution_flow() < 0) next\n  thread = tid()"));
  EXPECT_THAT(text, HasSubstr("probe kernel.function(\"vfs_read\").return,\n  kernel.function(\"rw_verify_area\").return,\n  "
                              "module(\"ext4\").function(\"ext4_get\").return {"));
  EXPECT_THAT(text, Not(HasSubstr("mine")));
  EXPECT_THAT(text, HasSubstr("probe kernel.function(\"preempt_schedule_irq\")? {"));
  request.interrupts = true;
  EXPECT_THAT(kernel_trace_script(request, {{{"vfs_read", ""}}, {}, {}}, {}), Not(HasSubstr("paused")));
  request.interrupts = false;
  EXPECT_THAT(kernel_trace_script(request, {{{"f", ""}}, {}, {}}, {true, {7, 8}}), HasSubstr("mine[7] = 1\n  mine[8] = 1\n"));
}

TEST(TraceScript, ProbesProcesses) {
  TraceRequest request;
  request.functions = {"parse_*", "run"};
  EXPECT_THAT(process_trace_script(request),
              HasSubstr("probe process.function(\"parse_*\").return,\n  process.function(\"run\").return {"));
}

// ---- callees

// Functions of 16 bytes at multiples of 16, of which some call others.
class CallSearchTest : public testing::Test {
 protected:
  void add(uint64_t index, std::vector<std::pair<uint8_t, uint64_t>> branches, bool traced = true, bool part = false) {
    CallSearch::Function& function = functions_[index];
    function = {index * 16, index * 16 + 16, traced, part, false};
    std::vector<uint8_t>& code = code_[index];
    for (auto [opcode, target] : branches) {
      code.push_back(opcode);
      const auto distance = static_cast<int32_t>(target - (index * 16 + code.size() + 4));
      for (int i = 0; i < 4; ++i) code.push_back(static_cast<uint8_t>(static_cast<uint32_t>(distance) >> (8 * i)));
    }
    code.push_back(0xc3);
    code.resize(16, 0x90);
  }
  std::map<uint64_t, int> find(int levels) {
    CallSearch search({[&](uint64_t address) {
                         auto known = functions_.find(address / 16);
                         return known == functions_.end() ? nullptr : &known->second;
                       },
                       [&](const CallSearch::Function& function) { return code_[function.begin / 16]; }});
    const uint64_t root = 16;
    return search.find({&root, 1}, levels);
  }
  static constexpr uint8_t kCall = 0xe8, kJump = 0xe9;
  std::map<uint64_t, CallSearch::Function> functions_;
  std::map<uint64_t, std::vector<uint8_t>> code_;
};

TEST_F(CallSearchTest, FollowsCallsToTheDepth) {
  add(1, {{kCall, 32}});
  add(2, {{kCall, 48}, {kCall, 16}});
  add(3, {{kCall, 64}});
  add(4, {});
  EXPECT_THAT(find(1), ElementsAre(Pair(16, 1)));
  EXPECT_THAT(find(3), ElementsAre(Pair(16, 1), Pair(32, 2), Pair(48, 3)));
}

TEST_F(CallSearchTest, TakesTheLeastDepthOfSeveral) {
  add(1, {{kCall, 32}, {kCall, 64}});
  add(2, {{kCall, 48}});
  add(3, {{kCall, 64}});
  add(4, {{kCall, 80}});
  add(5, {});
  EXPECT_THAT(find(3), ElementsAre(Pair(16, 1), Pair(32, 2), Pair(48, 3), Pair(64, 2), Pair(80, 3)));
}

TEST_F(CallSearchTest, LooksThroughFunctionsThatCantBeTraced) {
  add(1, {{kCall, 32}});
  add(2, {{kCall, 48}}, false);
  add(3, {});
  EXPECT_THAT(find(2), ElementsAre(Pair(16, 1), Pair(48, 2)));
}

TEST_F(CallSearchTest, FollowsTailCallsAndParts) {
  add(1, {{kJump, 36}, {kJump, 48}});  // into the midst of its cold part
  add(2, {{kCall, 64}}, false, true);
  add(3, {});
  add(4, {});
  add(5, {});
  EXPECT_THAT(find(2), ElementsAre(Pair(16, 1), Pair(48, 2), Pair(64, 2)));
}

// ---- trees

class Record {
 public:
  Record& number(int64_t value) {
    const char* bytes = reinterpret_cast<const char*>(&value);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof value);
    return *this;
  }
  Record& numbers(std::initializer_list<int64_t> values) {
    for (int64_t value : values) number(value);
    return *this;
  }
  Record& text(std::string_view value) {
    const auto length = static_cast<uint32_t>(value.size());
    const char* bytes = reinterpret_cast<const char*>(&length);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof length);
    bytes_.insert(bytes_.end(), value.begin(), value.end());
    bytes_.resize((bytes_.size() + 7) / 8 * 8);
    return *this;
  }
  const std::vector<char>& bytes() const { return bytes_; }

 private:
  std::vector<char> bytes_;
};

class TreeTest : public testing::Test {
 protected:
  void make(int depth = 10, int64_t over = 0, bool json = false) {
    tree_ = std::make_unique<CallTree>(CallTree::Settings{depth, over, json});
  }
  void take(const char* head, const Record& record) {
    runs::PayloadReader reader(record.bytes().data(), record.bytes().size());
    tree_->take(head, reader, out_);
  }
  void root(int64_t flow, int64_t ns, int64_t stack, const char* function) {
    take("root ", Record().numbers({flow, flow, flow, ns, stack, 1, 2, 3, 4, 5, 6}).text(function).text("sh"));
  }
  void call(int64_t flow, int64_t ns, int64_t stack, const char* function) {
    take("call ", Record().numbers({flow, ns, stack, 1, 2, 3, 4, 5, 6}).text(function));
  }
  void leave(int64_t flow, int64_t ns, int64_t stack, const char* function) {
    take("leave ", Record().numbers({flow, ns, stack, 0}).text(function));
  }
  std::string printed() {
    tree_->finish(out_);
    return out_;
  }

  std::unique_ptr<CallTree> tree_ = std::make_unique<CallTree>(CallTree::Settings{10, 0, false});
  std::string out_;
};

TEST_F(TreeTest, ShowsCallsWithinCalls) {
  root(7, 1000, 900, "read");
  call(7, 2000, 800, "check");
  leave(7, 3500, 800, "check");
  call(7, 4000, 800, "copy");
  call(7, 5000, 700, "fault");
  leave(7, 6000, 700, "fault");
  leave(7, 8000, 800, "copy");
  EXPECT_EQ(out_, "");
  leave(7, 9000, 900, "read");
  EXPECT_EQ(out_,
            "------ sh 7 ------\n"
            "            | read(...) {\n"
            "   1.500 us |   check(...)\n"
            "            |   copy(...) {\n"
            "   1.000 us |     fault(...)\n"
            "   4.000 us |   } copy\n"
            "   8.000 us | } read\n");
  EXPECT_THAT(tree_->losses(), testing::IsEmpty());
}

TEST_F(TreeTest, SaysThatThereWasNoCall) {
  EXPECT_EQ(printed(), "no call has been seen\n");
  make(10, 5000);
  out_.clear();
  root(7, 1000, 900, "read");
  leave(7, 6000, 900, "read");
  EXPECT_EQ(printed(), "no call took longer than --over\n");
  make(10, 4999);
  out_.clear();
  root(7, 1000, 900, "read");
  leave(7, 6000, 900, "read");
  EXPECT_EQ(printed(), "------ sh 7 ------\n   5.000 us | read(...)\n");
}

TEST_F(TreeTest, KeepsThreadsApart) {
  root(7, 1000, 900, "read");
  root(8, 1500, 5900, "write");
  call(7, 2000, 800, "check");
  call(8, 2100, 5800, "sync");
  leave(7, 2200, 800, "check");
  leave(8, 2500, 5800, "sync");
  leave(8, 3000, 5900, "write");
  leave(7, 4000, 900, "read");
  EXPECT_THAT(
      printed(),
      HasSubstr("sh 8 ------\n            | write(...) {\n   0.400 us |   sync(...)\n   1.500 us | } write\n\n------ sh 7"));
}

TEST_F(TreeTest, EndsCallsThatAreLeftWithoutAReturn) {
  root(7, 1000, 900, "read");
  call(7, 2000, 800, "check");
  call(7, 3000, 700, "deep");
  call(7, 4000, 850, "next");
  leave(7, 5000, 850, "next");
  leave(7, 6000, 900, "read");
  EXPECT_EQ(printed(),
            "------ sh 7 ------\n"
            "            | read(...) {\n"
            "            |   check(...) {\n"
            "   1.000 us |     deep(...)  did not return\n"
            "   2.000 us |   } check  did not return\n"
            "   1.000 us |   next(...)\n"
            "   5.000 us | } read\n");
}

TEST_F(TreeTest, ReturnsWithTheFunctionThatWasJumpedTo) {
  root(7, 1000, 900, "read");
  call(7, 2000, 900, "really_read");
  leave(7, 3000, 900, "really_read");
  leave(7, 3100, 900, "read");
  EXPECT_THAT(printed(), HasSubstr("   1.000 us |   really_read(...)\n   2.000 us | } read\n"));
}

TEST_F(TreeTest, EndsWithTheThread) {
  root(7, 1000, 900, "do_exit");
  call(7, 2000, 800, "exit_mm");
  leave(7, 3000, 800, "exit_mm");
  take("gone ", Record().numbers({7, 4000}));
  EXPECT_THAT(printed(), HasSubstr("   3.000 us | } do_exit  did not return: the thread ended\n"));
}

// Goroutine 0xa0 begins on thread 7 and goes on on 8, where 0xb0 was; the thread's own calls are others.
TEST_F(TreeTest, FollowsGoroutinesToOtherThreads) {
  const auto enter = [&](int64_t goroutine, int64_t tid, int64_t ns, int64_t depth, const char* function) {
    take("genter ", Record().numbers({goroutine, tid, 7, ns, depth}).text(function).text(""));
  };
  const auto leave = [&](int64_t goroutine, int64_t ns, int64_t depth, const char* function) {
    take("gexit ", Record().numbers({goroutine, 7, ns, depth}).text(function).text(""));
  };
  take("name ", Record().numbers({7}).text("server"));
  take("name ", Record().numbers({8}).text("server"));
  enter(0xa0, 7, 1000, 96, "serve");
  enter(0xb0, 8, 1100, 96, "serve");
  enter(0xa0, 7, 2000, 300, "read");
  take("enter ", Record().numbers({7, 7, 2100, 5000}).text("main").text(""));
  leave(0xb0, 2200, 96, "serve");
  leave(0xa0, 3000, 300, "read");
  enter(0xa0, 8, 3500, 200, "write");
  take("ggone ", Record().numbers({0xa0, 7, 4000}));
  take("exit ", Record().numbers({7, 5000, 5000}).text("main").text(""));
  EXPECT_EQ(printed(),
            "------ server 7, goroutine 2 ------\n"
            "   1.100 us | serve()\n"
            "\n------ server 7, goroutine 1 ------\n"
            "            | serve() {\n"
            "   1.000 us |   read()\n"
            "   0.500 us |   write()  did not return: the goroutine ended\n"
            "   3.000 us | } serve  did not return: the goroutine ended\n"
            "\n------ server 7 ------\n"
            "   2.900 us | main()\n");
  EXPECT_THAT(tree_->losses(), testing::IsEmpty());
}

TEST_F(TreeTest, LeavesOutWhatIsDeeperOrShorter) {
  make(2, 2000);
  root(7, 1000, 900, "read");
  call(7, 1100, 800, "check");
  call(7, 1200, 700, "deep");
  leave(7, 1300, 700, "deep");
  leave(7, 1400, 800, "check");
  leave(7, 2000, 900, "read");
  EXPECT_EQ(out_, "");
  root(7, 3000, 900, "read");
  call(7, 3100, 800, "check");
  call(7, 3200, 700, "deep");
  leave(7, 3300, 700, "deep");
  leave(7, 3400, 800, "check");
  leave(7, 9000, 900, "read");
  EXPECT_THAT(out_, HasSubstr("check(...)\n   6.000 us | } read"));
  EXPECT_THAT(printed(), Not(HasSubstr("deep")));
}

TEST_F(TreeTest, PrintsTreesThatTakeLongInParts) {
  root(7, 1000, 900, "main");
  call(7, 2000, 800, "first");
  leave(7, 3000, 800, "first");
  call(7, 5'000'000'000, 800, "second");
  EXPECT_EQ(out_, "------ sh 7 ------\n            | main(...) {\n   1.000 us |   first(...)\n");
  leave(7, 5'000'001'000, 800, "second");
  leave(7, 5'000'002'000, 900, "main");
  EXPECT_THAT(out_, HasSubstr("first(...)\n   1.000 us |   second(...)\n   5.000 s  | } main\n"));
}

TEST_F(TreeTest, SaysWhatStillRuns) {
  root(7, 1000, 900, "poll");
  call(7, 2000, 800, "wait");
  EXPECT_THAT(printed(), HasSubstr("| poll(...) {\n            |   wait(...) {\n            | (still running at the end)\n"));
}

TEST_F(TreeTest, EndsWhatStillRunsAfterTheCallsWithinIt) {
  CallTree::Settings settings{10, 0, false};
  settings.timeline = std::make_shared<runs::Timeline>();
  tree_ = std::make_unique<CallTree>(settings);
  root(7, 1000, 900, "poll");
  call(7, 2000, 800, "wait");
  leave(7, 3000, 800, "wait");
  printed();
  for (const runs::Timeline::Slice& slice : settings.timeline->slices())
    EXPECT_EQ(slice.end_ns, 3000) << settings.timeline->text_at(slice.name);
  EXPECT_THAT(settings.timeline->slices(), testing::SizeIs(2));
}

TEST_F(TreeTest, TakesReturnsOfAllWhoJumped) {
  root(7, 1000, 900, "write");
  root(7, 1100, 900, "find");
  root(7, 1150, 900, "write");
  leave(7, 1200, 900, "write");
  leave(7, 1250, 900, "find");
  leave(7, 1300, 900, "write");
  EXPECT_THAT(tree_->losses(), testing::IsEmpty());
  leave(7, 1400, 900, "write");  // of a call that was lost
  EXPECT_THAT(tree_->losses(), testing::Contains(HasSubstr("1 returns are not shown")));
}

TEST_F(TreeTest, CountsWhatCantBePlaced) {
  call(7, 2000, 800, "wait");
  leave(9, 2000, 800, "wait");
  printed();
  EXPECT_THAT(tree_->losses(), testing::Contains(HasSubstr("1 calls are not shown: the calls that they belong to were lost")));
  EXPECT_THAT(tree_->losses(), testing::Contains(HasSubstr("1 returns are not shown")));
}

TEST_F(TreeTest, TakesAnyRecord) {
  take("root ", Record());
  take("exit ", Record().number(0));
  take("name ", Record().number(5).text("n\x1b"));
  take("name ", Record());
  take("enter ", Record().numbers({5, -1, 3, INT64_MIN}).text("a\nb\x1b"));
  take("enter ", Record().numbers({5, -1, INT64_MIN, INT64_MAX}).text("c"));
  take("gone ", Record().number(5));
  EXPECT_THAT(printed(), Not(HasSubstr("\x1b")));
}

TEST_F(TreeTest, WritesJsonLines) {
  make(10, 0, true);
  take("name ", Record().number(7).text("app"));
  take("enter ", Record().numbers({7, 7, 1000, 900}).text("f").text("a=1 s=\"x y\" p=0x10"));
  take("exit ", Record().numbers({7, 1500, 900}).text("f").text("return=-1"));
  EXPECT_THAT(
      printed(),
      HasSubstr(
          R"("function":"f","arguments":{"a":1,"s":"\"x y\"","p":"0x10"},"result":-1,"begin_ns":1000,"duration_ns":500,"end":"returned"})"));
}

TEST_F(TreeTest, WritesJsonLinesOfTreesOfAnySize) {
  make(10, 0, true);
  constexpr size_t kCalls = 2 * CallTree::kMostCalls + 5;
  root(7, 1000, 900, "main");
  for (size_t i = 0; i < kCalls; ++i) {
    call(7, 2000, 800, "f");
    leave(7, 2000, 800, "f");
  }
  leave(7, 3000, 900, "main");
  printed();
  EXPECT_EQ(std::ranges::count(out_, '\n'), kCalls + 1);
  EXPECT_THAT(tree_->losses(), testing::IsEmpty());
}

TEST(CallValues, NameErrors) {
  EXPECT_EQ(error_name(2), "ENOENT");
  EXPECT_EQ(error_name(512), "ERESTARTSYS");
  EXPECT_EQ(error_name(4000), "");
}

TEST(CallValues, ShowDurationsWithThreeDigits) {
  EXPECT_EQ(duration_text(0), "0.000 us");
  EXPECT_EQ(duration_text(1234), "1.234 us");
  EXPECT_EQ(duration_text(1'234'567), "1.235 ms");
  EXPECT_EQ(duration_text(12'345'678'901), "12.346 s ");
}

}  // namespace
}  // namespace spile::verbs
