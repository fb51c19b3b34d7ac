# Arrays that several threads fill beyond their size: the error is that of one thread, and each update that is in no element is
# counted, whichever way it adds.
# variants: one several

import json
import subprocess
import sys

from spiletest import *

VARIANT = sys.argv[1]
THREADS, CALLS = {"one": (1, 9000), "several": (6, 1500)}[VARIANT]
HELD = 2048
PROGRAM = r"""
#include <pthread.h>
#include <stdlib.h>
static long calls;
__attribute__((noipa)) void hit(long key) { __asm__ volatile("" ::"r"(key) : "memory"); }
static void *run(void *first) {
  for (long i = 0; i < calls; i++) hit((long)first * calls + i);
  return 0;
}
int main(int argc, char **argv) {
  pthread_t threads[64];
  long count = atol(argv[1]);
  calls = atol(argv[2]);
  for (long i = 0; i < count; i++) pthread_create(&threads[i], 0, run, (void *)i);
  for (long i = 0; i < count; i++) pthread_join(threads[i], 0);
}
"""
binary = temporary_directory() / "fill"
subprocess.run(["gcc", "-g", "-O1", "-pthread", "-x", "c", "-o", binary, "-"], input=PROGRAM.encode(), check=True)
command = f"{binary} {THREADS} {CALLS}"
all_calls = THREADS * CALLS


def lost_in(result):
    expect_match(r"(?m)^WARNING: \d+ updates lost, array full", result.err)
    return int(re.search(r"(?m)^WARNING: (\d+) updates lost, array full", result.err).group(1))


ADDITIONS = {
    "ones": ("a[$key]++", 1),
    "sums": ("a[$key] += $key + 1000", 1),
    "both": ("a[$key] += 7; a[$key]++", 2),
    "differences": ("a[$key]--", 1),
    "aggregates": ("a[$key] <<< $key", 1),
    "texts": ('a[sprint("key ", $key)]++', 1),
}
for name, (addition, updates) in ADDITIONS.items():
    script = (f'global a probe process.function("hit") {{ {addition} }} '
              "probe error { foreach (k in a) n++; println(n) } probe end { println(\"not the end\") }")
    result = spile("-DMAXERRORS=1000000", "-e", script, "-c", command)
    lost = lost_in(result)
    # A thread that fills its own part loses the rest of that handler by an error.
    expect_true(updates * (all_calls - HELD) >= lost >= all_calls - HELD, (name, lost))
    if updates == 1: expect(lost, all_calls - HELD, name)
    expect_match("ERROR: Array overflow, check MAXMAPENTRIES", result.err)

# By default the run ends with the first error, its error probe runs, and the status is 1.
script = 'global a probe process.function("hit") { a[$key]++ } probe error { println("error") } probe end { println(a[1]) }'
result = spile("-e", script, "-c", command).expect(status=1, out="error\n", err_match="Array overflow")

# A verb goes on with the keys that it has; what is in its table and the warning are all calls.
result = spile("lat", "hit", "--by", "$key", "--json", "-c", command).expect(status=0)
shown = sum(json.loads(line).get("calls", 0) for line in result.out.splitlines() if line.startswith("{"))
lost = lost_in(result)
expect((shown, lost), (4096, all_calls - 4096))
result = spile("hist", 'process.function("hit")', "keys=$key", "vals=$key", "size=100", "-c", command).expect(status=0)
expect_match(rf"\n    Hits: 100\n    Entries: 100\n    Dropped: {all_calls - 100}\n$", result.out)
