# Output comes in the order in which it was printed, over all probes of a thread and over begin and end.
from spiletest import *

spile("-e", r"""probe begin { println("begin") } probe end { println("end") }
probe process.function("leaf") { println("leaf in") } probe process.function("leaf").return { println("leaf out") }
probe process.function("greet") { print("greet "); print("and "); println(pid() == target()) }
""", "-c", f"{program('calls')} 10", "-o", "/dev/stderr").expect(err="begin\nleaf in\nleaf out\ngreet and 1\nend\n")
