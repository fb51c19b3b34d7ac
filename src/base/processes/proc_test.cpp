// Names of processes are anything: blanks, brackets, ends of lines, lines that look like fields.
#include "base/processes/proc.h"

#include <gmock/gmock.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

namespace spile {
namespace {

using testing::Contains;
using testing::IsEmpty;

constexpr pid_t kNone = 0x7fffffff;  // above the kernel's largest number

// Gives this process a name for as long as it lives.
class Named {
 public:
  explicit Named(const char* name) {
    prctl(PR_GET_NAME, before_);
    prctl(PR_SET_NAME, name);
  }
  ~Named() { prctl(PR_SET_NAME, before_); }

 private:
  char before_[16] = {};
};

TEST(ProcessStatus, HasFieldsByTheirWholeNames) {
  const ProcessStatus status("Name:\tcat\nUid:\t0\t1\t2\t3\nUidMap:\tno\nNoBlanks:x\nEmpty:\nLast: 7");
  EXPECT_EQ(status.field("Name"), "cat");
  EXPECT_EQ(status.field("Uid"), "0\t1\t2\t3");
  EXPECT_EQ(status.field("NoBlanks"), "x");
  EXPECT_EQ(status.field("Empty"), "");
  EXPECT_EQ(status.field("Last"), "7");
  for (const char* none : {"Ui", "id", "Name:", "", "cat", "uid"}) EXPECT_EQ(status.field(none), "") << none;
  EXPECT_EQ(ProcessStatus("").field("Name"), "");
  EXPECT_EQ(ProcessStatus("Name").field("Name"), "");
  EXPECT_EQ(ProcessStatus("\n\n:\nName:").field("Name"), "");
}

TEST(ProcessStatus, IsNotForgedByAName) {
  const Named named("x\nTracerPid:\t1");
  EXPECT_EQ(process_status(getpid(), "TracerPid"), ProcessStatus::of_self().field("TracerPid"));
  EXPECT_NE(process_status(getpid(), "TracerPid"), "1");
  EXPECT_EQ(process_status(getpid(), "Tgid"), std::to_string(getpid()));
}

TEST(ProcessStatus, OfNoProcessIsEmpty) {
  EXPECT_EQ(process_status(kNone, "Name"), "");
  EXPECT_FALSE(ProcessStatus::read(kNone).has_seccomp_filter());
  EXPECT_FALSE(ProcessStatus("Seccomp:\t0\n").has_seccomp_filter());
  EXPECT_TRUE(ProcessStatus("Seccomp:\t2\n").has_seccomp_filter());
}

TEST(StatField, ComesBehindTheName) {
  for (const char* name : {"cat", "a b", ") 1 2 3", "((((", "a) R (b", ""}) {
    const std::string text = "4711 (" + std::string(name) + ") S 1 4711 99\n";
    EXPECT_EQ(stat_field_in(text, 3), "S") << name;
    EXPECT_EQ(stat_field_in(text, 4), "1") << name;
    EXPECT_EQ(stat_field_in(text, 6), "99") << name;
    EXPECT_EQ(stat_field_in(text, 7), "") << name;
    EXPECT_EQ(stat_field_in(text, 1), "") << name;
  }
  for (const char* text : {"", ")", "4711 (cat", "no brackets"}) EXPECT_EQ(stat_field_in(text, 3), "") << text;
}

TEST(StatField, IsReadOfAProcessWithAnOddName) {
  const Named named("a) R 1 (b \n c");
  EXPECT_EQ(stat_field(getpid(), 4), std::to_string(getppid()));
  EXPECT_EQ(stat_field(kNone, 4), "");
}

TEST(ProcessName, MayHaveBlanksAndBrackets) {
  const Named named("a) (b c");
  EXPECT_EQ(process_name(getpid()), "a) (b c");
  EXPECT_EQ(process_name(kNone), "");
  std::thread([] {
    const Named other("other");
    EXPECT_EQ(thread_name(getpid(), gettid()), "other");
    EXPECT_EQ(process_name(getpid()), "a) (b c");
  }).join();
  EXPECT_EQ(thread_name(getpid(), kNone), "");
}

TEST(ProgramOf, IsThisProgram) {
  EXPECT_TRUE(program_of(getpid()).ends_with("_test")) << program_of(getpid());
  errno = 0;
  EXPECT_EQ(program_of(kNone), "");
  EXPECT_EQ(errno, ENOENT);
}

TEST(Mappings, OfOddLinesHaveWhatIsThere) {
  const std::vector<Mapping> odd = parse_mappings(
      "\n\nno mapping\n7f00-7f10 r-xp 00000010 fe:01 5   /a b (deleted)\nffffffffffffffffffff-0 ---p\n7f10-7f20 rw-s 0 0:0 0");
  ASSERT_EQ(odd.size(), 4u);
  EXPECT_EQ(odd[1].path, "/a b (deleted)");
  EXPECT_EQ(odd[1].size(), 16u);
  EXPECT_TRUE(odd[1].executable && !odd[1].writable && !odd[1].shared);
  EXPECT_TRUE(odd[3].shared && odd[3].path.empty());
  EXPECT_FALSE(read_mappings(kNone).ok());
}

TEST(ProcessesNamed, AreFoundByTheKernelsNameOfThem) {
  EXPECT_THAT(processes_named("no process has this"), IsEmpty());
  EXPECT_THAT(threads_of(getpid()), Contains(getpid()));
  EXPECT_THAT(threads_of(kNone), IsEmpty());
}

}  // namespace
}  // namespace spile
