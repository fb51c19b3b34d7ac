#!/usr/bin/env python3
# Whether $variables have the values that gdb sees: a program runs twice under the same addresses, once with spile's probes at
# random statements and once under gdb with breakpoints there, and what both say about every variable in scope when each
# place is come to first is compared; the stack
# too, as addresses. Variables of which only the value at the function's entry is left are compared with what the register held
# when gdb stopped there: what gdb makes of the caller's code, where it has an answer, is another call's now and then (in inlined
# calls it takes the registers of the wrong frame), and is only counted.
#
#   values_like_gdb.py [--places N] [--seed N] [--source FILE] [--show] [--unoptimized] PROGRAM [ARGUMENT...]
#
# The program must do the same every time. Exit status 1 where a value differs.
import argparse
import collections
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"}
# Of structures the address is compared, of everything else the number.
GDB_SCRIPT = textwrap.dedent(r"""
    import gdb, json, re, struct
    for setting in ["pagination off", "confirm off", "breakpoint pending off", "startup-with-shell off", "width 0",
                    "print entry-values no", "may-call-functions off", "backtrace past-main on", "disable-randomization on"]:
        gdb.execute("set " + setting)
    gdb.execute("unset environment LINES")
    gdb.execute("unset environment COLUMNS")
    out = open(OUTPUT, "w")

    # Of an array in registers, gdb would make a copy in the program's memory if it might call malloc.
    def address_of(value):
        try:
            return int(value.address) if value.address is not None else None
        except gdb.error:
            return None

    def number_of(value):
        type = value.type.strip_typedefs()
        if type.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
            return "reference"  # what it refers to may not have been written yet
        if type.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION, gdb.TYPE_CODE_ARRAY):
            if value.is_optimized_out: return "optimized out"
            place = address_of(value)
            return "not in memory" if place is None else place
        if type.code == gdb.TYPE_CODE_FLT:
            if type.sizeof not in (4, 8): return "wide"
            if value.is_optimized_out: return "optimized out"
            return int.from_bytes(struct.pack("<d", float(value)), "little")  # floats are widened
        if type.sizeof > 8: return "wide"
        if value.is_optimized_out: return "optimized out"
        return int(value) & (1 << 64) - 1

    def variables_of(frame, pc):
        found = {}
        block = gdb.block_for_pc(pc)
        while block is not None:
            own = {}
            for symbol in block:
                if not (symbol.is_variable or symbol.is_argument) or symbol.name in found: continue
                if symbol.addr_class == gdb.SYMBOL_LOC_STATIC and symbol.name in own: continue
                try:
                    value = symbol.value(frame)
                    own[symbol.name] = [number_of(value), address_of(value)]
                except gdb.error as error:
                    own[symbol.name] = ["error: " + str(error), None]
            found.update(own)
            if block.function is not None: break
            block = block.superblock
        return found, block.function.name if block is not None else ""

    def stack_of(frame):
        pcs = []
        while frame is not None and len(pcs) < 60:
            # Inlined functions have no frame, those that ended in a jump have none any more.
            if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME): pcs.append(frame.pc())
            frame = frame.older()
        return " ".join("%#x" % pc for pc in pcs)

    # {name: register} of the variables in scope at pc that are what it held at the function's entry.
    def entry_values(pc):
        try:
            text = gdb.execute("info scope *%#x" % pc, to_string=True)
        except gdb.error:
            return {}
        found = {}
        for block in re.split(r"^Symbol ", text, flags=re.M)[1:]:
            name = block.split(" ", 1)[0]
            for begin, end, register in re.findall(r"(?:Range (0x[0-9a-f]+)-(0x[0-9a-f]+): |is )a complex DWARF expression:\s*"
                                                   r"0: DW_OP_(?:GNU_)?entry_value\s+2: DW_OP_reg\d+ \[\$(\w+)\]\s+"
                                                   r"3: DW_OP_stack_value\s", block):
                if not begin or int(begin, 16) <= pc < int(end, 16) or int(begin, 16) <= pc - BIAS < int(end, 16):
                    found[name] = register
        return found

    def function_entry(pc):
        block = gdb.block_for_pc(pc)
        while block is not None and block.superblock is not None and not block.superblock.is_static: block = block.superblock
        return int(block.function.value().address) if block is not None and block.function is not None else None

    entered = {}  # registers, by CFA
    class Entry(gdb.Breakpoint):
        def __init__(self, address):
            super().__init__("*%#x" % address, internal=True)
            self.silent = True
        def stop(self):
            frame = gdb.newest_frame()
            read = lambda name: int(frame.read_register(name)) & (1 << 64) - 1
            entered[read("rsp") + 8] = {name: read(name) for name in ["rdi", "rsi", "rdx", "rcx", "r8", "r9"]}
            return False

    # What the variable is by the registers at the entry; None: not known.
    def value_at_entry(frame, name, register):
        while frame.type() == gdb.INLINE_FRAME: frame = frame.older()
        frame = frame.older()
        registers = entered.get(int(frame.read_register("rsp"))) if frame is not None else None
        symbol = gdb.lookup_symbol(name)[0]
        if not registers or register not in registers or symbol is None: return None
        type = symbol.type.strip_typedefs()
        if type.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION, gdb.TYPE_CODE_ARRAY, gdb.TYPE_CODE_FLT) or type.sizeof > 8:
            return None
        try:
            return number_of(gdb.Value(registers[register]).cast(symbol.type))
        except gdb.error:
            return None  # a reference, for one

    def write_variables(place, frame):
        if UNOPTIMIZED and gdb.block_for_pc(frame.pc()).start == frame.pc(): return
        values, function = variables_of(frame, frame.pc())
        for name, register in entry_values(frame.pc()).items():
            truth = value_at_entry(frame, name, register)
            if name in values and truth is not None: values[name] = [truth, None, values[name][0]]
        values["(stack)"] = [stack_of(frame), "stack"]
        out.write(json.dumps([place, function, values]) + "\n")

    gdb.execute("starti", to_string=True)
    BIAS = 0
    if PIE:
        for line in open("/proc/%d/maps" % gdb.selected_inferior().pid):
            if line.rstrip().endswith(PROGRAM):
                BIAS = int(line.split("-")[0], 16)
                break
    places = [a for a in PLACES if entry_values(a + BIAS)]
    # Where the first instruction is one of the places itself, too.
    keep = [Entry(a) for a in {function_entry(a + BIAS) for a in places} if a is not None]
    # The program stops at each place: where values are read in a breakpoint's stop(), gdb 13 ends some programs early.
    once = {a: gdb.Breakpoint("*%#x" % (a + BIAS), internal=True) for a in PLACES}
    for breakpoint in once.values(): breakpoint.silent = True
    gdb.execute("handle all nostop noprint pass", to_string=True)
    try:
        while True:
            gdb.execute("continue", to_string=True)
            if not gdb.selected_inferior().pid: break
            frame = gdb.newest_frame()
            place = frame.pc() - BIAS
            if place not in once: raise gdb.error("stopped at %#x, which is not one of the places" % place)
            once.pop(place).delete()
            write_variables(place, frame)
    except gdb.error as error:
        out.write(json.dumps(["error", str(error), {}]) + "\n")
    out.close()
""")


def statement_addresses(program, source):
    lines = subprocess.run(["readelf", "--debug-dump=decodedline", "-W", program], capture_output=True, text=True,
                           errors="replace").stdout
    # Functions that the linker has dropped keep their lines, at addresses where something else is.
    sections = subprocess.run(["readelf", "-SW", program], capture_output=True, text=True).stdout
    text = re.search(r" \.text\s+PROGBITS\s+([0-9a-f]+)\s+[0-9a-f]+\s+([0-9a-f]+)", sections)
    begin, size = int(text[1], 16), int(text[2], 16)
    # file.c   123   0x4010   [view]   x
    name = re.escape(source) if source else r"\S+"
    found = {int(m, 16) for m in re.findall(rf"^{name}\s+\d+\s+(0x[0-9a-f]+)\b.*x\s*$", lines, re.M)}
    return sorted(address for address in found if begin <= address < begin + size)


def is_position_independent(program):
    header = subprocess.run(["readelf", "-h", program], capture_output=True, text=True).stdout
    return "DYN (" in header


def run(command, directory):
    return subprocess.run(command, env=ENVIRONMENT, cwd=directory, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, errors="replace", timeout=600)


def ask_gdb(program, arguments, addresses, unoptimized, directory):
    output = os.path.join(directory, "gdb.json")
    script = os.path.join(directory, "gdb.py")
    with open(script, "w") as file:
        file.write(f"OUTPUT={output!r}\nPLACES={addresses!r}\nPROGRAM={program!r}\n"
                   f"UNOPTIMIZED={unoptimized}\nPIE={is_position_independent(program)}\n{GDB_SCRIPT}")
    done = run(["gdb", "-nx", "-batch", "-x", script, "--args", program, *arguments], directory)
    import json
    places = {}
    if not os.path.exists(output):
        sys.exit(f"gdb did not run the program:\n{done.stdout}{done.stderr}")
    for line in open(output):
        address, function, values = json.loads(line)
        if address == "error":
            sys.exit(f"gdb: {function}")
        places[address] = (function, values)
    return places


def ask_spile(spile, program, arguments, names, directory):
    # Each variable of each place that was come to, or why it can't be read.
    probes = ["global hits%[20000]"]
    for address, variables in names.items():
        body = [f'if (hits[{address}]++ == 0) {{']
        body.append(f'  printf("{address} (stack) %s\\n", ubacktrace())')
        for name in variables:
            if not re.fullmatch(r"\w+", name): continue  # the stack, and gdb's own names of a pack's parameters (args#0)
            # A structure is not a number, but has an address.
            body.append(f'  try {{ if (@defined(${name}) && @defined(&${name})) printf("{address} {name} '
                        f'%#x %#x\\n", ${name}, &${name}) else if (@defined(${name})) printf("{address} {name} %#x\\n", ${name}) '
                        f'else if (@defined(&${name})) printf("{address} {name} %#x\\n", &${name}) '
                        f'else printf("{address} {name} refused\\n") }} '
                        f'catch (m) {{ printf("{address} {name} fault %s\\n", m) }}')
        body.append("}")
        probes.append(f'probe process("{program}").statement({address:#x}) {{ ' + "\n".join(body) + " }")
    script = os.path.join(directory, "values.stp")
    with open(script, "w") as file:
        file.write("\n".join(probes))
    import shlex
    # The command as gdb starts it: by its path, with no shell around it.
    done = run(["setarch", "-R", spile, "-DMAXSTRINGLEN=2048", "-DMAXBACKTRACE=60", script, "-o",
                os.path.join(directory, "spile.out"), "-c",
                shlex.join([program, *arguments])], directory)
    found = collections.defaultdict(dict)
    if done.returncode:
        sys.exit(f"spile: status {done.returncode}\n{done.stderr[-3000:]}")
    for line in open(os.path.join(directory, "spile.out")):
        address, name, value = line.rstrip("\n").split(" ", 2)
        if name == "(stack)":
            found[int(address)][name] = (value, "stack")
            continue
        numbers = re.fullmatch(r"((?:0x)?[0-9a-f]+)(?: ((?:0x)?[0-9a-f]+))?", value)
        found[int(address)][name] = (int(numbers[1], 16), numbers[2] and int(numbers[2], 16)) if numbers else (value, None)
    if not found or "no free addresses" in done.stderr:
        sys.exit(f"spile: status {done.returncode}\n{done.stderr[-3000:]}")
    return found


# Libraries lie elsewhere where spile has mapped something: of addresses in them the place in the page is compared.
def without_bases(stack):
    pcs = [int(pc, 16) for pc in stack.split()]
    return [pc & 0xfff if pc >> 40 == 0x7f else pc for pc in pcs]


def compare(gdb_places, spile_places, show):
    counts = collections.Counter()
    different = {}
    for address, (function, values) in sorted(gdb_places.items()):
        if address not in spile_places:
            counts["place not come to"] += 1
            continue
        for name, (value, place, *callers) in values.items():
            mine, my_place = spile_places[address].get(name, ("not listed", None))
            text = f"{address:#x} {function}: {name}: gdb {value if isinstance(value, str) else hex(value)}, " \
                   f"spile {mine if isinstance(mine, str) else hex(mine)}"
            if place == "stack":
                same = without_bases(value) == without_bases(mine)
                what = "same stacks" if same else "DIFFERENT STACKS"
                if not same: different[address, name] = text
                counts["frames"] += same * (value.count(" ") + 1)
            elif isinstance(value, str) and isinstance(mine, str):
                what = "neither"
            elif isinstance(value, str):
                what = "only spile"
            elif isinstance(mine, str):
                what = "only gdb"
            elif value == mine:
                what = "same"
            elif place is not None and place == my_place:
                # Memory that nobody has written to yet has what the dynamic linker left there, which a debugger changes.
                what = "same place, other contents"
            else:
                what = "DIFFERENT"
                different[address, name] = text
            counts[what] += 1
            if callers:
                counts["of the function's entry: " + what] += 1
                if not isinstance(callers[0], str):
                    counts["of the entry, which gdb knows" + (" otherwise" if callers[0] != value else "")] += 1
            if show and what not in ("same", "same stacks", "neither", "DIFFERENT", "DIFFERENT STACKS"): print(f"{what}: {text}")
    return counts, different


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--places", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    # At the entry of an unoptimized function gdb reads stack slots that the function has yet to fill.
    parser.add_argument("--unoptimized", action="store_true")
    parser.add_argument("--source", metavar="FILE", help="only statements of source files of this name")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--spile", default=os.path.join(os.path.dirname(__file__), "../../build/release/bin/spile"))
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    program = os.path.realpath(options.program)
    spile = os.path.abspath(options.spile)
    for tool in ["gdb", "readelf", "setarch"]:
        if not shutil.which(tool):
            sys.exit(f"{tool} is needed")
    addresses = statement_addresses(program, options.source)
    random.Random(options.seed).shuffle(addresses)
    different = None
    # What a program does with time and chance may move its memory about: a lie is what is said in every round.
    for _ in range(4):
        with tempfile.TemporaryDirectory(prefix="spile-test-values-") as directory:
            gdb_places = ask_gdb(program, options.arguments, addresses[:options.places], options.unoptimized, directory)
            names = {a: list(values) for a, (_, values) in gdb_places.items()}
            spile_places = ask_spile(spile, program, options.arguments, names, directory)
        counts, now = compare(gdb_places, spile_places, options.show)
        different = {key: text for key, text in now.items() if different is None or key in different}
        if not different: break
    print(f"{len(gdb_places)} of {min(options.places, len(addresses))} places come to; variables:")
    for what, n in counts.most_common():
        print(f"  {n:6}  {what}")
    for line in different.values():
        print(line)
    unwritten = counts["same place, other contents"]
    sys.exit(1 if different or counts["same"] < 5 * unwritten or not counts["same"] else 0)


main()
