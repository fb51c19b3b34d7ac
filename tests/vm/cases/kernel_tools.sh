# The tools of examples/kernel, each with a cause that is counted.
# seconds: 600
# files: examples/kernel
. /guest.sh
tracing=/sys/kernel/tracing

ip link set lo up
connect='for i in 1 2 3; do nc -l -p 1234 </dev/null >/dev/null & sleep 0.5; nc 127.0.0.1 1234 </dev/null >/dev/null; wait $!; done'
shows execsnoop '^[0-9]+ +[0-9]+ +[^ ]+ +/usr/bin/sleep 0 $' 5 'for i in 1 2 3 4 5; do /usr/bin/sleep 0; done'
shows opensnoop '^[0-9]+ +cat +-1   2 /etc/nothing[123]$' 3 'for i in 1 2 3; do cat /etc/nothing$i 2>/dev/null; done'
shows statsnoop '^[0-9]+ +ls +2 /etc/nothing[123]$' 3 'for i in 1 2 3; do ls /etc/nothing$i 2>/dev/null; done'
shows killsnoop '^[0-9]+ +[^ ]+ +18 +[0-9]+ +0$' 4 'sleep 9 & for i in 1 2 3 4; do kill -CONT $!; done; kill -9 $!'
shows syncsnoop ' dd +fsync$' 3 'for i in 1 2 3; do dd if=/dev/zero of=/root/file count=1 conv=fsync 2>/dev/null; done'
shows naptime '^[0-9]+ +sh +[0-9]+ +sleep +0\.250$' 3 'for i in 1 2 3; do /usr/bin/sleep 0.25; done'
counts syscount ' read' 2000 9000 'dd if=/dev/zero of=/dev/null bs=1 count=2000 2>/dev/null'
counts vfscount ' vfs_read' 2000 9000 'dd if=/dev/zero of=/dev/null bs=1 count=2000 2>/dev/null'
echo 'somebody:x:1234:1234::/:/bin/sh' >>/etc/passwd; echo 'somebody:x:1234:' >>/etc/group
shows setuids ' su +0 +1234 +0$' 3 'for i in 1 2 3; do su somebody -c true; done'
shows capable '^0 +[0-9]+ +hostname +21 SYS_ADMIN +1$' 3 'for i in 1 2 3; do hostname guest; done'
shows tcpconnect '^[0-9]+ +nc +127\.0\.0\.1 +[0-9]+ -> 127\.0\.0\.1 +1234$' 3 "$connect"
shows tcpaccept '^[0-9]+ +nc +127\.0\.0\.1 +1234 <- 127\.0\.0\.1 +[0-9]+ [0-9]+$' 3 "$connect"
# The begin and the end of a connection count as a byte. The server's input stays open, as nc ends when the other side has closed.
said='for i in 1 2 3; do sleep 2 | nc -l -p 1234 >/dev/null & sleep 0.5; echo hello | nc 127.0.0.1 1234 >/dev/null; wait $!; done'
shows tcplife ' 127\.0\.0\.1 +[0-9]+ 127\.0\.0\.1 +1234 +[678] +[01] +[0-9]+$' 3 "$said"

# Sums of what is told each second, and histograms.
forks() { sed -n 's/^processes //p' /proc/stat; }
before=$(forks)
out=$(spile $tools/pidpersec.stp -c 'for i in 1 2 3 4 5 6 7 8 9 10; do /usr/bin/true; done; sleep 2.5' 2>&1)
all=$(($(forks) - before))
made=$(echo "$out" | awk '{ n += $NF } END { print n }')
[ "$made" -ge 10 ] && [ "$made" -le "$all" ] || fail "pidpersec: $made of at most $all: $out"
out=$(spile $tools/vfsstat.stp -c 'dd if=/dev/zero of=/dev/null bs=1 count=2000 2>/dev/null; sleep 2.5' 2>&1)
reads=$(echo "$out" | awk '{ n += $1 } END { print n }')
[ "$reads" -ge 2000 ] && [ "$reads" -le 9000 ] || fail "vfsstat: $reads: $out"
out=$(spile $tools/runqlat.stp -c 'for i in 1 2 3 4 5 6 7 8 9 10; do /usr/bin/true; done' 2>&1)
[ "$(all_of "$out")" -ge 10 ] || fail "runqlat: $out"
# Of all processes: without -c, under which spile samples the command's alone. On a busy machine it takes longer until each
# processor has been sampled often enough; -T also ends what is not compiled in time.
spile -p4 $tools/cpuwalk.stp >/dev/null && spile -p4 $tools/runqlen.stp >/dev/null || fail "cpuwalk and runqlen aren't compiled"
busy=
for i in 1 2 3; do sh -c 'while :; do :; done' & busy="$busy $!"; done
# sampled TOOL PATTERN COUNT: so many lines match.
sampled() {
  for seconds in 4 10 30; do
    out=$(spile -T $seconds $tools/$1.stp 2>&1)
    [ "$(echo "$out" | grep -Ec "$2")" -ge $3 ] && met && return
  done
  fail "$1: $out"
}
sampled cpuwalk '^CPU +[01] +[0-9]{2,} samples$' 2
sampled runqlen '^ +[23] \|@+ +[0-9]{2,}$' 1
kill $busy

# A disk: each direct write is a request.
[ -d /sys/module/loop ] || insmod /modules/loop.ko || fail "no loop.ko"
losetup -d /dev/loop0 2>/dev/null
dd if=/dev/zero of=/root/disk bs=1M count=4 2>/dev/null && losetup /dev/loop0 /root/disk || fail "no disk"
writes='dd if=/dev/zero of=/dev/loop0 bs=4096 count=20 oflag=direct 2>/dev/null'
shows biosnoop '^[0-9]+ +dd +7:0 +W[A-Z]* +[0-9]+ +4096 +[0-9]+$' 20 "$writes"
out=$(spile $tools/biolatency.stp -c "$writes" 2>&1)
check biolatency "$out" '^device 7:0$'
[ "$(all_of "$out")" -ge 20 ] && [ "$(all_of "$out")" -le 24 ] || fail "biolatency: $out"
out=$(spile $tools/bitesize.stp -c "$writes" 2>&1)
# By the threads that hand the requests to the disk, which may be several of the kernel's.
pages=$(echo "$out" | sed -n 's/^ *4096 |@* *\([0-9][0-9]*\)$/\1/p' | awk '{ n += $1 } END { print n + 0 }')
[ "$pages" -ge 20 ] && [ "$pages" -le 24 ] || fail "bitesize: $pages requests of 4096 bytes: $out"

# A network that loses all: the first segment of a connection is sent again after 1 s.
insmod /modules/dummy.ko 2>/dev/null; ip link add dummy0 type dummy 2>/dev/null
ip addr add 10.9.9.1/24 dev dummy0 && ip link set dummy0 up || fail "no network"
shows tcpretrans '^[0-9]+ +10\.9\.9\.1:[0-9]+ -> 10\.9\.9\.2:80 SYN_SENT$' 1 'timeout 2 nc 10.9.9.2 80 </dev/null 2>/dev/null'
# The kernel ends a process, asked by sysrq as it would if memory had run out.
shows oomkill '^[0-9]+: memory has run out, and process [0-9]+ is ended' 1 'sh -c "echo 1000 >/proc/self/oom_score_adj; exec sleep 9" & sleep 1; echo f >/proc/sysrq-trigger; sleep 0.5'
