# One script, two back ends, the same output.
. /guest.sh
script='global c, a, s probe process("/bin/calls").function("foo") { c++; a[$arg & 7]++; s <<< $arg }
  probe end { printf("%d %d %d %d\n", c, a[5], @avg(s), @count(s)); print(@hist_log(s)) }'
one=$(spile --runtime=inproc -e "$script" -c 'calls 4096' -o /dev/stderr 2>&1 >/dev/null) || fail "inproc: status $?: $one"
two=$(spile --runtime=bpf -e "$script" -c 'calls 4096' -o /dev/stderr 2>&1 >/dev/null) || fail "bpf: status $?: $two"
[ "$one" = "$two" ] || fail "inproc: $one
bpf: $two"
check both "$two" '^4096 512 2047 4096$'
