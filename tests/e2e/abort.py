# abort() ends the handler at once, out of nested functions and whatever try is around, and the session after it.
# variants: controller process recursive
from spiletest import *

FUNCTIONS = """
function quit:string(s:string) { try { println(s) abort() println("no 1") } catch { println("no 2") } return "no 3" }
function outer(s:string) { try { println(quit(s)) } catch (m) { println("no 4 ", m) } println("no 5") }
function deep(n) { if (n == 0) abort() try { deep(n - 1) } catch { println("no 6") } println("no 7") }
probe never { outer("") deep(1) }
"""
body = {"controller": "begin { try { outer(\"here\") } catch { println(\"no 8\") } println(\"no 9\") }",
        "process": "process.function(\"eight\") { try { outer(\"here\") } catch { println(\"no 8\") } println(\"no 9\") }",
        "recursive": "begin { println(\"here\") try { deep(5) } catch { println(\"no 8\") } println(\"no 9\") }"}[VARIANT]
command = ["-c", f"{program('calls')} 10", "-o", "/dev/stderr"] if VARIANT == "process" else []
result = spile("-e", FUNCTIONS + "probe " + body + 'probe end { println("end") } probe error { println("no 10") }', *command)
result.expect(**{"err" if command else "out": "here\nend\n"})
