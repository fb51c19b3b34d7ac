# Probes of a library's file run only if a script uses something of the file: a function, a global, an alias that one of its
# points means; also if another file of the library does.
from spiletest import *

folder = temporary_directory()
(folder / "one.stp").write_text("""probe init { print("one ") }
function one_function() { return one_private() }
private function one_private() { return late(1) }
probe one.alias = begin { one_x = 1 }
probe one.other.deep = begin { one_x = 2 }
""")
(folder / "two.stp").write_text("""global two_state
function late(n) { two_state += n; return two_state }
probe init { late(10) print("two ") }
""")
(folder / "three.stp").write_text("""probe init { print("three ") }
probe one.third = begin { }
function mine() { return 1 }
function mine_too(a) { return a }
global common
""")
(folder / "four.stp").write_text("""probe init { late(100) print("four ") }
global four_state
""")
for script, files in {"probe begin { }": "", "probe one.alias { println(one_x) }": "one ", "probe one.other.deep { }": "one ",
                      "probe one.third { }": "three ", "probe one.* { }": "one three ", "probe one.** { }": "one three ",
                      "probe {one,none}.alias? { }": "one ", "probe mean = one.alias { } probe mean { }": "one ",
                      "probe begin { println(one_function()) }": "one two ", "probe begin { four_state = 1 }": "four two ",
                      # Names that are the script's own
                      "function mine() { return 2 } probe begin { println(mine()) }": "",
                      "global common probe begin { common++ }": "",
                      "function mine_too() { return 2 } probe begin { println(mine_too(1)) }": "three "}.items():
    result = spile("-w", "-I", folder, "-e", script + " probe begin(9) { exit() }").expect(status=0)
    begun = re.match(r"((one|two|three|four) )*", result.out)[0]
    expect((script, sorted(begun.split())), (script, sorted(files.split())), "files whose probes ran")
