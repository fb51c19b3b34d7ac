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

# Something to trace, until the end: it hands the processor to and fro, and reads a file.
while :; do sleep 0.02; read -r line </proc/uptime; done &
count=0
for recipe in /tmp/recipes/*.sh; do
  # What takes seconds to compile here is compiled before, as -T limits that, too.
  sed 's/ -T [0-9]*/ -p4/' "$recipe" >/tmp/compile.sh
  sh /tmp/compile.sh >/dev/null || fail "$recipe is not compiled"
  out=$(sh "$recipe" 2>&1) || fail "status $? of $(cat "$recipe"): $out"
  check "$(cat "$recipe")" "$out" "$(sed 's/\\S/[^ ]/g; s/\\d/[0-9]/g' "${recipe%.sh}.expected")"
  count=$((count + 1))
done
[ $count -ge 2 ] || fail "$count commands"
