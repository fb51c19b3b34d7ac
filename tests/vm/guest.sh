# What the cases use in the guest: `. /guest.sh`.

fail() {
  echo "FAIL: $*"
  exit 1
}

# check WHAT ACTUAL PATTERN: the extended regular expression must match a line of ACTUAL.
check() {
  echo "$2" | grep -Eq -- "$3" || fail "$1: wanted $3, got: $2"
}
