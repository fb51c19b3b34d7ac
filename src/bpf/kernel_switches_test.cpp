#include "bpf/kernel_switches.h"

#include <gtest/gtest.h>

namespace spile::bpf {
namespace {

using Kind = AttachPoint::Kind;

AttachPoint point_of(Kind kind, std::string function, uint64_t offset = 0) {
  AttachPoint point;
  point.kind = kind;
  point.function = std::move(function);
  point.function_offset = offset;
  return point;
}

constexpr KernelSwitch kFtrace = KernelSwitch::kFunctionTracing, kKprobes = KernelSwitch::kKprobes;

TEST(KernelSwitches, AreOffWhereTheirFilesSayZero) {
  EXPECT_TRUE(is_off(kFtrace, {"0\n", "1\n"}));
  EXPECT_FALSE(is_off(kKprobes, {"0\n", "1\n"}));
  EXPECT_TRUE(is_off(kKprobes, {"1\n", "0\n"}));
  EXPECT_FALSE(is_off(kFtrace, {}));
  EXPECT_FALSE(is_off(kKprobes, {}));
}

TEST(KernelSwitches, StopWhatIsAttachedByThem) {
  for (const Kind kind : {Kind::kFentry, Kind::kFexit, Kind::kMulti, Kind::kMultiReturn}) {
    EXPECT_TRUE(needs(kFtrace, point_of(kind, "vfs_read"), {}));
    EXPECT_FALSE(needs(kKprobes, point_of(kind, "vfs_read"), {}));
  }
  EXPECT_TRUE(needs(kKprobes, point_of(Kind::kKprobe, "vfs_read", 20), {}));
  EXPECT_TRUE(needs(kKprobes, point_of(Kind::kKretprobe, "loop:lo_open"), {}));
  for (const Kind kind : {Kind::kTracepoint, Kind::kRawTracepoint, Kind::kSample, Kind::kUprobe, Kind::kPacket}) {
    EXPECT_FALSE(needs(kFtrace, point_of(kind, ""), {}));
    EXPECT_FALSE(needs(kKprobes, point_of(kind, ""), {}));
  }
}

TEST(KernelSwitches, StopKprobesThatTheKernelMakesByFtrace) {
  const TraceableNames traceable("vfs_read\nlo_open [loop]\n\nksys_read");
  EXPECT_TRUE(needs(kFtrace, point_of(Kind::kKprobe, "vfs_read"), traceable));
  EXPECT_TRUE(needs(kFtrace, point_of(Kind::kKprobe, "vfs_read", 4), traceable));
  EXPECT_TRUE(needs(kFtrace, point_of(Kind::kKretprobe, "ksys_read"), traceable));
  EXPECT_FALSE(needs(kFtrace, point_of(Kind::kKprobe, "vfs_read", 0x20), traceable));
  EXPECT_FALSE(needs(kFtrace, point_of(Kind::kKprobe, "no_trace"), traceable));
  EXPECT_TRUE(needs(kFtrace, point_of(Kind::kKretprobe, "loop:lo_open"), traceable));
  EXPECT_FALSE(needs(kFtrace, point_of(Kind::kKretprobe, "loop:no_trace"), traceable));
  // What is not known is taken for traceable.
  EXPECT_TRUE(needs(kFtrace, point_of(Kind::kKprobe, ""), traceable));
  EXPECT_TRUE(needs(kFtrace, point_of(Kind::kKprobe, "no_trace"), {}));
}

TEST(KernelSwitches, SayWhatToDo) {
  const Error error = error_of({"kprobes", "/sys/kernel/debug/kprobes/enabled", "switch them on", "kernel.function(\"f\")", 1});
  EXPECT_EQ(error.message,
            "attach kernel.function(\"f\"): its handler would never run, as the kernel's kprobes are switched off "
            "(/sys/kernel/debug/kprobes/enabled is 0)");
  EXPECT_EQ(error.hint, "switch them on");
}

}  // namespace
}  // namespace spile::bpf
