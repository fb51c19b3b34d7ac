# Functions of the kernel: exact counts against a program's own loop and against ftrace, values of
# parameters and results, latencies, by each mechanism that the kernel has.
. /guest.sh

reads='dd if=/dev/zero of=/dev/null bs=1 count=1000 2>/dev/null'

# count MECHANISM POINT: 1000 calls by the command alone are 1000 hits, and the mechanism is the expected one.
count() {
  out=$(spile -v -e "global c probe $2 { if (pid() == target()) c++ } probe end { println(c) }" -c "exec $reads" 2>&1)
  check "$2" "$out" '^1000$'
  check "mechanism of $2" "$out" "^(kernel|kprobe)\..*: ($1)\$"
}
count fentry 'kernel.function("ksys_read")'
count fexit 'kernel.function("ksys_read").return'
count fentry 'kernel.function("ksys_read").call'
count fexit 'kprobe.function("ksys_read").return.maxactive(10)'
count kprobe 'kernel.statement("ksys_read+0")'
# A pattern of many functions: one link where the kernel can, else a kprobe each.
case $(uname -r) in
  6.1.*) many=kprobe ;;
  *) many=kprobe.multi ;;
esac
out=$(spile -v -e 'global c probe kernel.function("vfs_*") { if (pid() == target() && long_arg(3) == 1) c[probefunc()]++ }
                   probe end { printf("%d %d\n", c["vfs_read"], c["vfs_write"]) }' -c "exec $reads" 2>&1)
check pattern "$out" '^1000 1000$'
check "mechanism of a pattern" "$out" "^kernel.function\(\"vfs_read\"\): $many\$"

# ftrace's function tracer counts the same calls of a function that only the loop makes happen: sync(2), of all processes.
cd /sys/kernel/tracing && echo ksys_sync >set_ftrace_filter && echo function >current_tracer && echo >trace || fail "no function tracer"
out=$(spile -e 'global c, r probe kernel.function("ksys_sync") { c++ } probe kernel.function("ksys_sync").return { r++ }
                probe end { printf("%d %d\n", c, r) }' -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sync; done')
traced=$(grep -v '^#' trace | grep -c ksys_sync)
echo nop >current_tracer
echo >set_ftrace_filter
cd /
[ "$traced" = 12 ] || fail "ftrace has $traced calls of ksys_sync"
check "beside ftrace" "$out" '^12 12$'

# Parameters, results and what they lead to.
out=$(spile -e 'global c, wrong, name
  probe kernel.function("vfs_read").return {
    if (pid() == target() && $count == 1) { c++; if ($return != 1 || $count != @entry($count)) wrong++
      name = kernel_string($file->f_path->dentry->d_name->name) } }
  probe end { printf("%d %d %s\n", c, wrong, name) }' -c "exec $reads")
check "values" "$out" '^1000 0 zero$'
out=$(spile -e 'global same, time, is_defined
  probe kernel.function("vfs_read") { if (pid() == target()) { p = $file
    same = (p->f_flags == $file->f_flags) + (@cast(p, "struct file", "kernel")->f_flags == $file->f_flags) +
           (@cast(p, "kernel<struct file>")->f_flags == $file->f_flags)
    time = @var("jiffies") > 0 && kernel_long(&@var("jiffies@kernel")) >= @var("jiffies", "kernel")
    is_defined = @defined($file->f_flags) * 100 + @defined($nothing) * 10 + @choose_defined($nothing, 7) } }
  probe end { printf("%d %d %d\n", same, time, is_defined) }' -c "exec $reads")
check "casts and variables" "$out" '^3 1 107$'
# The result by its register, and as text; all registers, those with which the process has entered the kernel, and the module of
# the place.
out=$(spile -e 'global c probe kernel.function("vfs_read").return { if (pid() == target()) c[returnval(), returnstr(1), @entry($count)]++ }
  probe end { foreach ([r, text, count] in c) println(r, " ", text, " ", count, ": ", c[r, text, count]) }' -c "exec $reads")
check "returnval()" "$out" '^1 1 1: 1000$'
out=$(spile -e 'probe kernel.function("vfs_read") { if (pid() == target()) { print_regs() printf("%d %d\n", register("rflags") != 0, u_register("rdi") == pointer_arg(1)) exit() } }' -c "exec $reads" 2>&1)
check "print_regs()" "$out" '^RIP: ffffffff[0-9a-f]{8}$'
check "registers" "$out" '^1 1$'
out=$(spile -e 'probe kernel.function("vfs_read") { if (pid() == target()) { print_uregs() exit() } }' -c "exec $reads" 2>&1)
check "print_uregs()" "$out" '^R13: [0-9a-f]{16} R14'
check "the size of the read in rdx" "$out" '^RDX: 0000000000000001 '
case $(uname -r) in
  6.1.*) out=$(spile -e 'probe kernel.function("vfs_read") { println(probemod()) }' 2>&1)
         check "a function of the library before Linux 6.12" "$out" "^<input>:1:45: error: 'probemod' is not available in a handler that runs in the kernel: the place in the kernel's code is known there from Linux 6.12 on" ;;
  *) out=$(spile -e 'probe kernel.function("vfs_read") { if (pid() == target()) { println(probemod()) exit() } }' -c "exec $reads")
     check "probemod()" "$out" '^kernel$' ;;
esac
out=$(spile -e 'probe kernel.function("vfs_read") { if (pid() == target()) println(@cast($buf, "struct file", "kernel")->f_flags) }' \
  -c "exec $reads" 2>&1)
check "memory of the process" "$out" '^ERROR: read fault at 0x[0-9a-f]+ near .@cast'

# Handlers at fentry and fexit have the language of all others, functions that ask for arguments included, where handlers work
# over an arena.
case $(uname -r) in
  6.1.*) ;;
  *) out=$(spile -v -e 'global texts, start
       probe kernel.function("vfs_read") { if (pid() == target() && long_arg(3) == 1) { try { texts[sprintf("%d-%s", int_arg(3), execname())]++ } catch (m) { println(m) } start[tid()] = $count } }
       probe kernel.function("vfs_read").return { if (tid() in start) { if (start[tid()] == $return) texts["same"]++ delete start[tid()] } }
       probe end { foreach (t+ in texts) println(t, " ", texts[t]) }' -c "exec $reads" 2>&1)
     check "the language at fentry" "$out" '^1-dd 1000$'
     check "the language at fexit" "$out" '^same 1000$'
     check "the mechanism of the language" "$out" '^kernel.function\("vfs_read"\).return: fexit$' ;;
esac

# Latency: an entry value for each return, on both ways to get there.
for point in 'kernel.function("vfs_read").return' 'kernel.function("vfs_*").return'; do
  out=$(spile -e "global s probe $point { if (pid() == target() && probefunc() == \"vfs_read\") s <<< gettimeofday_ns() - @entry(gettimeofday_ns()) }
                  probe end { printf(\"%d %d\n\", @count(s) >= 1000, @min(s) > 0) }" -c "exec $reads")
  check "latency of $point" "$out" '^1 1$'
done

# A handler that reads the kernel's memory calls a function that is probed as well: the kernel counts those hits as missed, and so
# they are reported.
out=$(spile -e 'global reads probe kernel.function("copy_from_kernel_nofault") { reads <<< kernel_long(&@var("jiffies")) }
  probe kernel.function("vfs_read") { if (pid() == target()) reads <<< $file->f_flags }' -c "exec $reads" 2>&1)
check "missed hits" "$out" '^WARNING: the kernel missed [0-9]+ hits? of kernel.function\("copy_from_kernel_nofault"\)$'
# A function on the way to every handler: kprobes get along with that.
out=$(spile -e 'global c probe kernel.function("__rcu_read_lock") { c++ } probe end { println(c > 0) }' -c true 2>&1)
check "a function that the way to the handler calls" "$out" '^1$'

# An address, by both names of the probe point.
address=0x$(awk '$3 == "ksys_read" { print $1; exit }' /proc/kallsyms)
for family in kernel kprobe; do
  out=$(spile -e "global c probe $family.statement($address).absolute { if (pid() == target()) c++ } probe end { println(c) }" -c "exec $reads" 2>&1)
  check "$family.statement" "$out" '^1000$'
  script="global c probe $family.statement($address) { if (pid() == target()) c++ } probe end { println(c) }"
  out=$(spile -e "$script" -c "exec $reads" 2>&1)
  check "$family.statement without .absolute" "$out" '^1000$'
done
out=$(spile -p2 -e 'probe kernel.function("vfs_read").exported { next }' 2>&1)
check "not exported" "$out" "error: the function 'vfs_read' of this kernel is not exported$"
out=$(spile -p2 -e 'probe kernel.function("vfs_read") { println(@cast($file, "struct fil")->f_flags) }' 2>&1)
check "a misspelled type" "$out" "hint: did you mean 'struct file'\?$"

# Places that are not in the function, and hits that the kernel does not count.
out=$(spile -e 'probe kernel.statement("__x64_sys_getppid+100000") { exit() }' 2>&1) && fail "a place outside of the function was probed"
check "outside of the function" "$out" "'__x64_sys_getppid\+100000' is not in the function '__x64_sys_getppid': it lies [0-9]+ bytes behind the beginning of '.*'"
out=$(spile -e 'probe kernel.statement("__x64_sys_getppid+1") { exit() }' 2>&1) && fail "the middle of an instruction was probed"
check "no instruction" "$out" '"__x64_sys_getppid\+0x1"\): no instruction begins there$'
# Beside others it is a warning; where `?` says so, not even that.
inside='kernel.statement("__x64_sys_getppid+1")'
script='probe kernel.function("vfs_read") { if (pid() == target()) c++ } global c probe end { println("hits ", c) }'
out=$(spile -e "probe $inside { c++ } $script" -c "exec $reads" 2>&1) || fail "status $?: $out"
check "the other place" "$out" '^hits [1-9][0-9]*$'
check "what is left out" "$out" '^WARNING: attach kernel.statement\("__x64_sys_getppid\+0x1"\): no instruction begins there$'
out=$(spile -e "probe $inside ? { c++ } $script" -c "exec $reads" 2>&1) || fail "status $?: $out"
check "the other place of an optional one" "$out" '^hits [1-9][0-9]*$'
echo "$out" | grep -q WARNING && fail "an optional place: $out"
out=$(spile -e "global c probe $inside ? { c++ } probe begin { println(\"begun\") exit() }" 2>&1) || fail "status $?: $out"
check "an optional place alone" "$out" '^begun$'
uncounted="^WARNING: hits of the kernel's functions inside other handlers are missing, and this kernel does not count them"
out=$(spile -e 'global c probe kernel.function("__x64_sys_getppid"), kernel.function("__x64_sys_getuid") { c++ } probe end { println("end") }' -c true 2>&1)
check "several functions" "$out" '^end$'
echo "$out" | grep -q "$uncounted" && fail "none of them is called in an interrupt, so none is missed: $out"
out=$(spile -e 'global c probe kernel.function("hrtimer_*") { c++ } probe end { println("end") }' -c 'sleep 1' 2>&1)
check "functions in interrupts" "$out" '^end$'
case $(uname -r) in
  6.1.*) check "unknown misses" "$out" "$uncounted" ;;
  *) echo "$out" | grep -q "$uncounted" && fail "Linux 6.7 counts: $out" ;;
esac

# What is kept at the entry is found at the return by the call's frame.
out=$(spile -v -e 'global n, wrong probe kernel.function("ksys_read").return { if (pid() == target()) { n++
  if (@entry(tid()) != tid() || @entry(long_arg(3)) < $return) wrong++ } } probe end { printf("%d %d\n", n, wrong) }' -c "exec $reads" 2>&1)
check "entry values" "$out" '^1000 0$'
check "mechanism of entry values" "$out" '^kernel\.function\("ksys_read"\)\.return: fexit$'
case $(uname -r) in
  6.1.*) ;;
  *) out=$(spile -e 'probe kernel.function("vfs_read") { if (pid() == target()) { println($file->f_op$); println($file->f_inode$); println($$parms$); exit() } }' -c "exec $reads" 2>&1)
     check "a large structure" "$out" '^\{.*\.read_iter=0xf[0-9a-f]+,' ;;
esac
