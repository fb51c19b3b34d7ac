# process("PATH") names the program of the function; with -x and -c the processes stay the ones given.
from spiletest import *

path = program("calls")
other = server(seconds=30)
spile("-e", f'global c probe process("{path}").function("foo") {{ c++ }} probe end {{ printf("c %d\\n", c) }}',
      "-c", f"{path} 1000", "-o", "/dev/stderr").expect(err="c 1000\n", status=0)
expect_untouched(other.pid)
