# Loops and visits of elements in handlers over the kernel's maps (before Linux 6.12): the same output as in spile itself, in one
# script for many bodies.
# kernels: 6.1
. /guest.sh

# body DECLARATIONS STATEMENTS: the statements print the same in the kernel as in spile.
: >/tmp/here.stp
: >/tmp/there.stp
body() {
  printf '%s\nprobe begin { %s\nprintln("----") }\n' "$1" "$2" >>/tmp/here.stp
  printf '%s\nprobe kernel.trace("sched:sched_process_exit") { if (pid() == target()) { %s\nprintln("----") } }\n' "$1" "$2" >>/tmp/there.stp
}
body 'global a' 'for (i = 0; i < 50; i++) a[i % 13] += (i * 7919) % 101; n = 0; foreach (k in a) { n += k * 1000 + a[k] } println(n)
  foreach (k in a+) printf("%d %d,", k, a[k]); println(""); foreach (k- in a limit 4) printf("%d %d,", k, a[k]); println("")'
body 'global b' 'for (i = 0; i < 30; i++) b[sprintf("k%d", (i * 31) % 17)] = i
  foreach (k+ in b) printf("%s=%d ", k, b[k]); println(""); foreach (k in b- limit 5) printf("%s ", k); println("")'
body 'global c' 'for (i = 0; i < 12; i++) c[i] = sprintf("v%d", (i * 5) % 12); foreach (v = k in c-) printf("%s:%d ", v, k); println("")'
body 'global d' 'for (i = 0; i < 20; i++) d[i % 4, i] = i; n = 0; foreach ([x, y] in d[1, *]) n += y; println(n, " ", [3, *] in d, [4, *] in d)
  delete d[1, *]; n = 0; foreach ([x, y] in d) n++; println(n); foreach ([x, y] in d-) { if (y % 2) continue; if (y < 8) break; print(y, " ") } println("")'
body 'global e' 'for (i = 1; i <= 60; i++) e[i % 4, "k"] <<< i; foreach ([x, k] in e @sum-) printf("%d %s %d %d\n", x, k, @count(e[x, k]), @max(e[x, k]))'
body 'global f, g' 'for (i = 0; i < 4; i++) { f[i] = i; g[i] = 10 * i } foreach (x in f+) foreach (y in g-) print(x, ",", y, " "); println("")
  foreach (x+ in f) foreach (y+ in f) if (y > x) print(x, y, ";"); println("")'
body 'function least(x) { foreach (k+ in h) if (k > x) return h[k]; return -1 } global h' 'for (i = 0; i < 40; i += 4) h[i] = i * i; println(least(7), " ", least(100))'
body 'global m' 'for (i = 0; i < 5; i++) m[i] = i - 2; foreach (k+ in m) { try { println(12 / m[k]) } catch (t) { println("caught ", t) } }
  try { foreach (k+ in m) println(6 / m[k]) } catch (t) { println("left by ", t) }'
body '' 'i = 0; while (1) { i++; if (i % 2) continue; if (i > 20) break; print(i, " ") } println(""); s = ""; for (i = 0; i < 300; i++) if (i % 50 == 0) s .= sprint(i); println(s)'
body '' 'for (i = 0; i < 3; i++) for (j = 0; j < 3; j++) { if (j > i) break; print(i, j, " ") } println("")'
body 'global o' 'for (i = 0; i < 300; i++) o[i * 7919 % 1009] = i; n = last = 0; foreach (k+ in o) { if (k < last) println("order ", k); last = k; n++ } println(n, " ", last)'
body 'global q' 'for (i = 0; i < 100; i++) q <<< i; n = 0; foreach (k in @hist_log(q)) n += @hist_log(q)[k] * k; println(n)'
echo 'probe begin { exit() }' >>/tmp/here.stp

here=$(spile -DMAXACTION=4000 -DMAXSTRINGLEN=128 /tmp/here.stp 2>&1) || fail "in spile: $here"
for attempt in 1 2 3; do
  there=$(spile -DMAXACTION=4000 /tmp/there.stp -c true 2>&1)
  case $there in *skipped*) ;; *) break ;; esac
done
[ "$here" = "$there" ] || { echo "$here" >/tmp/1; echo "$there" >/tmp/2; fail "$(diff /tmp/1 /tmp/2)"; }

# Errors leave a loop, and the handler that holds the array goes on at the next hit.
out=$(spile -DMAXERRORS=9 -e 'global a, n probe kernel.trace("sched:sched_process_fork") { if (pid() == target()) { a[n++] = 1; foreach (k+ in a) { if (k == 1) println(1 / (k - 1)) } } }
  probe end { println("hits ", n) }' -c 'sh -c "(exit 1); (exit 2); (exit 3); exit 4"' 2>&1)
check 'an error in a loop' "$out" '^ERROR: division by 0 near operator ./. at <input>:1:'
check 'hits after errors' "$out" '^hits [3-9]$'

# An array that handlers only read, on both processors; more turns than MAXACTION; entry values; many elements.
out=$(spile -e 'global a, n, s probe begin { for (i = 0; i < 100; i++) a[i] = i }
  probe kernel.trace("raw_syscalls:sys_enter") { if (pid() == target()) { foreach (k in a) n += a[k]; s <<< 1 } }
  probe end { println(n == 4950 * @count(s), " ", @count(s) > 900) }' -c 'dd if=/dev/zero of=/dev/null bs=1 count=500' 2>&1)
check 'a table that is only read' "$out" '^1 1$'
out=$(spile -DMAXACTION=20000 -e 'global a probe kernel.trace("sched:sched_process_exit") { if (pid() == target()) {
    for (i = 0; i < 2000; i++) a[(i * 7919) % 4999] = i; n = last = 0; foreach (k+ in a) { n++; last = k } foreach (k- in a limit 2) print(k, " "); println(n, " ", last) } }' -c true 2>&1)
check 'two thousand elements, sorted' "$out" '^499[0-9] 499[0-9] 2000 499[0-9]$'
out=$(spile -e 'probe kernel.trace("sched:sched_process_exit") { if (pid() == target()) { for (i = 0; i < 3000; i++) n += i; println(n) } }' -c true 2>&1)
check 'MAXACTION' "$out" 'ERROR: MAXACTION exceeded'
out=$(spile -e 'probe kernel.trace("sched:sched_process_exit") { if (pid() == target()) {
    try { while (1) n++ } catch { println("caught") } } }' -c true 2>&1)
check 'MAXACTION within a try' "$out" 'ERROR: MAXACTION exceeded'
! echo "$out" | grep -q '^caught$' || fail "MAXACTION was caught: $out"

# Words of a command line, and its number of variables.
out=$(spile --runtime=bpf -e 'probe syscall.execve { if (pid() == target()) println(argstr) }' -c 'sh -c "exec /bin/busybox echo one two"' 2>&1)
check 'the arguments of execve' "$out" '"/bin/busybox" "echo" "one" "two", \[/\* [0-9]+ vars \*/\]'
