# Threads of work queues: the kernel makes and ends those of a queue whose niceness changes. signal.handle.return, of 10 handlers
# that run and 3 without a stack; nfsderror(); dump_stack(); tty.init.
. /guest.sh
mount -t sysfs none /sys 2>/dev/null
queue=/sys/devices/virtual/workqueue/writeback
[ -e $queue/nice ] || fail "no $queue/nice"
# workers: the numbers of the kernel's threads for work queues.
workers() { for p in /proc/[0-9]*; do read -r name <$p/comm && case $name in kworker/*) echo "${p#/proc/}" ;; esac; done | sort; }
workers >/tmp/before
spile -o /tmp/made -e '
  global made, is_made, ended
  probe workqueue.create { if (cpu == -1 && task_nice(wq_thread) == -7) { made++; is_made[wq_thread] = 1; printf("made %d\n", task_pid(wq_thread)) } }
  probe workqueue.destroy { if (wq_thread in is_made) { ended++; delete is_made[wq_thread]; printf("ended %d\n", task_pid(wq_thread)) } }
  probe workqueue.insert { if (wq_thread) println("a thread before its time") }
  probe end { printf("%d %d\n", made > 0, ended == made) }' -c "echo -7 >$queue/nice; sleep 1; for p in /proc/[0-9]*; do set -- \$(cat \$p/stat 2>/dev/null); [ \"\$9\" = -7 ] || case \$2 in '(kworker/'*) [ \${19} = -7 ] && echo \${p#/proc/} >>/tmp/seen ;; esac; done; echo 0 >$queue/nice; sleep 3" 2>&1
check "workqueue.create, workqueue.destroy" "$(tail -1 /tmp/made)" '^1 1$'
for p in $(cat /tmp/seen); do grep -q "^made $p\$" /tmp/made && grep -q "^ended $p\$" /tmp/made || fail "worker $p: $(cat /tmp/made)"; done
[ -s /tmp/seen ] || fail "no worker of niceness -7 was seen"

check "signal.handle.return" "$(spile -e 'global n, failed probe signal.handle.return { if (execname() == "causes" && name == "signal_deliver") retstr == "0" ? n++ : failed++ }
  probe end { printf("%d %d\n", n, failed) }' -c 'causes signals 10; exec causes badstack 3' 2>&1)" '^10 3$'
mkdir -p /dev/pts && mount -t devpts devpts /dev/pts || fail "no terminals"
check "tty.init" "$(spile -e 'global n, others probe tty.init { if (execname() == "causes") driver_name == "pty_master" && name == "ptm" && module == "" ? n++ : others++ }
  probe end { printf("%d %d\n", n, others) }' -c 'causes pty 3; causes pty 1; exec causes pty 1' 2>&1)" '^3 0$'
check "nfsderror" "$(spile -e 'probe kernel.trace("syscalls:sys_enter_getppid") { if (pid() == target()) { println(nfsderror(0), nfsderror(70), nfsderror(htonl(70)), nfsderror(10008), nfsderror(3)); exit() } }' -c 'exec causes facts 1' 2>&1)" '^NFS_OKNFSERR_STALENFSERR_STALENFSERR_JUKEBOX3$'
if [ "$(uname -r | cut -d. -f1-2)" != 6.1 ]; then
  check "dump_stack" "$(spile -e 'probe kernel.function("do_nanosleep") { if (execname() == "sleep") { dump_stack(); exit() } }' -c 'sleep 1' 2>&1)" '^ 0x[0-9a-f]+ : do_nanosleep\+0x[0-9a-f]/0x[0-9a-f]+ \[kernel\]$'
fi
