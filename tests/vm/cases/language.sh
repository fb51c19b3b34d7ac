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

for from in 1 13 25 37; do
  script 'probe begin {' 'println("----") }' $from $((from + 12)) >/tmp/here.stp
  script 'probe kernel.trace("sched:sched_process_exit") { if (pid() == target()) {' 'println("----") } }' $from $((from + 12)) >/tmp/there.stp
  echo 'probe begin { exit() }' >>/tmp/here.stp
  here=$(spile /tmp/here.stp 2>&1)
  there=$(spile /tmp/there.stp -c true 2>&1)
  [ -n "$here" ] || fail "nothing was printed"
  [ "$(echo "$here" | sed 's/stp:[0-9:]*//; s,/tmp/[a-z]*\.,,')" = "$(echo "$there" | sed 's/stp:[0-9:]*//; s,/tmp/[a-z]*\.,,')" ] || fail "blocks from $from on: in spile: $here
in the kernel: $there"
done
