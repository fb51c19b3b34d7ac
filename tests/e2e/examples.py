# The examples do what they say, on a program of the tests.
from spiletest import *

calls = f"{program('calls')} 3"


def example(name, *arguments):
    script = ROOT / "examples" / f"{name}.stp"
    return spile("-o", "/dev/stderr", "-c", calls, script, *arguments).expect(status=0).err


graph = example("call-graph", "foo")
expect(len(re.findall(r"^ +\d+ calls\(\d+\):-> foo\(arg=0?x?\d\)$", graph, re.M)), 3)
expect(len(re.findall(r"^ +\d+ calls\(\d+\):<- foo return=0x\w+$", graph, re.M)), 3)
graph = example("call-graph", "bar", "main")
expect_match(r":-> bar\(p=0x[0-9a-f]+\)$", graph)
expect_true("main" not in graph, "only bar is shown")
expect_match(r"^1 slow calls, 0 others$", example("slow-requests", "main", 0, "foo"))
slow = example("slow-requests", "main", 0, "foo")
expect_match(r"^main took \d+ us\n  foo arg=0x0\n  foo arg=0x1\n  foo arg=0x2\n1 slow", slow)
expect_match(r"^0 slow calls, 3 others$", example("slow-requests", "foo", 1000000, "bar"))
expect_match(r"^work: .*ops/s.*\na request took \d+\.\d{3} ms on average$", example("queue", "foo", "bar", "leaf"))
times = example("function-times", "*")
expect_match(r"^function +calls +average +longest$", times)
expect_match(r"^foo +3 +\d+ +\d+$", times)
