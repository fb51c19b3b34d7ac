# Programs and libraries whose text the dynamic linker writes into (-z notext) do what they do without probes. The program is
# counted exactly from its start; a library that is opened later is refused with the reason, and probed by -x.
from spiletest import *

relocated, library = program("calls_textrel"), program("libplugin_textrel.so")
wanted = subprocess.run([relocated, "1000"], capture_output=True, text=True).stdout
for point, hits in [('function("foo")', 1000), ('function("foo").return', 1000), ('function("eight")', 1),
                    ('statement("foo@*:*")', None),
                    ('function("*")', None)]:
    result = spile("-e", f'global c probe process.{point} {{ c++ }} probe end {{ printf("c %d\\n", c) }}', "-c",
                   f"{relocated} 1000")
    result.expect(status=0)
    expect(result.out[:len(wanted)], wanted, point)
    number = int(result.out[len(wanted):].split()[1])
    expect_true(number == hits if hits else number > 1000, f"{point}: {number} hits")

script = f'global c probe process("{library}").function("plugin_step") {{ c++ }} probe end {{ printf("c %d\\n", c) }}'
spile("-e", script, "-c", f"{program('loads')} {library} 1000").expect(
    status=0, out="sums 504500 504500\nc 0\n", err_match="plugin_step in .* can't be probed: its code is relocated at load time")

# Where it is there from the start it is counted from the start; in a process that runs, at once.
script = f'global c probe process("{library}").function("plugin_step") {{ c++ }} probe end {{ printf("c %d\\n", c) }}'
os.environ["LD_PRELOAD"] = library
result = spile("-e", script, "-c", f"{program('loads')} {library} 1000").expect(status=0, out="sums 504500 504500\nc 2000\n")
target = server(seconds=60)
del os.environ["LD_PRELOAD"]
Session("-v", "-e", script, "-x", target.pid).attached(target.pid).stop().expect(status=0, out="c 0\n", err_match="Armed 1 of 1")
expect_match("wrong 0", finish(target))
