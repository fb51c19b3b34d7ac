# Lists of 40,000 functions, with their parameters, and of what can't be probed.
. /guest.sh
# In ms; the emulator is some 15 times slower than the processor, where the longest takes 0.4 s.
timed() {
  most=$1
  shift
  begin=$(cut -d' ' -f1 /proc/uptime)
  "$@" >/tmp/out 2>/tmp/err || fail "$*: $(cat /tmp/err)"
  took=$(awk -v a="$begin" -v b="$(cut -d' ' -f1 /proc/uptime)" 'BEGIN { print int((b - a) * 1000) }')
  echo "$took ms, $(wc -l </tmp/out) lines: $*"
  [ "$took" -lt "$most" ] || fail "took $took ms: $*"
}
spile -l begin >/tmp/out # reads the files of the program once

timed 60000 spile -l 'kernel.function("*")'
all=$(wc -l </tmp/out)
named=$(sed 's/ \[.*//' /sys/kernel/tracing/available_filter_functions | grep -v __ftrace_invalid | sort -u | wc -l)
awk -v a="$all" -v b="$named" 'BEGIN { exit !(a > 0.9 * b && a <= b) }' || fail "$all functions of $named"
timed 60000 spile -L 'kernel.function("*")'
[ "$(wc -l </tmp/out)" = "$all" ] || fail "-L has other functions than -l"
check "parameters" "$(grep '"vfs_read"' /tmp/out)" 'vfs_read"\) \$file:struct file\* \$buf:char\* \$count:size_t \$pos:loff_t\*$'
timed 60000 spile -L 'kernel.function("tcp_*")'
timed 60000 spile -L 'kernel.trace("*")'
check "fields" "$(grep sched_switch /tmp/out)" '\$prev_comm:char\[16\] \$prev_pid:pid_t'

# A field that an argument has the name of is listed once.
[ "$(spile -L 'kernel.trace("page_fault_user")' | grep -o '[$]address' | wc -l)" = 1 ] || fail "names of arguments and fields: $(spile -L 'kernel.trace("page_fault_user")')"

timed 60000 spile -v -l 'kernel.function("do_in*")'
check "reasons" "$(cat /tmp/err)" "^left out: [0-9]+ functions?: it is on the kernel's blacklist of kprobes"
timed 60000 spile -vv -l 'kernel.function("do_in*")'
check "names" "$(cat /tmp/err)" "^left out: do_int3: it is on the kernel's blacklist of kprobes"
grep -q '"do_int3"' /tmp/out && fail "do_int3 is listed"
exit 0
