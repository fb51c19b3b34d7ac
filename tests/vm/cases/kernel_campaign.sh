# Many functions of the kernel armed and disarmed under load, counted beside ftrace, and spile killed in the midst of it: the
# kernel lives on, says nothing, and has nothing of spile's left. tools/kernel_campaign does this with all functions, and longer.
# often: 6.12
. /guest.sh
every=${EVERY:-40} kills=${KILLS:-5}
tracing=/sys/kernel/tracing

# Processes start, files are written and read, and pipes are filled, until the file is removed. Each turn is short: it ends when
# asked to.
touch /tmp/load
load() {
  while [ -e /tmp/load ]; do
    dd if=/dev/zero of="/tmp/load.$1" bs=4096 count=50 2>/dev/null
    cat "/tmp/load.$1" | sed -n '1p' >/dev/null
    find /proc/self >/dev/null 2>&1
  done
}
load 1 &

# clean WHAT: nothing is attached any more, within 10 s, and the kernel has not complained.
dmesg -c >/dev/null
clean() {
  left=
  for attempt in $(seq 50); do
    left=$(bpftool prog show | grep 'name spile'; bpftool link show; cat /sys/kernel/debug/kprobes/list; ls /sys/fs/bpf; cat $tracing/uprobe_events $tracing/kprobe_events)
    [ -z "$left" ] && break
    sleep 0.2
  done
  [ -z "$left" ] || fail "$1: this is left: $left"
  complaint=$(dmesg | grep -iE 'WARNING|BUG:|Oops|lockup|rcu.*stall|Call Trace|bpf|kprobe|ftrace')
  [ -z "$complaint" ] || fail "$1: the kernel says: $complaint"
  met
}

# -- all functions at once, beside ftrace's tracer (Debian's kernels lack its profile): functions that only the loop below makes
# happen.
case $(uname -r) in 6.1.*) ;; *)
  printf 'ksys_sync\nsync_bdevs\n' >$tracing/set_ftrace_filter
  echo function >$tracing/current_tracer || fail "no function tracer"
  cat >/tmp/all.stp <<'TEXT'
global n, c, at, off
probe begin { at = gettimeofday_ms() }
probe kernel.function("*") { n++; f = probefunc(); if (f == "ksys_sync" || f == "sync_bdevs") c[f]++ }
probe timer.ms(100) { if (!off) { printf("armed after %d ms\n", gettimeofday_ms() - at - 100); system("echo >/tmp/armed"); off = 1 } }
probe end { printf("ksys_sync %d\nsync_bdevs %d\nmany %d\n", c["ksys_sync"], c["sync_bdevs"], n > 10000) }
TEXT
  rm -f /tmp/armed
  spile /tmp/all.stp >/tmp/all.out 2>/tmp/all.err &
  session=$!
  until [ -e /tmp/armed ]; do kill -0 $session || fail "all functions: $(cat /tmp/all.out /tmp/all.err)"; sleep 0.2; done
  echo >$tracing/trace
  for i in 1 2 3 4 5 6 7; do sync; done
  cp $tracing/trace /tmp/traced
  before=$(cut -d. -f1 /proc/uptime)
  kill -INT $session
  wait $session || fail "all functions: status $?: $(cat /tmp/all.err)"
  echo "all functions: $(head -1 /tmp/all.out), disarmed after $(($(cut -d. -f1 /proc/uptime) - before)) s"
  for function in ksys_sync sync_bdevs; do
    traced=$(grep -v '^#' /tmp/traced | grep -c ": $function <-")
    [ "$traced" -gt 0 ] || fail "ftrace has no hits of $function"
    check "$function beside ftrace" "$(cat /tmp/all.out)" "^$function $traced\$"
  done
  check "hits of all functions" "$(cat /tmp/all.out)" '^many 1$'
  echo nop >$tracing/current_tracer
  echo >$tracing/set_ftrace_filter
  clean "all functions"
esac

# -- groups of 500 functions of the kernel itself, every EVERY-th group. 6.1 lists places without a name, too.
sed '/\[/d; s/ .*//' $tracing/available_filter_functions | grep -E '^[a-zA-Z_][a-zA-Z0-9_]*$' | grep -v '^__ftrace_invalid_address___' | sort -u |
  grep -v -x -F "$(sed 's/^.*\t//; s/ .*//' /sys/kernel/debug/kprobes/blacklist)" >/tmp/functions
groups=0
for first in $(seq 1 500 "$(wc -l </tmp/functions)"); do
  [ $((first / 500 % every)) = 0 ] || continue
  sed -n "$first,$((first + 499))p" /tmp/functions |
    awk 'BEGIN { print "global n\nprobe" } { printf "%s kernel.function(\"%s\")", (NR > 1 ? ",\n" : ""), $1 } END { print " { n++ }\nprobe begin { exit() }" }' >/tmp/group.stp
  out=$(spile -w /tmp/group.stp 2>&1) || fail "functions $first to $((first + 499)): $out"
  groups=$((groups + 1))
done
echo "$groups groups of 500 of $(wc -l </tmp/functions) functions"
[ "$groups" -gt 1 ] || fail "only $groups groups"
clean "groups"

# -- SIGKILL at any moment: while it compiles, attaches, runs.
for i in $(seq "$kills"); do
  spile -w -e 'global n, s probe kernel.function("vfs_*"), kernel.function("vfs_read").return, kernel.trace("sched:sched_switch"), timer.profile { n++; s[execname()] <<< n }
    probe timer.ms(50) { foreach (e in s) t .= e; printf("%s\n", t) }' >/dev/null 2>&1 &
  session=$!
  sleep "$(awk -v i="$i" -v seed="$(cut -c 1-8 /proc/sys/kernel/random/uuid | tr a-f 1-6)" 'BEGIN { srand(seed + i); printf "%.2f", rand() * 5 }')"
  kill -KILL $session
  wait $session 2>/dev/null
  clean "kill $i"
done
rm -f /tmp/load
wait
