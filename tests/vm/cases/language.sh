# The language in the kernel, over a BPF arena: many bodies in one script, the same output as in spile itself.
# kernels: 6.12
# seconds: 300
# files: tests/language/corpus.txt
. /guest.sh

# script BEGIN END: the corpus with each body between the two; blocks that end the session are left out.
script() {
  awk -v begin="$1" -v end="$2" -v from="$3" -v to="$4" '
    /^=== / { name = $2; n++; part = 1; next }
    /^---$/ { part = 2; if (name != "exit" && n >= from && n < to) print begin; next }
    part && name != "exit" && n >= from && n < to { print }
    part == 2 && name != "exit" && n >= from && n < to { print end; part = 0 }' /files/corpus.txt
}

# What is printed, without names of files and what is said of skipped hits.
plain() { sed 's/stp:[0-9:]*//; s,/tmp/[a-z]*\.,,; /^WARNING: .*skipped/d; /^$/d'; }

# The emulator runs one processor at a time, so one that waits for a lock that the other has waits in vain: a hit that is skipped and
# reported is tried again.
for from in 1 13 25 37 49 61; do
  script 'probe begin {' 'println("----") }' $from $((from + 12)) >/tmp/here.stp
  script 'probe kernel.trace("sched:sched_process_exit") { if (pid() == target()) {' 'println("----") } }' $from $((from + 12)) >/tmp/there.stp
  echo 'probe begin { exit() }' >>/tmp/here.stp
  here=$(spile /tmp/here.stp 2>&1 | plain)
  [ -n "$here" ] || fail "nothing was printed"
  for attempt in 1 2 3; do
    all=$(spile /tmp/there.stp -c true 2>&1)
    there=$(echo "$all" | plain)
    [ "$here" = "$there" ] && break
    case $all in *skipped*) ;; *) break ;; esac
  done
  [ "$here" = "$there" ] || fail "blocks from $from on: in spile: $here
in the kernel: $all"
done
