# Handlers in a process and in the kernel, with common globals.
# Two clocks are compared, which takes an emulator some microseconds; so much may a time seem to run back.
# kernels: 6.12
. /guest.sh

entered='kernel.trace("syscalls:sys_enter_getppid")'
out=$(spile -v -DMAXSKIPPED=0 -e "global n, m, both, start, lat, odd
  probe process.function(\"step\") { n++; both = both + 1; start[tid()] = gettimeofday_ns() }
  probe $entered { if (pid() != target()) next; m++; both = both + 1
    if (tid() in start) { lat <<< gettimeofday_ns() - start[tid()]; delete start[tid()] } else odd++ }
  probe end { printf(\"%d %d %d %d %d %d\n\", n, m, both, @count(lat), odd, @min(lat) > -20000) }" -c "steps 5000 2" 2>&1)
check "the process is probed by jumps" "$out" 'step .*: jump'
counts=$(echo "$out" | grep -E '^[0-9]+ [0-9]+ [0-9]+ [0-9]+ [0-9]+ [0-9]+$')
lost=$(echo "$out" | sed -n 's/.*WARNING: \([0-9]*\) skipped.*/\1/p' | head -1)
set -- $counts
[ $(($1 + $2 + ${lost:-0})) -ge 20000 ] && [ $(($1 + $2)) = "$3" ] && [ "$6" = 1 ] || fail "counts: $counts, skipped: ${lost:-0}: $out"
[ "${lost:-0}" -lt 200 ] || fail "${lost} of 20000 hits were skipped"

out=$(spile -e "probe process.function(\"step\") { printf(\"step %d\n\", \$number) } probe $entered { if (pid() == target()) printf(\"call\n\") }" -c "steps 100" 2>&1 | grep -E 'step|call')
[ "$out" = "$(for i in $(seq 0 99); do echo "step $i"; echo call; done)" ] || fail "records in another order: $out"

out=$(spile -e "global p probe process.function(\"step\") { p = \$number } probe $entered { if (pid() == target()) println(kernel_long(p)); p = 1 }" -c "steps 1" 2>&1) &&
  fail "an address of a process was read in the kernel"
check "addresses from processes" "$out" 'a traced process could have any memory read'

# Functions of the kernel beside those of a process.
out=$(spile -e 'global n, m probe process.function("step") { n++ } probe kernel.function("__x64_sys_getppid") { if (pid() == target()) m++ }
  probe end { printf("%d %d\n", n, m) }' -c "steps 2000" 2>&1)
check "kernel.function" "$out" '^2000 2000$'

# Stacks of the process in the kernel's handlers, past the place where the handler of a return has put its address.
out=$(spile -e "global n, seen, r probe process.function(\"step\").return { r++ } probe $entered { if (pid() == target() && n++ == 50) print_ubacktrace() else seen[ubacktrace()]++ }
  probe end { printf(\"%d\n\", r) }" -c "steps 100" 2>&1)
check "a stack of the process" "$(echo "$out" | sed -n 's/^ 0x[0-9a-f]* : \([^+]*\)+.*/\1/p' | tr '\n' ' ')" '^syscall step main .*_start $'
check "returns beside it" "$out" '^100$'
