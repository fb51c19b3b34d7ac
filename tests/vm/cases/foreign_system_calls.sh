# System calls of 32-bit code in the kernel: by their own names, with their own arguments, in a 32-bit program and by `int $0x80`
# in a 64-bit one.
. /guest.sh
old=$(uname -r | grep -c '^6\.1\.')

for bits in 32 64; do
  work="exec /bin/foreign_system_calls_$bits"
  out=$(spile -e 'global a, b, c, d, far probe syscall.getppid { if (pid() == target() && execname() =~ "^foreign") a++ }
    probe syscall.truncate64 { if (pid() == target()) { b++; far = length } }
    probe syscall.semget, syscall.brk, syscall.sysctl { if (pid() == target() && execname() =~ "^foreign") c++ }
    probe syscall.waitpid { if (pid() == target() && options == 1) d++ }
    probe end { printf("%d %d %d %d %x\n", a, b, c, d, far) }' -c "$work" --runtime=bpf 2>&1)
  check "calls by name, $bits bits" "$out" '^5 1 0 1 123456789$'
  out=$(spile -e 'global n probe process.syscall { if (pid() == target() && execname() =~ "^foreign") n[$syscall]++ }
    probe end { printf("%d %d %d %d\n", n[110], n[80], n[64], n[705]) }' -c "$work" --runtime=bpf 2>&1)
  check "calls by number, $bits bits" "$out" '^5 1 0 1$'
  out=$(spile -e 'global n probe syscall_any { if (pid() == target() && execname() =~ "^foreign") n[syscall_nr]++ }
    probe syscall_any.return { if (pid() == target() && execname() =~ "^foreign") n[1000 + syscall_nr]++ }
    probe end { printf("%d %d %d %d\n", n[110], n[64], n[1110], n[1064]) }' -c "$work" --runtime=bpf 2>&1)
  check "any call, $bits bits" "$out" '^5 0 5 0$'
  [ "$old" = 1 ] && continue
  out=$(spile -e 'probe syscall.* { if (pid() == target() && execname() =~ "^foreign") printf("%s(%s)\n", name, argstr) }' \
    -c "$work" --runtime=bpf 2>&1)
  check "text of a time, $bits bits" "$out" '^nanosleep\(\[0\.000001000\], 0x0\)$'
  check "text of an offset, $bits bits" "$out" '^pread\(-1, 0x[0-9a-f]+, 8, 4886718345\)$'
done
