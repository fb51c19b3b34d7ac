# What the cases use in the guest: `. /guest.sh`.

fail() {
  echo "FAIL: $*"
  exit 1
}

# check WHAT ACTUAL PATTERN: the extended regular expression must match a line of ACTUAL.
check() {
  echo "$2" | grep -Eq -- "$3" || fail "$1: wanted $3, got: $2"
}

# The tools of examples/kernel, for cases with the line `# files: examples/kernel`.
tools=/files/kernel
# shows TOOL PATTERN COUNT COMMAND: runs the tool while the command runs; so many lines match.
shows() {
  out=$(spile $tools/$1.stp -c "$4" 2>&1)
  lines=$(echo "$out" | grep -Ec -- "$2")
  [ "$lines" = "$3" ] || fail "$1: $lines lines match $2, not $3: $out"
}
# counts TOOL PATTERN LEAST MOST COMMAND: the number before the pattern lies between the two.
counts() {
  out=$(spile $tools/$1.stp -c "$5" 2>&1)
  number=$(echo "$out" | sed -n "s/^ *\([0-9][0-9]*\)$2/\1/p" | head -1)
  [ -n "$number" ] && [ "$number" -ge "$3" ] && [ "$number" -le "$4" ] || fail "$1: $number, not between $3 and $4: $out"
}
# all_of TEXT: the sum of a histogram's counts.
all_of() { echo "$1" | sed -n 's/.*|@* *\([0-9][0-9]*\)$/\1/p' | awk '{ n += $1 } END { print n + 0 }'; }
