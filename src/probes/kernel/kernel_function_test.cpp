// Probe points on the kernel's functions, over files that describe a small kernel: kernelinfo::SampleBtf and the symbols below.

#include <gmock/gmock.h>
#include <sys/utsname.h>

#include "probes/kernel_tree_test.h"

namespace spile::probes {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::UnorderedElementsAre;

constexpr const char* kSymbols =
    "ffffffff81000000 T vfs_read\n"
    "ffffffff81000100 T vfs_write\n"
    "ffffffff81000200 t show\n"
    "ffffffff81000300 t show\n"
    "ffffffff81000400 t copied.constprop.0\n"
    "ffffffff81000480 t copied.cold\n"
    "ffffffff81000500 T printk\n"
    "ffffffff81000600 T do_int3\n"
    "ffffffff81000700 t untraceable\n"
    "ffffffff82000000 D jiffies\n"
    "ffffffff82000000 D jiffies_64\n"
    "ffffffff82001000 D init_task\n"
    "ffffffff82003000 d count\n"
    "ffffffff82003004 D runqueues\n"
    "ffffffff82004000 r __ksymtab_vfs_read\n"
    "ffffffffc0000000 t lo_open\t[loop]\n"
    "ffffffffc0000100 t vfs_read\t[loop]\n";

class KernelFunctionTest : public KernelTreeTest {
 protected:
  KernelFunctionTest() {
    write("proc/kallsyms", kSymbols);
    write("sys/module/loop/refcnt", "0\n");
    write("sys/kernel/debug/kprobes/blacklist", "0xffffffff81000600-0xffffffff81000610\tdo_int3\n");
    write("tracing/available_filter_functions",
          "vfs_read\nvfs_write\nshow\nshow\nprintk\ndo_int3\nlo_open [loop]\nvfs_read [loop]\n");
  }
};

TEST_F(KernelFunctionTest, FindsFunctionsByName) {
  auto made = elaborate("probe kernel.function(\"vfs_read\") { next }");
  ASSERT_THAT(made->texts(), ElementsAre("kernel.function(\"vfs_read\")"));
  const sema::ResolvedPoint& point = made->program.probes[0].points[0];
  EXPECT_EQ(point.kind, sema::ProbeKind::kFunctionEntry);
  EXPECT_EQ(point.domain, sema::Domain::kKernel);
  EXPECT_EQ(point.site.kernel->address, 0xffffffff81000000);
  EXPECT_TRUE(point.site.kernel->is_unique);
  EXPECT_EQ(point.site.function, "vfs_read");
}

TEST_F(KernelFunctionTest, KeepsWhatFollowsInTheText) {
  EXPECT_THAT(texts("kernel.function(\"vfs_read\").call"), ElementsAre("kernel.function(\"vfs_read\").call"));
  EXPECT_THAT(texts("kernel.function(\"vfs_read\").return.maxactive(5)"), ElementsAre("kernel.function(\"vfs_read\").return"));
  EXPECT_THAT(texts("kprobe.function(\"vfs_read\").call"), ElementsAre("kprobe.function(\"vfs_read\").call"));
  EXPECT_THAT(texts("kprobe.function(\"vfs_read\").return"), ElementsAre("kprobe.function(\"vfs_read\").return"));
  EXPECT_THAT(texts("kprobe.module(\"loop\").function(\"lo_open\")"),
              ElementsAre("kprobe.module(\"loop\").function(\"lo_open\")"));
}

TEST_F(KernelFunctionTest, ProbesEachFunctionOfAName) {
  auto made = elaborate("probe kernel.function(\"show\") { next }");
  ASSERT_EQ(made->program.probes[0].points.size(), 2u);
  EXPECT_FALSE(made->program.probes[0].points[0].site.kernel->is_unique);
  EXPECT_EQ(made->program.probes[0].points[1].site.kernel->address, 0xffffffff81000300);
}

TEST_F(KernelFunctionTest, ProbesCopiesButNotFragments) {
  EXPECT_THAT(texts("kernel.function(\"copied\")"), ElementsAre("kernel.function(\"copied.constprop.0\")"));
}

TEST_F(KernelFunctionTest, FindsFunctionsByPattern) {
  EXPECT_THAT(texts("kernel.function(\"vfs_*\")"),
              ElementsAre("kernel.function(\"vfs_read\")", "kernel.function(\"vfs_write\")"));
  EXPECT_THAT(texts("kernel.function(\"do_*\")?, kernel.function(\"prin*\")"), ElementsAre("kernel.function(\"printk\")"));
  EXPECT_THAT(texts("module(\"loop\").function(\"*\")"),
              ElementsAre("module(\"loop\").function(\"lo_open\")", "module(\"loop\").function(\"vfs_read\")"));
  EXPECT_THAT(texts("kernel.function(\"*\").exported"), ElementsAre("kernel.function(\"vfs_read\").exported"));
}

TEST_F(KernelFunctionTest, ExplainsWhatAPatternLeavesOut) {
  write("proc/kallsyms", std::string(kSymbols) +
                             "ffffffff81000fe0 t __pfx_vfs_read\nffffffff83000000 T _sinittext\nffffffff83000010 t "
                             "start_up\nffffffff83000100 T _einittext\n");
  WorldOptions explaining = options();
  explaining.explain_left_out = true;
  auto made = elaborate("probe kernel.function(\"*\") { next }", explaining);
  EXPECT_THAT(made->texts(), SizeIs(5));
  EXPECT_THAT(made->world->left_out(),
              UnorderedElementsAre(HasSubstr("copied.cold: it is a part of a function"),
                                   HasSubstr("copied.constprop.0: it is not among those that ftrace can trace"),
                                   "do_int3: it is on the kernel's blacklist of kprobes",
                                   HasSubstr("start_up: it ran while the kernel started"), HasSubstr("_sinittext: it ran while"),
                                   HasSubstr("_einittext: it is not among"), HasSubstr("untraceable: it is not among")));
  EXPECT_THAT(elaborate("probe kernel.function(\"*\") { next }")->world->left_out(), testing::IsEmpty());
}

TEST_F(KernelFunctionTest, ListsTheVariablesOfAResolvedPoint) {
  auto made = elaborate("probe kernel.function(\"vfs_read\").return { next }");
  EXPECT_THAT(made->world->typed_variables(made->program.probes[0].points[0]), testing::Contains(HasSubstr("$return:")));
}

TEST_F(KernelFunctionTest, FindsInstructions) {
  EXPECT_THAT(texts("kernel.statement(\"vfs_read+4\")"), ElementsAre("kernel.statement(\"vfs_read+0x4\")"));
  auto made = elaborate("probe kernel.statement(0xffffffff81000105).absolute { next }");
  EXPECT_THAT(made->texts(), ElementsAre("kernel.statement(0xffffffff81000105).absolute"));
  EXPECT_THAT(texts("kernel.statement(0xffffffff81000105)"), ElementsAre("kernel.statement(0xffffffff81000105).absolute"));
  EXPECT_EQ(made->program.probes[0].points[0].kind, sema::ProbeKind::kStatement);
}

TEST_F(KernelFunctionTest, RefusesPlacesOutsideOfTheFunction) {
  EXPECT_THAT(error("probe kernel.statement(\"vfs_read+260\") { next }"),
              HasSubstr("'vfs_read+260' is not in the function 'vfs_read': it lies 4 bytes behind the beginning of 'vfs_write'"));
  EXPECT_THAT(error("probe kernel.statement(\"vfs_read+0xffffffffffffffff\") { next }"),
              HasSubstr("is not in the kernel's code"));
  EXPECT_THAT(error("probe kernel.statement(0x400000).absolute { next }"),
              HasSubstr("0x400000 is not an address of the kernel's code"));
  write("proc/kallsyms", "0000000000000000 T vfs_read\n0000000000000000 T vfs_write\n");
  EXPECT_THAT(texts("kernel.statement(\"vfs_read+260\")"), ElementsAre("kernel.statement(\"vfs_read+0x104\")"));
}

TEST_F(KernelFunctionTest, KnowsOtherFunctionsOfTheNameThatCanNotBeTraced) {
  // ftrace lists one; the list without addresses does not say which.
  write("tracing/available_filter_functions", "vfs_read\nshow\n");
  auto made = elaborate("probe kernel.function(\"*\") { next }");
  EXPECT_THAT(made->texts(), ElementsAre("kernel.function(\"vfs_read\")"));
  EXPECT_THAT(made->world->left_out(), ElementsAre(HasSubstr("show: several functions of the kernel have this name")));
  // With addresses, the one that can be traced is probed by its address.
  write("tracing/available_filter_functions_addrs", "ffffffff81000000 vfs_read\nffffffff81000300 show\n");
  made = elaborate("probe kernel.function(\"*\") { next }");
  ASSERT_THAT(made->texts(), ElementsAre("kernel.function(\"vfs_read\")", "kernel.function(\"show\")"));
  EXPECT_FALSE(made->program.probes[0].points[1].site.kernel->is_unique);
  EXPECT_EQ(made->program.probes[0].points[1].site.kernel->address, 0xffffffff81000300);
}

TEST_F(KernelFunctionTest, PatternsStandForSystemCallsToo) {
  write("proc/kallsyms",
        std::string(kSymbols) +
            "ffffffff81000800 T __x64_sys_read\nffffffff81000840 T __x64_sys_write\nffffffff81000880 T sys_info\n");
  write("tracing/available_filter_functions", "__x64_sys_read\n__x64_sys_write\nsys_info\n");
  auto made = elaborate("probe kernel.function(\"sys_*\").return { next }");
  EXPECT_THAT(made->texts(), ElementsAre("kernel.function(\"__x64_sys_read\").return",
                                         "kernel.function(\"__x64_sys_write\").return", "kernel.function(\"sys_info\").return"));
  EXPECT_THAT(
      made->world->remarks(),
      ElementsAre("'sys_*' stands for system calls, too, which this kernel has as '__x64_sys_*': it has 2 of these functions"));
  EXPECT_THAT(texts("kprobe.function(\"SyS_w*\")"), ElementsAre("kprobe.function(\"__x64_sys_write\")"));
  // A script that names both would count each call twice.
  EXPECT_THAT(texts("kernel.function(\"sys_*\")?, kernel.function(\"__x64_sys_w*\")?"),
              ElementsAre("kernel.function(\"sys_info\")", "kernel.function(\"__x64_sys_write\")"));
  EXPECT_THAT(error("probe kernel.function(\"sys_z*\") { next }"), HasSubstr("matches 'sys_z*'"));
}

TEST_F(KernelFunctionTest, FindsFunctionsByNamesOfOlderKernels) {
  write("proc/kallsyms",
        std::string(kSymbols) +
            "ffffffff81000800 T kernel_clone\nffffffff81000900 T kfree_skb_reason\nffffffff81000a00 T __folio_lock\n");
  auto made = elaborate(
      "probe kernel.function(\"do_fork\"), kernel.function(\"kfree_skb\").return, kernel.statement(\"__lock_page\") { next }");
  EXPECT_THAT(made->texts(), ElementsAre("kernel.function(\"kernel_clone\")", "kernel.function(\"kfree_skb_reason\").return",
                                         "kernel.statement(\"__folio_lock+0x0\")"));
  EXPECT_THAT(made->world->remarks(),
              testing::Contains("the function 'do_fork' has another name in this kernel: 'kernel_clone' is probed"));
  // A script that names both would count each call twice.
  EXPECT_THAT(texts("kernel.function(\"do_fork\")?, kernel.function(\"kernel_clone\")"),
              ElementsAre("kernel.function(\"kernel_clone\")"));
  EXPECT_THAT(texts("kernel.function(\"_do_fork\")!, kernel.function(\"kernel_clone\")"),
              ElementsAre("kernel.function(\"kernel_clone\")"));
  EXPECT_THAT(error("probe kernel.statement(\"do_fork+5\") { next }"), HasSubstr("no function 'do_fork'"));
  // A kernel that has the name keeps its meaning.
  write("proc/kallsyms", std::string(kSymbols) + "ffffffff81000800 T kernel_clone\nffffffff81000900 T do_fork\n");
  EXPECT_THAT(texts("kernel.function(\"do_fork\")"), ElementsAre("kernel.function(\"do_fork\")"));
}

TEST_F(KernelFunctionTest, TakesPatternsFromSymbolsWhereTheKernelIsLockedDown) {
  std::filesystem::remove(folder_ + "/tracing/available_filter_functions");
  auto made = elaborate("probe kernel.function(\"vfs_*\"), module(\"loop\").function(\"*\") { next }");
  EXPECT_THAT(made->texts(), ElementsAre("kernel.function(\"vfs_read\")", "kernel.function(\"vfs_write\")",
                                         "module(\"loop\").function(\"lo_open\")", "module(\"loop\").function(\"vfs_read\")"));
  EXPECT_THAT(made->world->remarks(),
              testing::Contains(HasSubstr(
                  "the functions that match 'vfs_*' are those of /proc/kallsyms, of which the kernel may refuse some")));
  EXPECT_THAT(error("probe kernel.function(\"do_in*\") { next }"), HasSubstr("matches 'do_in*'"));  // do_int3 is on the blacklist
  EXPECT_THAT(error("probe kernel.function(\"nothing_*\") { next }"), HasSubstr("matches 'nothing_*'"));
}

TEST_F(KernelFunctionTest, FindsFunctionsOfModulesThatArePartOfTheKernel) {
  write("sys/module/vfs/uevent", "");
  auto made = elaborate("probe module(\"vfs\").function(\"vfs_write\").return { next }");
  EXPECT_THAT(made->texts(), ElementsAre("kernel.function(\"vfs_write\").return"));
  EXPECT_THAT(made->world->remarks(),
              ElementsAre("'vfs' is part of this kernel, not a module: 'vfs_write' is the kernel's function of that name"));
  EXPECT_THAT(error("probe module(\"vfs\").function(\"vfs_*\") { next }"),
              HasSubstr("'vfs' is part of this kernel, not a module: which functions a pattern stands for is not known"));
  EXPECT_THAT(error("probe module(\"vfs\").function(\"nothing\") { next }"),
              HasSubstr("no function 'nothing' in the module vfs"));
}

TEST_F(KernelFunctionTest, SaysWhatBecameOfAFunction) {
  EXPECT_THAT(error("probe kernel.function(\"do_sync_read\") { next }"),
              HasSubstr("no function 'do_sync_read' in this kernel: it is gone"));
  EXPECT_THAT(error("probe kernel.function(\"do_sync_read\").return { next }"), HasSubstr("hint: today: vfs_read; compare"));
  EXPECT_THAT(error("probe kernel.function(\"context_switch\") { next }"), HasSubstr("kernel.trace(\"sched:sched_switch\")"));
  // the sample lacks filemap_fault
  EXPECT_THAT(error("probe kernel.function(\"page_cache_read\") { next }"),
              HasSubstr("no function 'page_cache_read' in this kernel\n"));
}

TEST_F(KernelFunctionTest, SaysWhatIsWrongWithAPoint) {
  EXPECT_THAT(error("probe kernel.function(\"vfs_read\").maxactive(3) { next }"),
              HasSubstr("hint: kernel.function(\"vfs_read\").return.maxactive(3)"));
  EXPECT_THAT(error("probe kernel.function(\"do_int3\") { next }"), HasSubstr("hint: probe a function that calls it"));
  EXPECT_THAT(error("probe kernel.function(\"vfs_raed\") { next }"), HasSubstr("did you mean 'vfs_read'?"));
  EXPECT_THAT(error("probe kernel.function(\"do_int3\") { next }"), HasSubstr("blacklist"));
  EXPECT_THAT(error("probe kernel.function(\"nothing_*\") { next }"), HasSubstr("matches 'nothing_*'"));
  EXPECT_THAT(texts("module(\"loop\").statement(\"lo_open+5\")"), ElementsAre("module(\"loop\").statement(\"lo_open+0x5\")"));
  EXPECT_THAT(error("probe module(\"dummy\").statement(\"x+5\") { next }"), HasSubstr("the module 'dummy' is not loaded"));
  EXPECT_THAT(error("probe module(\"loop\").statement(\"lo_*\") { next }"), HasSubstr("takes no pattern"));
  EXPECT_THAT(error("probe module(\"loop\").statement(\"lo_open@drivers/block/loop.c:9\") { next }"),
              HasSubstr("the kernel shows no build-id of the module loop"));
  EXPECT_THAT(error("probe module(\"loop\").function(\"lo_*@drivers/block/loop.c\") { next }"),
              HasSubstr("the kernel shows no build-id of the module loop"));
  EXPECT_THAT(error("probe module(\"loop\").statement(0x100) { next }"), HasSubstr("modules are loaded anywhere"));
  EXPECT_THAT(error("probe module(\"loop\").statement(\"lo_open\").return { next }"), HasSubstr("can't follow"));
  EXPECT_THAT(error("probe module(\"dummy\").function(\"x\") { next }"), HasSubstr("the module 'dummy' is not loaded"));
  EXPECT_THAT(error("probe module(\"loop\").function(\"lo_opne\") { next }"), HasSubstr("did you mean 'lo_open'?"));
  EXPECT_THAT(error("probe kernel.statement(\"show+1\") { next }"), HasSubstr("has code at 2 places"));
}

TEST_F(KernelFunctionTest, TakesAFileOnTrustWhereTheNameIsEnough) {
  auto made = elaborate("probe kernel.function(\"vfs_write@fs/read_write.c\").return { next }");
  ASSERT_FALSE(made->diagnostics.has_errors()) << made->diagnostics.render();
  EXPECT_THAT(made->texts(), ElementsAre("kernel.function(\"vfs_write\").return"));
  EXPECT_THAT(made->world->remarks(),
              ElementsAre(HasSubstr("in which file the kernel has its only function of that name was not checked")));
  made = elaborate("probe module(\"loop\").function(\"lo_open@drivers/block/loop.c\") { next }");
  ASSERT_FALSE(made->diagnostics.has_errors()) << made->diagnostics.render();
  EXPECT_THAT(made->texts(), ElementsAre("module(\"loop\").function(\"lo_open\")"));
  EXPECT_THAT(made->world->remarks(),
              ElementsAre(HasSubstr("in which file the module has its only function of that name was not checked")));
  EXPECT_THAT(error("probe kernel.function(\"show@fs/read_write.c\") { next }"),
              HasSubstr("its debug information can't be told from that of other builds"));
  EXPECT_THAT(error("probe kernel.function(\"vfs_write@fs/read_write.c:9\") { next }"),
              HasSubstr("its debug information can't be told from that of other builds"));
  EXPECT_THAT(error("probe kernel.function(\"vfs_*@fs/read_write.c\") { next }"),
              HasSubstr("its debug information can't be told from that of other builds"));
  EXPECT_THAT(error("probe kernel.function(\"vfs_wirte@fs/read_write.c\") { next }"), HasSubstr("did you mean 'vfs_write'?"));
}

TEST_F(KernelFunctionTest, WaitsForAModuleThatTheKernelHasOnDisk) {
  utsname machine;
  ASSERT_EQ(uname(&machine), 0);
  write(std::string("modules/") + machine.release + "/modules.dep", "kernel/net/dummy-net.ko.xz: kernel/net/other.ko\n");
  auto made = elaborate("probe module(\"dummy_net\").function(\"dummy_xmit\").return { next }");
  ASSERT_FALSE(made->diagnostics.has_errors()) << made->diagnostics.render();
  EXPECT_THAT(made->texts(), ElementsAre("module(\"dummy_net\").function(\"dummy_xmit\").return"));
  EXPECT_THAT(made->world->remarks(), ElementsAre("the module 'dummy_net' is not loaded: its function 'dummy_xmit' is probed "
                                                  "once it is, if the handler reads no variables"));
  EXPECT_EQ(made->program.probes[0].points[0].site.kernel->address, 0u);
  EXPECT_THAT(error("probe module(\"dummy_net\").function(\"dummy_*\") { next }"),
              HasSubstr("which functions a pattern stands for is not known"));
  EXPECT_THAT(error("probe module(\"dummy_net\").function(\"dummy_xmit\") { println($skb) }"),
              HasSubstr("not loaded, so that its types are not known"));
  EXPECT_THAT(error("probe module(\"other\").function(\"x\") { next }"), HasSubstr("this kernel's modules on disk lack it"));

  // An optional point waits, too, unless its handler reads what only the loaded module says.
  EXPECT_THAT(texts("module(\"dummy_net\").function(\"dummy_xmit\")?"),
              ElementsAre("module(\"dummy_net\").function(\"dummy_xmit\")"));
  made = elaborate("probe module(\"dummy_net\").function(\"dummy_xmit\")?, kernel.function(\"printk\") { println($fmt) }");
  ASSERT_FALSE(made->diagnostics.has_errors()) << made->diagnostics.render();
  EXPECT_THAT(made->texts(), ElementsAre("kernel.function(\"printk\")"));
  EXPECT_THAT(error("function f(x) { return @cast(x, \"sk_buff\", \"dummy_net\")->len } probe kernel.function(\"printk\") { "
                    "println(f($fmt)) }"),
              HasSubstr("the module dummy_net is not loaded, so that its types are not known"));
}

TEST_F(KernelFunctionTest, SaysWhenDuplicatesCanNotBeDistinguished) {
  write("proc/kallsyms", "0000000000000000 t show\n0000000000000000 t show\n");
  EXPECT_THAT(error("probe kernel.function(\"show\") { next }"), HasSubstr("the kernel hides their addresses"));
}

TEST_F(KernelFunctionTest, ReadsParametersInTheirRegisters) {
  auto made = elaborate("global a probe kernel.function(\"vfs_read\") { a = $count + $file->pos + $file->mode }");
  ASSERT_FALSE(made->diagnostics.has_errors()) << made->diagnostics.render();
  EXPECT_EQ(made->bindings(), "rdx; rdi +8 deref8; rdi deref4 bits5@3s; ");
  EXPECT_TRUE(made->program.probes[0].bindings[1].reads_kernel_memory);
}

TEST_F(KernelFunctionTest, ReadsResultsAndEntryValues) {
  auto made = elaborate("global a probe kernel.function(\"vfs_read\").return { a = $return + $count + @entry($file->pos) }");
  ASSERT_FALSE(made->diagnostics.has_errors()) << made->diagnostics.render();
  EXPECT_EQ(made->bindings(), "rax; rdx; rdi +8 deref8; ");
  EXPECT_EQ(made->program.probes[0].entry_saves.size(), 2u);
}

TEST_F(KernelFunctionTest, KnowsTypesByName) {
  auto made = elaborate(
      "global a, p probe kernel.function(\"vfs_read\") { p = $file; a = @cast(p, \"struct file\", \"kernel\")->pos"
      " + @cast(p, \"kernel<struct file>\")->pos + @cast(p, \"file\")->next->pos + @enum(\"BLUE\") }");
  ASSERT_FALSE(made->diagnostics.has_errors()) << made->diagnostics.render();
  EXPECT_THAT(made->bindings(), HasSubstr("+24 deref8 +8 deref8"));
}

TEST_F(KernelFunctionTest, ReadsVariablesOfKnownSize) {
  auto made = elaborate(
      "global a probe kernel.function(\"vfs_read\") { a = @var(\"jiffies\") + @var(\"count@kernel\") + &@var(\"init_task\") }");
  ASSERT_FALSE(made->diagnostics.has_errors()) << made->diagnostics.render();
  EXPECT_EQ(made->bindings(), "-2113929216 deref8s; -2113916928 deref4s; -2113925120; ");
}

TEST_F(KernelFunctionTest, SaysWhatIsWrongWithAVariable) {
  auto in_vfs_read = [&](const std::string& body) {
    return error("probe kernel.function(\"vfs_read\") { println(" + body + ") }");
  };
  EXPECT_THAT(in_vfs_read("$conut"), HasSubstr("did you mean '$count'?"));
  EXPECT_THAT(in_vfs_read("$return"), HasSubstr("only known in .return probes"));
  EXPECT_THAT(in_vfs_read("$file->posi"), HasSubstr("did you mean 'pos'?"));
  EXPECT_THAT(in_vfs_read("@cast(1, \"struct fiel\", \"kernel\")->pos"), HasSubstr("did you mean 'struct file'?"));
  EXPECT_THAT(in_vfs_read("@var(\"init_task\")"), HasSubstr("the type of 'init_task' is not known"));
  EXPECT_THAT(in_vfs_read("@var(\"runqueues\")"), HasSubstr("each CPU has its own"));
  EXPECT_THAT(in_vfs_read("@var(\"nothing\")"), HasSubstr("no variable 'nothing'"));
  EXPECT_THAT(error("probe kernel.function(\"copied\") { println($x) }"), HasSubstr("a copy of the function"));
  EXPECT_THAT(error("probe kernel.function(\"vfs_write\") { println($x) }"),
              HasSubstr("does not describe the function 'vfs_write'"));
  EXPECT_THAT(error("probe kernel.function(\"vfs_write\").return { println($return) }"), HasSubstr("returnval() at returns"));
  EXPECT_THAT(error("probe kernel.statement(\"vfs_read+4\") { println($file) }"), HasSubstr("at the entry and the return"));
}

TEST_F(KernelFunctionTest, NamesVariablesThatTheKernelHas) {
  EXPECT_THAT(error("probe kernel.data(\"jifies\").write { next }"), HasSubstr("hint: did you mean 'jiffies'?"));
  EXPECT_THAT(error("probe kernel.data(\"vfs_read\").write { next }"),
              HasSubstr("kernel.function(\"vfs_read\") probes its calls"));
  EXPECT_THAT(error("probe kernel.function(\"vfs_read\") { println(@var(\"jifies\")) }"),
              HasSubstr("hint: did you mean 'jiffies'?"));
  std::string symbols = kSymbols;
  for (int i = 0; i < 30'000; ++i) symbols += "ffffffff81100000 t function" + std::to_string(i) + "\n";
  write("proc/kallsyms", symbols);
  EXPECT_THAT(error("probe kernel.data(\"jifies\").write { next }"), HasSubstr("built without CONFIG_KALLSYMS_ALL"));
}

TEST_F(KernelFunctionTest, ListsParametersWithTypes) {
  auto made = elaborate("probe kernel.function(\"vfs_read\").return { next }");
  SourceFiles files;
  Diagnostics diagnostics;
  auto script = syntax::parse(files.add("<point>", "probe kernel.function(\"vfs_read\").return {}"), {}, diagnostics);
  auto listed = made->world->list(script.probes[0]->points[0], true);
  ASSERT_TRUE(listed.ok());
  EXPECT_THAT(listed->at(0).variables,
              ElementsAre("$return:long int", "$file:struct file*", "$buf:char*", "$count:long unsigned int"));
}

}  // namespace
}  // namespace spile::probes
