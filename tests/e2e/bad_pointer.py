# Reading through a bad pointer is an error of the script, which try catches; never a crash.
from spiletest import *

spile("-e", r"""global caught probe process.function("bar") {
  try { println(user_int64_error(8)) } catch (why) { printf("caught %s\n", why); caught++ }
  printf("%d\n", $p->next->value)
  try { println($p->next->next->value) } catch { caught++ }
}
probe end { printf("%d caught\n", caught) }""", "-c", f"{program('calls')} 10", "-o", "/dev/stderr").expect(
    status=0, err_match=r"^2 caught$", out_match="^countdown 42$")
