# The kernel puts no uprobe on an instruction with a lock prefix. Of a pattern, the other functions are probed, and a warning
# names the first of those that are not; by itself, such a function is an error that says what can be done. Handlers in the
# process are there, too.
from spiletest import *

if os.geteuid() != 0:
    skip("loading eBPF needs root")

entries = program("locked_entries")
COUNT = ("global n probe process.function(\"entry_*\") { n[ppfunc()]++ } probe end { foreach (f+ in n) printf(\"%s "
         "%d\\n\", f, n[f]) }")
warned = (r"WARNING: attach .*entry_b.*: the kernel can't put a probe on the instruction there \(and 1 others\)\n  "
          r"hint: with -x or -c handlers run in the process")

spile("--runtime=bpf", "-e", COUNT, "-c", f"{entries} 100").expect(status=0, out="entry_a 100\nentry_c 100\nentry_e 100\n",
                                                                   err_match=warned)
spile("-e", COUNT, "-c", f"{entries} 100").expect(status=0, err="", out="".join(f"entry_{x} 100\n" for x in "abcde"))

# Entry and return: a pair is refused once.
PAIRS = ("global n, s probe process.function(\"entry_*\").return { s[ppfunc()] += @entry(tid()) == tid(); n++ } "
         "probe end { println(n); foreach (f+ in s) printf(\"%s %d\\n\", f, s[f]) }")
spile("--runtime=bpf", "-e", PAIRS, "-c", f"{entries} 10").expect(status=0, out="30\nentry_a 10\nentry_c 10\nentry_e 10\n",
                                                                  err_match=warned)

spile("--runtime=bpf", "-e", 'probe process.function("entry_b") { println(1) }', "-c", entries).expect(
    status=1, err_match=r"attach .*entry_b.*: the kernel can't put a probe on the instruction there\n  hint: with -x or -c")
