# Each function of the library can be all that a script calls: what it needs comes with it, and has types.
from spiletest import *

functions = 0
for line in spile("--dump-functions").expect(status=0).out.splitlines():
    name, parameters = re.match(r"(\w+)(?::\w+)? ?\((.*)\)", line).groups()
    if name.startswith("__"):
        continue
    arguments = ['"a"' if "string" in parameter else "1" for parameter in parameters.split(",") if parameter.strip()]
    # Calls are noted in processes alone.
    point, command = ('process.function("foo").return', ["-c", program("calls")]) if name.startswith("call_history_") else ("begin", [])
    spile(*command, "-g", "-w", "-p2", "-e", f"probe {point} {{ {name}({', '.join(arguments)}) }}").expect(status=0)
    functions += 1
expect_true(functions > 400, f"{functions} functions")
