#!/bin/sh
# load.sh CORPUS EVERY FIRST [FACTOR]: loads every EVERY-th script of CORPUS (scripts.py), from the FIRST on (0: the first), into
# this machine's kernel by `spile -v` in PATH, and prints a line for each, fields apart by a tab. FACTOR: how many times slower
# than a processor this machine's emulator is (default 1).
#   NAME  loaded   PROGRAMS  INSTRUCTIONS  MILLISECONDS
#   NAME  rejected MESSAGE
#   NAME  failed   MESSAGE       where spile did something else: a crash, no message, the verifier's words
# CALLS: the test program of that name, if it is not /bin/calls. Only busybox is needed.
calls=${CALLS:-/bin/calls}
corpus=$1 every=${2:-1} first=${3:-0} limit=$((300 * ${4:-1}))
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
awk -v every="$every" -v first="$first" -v folder="$folder" '
  /^=== / { chosen = n++ % every == first; file = sprintf("%s/%05d", folder, n); if (chosen) print $2 >file ".name"; next }
  chosen { print >file ".stp" }' "$corpus"
sed -i "s,/bin/calls,$calls,g" "$folder"/*.stp
for script in "$folder"/*.stp; do
  name=$(cat "${script%.stp}.name")
  # A busy machine takes longer, even of processor time: the least of three times counts.
  for attempt in 1 2 3; do
    timeout 60 spile -v --runtime=bpf "$script" -c "$calls 1" >"$folder/out" 2>"$folder/err" </dev/null
    status=$?
    now=$(sed -n 's/^Kernel: \([0-9]*\) programs\{0,1\}, \([0-9]*\) instructions verified in \([0-9.]*\) ms .*$/\1\t\2\t\3/p' "$folder/err")
    time=${now##*	}
    if [ "$attempt" = 1 ] || [ "${time%.*}" -lt "$least" ]; then verified=$now least=${time%.*}; fi
    [ -n "$time" ] && [ "${time%.*}" -ge "$limit" ] || break
  done
  message=$(grep -v '^Pass \|^ *[0-9]* |\|^ *|\|warning' "$folder/err" | grep -m 1 ': ' | sed "s,$script,script,g" | tr '\t' ' ')
  sed -i '/^Pass [0-9]/d' "$folder/err"
  # What the kernel's verifier says is about registers, types of pointers and numbers of instructions.
  if grep -q 'R[0-9] \|invalid mem access\|processed [0-9]* insns\|invalid bpf\|mistake in spile\|LLVM\|debug info' "$folder/err"; then
    printf '%s\tfailed\t%s\n' "$name" "$(head -3 "$folder/err" | tr '\n\t' '  ')"
  elif [ -n "$verified" ]; then
    printf '%s\tloaded\t%s\n' "$name" "$verified"
  elif [ "$status" = 1 ] && [ -n "$message" ]; then
    printf '%s\trejected\t%s\n' "$name" "$message"
  else
    printf '%s\tfailed\tstatus %s: %s\n' "$name" "$status" "$(head -c 300 "$folder/err" | tr '\n\t' '  ')"
  fi
done
