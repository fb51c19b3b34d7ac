# variants: stacks stacks_static stacks_stripped stacks_debug_frame
# Stacks without frame pointers, through callbacks, signal handlers on stacks of their own, forks and probed frames.
from spiletest import *

path = program(VARIANT)
EXPECTED = {
    0: ["leaf", "plain", "main"],
    1: ["leaf", "plain", "sized", "main"],
    2: ["leaf", "compare", None, "sorted", "main"],
    3: ["leaf", "on_signal", None, "raised", "main"],
    4: ["leaf"] + ["deep"] * 31 + ["main"],
    5: ["leaf", "plain", "main"],
    6: ["leaf", "never", "main"],
}


RETURNING = ["plain", "sized", "sorted", "compare", "deep", "raised", "on_signal", "never", "leaf"]


def check(out, what):
    stacks = re.findall(r"^stack (\d)\n((?:.*\n)*?)end\n", out, re.M)
    expect([int(n) for n, _ in stacks], [0, 1, 2, 3, 4, 5, 6], what)
    for number, text in stacks:
        wanted = EXPECTED[int(number)]
        names = [line.split("+")[0].split(" : ")[-1].strip() for line in text.splitlines()]
        if None in wanted:  # some frames of libc
            gap = wanted.index(None)
            tail = wanted[gap + 1:]
            expect(names[:gap], wanted[:gap], f"{what} {number}")
            expect_true(any(names[i:i + len(tail)] == tail for i in range(gap, len(names))), f"{what} {number}: {names}")
        else:
            expect(names[:len(wanted)], wanted, f"{what} {number}")


body = '{ printf("stack %d\\n", int_arg(1)); print_ubacktrace(); printf("end\\n") }'
check(spile("-e", f"probe process.function(\"leaf\") {body}", "-c", path).expect(status=0).out, "print_ubacktrace")
# Every frame of the program the program returns through a trampoline.
check(spile("-e", f'global n probe process.function("leaf") {body} '
            f'probe {", ".join(f"process.function({chr(34)}{f}{chr(34)}).return" for f in RETURNING)} {{ n++ }} '
            'probe end { printf("%d returns\\n", n) }',
            "-c", path).expect(out_match="^46 returns$").out, "through probed frames")
# As strings: names found inside the handler, and by the end probe, when the process has gone.
check(spile("-DMAXSTRINGLEN=4096", "-e",
            'probe process.function("leaf") { printf("stack %d\\n%send\\n", int_arg(1), sprint_ubacktrace()) }',
            "-c", path).expect(status=0).out, "sprint_ubacktrace")
check(spile("-DMAXSTRINGLEN=4096", "-e", 'global s probe process.function("leaf") { s[int_arg(1)] = ubacktrace() } '
            'probe end { foreach (n+ in s) { printf("stack %d\\n", n); print_usyms(s[n]); printf("end\\n") } }',
            "-c", path).expect(status=0).out, "print_usyms at the end")
