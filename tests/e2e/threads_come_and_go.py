# Threads that are born and die while probed, some by pthread_exit from a probed frame.
from spiletest import *

result = spile("-e", """global n probe process.function("foo") { n++ } probe process.function("foo").return { n++ }
probe process.function("leave") { n++ } probe end { printf("n %d\\n", n) }""", "-c", f"{program('threads')} 3000")
result.expect(out=f"sum {3000 * 2999 // 2}\nn {3000 * 201}\n", status=0)
