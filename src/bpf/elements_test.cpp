#include "bpf/elements.h"

#include <gtest/gtest.h>

#include <cstring>

#include "abi/aggregate.h"
#include "bpf/perf_event.h"
#include "bpf/verifier.h"

namespace spile::bpf {
namespace {

Bytes bytes(const void* data, size_t size) {
  const auto* at = static_cast<const uint8_t*>(data);
  return {at, at + size};
}

MapSpec keyed_by_string_and_long() {
  MapSpec map;
  map.kind = MapSpec::Kind::kPerCpuHash;
  map.key_size = 16 + 8 + 8;  // string, long, shard
  map.sharded = true;
  map.key_count = 2;
  map.string_keys = 1;
  map.string_size = 16;
  return map;
}

TEST(Elements, RepackStringKeysToTheirLength) {
  MapSpec map = keyed_by_string_and_long();
  ASSERT_EQ(script_key_size(map), 24u);
  Bytes kernel = bytes("abc\0\0\0\0\0\0\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0", 24);
  Bytes native = bytes("abc\0\0\0\0\0\x07\0\0\0\0\0\0\0", 16);
  EXPECT_EQ(unpack_key(map, kernel), native);
  EXPECT_EQ(pack_key(map, native), kernel);
}

TEST(Elements, PadAStringThatFillsItsWord) {
  MapSpec map = keyed_by_string_and_long();
  Bytes kernel = bytes("abcdefgh\0\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0", 24);
  Bytes native = bytes("abcdefgh\0\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0", 24);
  EXPECT_EQ(unpack_key(map, kernel), native);
  EXPECT_EQ(pack_key(map, native), kernel);
}

TEST(Elements, CutStringsThatDoNotFitTheKey) {
  MapSpec map = keyed_by_string_and_long();
  Bytes native = bytes("abcdefghijklmnopqrst\0\0\0\0\x07\0\0\0\0\0\0\0", 32);
  EXPECT_EQ(pack_key(map, native), bytes("abcdefghijklmno\0\x07\0\0\0\0\0\0\0", 24));
}

TEST(Elements, SumLongsOfAllCpus) {
  MapSpec map;
  map.merge = MapSpec::Merge::kSum;
  int64_t total = 0;
  for (int64_t part : {5, -2, 40})
    merge_value(map, {reinterpret_cast<uint8_t*>(&total), 8}, {reinterpret_cast<uint8_t*>(&part), 8});
  EXPECT_EQ(total, 43);
}

struct WithBuckets {
  abi::Aggregate aggregate;
  uint64_t buckets[2];
};

WithBuckets of(std::initializer_list<int64_t> values) {
  WithBuckets made{};
  for (int64_t value : values) {
    abi::Aggregate& a = made.aggregate;
    a.min = a.count ? std::min(a.min, value) : value;
    a.max = a.count ? std::max(a.max, value) : value;
    ++a.count;
    a.sum += value;
    auto squares = static_cast<__int128>(a.squares_high) << 64 | a.squares_low;
    squares += static_cast<__int128>(value) * value;
    a.squares_low = static_cast<uint64_t>(squares);
    a.squares_high = static_cast<uint64_t>(squares >> 64);
    ++made.buckets[value & 1];
  }
  return made;
}

TEST(Elements, MergeAggregatesOfAllCpus) {
  MapSpec map;
  map.merge = MapSpec::Merge::kAggregate;
  constexpr int64_t kLarge = 2900000000;  // the squares carry
  WithBuckets total{};
  for (WithBuckets part : {of({-4, 7, 10, kLarge}), of({}), of({3, 100, kLarge, kLarge})})
    merge_value(map, {reinterpret_cast<uint8_t*>(&total), sizeof total}, {reinterpret_cast<uint8_t*>(&part), sizeof part});
  WithBuckets all = of({-4, 7, 10, kLarge, 3, 100, kLarge, kLarge});
  EXPECT_EQ(total.aggregate.count, all.aggregate.count);
  EXPECT_EQ(total.aggregate.sum, all.aggregate.sum);
  EXPECT_EQ(total.aggregate.min, -4);
  EXPECT_EQ(total.aggregate.max, kLarge);
  EXPECT_EQ(total.aggregate.squares_low, all.aggregate.squares_low);
  EXPECT_EQ(total.aggregate.squares_high, all.aggregate.squares_high);
  EXPECT_EQ(total.buckets[0], all.buckets[0]);
  EXPECT_EQ(total.buckets[1], all.buckets[1]);
}

TEST(Attach, ReadsTheKernelsListsOfCpus) {
  EXPECT_EQ(parse_cpu_list("0-2,5"), (std::vector<int>{0, 1, 2, 5}));
  EXPECT_EQ(parse_cpu_list("3\n"), (std::vector<int>{3}));
  EXPECT_TRUE(parse_cpu_list("").empty());
}

TEST(Verifier, ReasonIsTheLineThatIsNoTrace) {
  EXPECT_EQ(verifier_reason("0: R1=ctx(off=0,imm=0) R10=fp0\n"
                            "; return *(int*)p;\n"
                            "12: (61) r0 = *(u32 *)(r0 +0)\n"
                            "R0 invalid mem access 'map_value_or_null'\n"
                            "processed 13 insns (limit 1000000) max_states_per_insn 0\n"),
            "R0 invalid mem access 'map_value_or_null'");
}

TEST(Verifier, NamesTheStatementWhereItStopped) {
  AttachPoint point;
  point.text = "timer.profile";
  point.place = "a.stp:3:5";
  ProgramImage image;
  image.functions = {{0, "probe.0", 1, false}, {3, "fn.3.script.depth_of", 3, true}, {9, "fn.1.spile_rt_enter", 1, true}};
  image.lines = {
      {1, "a.stp", "probe timer.profile { n = f(n) }", 3, 23}, {4, "b.stp", "", 12, 1}, {6, "b.stp", "  return 2", 13, 3}};
  const std::string large = "BPF program is too large. Processed 1000001 insn\n";
  auto message = [&](const std::string& trace) { return verifier_error(point, image, 7, trace + large, 0).message; };
  const std::string refuses = "the kernel refuses the handler of timer.profile at a.stp:3:5";
  EXPECT_EQ(message("2: (07) r1 += 1\n"), refuses + ", in the statement at a.stp:3:23 (n = f(n) }): it has too many ways to run");
  EXPECT_EQ(message("5: (07) r1 += 1\n"),
            refuses + ", in its function 'depth_of', in the statement at b.stp:12:1: it has too many ways to run");
  EXPECT_EQ(message("6: (07) r1 += 1\n"),
            refuses + ", in its function 'depth_of', in the statement at b.stp:13:3 (return 2): it has too many ways to run");
  // Before the first statement of the program, or in the runtime.
  EXPECT_EQ(message("0: (07) r1 += 1\n"), refuses + ": it has too many ways to run");
  EXPECT_EQ(message("9: (07) r1 += 1\n"), refuses + ": it has too many ways to run");
}

TEST(Verifier, SaysWhereInTheScriptAndShowsItsLogWhenAskedFor) {
  AttachPoint point;
  point.text = "timer.profile";
  point.place = "a.stp:3:5";
  ProgramImage image;
  image.functions = {{0, "probe.0", 1, false},
                     {2, "body.body.probe.0", 2, false},
                     {3, "fn.3.script.depth_of", 3, true},
                     {9, "fn.1.spile_rt_enter", 1, true}};
  const std::string log = "2: (85) call pc+1\n3: (95) exit\nR0 !read_ok\nprocessed 4 insns\n";
  EXPECT_EQ(refused_place(image, log).function, "depth_of");
  EXPECT_EQ(refused_place(image, "2: (95) exit\n; 7: (\n").function, "");
  EXPECT_EQ(refused_place(image, "10: (95) exit\n").function, "");
  EXPECT_EQ(verifier_error(point, image, 13, log, 2).message,
            "the kernel refuses the handler of timer.profile at a.stp:3:5, in its function 'depth_of'");
  EXPECT_NE(verifier_error(point, image, 13, log, 2).hint.find("report"), std::string::npos);
  EXPECT_NE(verifier_error(point, image, 13, log, 3).message.find("3: (95) exit"), std::string::npos);
  EXPECT_EQ(verifier_error(point, image, 7, "BPF program is too large. Processed 1000001 insn\n", 0).message,
            "the kernel refuses the handler of timer.profile at a.stp:3:5: it has too many ways to run");
  Error writes =
      verifier_error(point, image, 22,
                     "1: (85) call bpf_probe_write_user#36\nprogram of this type cannot use helper bpf_probe_write_user#36\n", 0);
  EXPECT_NE(writes.message.find("writes to memory of processes"), std::string::npos) << writes.message;
  EXPECT_NE(writes.hint.find("CAP_SYS_ADMIN"), std::string::npos);
  Error reads = verifier_error(
      point, image, 22,
      "1: (85) call bpf_probe_read_kernel#113\nprogram of this type cannot use helper bpf_probe_read_kernel#113\n", 0);
  EXPECT_NE(reads.message.find("reads memory of the kernel"), std::string::npos) << reads.message;
  EXPECT_NE(reads.hint.find("locked down"), std::string::npos);
  Error asks = verifier_error(
      point, image, 22,
      "1: (85) call bpf_get_current_pid_tgid#14\nprogram of this type cannot use helper bpf_get_current_pid_tgid#14\n", 0);
  EXPECT_NE(asks.message.find("asks which thread runs"), std::string::npos) << asks.message;
  EXPECT_NE(asks.hint.find("Linux 6.10"), std::string::npos);
  Error whose = verifier_error(
      point, image, 22,
      "1: (85) call bpf_get_current_uid_gid#15\nprogram of this type cannot use helper bpf_get_current_uid_gid#15\n", 0);
  EXPECT_NE(whose.hint.find("task_uid(task_current())"), std::string::npos);
}

}  // namespace
}  // namespace spile::bpf
