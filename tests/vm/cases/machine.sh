# The machine itself: kernel, tracing file systems, BTF; so that a failure elsewhere is spile's.
. /guest.sh
check kernel "$(uname -r)" '^6\.(1|12)\.'
[ -e /sys/kernel/tracing/events/sched/sched_switch/id ] || fail "no tracefs"
[ -e /sys/kernel/btf/vmlinux ] || fail "no BTF"
[ -e /sys/kernel/tracing/kprobe_events ] || fail "no kprobes"
check calls "$(calls_static 10)" '^foo 145$'
check calls "$(calls 10)" '^foo 145$'
[ "$(nproc)" = 2 ] || fail "$(nproc) processors"
rmmod dummy 2>/dev/null
insmod /modules/dummy.ko || fail "no modules"
grep -q '^dummy ' /proc/modules || fail "the module is not there"
rmmod dummy
