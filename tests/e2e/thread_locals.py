# Thread-local variables as each thread has them: of the program (PIE and static), of a library that is loaded with it, of one
# that is opened late (whose memory a thread only gets when it first uses it), and the C library's errno.
from spiletest import *

PROGRAM, LINKED, OPENED = program("thread_locals"), program("libthread_locals_linked.so"), program("libthread_locals_opened.so")
N = 4
result = spile("-e", f"""
probe process.function("before") {{ if ($number) printf("before %d: %d %c %d %s\\n", $number, @var("counter"), @var("letter"),
  @var("pair")->first, user_string(@var("pair")->name)) }}
probe process.statement("step@*thread_locals.c+4") {{ printf("step %d: %d %c %d\\n", $number, $counter, $letter, $pair->first) }}
probe process("{LINKED}").function("library_seen") {{
  printf("linked %d: %d %d %d errno %d\\n", $by, $library_counter, $hidden, $block[$by], @var("errno", "libc.so.6")) }}
probe process("{OPENED}").function("library_seen") {{
  try {{ printf("opened %d: %d %d %d\\n", $by, $library_counter, $hidden, $block[$by]) }} catch (e) {{ println(e) }} }}
""", "-c", f"{PROGRAM} {OPENED} {N}", "-o", "/dev/stderr")
wanted = ""
for i in range(1, N + 1):
    wanted += f"before {i}: 7 a 3 program\nstep {i}: {7 + i} b 6\n"
    wanted += f"linked {i}: 11 13 0 errno {100 + i}\nlinked {i}: {11 + i} {13 + 2 * i} 1 errno {100 + i}\n"
    if i % 2:  # dlopen's caller is another thread
        wanted += "this thread has no memory yet for the thread-local variables of the module of '$library_counter'\n"
        wanted += f"opened {i}: {11 + i} {13 + 2 * i} 1\n"
expect(result.err, wanted, f"\n{result}")

# Written to, in the thread that is meant; in a static program; and not from the kernel.
spile("-g", "-e", """probe process.function("step") { if ($number == 2) @var("counter") = 1000 }""", "-c",
      f"{PROGRAM} {OPENED} 3").expect(
    out_match=r"^1 8 .*\n2 1002 .*\n3 10 ")
static = spile("-e", """probe process.function("library_seen") { printf("%d %c %d\\n", @var("counter"), @var("letter"), """
                     """@var("hidden")) }""",
               "-c", f"{program('thread_locals_static')} none 2", "-o", "/dev/stderr")
expect(static.err, "8 b 13\n8 b 15\n8 b 15\n8 b 17\n9 b 13\n9 b 17\n", f"\n{static}")
spile("--runtime=bpf", "-p2", "-e", 'probe process.function("before") { println(@var("counter")) }', "-c",
      f"{PROGRAM} {OPENED} 1").expect(
    status=1, err_match="'counter' is thread-local: handlers in the kernel can't find it")
