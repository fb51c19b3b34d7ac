# A function of a program, system-wide, as a uprobe: exact counts, aggregates of an argument.
. /guest.sh
export SPILE_COMPILES_IN_GUEST=yes  # LLVM, too, is tried in the guest
out=$(spile --runtime=bpf -e 'global c, s, a
  probe process("/bin/calls_static").function("foo") { c++; s <<< $arg; a[$arg & 3]++ }
  probe end { printf("%d %d %d %d %d\n", c, @sum(s), @min(s), @max(s), a[1]) }' -c 'calls_static 1000') ||
  fail "status $?: $out"
check uprobe "$out" '^1000 499500 0 999 250$'
