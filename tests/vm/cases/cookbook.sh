# The commands of docs/cookbook.md that trace the whole system: those marked `guest` (tests/e2e/cookbook.py runs the others).
# kernels: 6.1
# files: docs/cookbook.md
. /guest.sh

# A recipe is an indented block before its mark; a row of the table of other tools has its mark in a list below the table.
mkdir -p /tmp/recipes
awk '
  function keep(command, pattern) { n++; print command > ("/tmp/recipes/" n ".sh"); print pattern > ("/tmp/recipes/" n ".expected") }
  /^    / { line = substr($0, 5); sub(/^sudo /, "", line); block = block line "\n"; next }
  /^<!-- guest: / { pattern = $0; sub(/^<!-- guest: /, "", pattern); sub(/ -->$/, "", pattern); keep(block, pattern) }
  { block = "" }
  /^\| .* \| `(sudo )?spile .*` \|$/ { command = $0; sub(/^.* \| `(sudo )?/, "", command); sub(/` \|$/, "", command); commands[++rows] = command }
  /^<!-- rows:/ { marks = 1; next }
  marks && /^-->/ { marks = 0 }
  marks { row++; if (sub(/^guest: /, "")) keep(commands[row], $0) }
' /files/cookbook.md

# Something to trace, until the end: it hands the processor to and fro, and reads a file. Each turn is a line of /tmp/turns.
while :; do sleep 0.02; read -r line </proc/uptime; echo >>/tmp/turns; done &
# run_for_turns RECIPE: runs it without its -T, and ends it by a signal after 30 turns since its probes were armed. A busy machine
# may spend the seconds of -T before there is a hit.
run_for_turns() {
  sed 's/ -T [0-9]*//; s/^spile/exec spile -v/' "$1" >/tmp/endless.sh
  rm -f /tmp/err  # of the former recipe
  sh /tmp/endless.sh >/tmp/out 2>/tmp/err &
  tracer=$!
  until grep -q 'instructions verified' /tmp/err 2>/dev/null; do kill -0 $tracer || return 1; sleep 0.1; done
  wanted=$(($(wc -l </tmp/turns) + 30))
  while [ "$(wc -l </tmp/turns)" -lt $wanted ]; do sleep 0.1; done
  kill -INT $tracer
  wait $tracer
}
count=0
for recipe in /tmp/recipes/*.sh; do
  if grep -q ' -T [0-9]' "$recipe"; then
    run_for_turns "$recipe" || fail "status $? of $(cat "$recipe"): $(cat /tmp/err)"
    out=$(cat /tmp/out)
  else
    out=$(sh "$recipe" 2>&1) || fail "status $? of $(cat "$recipe"): $out"
  fi
  check "$(cat "$recipe")" "$out" "$(sed 's/\\S/[^ ]/g; s/\\d/[0-9]/g' "${recipe%.sh}.expected")"
  count=$((count + 1))
done
[ $count -ge 2 ] || fail "$count commands"
