# System calls of 32-bit code, which 64-bit code can make by `int $0x80`, are none of the calls whose numbers they share.
from spiletest import *

if os.geteuid() != 0:
    skip("tracepoints need root")
program_path = program("foreign_calls")
if subprocess.run([program_path]).returncode != 0:
    skip("the kernel runs no 32-bit code")
counted = " ".join(f'probe kernel.trace("syscalls:sys_{when}_{call}") {{ if (pid() == target()) n["{call} {when}"]++ }}'
                   for call in ("getppid", "writev") for when in ("enter", "exit"))
spile("-e", f"""global n, with_arguments, of_library
{counted}
probe kernel.trace("syscalls:sys_enter_writev") {{ if (pid() == target()) with_arguments[$fd, $vlen]++ }}
probe nd_syscall.getppid, nd_syscall.writev {{ if (pid() == target()) of_library[name]++ }}
probe end {{
  foreach (c+ in n) printf("%s %d\\n", c, n[c])
  foreach ([fd, count] in with_arguments) printf("writev(%d, %d) %d\\n", fd, count, with_arguments[fd, count])
  foreach (c+ in of_library) printf("%s %d\\n", c, of_library[c])
}}""", "--runtime=bpf", "-c", program_path).expect(status=0, err="", out="""getppid enter 3
getppid exit 3
writev enter 3
writev exit 3
writev(1, 1) 3
getppid 3
writev 3
""")
