# Without BPF arenas (before Linux 6.12), handlers in the kernel work over its maps: what these can't do is rejected, at its
# place.
# kernels: 6.1
. /guest.sh
trace='probe kernel.trace("sched:sched_switch")'

# rejected SCRIPT WHAT
rejected() {
  out=$(spile -e "$1" 2>&1) && fail "not rejected: $1"
  check "$1" "$out" "^<input>:1:[0-9]*: error: .*$2"
  check "the caret under $1" "$out" '^ +\| +\^'
}
rejected "global a% $trace { a[pid()]++ }" 'array that wraps'
rejected "function f:long(n) { if (n > 0) return f(n - 1); return 0 } $trace { println(f(3)) }" recursion
rejected "$trace { if (execname() =~ \"(x)\") println(matched(1)) }" 'matched\(\)'

out=$(spile -e 'global a, b probe kernel.trace("sched:sched_process_exit") { if (pid() == target()) {
    for (i = 0; i < 50; i++) { a[i] = i; b[i, execname()] = execname() }
    delete a; delete b; a[7] = 3; println(a[1], a[7], b[1, "true"], 7 in a, [2, "true"] in b) } }
  probe end { foreach (k in a) println(k, " ", a[k]); foreach ([k, t] in b) println(k, t) }' -c true 2>&1)
check "delete of whole arrays" "$(echo $out)" '^0310 7 3$'

out=$(spile -e 'probe kernel.function("vfs_read") { if (execname() == "dd") { println($$parms$$); exit() } }' -c 'dd if=/dev/zero of=/dev/null bs=100 count=1 2>/dev/null' 2>&1)
check 'parameters with their members' "$out" '^file=\{.*\.f_.*='
out=$(spile -e 'function f(x) { try { return kernel_long(x) } catch (m) { println(m); return -1 } }
  probe kernel.function("vfs_read") { if (execname() == "dd") { printf("%d %d\n", f(8), f($file) != -1); exit() } }' -c 'dd if=/dev/zero of=/dev/null bs=100 count=1 2>/dev/null' 2>&1)
check 'errors that a function catches' "$out" '^-1 1$'
check 'the text of an error' "$out" 'read fault at 0x0000000000000008|0x8'

rejected "global s $trace { s <<< 1 } probe end { println(@percentile(s, 50)) }" "percentiles of .s."

# What is far too large is rejected before it is optimized, which takes most of the time.
out=$(spile -v --runtime=bpf -e 'probe syscall.* { println(argstr) }' 2>&1) && fail "syscall.* with argstr was loaded: $out"
check 'argstr of all system calls' "$out" '^spile: <input>:1:1: a handler is too large for the kernel'
check 'and what to do' "$out" 'hint: split the probe'
