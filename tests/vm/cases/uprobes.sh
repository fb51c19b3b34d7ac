# uprobes: functions of one process and of every process, counted and timed in the kernel.
. /guest.sh
kernel="spile --runtime=bpf"

out=$($kernel -e 'global c probe process("/bin/calls").function("foo") { c++ } probe end { printf("%d\n", c) }' -c 'calls 2000')
check "uprobe under -c" "$out" '^2000$'
check "program's own output" "$out" '^foo 5999000$'

# Without -c every process that runs the program counts.
spile -o /tmp/all --runtime=bpf -e '
  global c, by_name
  probe process("/bin/calls").function("foo") { c++; by_name[execname()]++ }
  # Timers begin when all is attached.
  global ticks probe timer.ms(100) { if (ticks++ == 0) println("attached") }
  probe end { printf("%d %d\n", c, by_name["calls"]) }' &
until grep -q attached /tmp/all 2>/dev/null; do sleep 0.2; done  # the machine ends the test if that never comes
calls 300 >/dev/null
calls 400 >/dev/null
kill -INT $!
wait
check "every process" "$(cat /tmp/all)" '^700 700$'

out=$($kernel -e '
  global latency, sums
  probe process("/bin/calls").function("foo").return { latency <<< gettimeofday_ns() - @entry(gettimeofday_ns()); sums <<< $return }
  probe process("/bin/calls").function("greet") { printf("greets %s at %d\n", user_string(pointer_arg(1)), pid() == target()) }
  probe end { printf("%d %d %d\n", @count(latency), @min(latency) > 0, @sum(sums)); print(@hist_log(latency)) }' -c 'calls 500')
check "returns" "$out" '^500 1 374750$'
check "printf" "$out" '^greets world at 1$'
check "histogram" "$out" '^ *value .*count$'

# Timers read and clear while handlers add: nothing is lost or counted twice.
out=$($kernel -e '
  global c, a, total, sum
  probe process("/bin/calls").function("foo") { c++; a[int_arg(1) & 3]++ }
  probe timer.ms(50) { total += c; c = 0; foreach (k in a) sum += a[k]; delete a }
  probe end { total += c; foreach (k in a) sum += a[k]; printf("%d %d\n", total, sum) }' -c 'calls 30000')
check "cleared by a timer" "$out" '^30000 30000$'

# All functions of a program at once, in every process: one link where the kernel has that. The mark of `values` is passed only
# while its semaphore is raised.
everywhere() { # everywhere SCRIPT COMMAND: output and messages are in /tmp/out and /tmp/messages
  rm -f /tmp/out
  spile -v -o /tmp/out -e "$1 global ticks probe timer.ms(50) { if (!ticks++) println(\"armed\") }" 2>/tmp/messages &
  session=$!
  until grep -q armed /tmp/out 2>/dev/null; do kill -0 $session || fail "$(cat /tmp/messages)"; sleep 0.2; done
  eval "$2" >/dev/null
  kill -INT $session
  wait $session
}
case $(uname -r) in 6.1.*) way='uprobe at ' ;; *) way='uprobe.multi at ' ;; esac
everywhere 'global c probe process("/bin/calls").function("*").call { c[probefunc()]++ } probe end { printf("%d %d\n", c["foo"], c["fibonacci"]) }' 'calls 100; calls 200'
check "all functions" "$(cat /tmp/out)" '^300 3946$'
check "by what" "$(cat /tmp/messages)" "$way/usr/bin/calls"
everywhere 'global c probe process("/bin/values").mark("step") { c++ } probe end { println(c) }' 'values; values'
check "a mark with a semaphore" "$(cat /tmp/out)" '^6$'
check "its semaphore" "$(cat /tmp/messages)" "$way/usr/bin/values.*semaphore at"
