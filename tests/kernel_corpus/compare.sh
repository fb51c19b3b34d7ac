#!/bin/sh
# compare.sh RECORD RESULTS [FACTOR]: says what has become worse in RESULTS (of load.sh) since RECORD, which has earlier results
# for this kernel; status 1 if anything. FACTOR: how many times slower than a processor this machine's emulator is (default 1).
#   a script does something else than load or be rejected in spile's words, or is rejected and was loaded
#   the verifier follows over 20 % more instructions (and over 100: some are the kernel's and the machine's)
#   a verification takes more than 0.3 s
# To record anew: tools/kernel_corpus KERNEL record.
awk -F '\t' -v factor="${3:-1}" '
  function worse(what) { print $1 ": " what; bad = 1 }
  reading == "record" { state[$1] = $2; instructions[$1] = $4; next }
  { n++ }
  $2 != "loaded" && $2 != "rejected" { worse($3); next }
  !($1 in state) { worse("is not recorded: " $2 " " $3 " " $4); next }
  $2 == "rejected" { if (state[$1] == "loaded") worse("was loaded, and is rejected: " $3); next }
  $5 > 300 * factor { worse("verification takes " $5 " ms") }
  state[$1] == "loaded" && $4 > instructions[$1] * 1.2 && $4 > instructions[$1] + 100 { worse("the verifier follows " $4 " instructions, recorded " instructions[$1]) }
  END { if (n == 0) { print "no results"; bad = 1 } exit bad }' reading=record "$1" reading=results "$2"
