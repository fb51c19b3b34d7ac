# -p1 prints a tree that parses again to itself, for every script of the examples and of the library.
from spiletest import *

scripts = sorted([*ROOT.glob("examples/**/*.stp"), *ROOT.glob("tapset/**/*.stp")])
expect_true(len(scripts) > 20, "there are scripts")
for script in scripts:
    interval = "timer.s(%(" in script.read_text()  # its first argument is a number
    arguments = [4 if interval else "x", 1, 2, 3]
    first = spile("-p1", "-g", "-w", script, *arguments).expect(status=0).out
    tree = first.partition("\n")[2]
    expect_true(tree != "", f"{script} has a tree")
    expect(spile("-p1", "-g", "-w", "-e", tree, *arguments).expect(status=0).out, first, str(script))
