# Watchpoints on the kernel's variables: a sysctl that the case writes and reads itself.
. /guest.sh
grep -q ' panic_timeout$' /proc/kallsyms || fail "no such variable in this kernel"
before=$(cat /proc/sys/kernel/panic)
writes='i=0; while [ $i -lt 10 ]; do echo $((i % 3 - 1)) >/proc/sys/kernel/panic; i=$((i+1)); done'
reads='i=0; while [ $i -lt 5 ]; do read x </proc/sys/kernel/panic; i=$((i+1)); done'

out=$(spile -v -e 'global w, others probe kernel.data("panic_timeout").write { if (pid() == target()) w++; else others++ }
                   probe end { printf("writes %d %d\n", w, others) }' -c "$writes; $reads" 2>&1)
check "writes" "$out" '^writes 10 0$'
check "mechanism" "$out" '^kernel.data\("panic_timeout"\).write: watchpoint on writes of 4 bytes at 0x[0-9a-f]+$'

# Reads count too; beside it a variable by its address, and one that nothing touches. Values are read in the kernel.
oops=$(cat /proc/sys/kernel/panic_on_oops)
address=0x$(sed -n 's/^\([0-9a-f]*\) . panic_on_oops$/\1/p' /proc/kallsyms)
others='i=0; while [ $i -lt 7 ]; do echo 1 >/proc/sys/kernel/panic_on_oops; i=$((i+1)); done'
for more in '' 'try { error("x") } catch { caught++ }'; do
  [ -n "$more" ] && case $(uname -r) in 6.1.*) continue ;; esac
  out=$(spile -e "global n, sum, caught probe kernel.data(\"panic_timeout\").rw { n[\"rw\"]++; $more }
    probe kernel.data($address).length(4).write { n[\"address\"]++; sum += kernel_int($address) } probe kernel.data(\"panic_on_warn\").write { n[\"other\"]++ }
    probe end { printf(\"%d %d %d sum %d\\n\", n[\"rw\"], n[\"address\"], n[\"other\"], sum) }" -c "$writes; $reads; $others" 2>&1)
  check "reads, addresses and values" "$out" '^15 7 0 sum 7$'
done
echo "$oops" >/proc/sys/kernel/panic_on_oops
echo "$before" >/proc/sys/kernel/panic

out=$(spile -e 'probe kernel.data("panic_timeuot").write { next }' 2>&1) && fail "a variable that is not there"
check "did you mean" "$out" "did you mean 'panic_timeout'"
out=$(spile -e 'probe kernel.data("vfs_read").write { next }' 2>&1) && fail "a function"
check "a function" "$out" "'vfs_read' is a function of the kernel"
