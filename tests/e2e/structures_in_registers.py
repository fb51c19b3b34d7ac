# Structures that are passed and returned in registers are printed whole, with their texts, which have no address there.
# variants: pretty_O0 pretty_gcc
from spiletest import *

PATH = program(VARIANT)


def run(script):
    return spile("-e", script, "-c", PATH, "-o", "/dev/stderr").expect(status=0, out="done\n").err


ALL = r"""t={.a=7, .tag="ab"} l={.text="ten \"lette", .more='\377'} e={.number=24930, .text="ba"} n=4"""
expect(run('probe process.function("in_registers") { println($$parms$) println($t$$, $l$) }'),
       ALL + "\n" + r"""{.a=7, .tag="ab"}{.text="ten \"lette", .more='\377'}""" + "\n")
expect(run('probe process.function("in_registers").return { println($$parms$$) }'), ALL + "\n")
expect(run('probe process.function("nested_in_registers") { printf("%s %d %d\\n", $s$$, $s->in->b, $s->in->tag[1]) }'),
       '{.first=1, .in={.a=2, .tag="xy", .b=3}} 3 121\n')
expect(run('probe process.function("nested_in_registers").return { println($return$$, $$return$) }'),
       '{.first=1, .in={.a=2, .tag="xy", .b=3}}return={.first=1, .in={...}}\n')
# One value that can't be printed doesn't keep a wildcard's probes from being made.
expect_match(r"^main|pointed", run('probe process.function("*") { println(ppfunc(), $$parms$$) }'), "all functions")
