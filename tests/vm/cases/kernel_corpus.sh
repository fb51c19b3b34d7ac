# A part of the corpus of scripts (tests/kernel_corpus), loaded: what the verifier follows is compared with what was recorded for
# this kernel. tools/kernel_corpus does this with all scripts; tests/e2e/kernel_corpus.py on the host's own kernel.
# often: 6.1
# made: tests/kernel_corpus/scripts.py
# files: tests/kernel_corpus/load.sh tests/kernel_corpus/compare.sh tests/kernel_corpus/recorded-6.1.txt tests/kernel_corpus/recorded-6.12.txt
. /guest.sh
kernel=$(uname -r | sed 's/^\([0-9]*\.[0-9]*\).*/\1/')
sh /files/load.sh /files/scripts 12 5 15 >/tmp/results
[ "$(wc -l </tmp/results)" -ge 30 ] || fail "only these were tried: $(cat /tmp/results)"
# The emulator is some 15 times slower than the processor.
worse=$(sh /files/compare.sh "/files/recorded-$kernel.txt" /tmp/results 15) || fail "$worse"
met
