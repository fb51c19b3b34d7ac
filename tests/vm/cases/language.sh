# The language in the kernel: many bodies in one script, the same output as in spile itself. Without BPF arenas (6.1), what
# handlers over the kernel's maps can't do is rejected.
# often: 6.1
# files: tests/language/corpus.txt
. /guest.sh

# unordered: bodies that print elements as they were inserted; the kernel's hashes have no order.
rejected= unordered= limits=
case $(uname -r) in 6.1.*)
  unordered='array delete longkeys foreach_value slice mapfull'
  rejected='wrap strings tokenize regex ctime
    text_strn isdigit floats float_conversions float_specials recursion recursion_in_turn recursion_depth recursion_strings recursion_limit
    recursion_prints recursion_errors recursion_reads recursion_loops recursion_circles'
  limits=-DMAXSTRINGLEN=128
esac

# script BEGIN END FROM TO: the corpus with each body between the two; blocks that end the session, or are rejected here, are left
# out.
script() {
  awk -v begin="$1" -v end="$2" -v from="$3" -v to="$4" -v without="exit $rejected $unordered" '
    BEGIN { count = split(without, names, /[ \n]+/); for (i = 1; i <= count; i++) left_out[names[i]] = 1 }
    /^=== / { name = $2; n++; part = 1; taken = !(name in left_out) && n >= from && n < to; next }
    /^---$/ { part = 2; if (taken) print begin; next }
    part && taken { print }
    part == 2 && taken { print end; part = 0 }' /files/corpus.txt
}

# What is printed, without names of files and what is said of skipped hits.
plain() { sed 's/stp:[0-9:]*//; s,/tmp/[a-z]*\.,,; /^WARNING: .*skipped/d; /^$/d'; }

# The emulator runs one processor at a time, so one that waits for a lock that the other has waits in vain: a hit that is skipped
# and reported is tried again.
for from in 1 13 25 37 49 61; do
  script 'probe begin {' 'println("----") }' $from $((from + 12)) >/tmp/here.stp
  script 'probe kernel.trace("sched:sched_process_exit") { if (pid() == target()) {' 'println("----") } }' $from $((from + 12)) >/tmp/there.stp
  [ -s /tmp/here.stp ] || continue
  echo 'probe begin { exit() }' >>/tmp/here.stp
  here=$(spile $limits /tmp/here.stp 2>&1 | plain)
  case $here in ''|*error:*) fail "the blocks from $from on are rejected: $here" ;; esac
  for attempt in 1 2 3; do
    all=$(spile $limits /tmp/there.stp -c true 2>&1)
    there=$(echo "$all" | plain)
    [ "$here" = "$there" ] && break
    case $all in *skipped*) ;; *) break ;; esac
  done
  [ "$here" = "$there" ] || fail "blocks from $from on: in spile: $here
in the kernel: $all"
  met
done

for name in $rejected; do
  awk -v name="$name" '/^=== / { taken = $2 == name; next }
    /^---$/ { if (taken) print "probe kernel.trace(\"sched:sched_process_exit\") {"; next }
    taken { print } END { print "}" }' /files/corpus.txt >/tmp/there.stp
  out=$(spile -p4 /tmp/there.stp 2>&1) && fail "$name is not rejected any more: $out"
  check "$name" "$out" "error: .* is not available in a handler that runs in the kernel|error: an array that wraps .* is not available"
done
