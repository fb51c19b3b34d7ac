# syscall.* in the kernel, of all processes and with flags as names; functions of tasks; aliases over tracepoints and functions.
. /guest.sh
old=$(uname -r | grep -c '^6\.1\.')

# Counts of one call, by its own alias and by the one handler for all.
work="exec dd if=/dev/zero of=/dev/null bs=3 count=700 2>/dev/null"
out=$(spile -e 'global n, bytes, left probe syscall.read { if (pid() == target() && count == 3) { n++; bytes += count } }
  probe syscall.read.return { if (pid() == target() && retval == 3) left++ }
  probe end { printf("%d %d %d\n", n, bytes, left) }' -c "$work" --runtime=bpf 2>&1)
check "reads" "$out" '^700 2100 700$'
out=$(spile -e 'global n, left probe syscall.* { if (pid() == target()) n[name]++ } probe syscall.*.return { if (pid() == target()) left[name] <<< 1 }
  probe end { printf("%d %d\n", n["write"] >= 700, @count(left["write"]) == n["write"]) }' -c "$work" --runtime=bpf 2>&1)
check "all calls" "$out" '^1 1$'
# In processes of -c, without privileges.
out=$(spile -e 'global n probe syscall.read { if (count == 3) n++ } probe end { println(n) }' -c "$work" 2>&1)
check "in the process" "$out" '^700$'

# Arguments and results as text.
out=$(spile -e 'probe syscall.openat { if (pid() == target() && filename_unquoted == "/tmp/made") { printf("%d %o %s\n", dfd, mode, filename_unquoted); println(argstr) } }
  probe syscall.openat.return { if (execname() == "cat" && retval < 0) println(name, " ", retstr) }' -c 'echo x > /tmp/made; cat /tmp/nowhere 2>/dev/null' --runtime=bpf 2>&1)
check "a file's name" "$out" '^-100 666 /tmp/made$'
check "open arguments" "$out" '^AT_FDCWD, "/tmp/made", O_WRONLY\|O_CREAT\|O_TRUNC, 0666$'
check "an error's name" "$out" '^openat -2 \(ENOENT\)$'
mkdir /tmp/there
out=$(spile -e 'probe syscall.* { if (pid() == target() && name =~ "^(rmdir|unlink)") printf("%s(%s)\n", name, argstr) }' -c 'exec rmdir /tmp/there' --runtime=bpf 2>&1)
if [ "$old" = 0 ]; then
  check "text of any call" "$out" '^rmdir\("/tmp/there"\)$'
else
  check "text of any call over kernel maps" "$out" 'error: |too many ways|too large'
fi

# Lives of processes.
out=$(spile -e 'global forks, exits, codes probe scheduler.process_fork { if (parent_pid == target()) forks++ }
  probe kprocess.exit { if (pid() != target()) { exits++; codes += code == 768 } } probe end { printf("%d %d %d\n", forks, exits >= 20, codes) }' \
  -c 'i=0; while [ $i -lt 20 ]; do (exit 3); i=$((i+1)); done' --runtime=bpf 2>&1)
check "forks and exits" "$out" '^20 1 20$'

# Functions of tasks.
if [ "$old" = 0 ]; then
  out=$(spile -e 'probe kernel.trace("sched:sched_process_exec") { if (pid() == target()) { t = task_current()
    printf("%d %d %d %s %d %s %s\n", task_pid(t) == pid(), task_tid(t) == tid(), task_nice(t), task_execname(t), task_uid(t), fullpath_struct_path(task_cwd_path(t)), fullpath_struct_file(t, task_exe_file(t))) } }' \
    -c 'cd /tmp; exec sleep 0.01' 2>&1)
  check "a task" "$out" '^1 1 0 (exe|sleep) 0 /tmp /.*busybox$'
  # Files that are in no directory: as /proc/PID/fd has them.
  out=$(spile -e 'probe syscall.read { if (execname() == "dd" && fd == 0) { file = task_fd_lookup(task_current(), 0)
    printf("%s\n", fullpath_struct_file(task_current(), file)); exit() } }' --runtime=bpf -c 'echo hello | (readlink /proc/self/fd/0; dd bs=6 count=1 of=/dev/null 2>/dev/null)' 2>&1)
  check "the path of a pipe" "$(echo "$out" | sort | uniq -c)" '^ *2 pipe:\[[0-9]+\]$'
  out=$(spile -e 'global n, bytes, name probe vfs.read { if (pid() == target() && bytes_to_read == 3) { n++; bytes += bytes_to_read; name = devname . filename } }
    probe vfs.read.return { if (pid() == target() && bytes_read == 3) n += 1000000 } probe end { printf("%d %d %s\n", n, bytes, name) }' -c "$work" 2>&1)
  check "vfs.read" "$out" '^700000700 2100 N/Azero$'
  # 5 lines of 6 bytes by TCP: nc sends what has come meanwhile at once.
  sleep 30 | nc -l -p 4713 > /tmp/got &
  sleep 0.3
  out=$(spile -e 'global n, bytes, to, got probe tcp.sendmsg { if (execname() == "nc" && dport == 4713) { n++; bytes += size; to = daddr } }
    probe tcp.recvmsg.return { if (execname() == "nc" && size > 0) got += size } probe end { printf("%d %d %s %d\n", n, bytes, to, got) }' \
    -c 'for i in 1 2 3 4 5; do echo hello; sleep 0.1; done | nc 127.0.0.1 4713' 2>&1)
  check "tcp.sendmsg" "$out" '^[1-5] 30 127.0.0.1 30$'
fi
