# A program whose children ask to be traced by it, all the time, is attached to and left: no child finds that somebody else traces
# it (it would stand still, since its parent does not see its stops).
from spiletest import *

folder = temporary_directory()
(folder / "traces.c").write_text(r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile sig_atomic_t ends;
static void end(int number) { ends = 1; }
__attribute__((noinline)) void traced(void) { __asm__ volatile(""); }
int main(void) {
  signal(SIGTERM, end);
  puts("ready"), fflush(stdout);
  long children = 0;
  while (!ends) {
    pid_t child = fork();
    if (child == 0) {
      traced();
      if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0) _exit(7);
      raise(SIGSTOP);
      traced();
      _exit(5);
    }
    int status;
    waitpid(child, &status, 0);
    if (!WIFSTOPPED(status)) return printf("child %ld: %x\n", children, status), 1;
    ptrace(PTRACE_CONT, child, 0, 0);
    waitpid(child, &status, 0);
    if (status != 5 << 8) return printf("child %ld: %x\n", children, status), 2;
    children++;
  }
  printf("%ld right\n", children);
}
""")
subprocess.run("gcc -O1 -w -o traces traces.c", shell=True, check=True, cwd=folder)
target = start(folder / "traces", ready="ready", start_new_session=True)
for turn in range(16):
    script = 'global n probe process.function("traced").return { n++ } probe timer.ms(150) { exit() } probe end { println(n) }'
    spile("-w", "-e", script, "-x", target.pid, timeout=60).expect(status=0, out_match=r"^\d+$")
    expect_true(target.poll() is None, f"the program goes on, and is not {target.poll()}")
target.send_signal(signal.SIGTERM)
expect_true(re.fullmatch(r"\d+ right\n", finish(target)), "all children were traced by their parent")
