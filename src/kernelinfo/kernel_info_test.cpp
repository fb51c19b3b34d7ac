// Over folders that stand for /proc, /sys and tracefs.
#include "kernelinfo/kernel_info.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "kernelinfo/feature_list.h"
#include "kernelinfo/test_btf.h"

namespace spile::kernelinfo {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class KernelInfoTest : public testing::Test {
 protected:
  KernelInfoTest() {
    std::string name = testing::TempDir() + "/kernelinfo.XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~KernelInfoTest() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder_ + "/" + path).parent_path());
    std::ofstream(folder_ + "/" + path) << text;
  }
  KernelInfo info() const { return KernelInfo({folder_ + "/proc", folder_ + "/sys", folder_ + "/tracing"}); }

  std::string folder_;
};

TEST_F(KernelInfoTest, ReportsMissingTypes) {
  KernelInfo info = this->info();
  EXPECT_THAT(info.types("").error().message, HasSubstr("the kernel has no type information"));
  EXPECT_THAT(info.types("").error().hint, HasSubstr("CONFIG_DEBUG_INFO_BTF"));
  EXPECT_FALSE(info.features().tracing);
  EXPECT_FALSE(info.features().kprobe);
}

TEST_F(KernelInfoTest, ReportsMissingLists) {
  KernelInfo info = this->info();
  EXPECT_THAT(info.symbols().error().message, HasSubstr("kallsyms"));
  EXPECT_THAT(info.traceable().error().message, HasSubstr("available_filter_functions"));
  EXPECT_TRUE(info.blacklist().empty());
}

// What was kept shows by files that have changed without a reason that spile knows of.
TEST_F(KernelInfoTest, KeepsListsWhileTheKernelHasTheSameCode) {
  const auto places = [&] {
    return Places{
        .proc = folder_ + "/proc", .sys = folder_ + "/sys", .tracefs = folder_ + "/tracing", .cache = folder_ + "/cache"};
  };
  const auto first_symbol = [&] {
    KernelInfo info(places());
    return std::string((*info.symbols())->all().front().name);
  };
  const auto first_traceable = [&] {
    KernelInfo info(places());
    return (*info.traceable())->front().name;
  };
  const auto write_lists = [&](const std::string& name, const std::string& address = "ffffffff81000000") {
    write("proc/kallsyms", address + " T " + name + "\n");
    write("tracing/available_filter_functions", name + "\n");
  };
  write_lists("a");
  EXPECT_EQ(first_symbol(), "a");
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/cache")) << "which start of the kernel it is was not known";
  write("proc/sys/kernel/random/boot_id", "one\n");
  write("proc/modules", "loop 40960 1 - Live 0xffffffffc0201000\n");
  write_lists("b", "0000000000000000");
  EXPECT_EQ(first_symbol(), "b");
  write_lists("c");
  EXPECT_EQ(first_symbol(), "c") << "a list without addresses is not kept";
  EXPECT_EQ(first_traceable(), "c");
  write_lists("d");
  write("proc/modules", "loop 40960 2 dm_mod, Live 0xffffffffc0201000\n");
  EXPECT_EQ(first_symbol(), "c");
  EXPECT_EQ(first_traceable(), "c");
  write("proc/modules", "loop 40960 2 - Live 0xffffffffc0209000\n");
  EXPECT_EQ(first_symbol(), "d");
  EXPECT_EQ(first_traceable(), "d");
  write_lists("e");
  write("proc/sys/kernel/random/boot_id", "two\n");
  EXPECT_EQ(first_symbol(), "e");
  EXPECT_EQ(first_traceable(), "e");
}

TEST_F(KernelInfoTest, FindsTheKprobeEvents) {
  write("sys/bus/event_source/devices/kprobe/type", "6\n");
  EXPECT_TRUE(info().features().kprobe);
}

TEST_F(KernelInfoTest, FindsMembersOfTasks) {
  BtfMaker maker;
  const uint32_t word = maker.integer("long unsigned int", 8, 0);
  // Offsets are in bits; members of mm_struct are in an unnamed structure.
  auto structure = [&](const std::string& name, const std::vector<std::pair<std::string, uint32_t>>& members) {
    std::vector<uint32_t> tail;
    for (const auto& [member, offset] : members) tail.insert(tail.end(), {maker.string(member), word, 8 * offset});
    return maker.add(4, name, 4096, tail, static_cast<uint32_t>(members.size()));
  };
  structure("task_struct", {{"mm", 1000}, {"files", 1008}, {"signal", 1016}});
  const uint32_t unnamed = structure("", {{"exe_file", 80}});
  maker.add(4, "mm_struct", 4096, {0, unnamed, 8 * 16}, 1);
  structure("file", {{"f_inode", 32}});
  structure("signal_struct", {{"nr_threads", 12}});
  structure("files_struct", {{"fdt", 40}});
  const std::vector<uint8_t> incomplete = maker.bytes();
  structure("fdtable", {{"fd", 8}});
  const std::vector<uint8_t> whole = maker.bytes();
  write("sys/kernel/btf/vmlinux", std::string(incomplete.begin(), incomplete.end()));
  EXPECT_FALSE(info().features().tasks.has_value());
  write("sys/kernel/btf/vmlinux", std::string(whole.begin(), whole.end()));
  write("proc/sys/kernel/random/boot_id", "one\n");
  const Places places{
      .proc = folder_ + "/proc", .sys = folder_ + "/sys", .tracefs = folder_ + "/tracing", .cache = folder_ + "/cache"};
  EXPECT_TRUE(KernelInfo(places).features().tasks.has_value());
  std::filesystem::remove(folder_ + "/sys/kernel/btf/vmlinux");
  EXPECT_FALSE(info().features().tasks.has_value());
  const std::optional<TaskLayout> tasks = KernelInfo(places).features().tasks;  // as it was kept
  ASSERT_TRUE(tasks.has_value());
  EXPECT_EQ(tasks->task_mm, 1000u);
  EXPECT_EQ(tasks->task_signal, 1016u);
  EXPECT_EQ(tasks->mm_exe_file, 96u);
  EXPECT_EQ(tasks->table_files, 8u);
}

TEST(FeatureListTest, IsReadAsItWasWritten) {
  Features features;
  features.multi = true;
  features.members = abi::KernelMembers{};
  features.members->task_name = 2000;
  features.members->mm_environment_end = 4;
  const std::string text = feature_text(features);
  const std::optional<Features> read = parse_features(text);
  ASSERT_TRUE(read.has_value());
  EXPECT_TRUE(read->multi);
  EXPECT_FALSE(read->tracing);
  EXPECT_FALSE(read->tasks.has_value());
  EXPECT_EQ(read->members->task_name, 2000u);
  EXPECT_EQ(read->members->mm_environment_end, 4u);
  EXPECT_EQ(std::ranges::count(feature_names(), '\n'), std::ranges::count(text, '\n'));
  for (const std::string& wrong : {text + "1\n", text.substr(2), text.substr(0, text.size() - 1), std::string(), "x" + text})
    EXPECT_FALSE(parse_features(wrong)) << wrong;
}

TEST_F(KernelInfoTest, AddsAddressesOfSymbols) {
  write("proc/kallsyms",
        "ffffffff81000010 t one\nffffffff81000030 t two\nffffffff81000020 t two\nffffffffc0000010 t two\t[loop]\n"
        "ffffffff81000040 t three\nffffffff81000050 t three\n");
  write("tracing/available_filter_functions", "one\ntwo\ntwo\nthree\ntwo [loop]\n");
  KernelInfo info = this->info();
  const std::vector<TraceableFunction>& functions = *info.traceable().value();
  ASSERT_THAT(functions, SizeIs(5));
  EXPECT_EQ(functions[0].address, 0xffffffff81000010);
  EXPECT_EQ(functions[1].address, 0xffffffff81000020);
  EXPECT_EQ(functions[2].address, 0xffffffff81000030);
  EXPECT_EQ(functions[3].address, 0u);  // one of two: which one is not known
  EXPECT_EQ(functions[4].address, 0xffffffffc0000010);
}

TEST_F(KernelInfoTest, PrefersTheListWithAddresses) {
  write("proc/kallsyms", "ffffffff81000010 t one\nffffffff81000020 t two\n");
  write("tracing/available_filter_functions", "one\n");
  write("tracing/available_filter_functions_addrs", "ffffffff81000010 one\nffffffff81000024 two\nffffffff81000099 three\n");
  KernelInfo info = this->info();
  const std::vector<TraceableFunction>& functions = *info.traceable().value();
  ASSERT_THAT(functions, SizeIs(3));
  EXPECT_EQ(functions[0].address, 0xffffffff81000010);
  EXPECT_EQ(functions[1].address, 0xffffffff81000020);  // before its ENDBR64
  EXPECT_EQ(functions[2].address, 0u);
}

TEST_F(KernelInfoTest, HasNamesAloneWhereAddressesAreHidden) {
  write("proc/kallsyms", "0000000000000000 t one\n");
  write("tracing/available_filter_functions", "one\n");
  EXPECT_EQ((*info().traceable().value())[0].address, 0u);
}

TEST_F(KernelInfoTest, SaysWhyAFunctionCanNotBeProbed) {
  write("proc/kallsyms",
        "ffffffff81000000 T do_int3\nffffffff81000010 t f.cold\nffffffff82000000 T _sinittext\nffffffff82000010 t start_it\n"
        "ffffffff82000100 T _einittext\nffffffff83000000 T fine\n");
  write("sys/kernel/debug/kprobes/blacklist", "0xffffffff81000000-0xffffffff81000010\tdo_int3\n");
  KernelInfo info = this->info();
  auto refusal = [&](const char* name) { return info.refusal((*info.symbols())->named(name, "").front()); };
  EXPECT_THAT(refusal("do_int3"), HasSubstr("blacklist"));
  EXPECT_THAT(refusal("f.cold"), HasSubstr("never called"));
  EXPECT_THAT(refusal("start_it"), HasSubstr("__init"));
  EXPECT_EQ(refusal("fine"), "");
}

TEST_F(KernelInfoTest, KnowsModulesAndTheSysctl) {
  write("sys/module/loop/refcnt", "0\n");
  write("proc/sys/kernel/kptr_restrict", "2\n");
  EXPECT_TRUE(info().has_module("loop"));
  EXPECT_FALSE(info().has_module("dummy"));
  EXPECT_FALSE(info().has_module(""));
  EXPECT_FALSE(info().has_module("../module/loop"));
  EXPECT_EQ(info().kptr_restrict(), 2);
}

}  // namespace
}  // namespace spile::kernelinfo
