# A program that makes up questions of handlers (src/abi/questions.h) learns nothing of other processes, unless the script asks
# about processes of its own choice.
import subprocess

from spiletest import *

SOURCE = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct question { uint64_t what; int64_t argument, file, field; uint64_t answered; int64_t number, asked; char name[40]; };
__attribute__((noipa)) uint64_t ask(uint64_t address) { return address + 1; }
static void about(uint64_t what, int64_t process) {
  static _Alignas(8) struct question question;
  memset(&question, 0, sizeof question);
  question.what = what;
  question.argument = process;
  question.field = 1;
  ask(0xffff800000000001 + (uint64_t)&question);  // where a handler that reads memory at this address asks
  printf("%d %d %d '%.16s'\n", (int)what, (int)question.answered, question.number >= 0, question.name);
}
int main(int argc, char **argv) {
  about(6, atoi(argv[1]));  // kNameOf
  about(7, atoi(argv[1]));  // kProcessNumber
  about(7, 0);              // of itself
  about(1000, 0);           // no question
}
"""
binary = temporary_directory() / "asks"
subprocess.run(["gcc", "-g", "-O1", "-x", "c", "-o", binary, "-"], input=SOURCE.encode(), check=True)
command = f"{binary} {os.getpid()}"
PROBE = 'probe process.function("ask") { seen += user_int8($address) + strlen(%s) } global seen'
for asked, known in ("execname()", 0), ("pid2execname(1)", 1):
    result = spile("-e", PROBE % asked, "-c", command)
    name = open("/proc/self/comm").read().strip() if known else ""
    wanted = [f"6 1 {known} '{name}'", f"7 1 {known} ''", "7 1 1 ''", "1000 1 0 ''"]
    expect(result.out.splitlines()[:4], wanted, f"{asked}\n{result}")
