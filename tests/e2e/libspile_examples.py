# The examples of libspile, built by CMake's find_package against an installed tree, count exactly what the programs do.
# long
from libspile_install import *

build = temporary_directory()
subprocess.run(["cmake", "-S", ROOT / "examples/library", "-B", build, f"-DCMAKE_PREFIX_PATH={PREFIX}"], check=True, stdout=subprocess.DEVNULL)
subprocess.run(["cmake", "--build", build], check=True, stdout=subprocess.DEVNULL)
calls = command_line(program("calls"))

out = run(build / "latency", "foo", 0, f"{calls} 500 3")
expect(len(re.findall(r"^thread \d+: \d+ us$", out, re.M)), 1500, "slow calls")
expect_match(r"^1500 calls, half within \d+ ns, 99 % within \d+ ns, the longest \d+ ns$", out)
expect_match(r"^7 calls", run(build / "latency", "foo", 10_000_000, f"{calls} 7"))
expect(run(build / "latency", "nowhere", 0, f"{calls} 7", status=1), "")

watch = [sys.executable, "-B", ROOT / "examples/library/watch.py"]
out = run(*watch, "foo", f"{calls} 4 2")
expect(sorted(re.findall(r"^foo\(arg=0x(\d)\) by calls$", out, re.M)), sorted("0123" * 2))
expect(sorted(re.findall(r"^2 x (\d)$", out, re.M)), list("0123"))
expect_match(r"^0 calls were lost$", out)

# A redis that serves: the calls between arming and the end.
redis = Redis()
counting = subprocess.Popen([build / "count", str(redis.pid), "processCommand", "600"], env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
expect(counting.stdout.readline(), "armed\n")
expect(redis.commands(["PING"] * 300), "PONG\n" * 300)
redis_ended = redis.command("SHUTDOWN", "NOSAVE")
out = counting.communicate(timeout=300)[0]
expect(counting.returncode, 0)
commands = int(re.search(r"^ +(\d+) processCommand$", out, re.M)[1])
expect_true(301 <= commands <= 305, f"300 PING, SHUTDOWN, and what the client says first: {out}")

# What docs/library-api.md shows.
calls = f"'{program('calls')}'"  # in literals of three languages
blocks = re.findall(r"```(python|cpp|c)\n(.*?)```", (ROOT / "docs/library-api.md").read_text(), re.S)
shown = dict(blocks)
script, verb = (text.replace("./program", f"{calls} 3") for language, text in blocks if language == "python")
expect_match(r"^\{0: 1, 1: 1, 2: 1\}$", run(sys.executable, "-B", "-c", script))
expect_match(r"^\['foo', '3', ", run(sys.executable, "-B", "-c", verb))
cpp = shown["cpp"].replace("./program", f"{calls} 4").replace("#include <spile.hpp>", "#include <iostream>\n#include <spile.hpp>\nint main() {")
expect_match(r"^0\n1\n2\n3\nall 4$", run(compile_with_pkg_config(cpp + 'std::cout << "all " << t.count << std::endl;\n}\n', "-std=c++20", compiler="c++")))
c = shown["c"].replace("spile_add_process(session, 4711)", f'spile_set_command(session, "{calls} 2")').replace("#include <spile.h>", "#include <spile.h>\n#include <stdio.h>\nint main(void) {")
expect_match(r"^0\n1$", run(compile_with_pkg_config(c + "}\n", "-std=c99")))
