# Parameters and what they point to, through debug information: registers, the stack, structures, strings.
from spiletest import *

spile("-e", r"""
probe process.function("bar") { printf("bar %d %d %d %s\n", $p->value, $p->next->value, $p->numbers[2],
                                       user_string($p->next->name)) }
probe process.function("eight") { printf("eight %d %d %d %d\n", $a, $f, $g, $h) }
probe process.function("greet") { printf("greet %s\n", user_string($name)) }
probe process.function("foo") { if ($arg == 3) printf("foo %d\n", $arg) }
probe process.function("leaf").return { printf("leaf %d\n", $return) }
""", "-c", f"{program('calls')} 10", "-o", "/dev/stderr").expect(
    err="foo 3\nbar 10 20 3 second\neight 1 6 7 8\nleaf 42\ngreet world\n")
