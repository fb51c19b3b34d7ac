# What handlers in the kernel cost, beside bpftrace's. Runs here and, as a case of tests/vm/run, in its guests; prints
#   NAME | TOOL | ns added to a system call, or what NAME says     or     NAME | TOOL | failed: WHY
# seconds: 900
# programs: bpftrace
# files: build/release/bench/kernel_calls
#
# KERNEL_CALLS  the program (kernel_calls.c)     KERNEL_TURNS  how often all of it is done     KERNEL_ONLY  names: an extended
#                                                                                                           regular expression
# KERNEL_RECORDS  how many calls each of two loops does for the records that are lost
# SPILE         the program to be measured
calls=${KERNEL_CALLS:-/files/kernel_calls}
spile=${SPILE:-spile}
loop="$calls ${KERNEL_LOOP:-100 1000}"
# Two loops at once, each of so many calls.
each=${KERNEL_RECORDS:-20000}
two="/bin/sh ${TMPDIR:-/tmp}/kernel_cases.two"
printf '%s 1 %s >/dev/null &\n%s 1 %s >/dev/null\nwait\n' "$calls" "$each" "$calls" "$each" >"${two#* }"
pipe=${TMPDIR:-/tmp}/kernel_cases.pipe

# ns COMMAND...: the time of a call, from what the command prints.
ns() { timeout 100 "$@" 2>&1 | sed -n 's/^ns //p' | head -1; }

# measure NAME TOOL COMMAND...
measure() {
  name=$1 tool=$2
  shift 2
  case $name in *"$only"*) ;; *) return ;; esac
  plain=$($loop | sed -n 's/^ns //p')
  took=$(ns "$@")
  if [ -n "$took" ]; then echo "$name | $tool | $(awk "BEGIN { printf \"%.1f\", $took - $plain }")"
  else echo "$name | $tool | failed: $(timeout 100 "$@" 2>&1 | grep -iE 'error|spile:' | head -1)"; fi
}

# begin NAME TOOL COMMAND...: how long it takes from its start to its end, ms.
begin() {
  name=$1 tool=$2
  shift 2
  case $name in *"$only"*) ;; *) return ;; esac
  from=$(cut -d' ' -f1 /proc/uptime)
  if timeout 100 "$@" >/tmp/kernel_cases.out 2>&1; then echo "$name | $tool | $(awk "BEGIN { printf \"%.0f\", ($(cut -d' ' -f1 /proc/uptime) - $from) * 1000 }")"
  else echo "$name | $tool | failed: $(tail -1 /tmp/kernel_cases.out)"; fi
}

# ms: the time now. busybox has it to 10 ms only.
ms() {
  case $(date +%s%N) in
    *[!0-9]* | ??????????) awk '{ printf "%d\n", $1 * 1000 }' /proc/uptime ;;
    *) echo $(($(date +%s%N) / 1000000)) ;;
  esac
}

# parts START END TOOL COMMAND...: how long a command takes from its start to the line of its first hit, and from SIGINT to its
# end, ms: rows of these two names. Beside it, a call is made each 10 ms.
parts() {
  start_row=$1 end_row=$2 tool=$3
  shift 3
  case "$start_row, $end_row" in *"$only"*) ;; *) return ;; esac
  rm -f "$pipe"
  mkfifo "$pipe"
  from=$(ms)
  timeout -s INT 100 "$@" >"$pipe" 2>/dev/null &
  session=$! hit=
  { while read -r line; do [ "$line" = hit ] && hit=$(ms) && break; done; kill -INT $session; cat >/dev/null; end=$(ms); } <"$pipe"
  wait $session
  if [ -z "$hit" ]; then
    echo "$start_row | $tool | failed: $(timeout 20 "$@" 2>&1 | grep -iE 'error|spile:' | head -1)"
    return
  fi
  echo "$start_row | $tool | $((hit - from))"
  echo "$end_row | $tool | $((end - hit))"
}

# records TOOL COMMAND...: how many of the records of two loops at once don't come out.
records() {
  tool=$1
  shift
  case "records lost" in *"$only"*) ;; *) return ;; esac
  echo "records lost, of $((2 * each)) from two CPUs | $tool | $(timeout 300 "$@" 2>/dev/null | awk -v all=$((2 * each)) '/^r[0-9]/ { n++ } END { print n < all ? all - n : 0 }')"
}

# exact NAME HITS SCRIPT: of HITS, how many the script has not counted ("counted N") in two loops at once, and how many it says to
# have skipped.
exact() {
  case $1 in *"$only"*) ;; *) return ;; esac
  out=$(timeout 300 "$spile" -e "$3" -c "$two" 2>&1)
  counted=$(echo "$out" | sed -n 's/^counted //p')
  if [ -n "$counted" ]; then echo "$1 | spile | $(($2 - counted))"
  else echo "$1 | spile | failed: $(echo "$out" | grep -iE 'error|spile:' | head -1)"; fi
  echo "$1, skipped | spile | $(echo "$out" | awk '/^WARNING.*skipped/ { for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+$/) n += $i } END { print n + 0 }')"
}

enter='kernel.trace("syscalls:sys_enter_getppid")' leave='kernel.trace("syscalls:sys_exit_getppid")'
their_enter=tracepoint:syscalls:sys_enter_getppid their_leave=tracepoint:syscalls:sys_exit_getppid
function=__x64_sys_getppid
only=${KERNEL_ONLY:-}
start="start alone: to the first hit, ms" end_alone="end alone: from SIGINT, ms"

# both NAME OUR_SCRIPT THEIR_SCRIPT
both() {
  measure "$1" spile "$spile" -e "$2" -c "$loop"
  [ -z "$3" ] || measure "$1" bpftrace bpftrace -c "$loop" -e "$3"
}

turn=0
while [ $turn -lt "${KERNEL_TURNS:-3}" ]; do
  turn=$((turn + 1))
  # What the kernel takes by itself: a program that ends at once.
  measure "tracepoint: a program that ends at once" bpftrace bpftrace -c "$loop" -e "$their_enter /0/ { @ = count(); }"
  both "tracepoint: n++" "global n probe $enter { n++ } probe end { println(n) }" "$their_enter { @ = count(); }"
  both "tracepoint: a[pid()]++" "global a probe $enter { a[pid()]++ } probe end { foreach (p in a) println(a[p]) }" "$their_enter { @[pid] = count(); }"
  both "tracepoint: a[execname()]++" "global a probe $enter { a[execname()]++ } probe end { foreach (p in a) println(a[p]) }" "$their_enter { @[comm] = count(); }"
  both "tracepoint: s <<< tid()" "global s probe $enter { s <<< tid() } probe end { println(@avg(s)) }" "$their_enter { @ = stats(tid); }"
  both "tracepoint: histogram" "global s probe $enter { s <<< tid() } probe end { print(@hist_log(s)) }" "$their_enter { @ = hist(tid); }"
  both "tracepoints: latency by tid" "global t, s probe $enter { t[tid()] = gettimeofday_ns() }
    probe $leave { if (t[tid()]) { s <<< gettimeofday_ns() - t[tid()]; delete t[tid()] } } probe end { print(@hist_log(s)) }" \
    "$their_enter { @t[tid] = nsecs; } $their_leave /@t[tid]/ { @ = hist(nsecs - @t[tid]); delete(@t[tid]); }"
  both "function: n++" "global n probe kernel.function(\"$function\") { n++ } probe end { println(n) }" "kprobe:$function { @ = count(); }"
  measure "function: n++" "bpftrace, fentry" bpftrace -c "$loop" -e "kfunc:$function { @ = count(); }"
  both "function: latency by tid" "global t, s probe kernel.function(\"$function\") { t[tid()] = gettimeofday_ns() }
    probe kernel.function(\"$function\").return { if (t[tid()]) { s <<< gettimeofday_ns() - t[tid()]; delete t[tid()] } } probe end { print(@hist_log(s)) }" \
    "kprobe:$function { @t[tid] = nsecs; } kretprobe:$function /@t[tid]/ { @ = hist(nsecs - @t[tid]); delete(@t[tid]); }"
  measure "function: latency by tid" "bpftrace, fentry" bpftrace -c "$loop" -e "kfunc:$function { @t[tid] = nsecs; } kretfunc:$function /@t[tid]/ { @ = hist(nsecs - @t[tid]); delete(@t[tid]); }"
  both "function: latency" "global s probe kernel.function(\"$function\").return { s <<< gettimeofday_ns() - @entry(gettimeofday_ns()) } probe end { print(@hist_log(s)) }" \
    "kprobe:$function { @t[tid] = nsecs; } kretprobe:$function /@t[tid]/ { @ = hist(nsecs - @t[tid]); delete(@t[tid]); }"
  while :; do $calls 1 10 >/dev/null; sleep 0.01; done &
  beside=$!
  parts "$start" "$end_alone" spile "$spile" -e "global n probe $enter { if (execname() == \"kernel_calls\" && n++ == 0) printf(\"hit\n\") }"
  parts "$start" "$end_alone" bpftrace bpftrace -e "$their_enter /comm == \"kernel_calls\" && @n == 0/ { @n = 1; printf(\"hit\n\"); }"
  kill $beside
  while :; do head -c 1 /dev/zero >/dev/null; sleep 0.01; done &
  beside=$!
  parts "vfs_* on: to the first hit, ms" "vfs_* off: from SIGINT, ms" spile "$spile" -e 'global n probe kernel.function("vfs_*") { if (execname() == "head" && n++ == 0) printf("hit\n") }'
  parts "vfs_* on: to the first hit, ms" "vfs_* off: from SIGINT, ms" bpftrace bpftrace -e 'kprobe:vfs_* /comm == "head" && @n == 0/ { @n = 1; printf("hit\n"); }'
  kill $beside
  exact "2 x $each calls, n = n + 1: not counted" $((2 * each)) "global n probe $enter { if (execname() == \"kernel_calls\") n = n + 1 } probe end { printf(\"counted %d\n\", n) }"
  exact "2 x $each pairs by tid with delete: not counted" $((2 * each)) "global t, n probe $enter { if (execname() == \"kernel_calls\") t[tid()] = 1 }
    probe $leave { if (tid() in t) { n++; delete t[tid()] } } probe end { printf(\"counted %d\n\", n) }"
  records spile "$spile" -e "probe $enter { printf(\"r%d\n\", tid()) }" -c "$two"
  records bpftrace bpftrace -c "$two" -e "$their_enter { printf(\"r%d\n\", tid); }"
  case "verification" in *"$only"*)
    "$spile" -v -e "global s probe $enter { s[execname()] <<< tid() }" -c true 2>&1 >/dev/null | sed -n 's/^Kernel: .* verified in \([0-9.]*\) ms.*/verification of s[execname()] <<< tid(), ms | spile | \1/p'
  esac
  begin "start of one probe, ms" spile "$spile" -e "global n probe $enter { n++ }" -c true
  begin "start of one probe, ms" bpftrace bpftrace -c /bin/true -e "$their_enter { @ = count(); }"
done
