# @var of a module that is not the probed one: where it is loaded is found out at each hit.
from spiletest import *

PROGRAM, LINKED, OPENED = program("thread_locals"), program("libthread_locals_linked.so"), program("libthread_locals_opened.so")
result = spile("-e", f"""
probe process.function("before") {{
  try {{ printf("%d %d", $number, @var("library_calls", "libthread_locals_linked.so")) }} catch (e) {{ print(e) }}
  try {{ printf(" %d\\n", @var("library_calls@*library.c", "{OPENED}")) }} catch (e) {{ println(" " . e) }} }}
probe process("{LINKED}").function("library_seen") {{
  printf("%d %c %x\\n", @var("counter", "{PROGRAM}"), @var("letter", "thread_locals"), @var("opened_step", "{PROGRAM}") != 0) }}
""", "-c", f"{PROGRAM} {OPENED} 3", "-o", "/dev/stderr")
missing = f"{OPENED} is not loaded in this process, so there is no '@var(\"library_calls@*library.c\", \"{OPENED}\")'"
expect(result.err, f"0 17 {missing}\n1 17 17\n8 b 1\n8 b 1\n2 18 18\n9 b 1\n9 b 1\n3 19 18\n10 b 1\n10 b 1\n", f"\n{result}")

# A program at fixed addresses, seen from a library.
fixed = program("calls_nopie")
sink = int(re.search(r"^([0-9a-f]+) \w sink$", subprocess.check_output(["nm", fixed], text=True), re.M)[1], 16)
spile("-e", f'''probe process("libc.so.6").function("__libc_start_main") {{ printf("%x\\n", &@var("sink", "{fixed}")) }}''',
      "-c", f"{fixed} 1", "-o", "/dev/stderr").expect(err=f"{sink:x}\n")
spile("--runtime=bpf", "-p2", "-e", f'probe process.function("before") {{ println(@var("library_calls", "{LINKED}")) }}',
      "-c", f"{PROGRAM} {OPENED} 1").expect(status=1, err_match="handlers in the kernel only know the load address of the latter")
spile("-p2", "-e", 'probe process.function("before") { println(@var("nosuch", "libc.so.6")) }', "-c",
      f"{PROGRAM} {OPENED} 1").expect(
    status=1, err_match="no global variable 'nosuch'")

# In functions of the script, which belong to no module; where a process stands still; but not where nothing is traced.
callees = program("callees")
own = start(callees, 10).communicate()[0].decode()
leaf = re.search(r" leaf (\d+)", own)[1]
watched = watchpoints_work()
DATA = 'probe process.data("calls_other").write { data = @var("calls_other") }' if watched else "probe end { data = 10 }"
spile("-e", """function leaf() { return @var("calls_leaf@*callees.c") }
global first = 1, most, data
probe process.begin { first = leaf() + @var("calls_leaf") }
probe process.function("leaf") { most = leaf() }
""" + DATA + """
probe end { printf("first %d most %d data %d\\n", first, most, data) }""", "-c", f"{callees} 10").expect(
    out=f"{own}first 0 most {int(leaf) - 1} data 10\n")
for where, message in [("begin", "'@var' needs a traced program, and a begin probe does not run in one"),
                       ("timer.s(1)", "and a timer probe does not run in one")]:
    spile("-p2", "-e", f'function f() {{ return @var("calls_leaf") }} probe {where} {{ println(f()) }}', "-c",
          f"{callees} 1").expect(
        status=1, err_match=message)
spile("-p2", "-e", 'function f() { return @var("x") } probe process("/bin/true").begin { println(f()) }').expect(
    status=1, err_match="if it is a program's: @var|handlers in the kernel only know")
