# Each function of the library can be all that a script calls: what it needs comes with it, and has types.
# long
from spiletest import *

functions = 0
for line in spile("--dump-functions").expect(status=0).out.splitlines():
    name, parameters = re.match(r"(\w+)(?::\w+)? ?\((.*)\)", line).groups()
    if name.startswith("__"):
        continue
    arguments = ['"a"' if "string" in parameter else "1" for parameter in parameters.split(",") if parameter.strip()]
    # Calls are noted, and arguments and results of functions set, in processes alone.
    sets_argument = name.startswith("set_") and name.endswith("_arg") and name != "set_user_string_arg"
    point, command = "begin", []
    if sets_argument or name == "set_returnval" or name.startswith("call_history_"):
        point, command = f'process.function("foo"){"" if sets_argument else ".return"}', ["-c", program("calls")]
    spile(*command, "-g", "-w", "-p2", "-e", f"probe {point} {{ {name}({', '.join(arguments)}) }}").expect(status=0)
    functions += 1
expect_true(functions > 400, f"{functions} functions")
