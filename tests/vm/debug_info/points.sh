# Points by the kernel's debug information: exact counts against the program's own loop and against ftrace, values of locals, what
# is refused.
# seconds: 600
. /guest.sh

reads='dd if=/dev/zero of=/dev/null bs=1 count=1000 2>/dev/null'
image=/usr/lib/debug/boot/vmlinux-$(uname -r)
tracing=/sys/kernel/tracing

# seconds TEXT COMMAND...: runs the command and prints how long it took.
seconds() {
  text=$1
  shift
  begin=$(cut -d' ' -f1 /proc/uptime)
  "$@" >/dev/null 2>&1
  end=$(cut -d' ' -f1 /proc/uptime)
  echo "$text: $(echo "$end $begin" | awk '{ print $1 - $2 }') s (emulated)"
}

echo "_text: $(grep -w _text /proc/kallsyms), in the image ffffffff81000000"
# From start to armed, first without remembered answers.
for point in 'kernel.function("file_ppos").inline' 'kernel.statement("vfs_read@fs/read_write.c:566")' 'kernel.function("vfs_read@fs/read_write.c").return'; do
  rm -rf /root/.cache
  for run in first second; do seconds "$run start to end with $point" spile -e "global c probe $point { c++ } probe begin { exit() } probe end { println(c) }"; done
done

# count NUMBER POINT [CONDITION]: 1000 calls by the command alone.
count() {
  out=$(spile -v -e "global c probe $2 { if (pid() == target() ${3:+&& $3}) c++ } probe end { println(c) }" -c "exec $reads" 2>&1)
  check "$2" "$out" "^$1\$"
  echo "$2: $1 hits; $(echo "$out" | grep -c ': kprobe$') kprobes"
}
count 1000 'kernel.function("vfs_read@fs/read_write.c")' '$count == 1'
count 1000 'kernel.function("vfs_read@fs/read_write.c").return' '$return == 1'
count 1000 'kernel.statement("vfs_read@fs/read_write.c").nearest' '$count == 1'
count 1000 'kernel.function("vfs_read").callee("rw_verify_area")' '$count == 1'
count 1000 'kernel.function("vfs_read").callee("add_rchar")' '$amt == 1'
count 1000 'kernel.function("add_rchar").inline' '$amt == 1 && probefunc() == "add_rchar"'

# Against ftrace's function tracer: ksys_read and ksys_write call vfs_read and vfs_write behind the inlined file_ppos. Only the
# command's own calls are counted on both sides, from its exec on: ftrace, which names a thread after the last program that it has
# executed, begins there.
(echo vfs_read; echo vfs_write) >$tracing/set_ftrace_filter && echo function >$tracing/current_tracer && echo 0 >$tracing/tracing_on && echo >$tracing/trace || fail "no function tracer"
out=$(spile -e 'global c probe kernel.function("file_ppos").inline { if (execname() == "dd") c++ } probe end { println(c) }' \
  -c "echo 1 >$tracing/tracing_on; exec $reads")
echo 0 >$tracing/tracing_on  # else reading the trace makes it longer
traced=$(grep -c '^ *dd-' $tracing/trace)
echo nop >$tracing/current_tracer
echo 1 >$tracing/tracing_on
check "inlined calls against calls behind them" "$out" "^$traced\$"
echo "file_ppos inlined: $out hits; ftrace's calls of vfs_read and vfs_write: $traced"
echo __x64_sys_sethostname >$tracing/set_ftrace_filter && echo function >$tracing/current_tracer && echo >$tracing/trace
out=$(spile -e 'global c, all probe kernel.function("__do_sys_sethostname").inline { c++ } probe kernel.function("__do_sys_sethostname") { all++ }
                probe end { printf("%d %d\n", c, all) }' -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do hostname guest; done')
traced=$(grep -v '^#' $tracing/trace | grep -c __x64_sys_sethostname)
echo nop >$tracing/current_tracer
echo >$tracing/set_ftrace_filter
[ "$traced" = 12 ] || fail "ftrace has $traced calls of __x64_sys_sethostname"
check "an inlined system call" "$out" '^12 12$'
echo "__do_sys_sethostname inlined: $out; ftrace's calls of __x64_sys_sethostname: $traced"

# Locals, parameters and structures at a line.
line=$(spile -l 'kernel.statement("vfs_read@fs/read_write.c:*")' | sed -n 's/.*c:\([0-9]*\)")$/\1/p')
at=0
for number in $line; do
  spile -L "kernel.statement(\"vfs_read@fs/read_write.c:$number\")" | grep -q '\$ret:' && { at=$number; break; }
done
[ "$at" -gt 0 ] || fail "no line of vfs_read has \$ret"
out=$(spile -e "global c, wrong, text, name probe kernel.statement(\"vfs_read@fs/read_write.c:$at\") {
    if (pid() == target() && \$count == 1) { c++; text = \$\$locals; name = kernel_string(\$file->f_path->dentry->d_name->name)
      if (\$ret != 0 || \$pos == 0 || @cast(\$file, \"struct file\", \"kernel\")->f_flags != \$file->f_flags) wrong++ } }
  probe end { printf(\"%d %d %s %s\n\", c, wrong, name, text) }" -c "exec $reads" 2>&1)
check "locals at line $at" "$out" '^1000 0 zero ret=0x0'
echo "vfs_read:$at: $out"
out=$(spile -e "probe kernel.statement(\"vfs_read@fs/read_write.c:$at\") { if (pid() == target() && \$count == 1) { println(\$\$vars); println(\$file\$); exit() } }" -c "exec $reads" 2>&1)
check "all variables" "$out" '^file=0x[0-9a-f]+ buf=0x[0-9a-f]+ count=0x1 pos=0x[0-9a-f]+'
check "pretty printing" "$out" '^\{.*\.f_flags='
echo "$out"

# Variables of a copy that the compiler made, which BTF does not describe, and of a file.
out=$(spile -e 'global c probe kernel.function("vfs_read").callees { if (pid() == target()) c[pp()]++ } probe end { foreach (p+ in c) println(c[p], " ", p) }' -c "exec $reads" 2>&1)
check "callees" "$out" '^1000 kernel.function\("vfs_read"\).callee\("rw_verify_area"\)$'
echo "$out"

# What can't be probed.
out=$(spile -l 'kernel.function("start_kernel@init/main.c")' 2>&1)
check "code of the start" "$out" 'gone since the kernel has started'
echo "$out" | head -1
out=$(spile -l 'kernel.function("exc_int3@*traps.c")' 2>&1)
check "the blacklist" "$out" "on the kernel's blacklist of kprobes"
echo "$out" | head -1
out=$(spile -l 'kernel.function("vfs_read").callees(2)' 2>&1)
check "levels" "$out" "can't be chosen by their callers"

# Places that only the kernel itself refuses: it replaces these instructions while it runs.
out=$(spile -l 'kernel.function("kmem_cache_free").callees')
check "branches that the kernel replaces" "$out" 'arch_static_branch'
out=$(spile -v -e 'global c probe kernel.function("kmem_cache_free").callees { c++ } probe timer.s(1) { exit() } probe end { println(c > 0) }' 2>&1)
check "the other places" "$out" '^1$'
check "places that the kernel refuses" "$out" '^WARNING: attach kernel.function\("kmem_cache_free"\)'
echo "$out" | grep -A1 '^WARNING'
out=$(spile -e 'global c probe kernel.function("kmem_cache_free").callee("arch_static_branch") { c++ } probe timer.s(1) { exit() } probe end { println(c) }' 2>&1)
check "only such places" "$out" '^ERROR: attach|^error: attach|attach kernel.function'
echo "$out"

# Many places.
out=$(spile -v -e 'global c probe kernel.function("file_inode").inline { c++ } probe timer.s(1) { exit() } probe end { println(c > 0) }' 2>&1)
check "many places" "$out" '^1$'
echo "file_inode: $(echo "$out" | grep -c ': kprobe$') kprobes; $(echo "$out" | grep WARNING | head -2)"

# Another build's image, and none.
mv "$image" /tmp/image
cp /usr/bin/spile "$image"
out=$(spile -l 'kernel.function("file_ppos").inline' 2>&1)
check "another build" "$out" "is of another build than the running kernel: its build-id is [0-9a-f]{40}, the kernel's is [0-9a-f]{40}"
echo "$out" | head -1
rm "$image"
out=$(spile -l 'kernel.function("file_ppos").inline' 2>&1)
check "no image" "$out" "apt install linux-image-[^ ]+-dbg;"
echo "$out" | grep -E "error|hint"
out=$(spile -e 'global c probe kernel.function("vfs_read") { if (pid() == target() && $count == 1) c++ } probe end { println(c) }' -c "exec $reads")
check "BTF alone" "$out" '^1000$'
