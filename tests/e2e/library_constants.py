# @const: constants of C in every kind of probe, in functions, in @defined, and what is not known of them.
from spiletest import *

import errno, signal, socket

out = spile("-e", """function family() { return @const("AF_INET6") }
probe begin { printf("%d %d %d %d %d %d ", @const("AF_UNIX"), family(), @const("O_WRONLY | O_APPEND"), @const("-EAGAIN"), @const("SIGUSR1"), @const("S_IFDIR"))
  printf("%d %d %d\\n", @defined(@const("SOCK_STREAM")), @defined(@const("NO_SUCH_NAME")), @choose_defined(@const("NO_SUCH_NAME"), @const("PAGE_SIZE"))); exit() }""").expect(status=0).out
expect(out, f"{socket.AF_UNIX} {socket.AF_INET6} {os.O_WRONLY | os.O_APPEND} {-errno.EAGAIN} {int(signal.SIGUSR1)} "
            f"{0o40000} 1 0 4096\n")
out = spile("-e", 'probe syscall.socket { if (family == @const("PF_INET") && (type & 15) == @const("SOCK_DGRAM")) '
                  'println("datagrams") }', "-c",
            f"{os.path.realpath(sys.executable)} -S -E -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
            f"socket.socket(socket.AF_INET, socket.SOCK_STREAM)'").expect(status=0).out
expect(out, "datagrams\n")
# Names alone in C are the same numbers, and no compiler is asked; a name that the script's own C has is that C's.
os.environ["CLANG"] = "/bin/false"
out = spile("-g", "-e", 'function family() { return %{ AF_INET6 %} } probe begin { printf("%d %d\\n", family(), %{EAGAIN%}); '
                        'exit() }').expect(status=0).out
expect(out, f"{socket.AF_INET6} {errno.EAGAIN}\n")
spile("-g", "-e", "%{ enum { EAGAIN = 3 }; %} probe begin { println(%{EAGAIN%}); exit() }").expect(status=1)
del os.environ["CLANG"]
# The constants of the kernel's enumerations, which no header of programs has.
if os.access("/sys/kernel/btf/vmlinux", os.R_OK):
    expect(spile("-e", 'probe begin { println(@const("REQ_OP_WRITE")); exit() }').expect(status=0).out, "1\n")
for wrong, message, hint in [("AF_INNET", "unknown constant 'AF_INNET'", "did you mean 'AF_INET'"),
                             ("NO_SUCH_NAME_AT_ALL", "unknown constant", "C headers are not read"),
                             ("sizeof(int)", "'sizeof' in @const", '@sizeof'), ("O_RDWR |", "ends too early", ""),
                             ("1 / 0", "division by zero", ""),
                             ("f(1)", "unknown constant 'f'", "")]:
    err = spile("-p2", "-e", f'probe begin {{ println(@const("{wrong}")) }}').expect(status=1).err
    expect_match(re.escape(message), err)
    expect_match(re.escape(hint), err)
    expect_match(r"<input>:1:23", err)
