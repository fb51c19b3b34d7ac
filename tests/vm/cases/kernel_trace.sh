# `spile trace --kernel`: the tree of a known number of reads, against ftrace's function_graph of the same reads.
. /guest.sh
tracing=/sys/kernel/tracing
reads=20
program="dd if=/dev/zero of=/dev/null bs=512 count=$reads 2>/dev/null"

spile trace --kernel vfs_read --depth 3 --also read_zero -c "$program" >/tmp/tree 2>/tmp/err || fail "trace: $(cat /tmp/err)"
# What the kernel misses, or handlers skip, are hits in interrupts that come in the midst of a handler, and of what handlers call.
# Kernels before 6.7 do not count them. On a busy host, the emulator lets a processor stand still that holds a lock. That nothing
# of the reads is lost is seen below.
grep -Ev "this kernel does not count them|the kernel missed|hit inside another probe.s handler|a global's lock could not be taken in time|Number of errors: 0" /tmp/err >/tmp/warnings && fail "warnings: $(cat /tmp/warnings)"
[ "$(grep -c '| vfs_read(.*count=512' /tmp/tree)" = $reads ] || fail "not $reads reads of 512 bytes: $(head -40 /tmp/tree)"
[ "$(grep -c '| } vfs_read = 512$' /tmp/tree)" = $reads ] || fail "not $reads results: $(head -40 /tmp/tree)"
met
[ "$(grep -c '|   rw_verify_area(read_write=0, file=0x[0-9a-f]*, ppos=0x[0-9a-f]*, count=512) = 0$' /tmp/tree)" = $reads ] || {
  [ "$(grep -c '|   rw_verify_area(read_write=0, file=0x[0-9a-f]*, ppos=0x[0-9a-f]*, count=512) {$' /tmp/tree)" = $reads ] || fail "not $reads checks: $(head -40 /tmp/tree)"; }
[ "$(grep -c '|   read_zero(' /tmp/tree)" -ge $reads ] || fail "the function that is called through a pointer: $(head -40 /tmp/tree)"

# Who calls whom, and how often, in the calls of reads of 512 bytes: the probed functions in both.
spile --script trace --kernel vfs_read --depth 3 --also read_zero | grep -o 'function("[^"]*")' | cut -d'"' -f2 | sort -u >/tmp/probed
awk '$1 == "------" { next } { sub(/^[^|]*\| /, ""); match($0, /^ */); depth = RLENGTH / 2; name = $0; sub(/^ */, "", name)
  if (name ~ /^}/) next; sub(/\(.*/, "", name); at[depth] = name; if (depth > 0) print at[depth - 1], name }' /tmp/tree | sort | uniq -c | sort -k2 >/tmp/edges.spile
echo 0 >$tracing/tracing_on
echo nop >$tracing/current_tracer
echo 3000 >$tracing/buffer_size_kb
echo vfs_read >$tracing/set_graph_function
echo 0 >$tracing/options/funcgraph-irqs
echo function_graph >$tracing/current_tracer
echo funcgraph-tail >$tracing/trace_options 2>/dev/null
# Off until the process is chosen: others read, too.
sh -c "echo \$\$ >$tracing/set_ftrace_pid; echo 1 >$tracing/options/function-fork; echo 1 >$tracing/tracing_on; exec $program"
echo 0 >$tracing/tracing_on
cat $tracing/trace >/tmp/graph
echo nop >$tracing/current_tracer
echo >$tracing/set_ftrace_pid
echo 1 >$tracing/tracing_on
# The same of ftrace's: only probed functions count, each below the nearest probed one, down to depth 3.
awk 'NR == FNR { probed[$1] = 1; next } !/\|/ || /^#/ { next } { sub(/^[^|]*\|  /, ""); match($0, /^ */); depth = RLENGTH / 2; name = $0; sub(/^ */, "", name)
  if (name !~ /^[a-zA-Z_][^ ]*\(/) next; sub(/\(.*/, "", name); base = name; sub(/\.(isra|constprop|part)\..*/, "", base)
  while (top > 0 && level[top] >= depth) top--
  if (!(name in probed) && !(base in probed)) next
  top++; level[top] = depth; at[top] = name; if (top > 1 && top <= 3) print at[top - 1], name }' /tmp/probed /tmp/graph | sort | uniq -c | sort -k2 >/tmp/edges.ftrace
# A thread that is preempted in the midst of a call runs the scheduler there, which either tracer may see: only calls that each
# read makes are compared.
for tracer in spile ftrace; do
  awk -v reads=$reads '$1 >= reads' /tmp/edges.$tracer >/tmp/edges
  mv /tmp/edges /tmp/edges.$tracer
done
cat /tmp/edges.ftrace
[ "$(wc -l </tmp/edges.ftrace)" -ge 3 ] || fail "ftrace saw too little: $(head -50 /tmp/graph)"
cmp -s /tmp/edges.spile /tmp/edges.ftrace || fail "calls differ: spile $(cat /tmp/edges.spile) ftrace $(cat /tmp/edges.ftrace)"

# Interrupts: the timer's, each a tree of its own. Without --interrupts they are not shown, also where they come in the midst of a
# call.
spile trace --kernel hrtimer_interrupt --depth 2 --interrupts -c "dd if=/dev/zero of=/dev/null bs=1M count=20 2>/dev/null" >/tmp/tree 2>/tmp/err || fail "trace --interrupts: $(cat /tmp/err)"
grep -qE '^------ interrupt on CPU [01] \(in ' /tmp/tree || fail "no tree of an interrupt: $(head -20 /tmp/tree) $(cat /tmp/err)"
grep -q '|   __hrtimer_run_queues(' /tmp/tree || fail "no calls in interrupts: $(head -20 /tmp/tree)"
spile trace --kernel vfs_read --depth 2 --also hrtimer_interrupt,__hrtimer_run_queues -c "dd if=/dev/zero of=/dev/null bs=1M count=20 2>/dev/null" >/tmp/tree 2>/tmp/err || fail "trace: $(cat /tmp/err)"
grep -q '| vfs_read(.*count=1048576' /tmp/tree || fail "no reads: $(head -20 /tmp/tree)"
if grep 'hrtimer' /tmp/tree >/tmp/wrong; then fail "interrupts within calls: $(head -5 /tmp/wrong)"; fi
