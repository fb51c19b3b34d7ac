# The client of NFS, version 4.2 and version 3, at a server in the same guest: what programs do, what the page cache does, and the
# calls to the server.
. /guest.sh
out=$(spile -e 'probe nfs.fop.open { println(file_name) }' -c true 2>&1) && fail "nfs is not loaded"
check "nfs is not loaded" "$out" "^<input>:1:7: error: 'nfs.fop.open': the module 'nfs' is not loaded"
check "what to do" "$out" "^  hint: load it first: modprobe nfs"
out=$(spile -e 'probe nfs.proc.lookup { println(filename) } probe begin { exit() }' 2>&1) && fail "no version of nfs is loaded"
check "no version is loaded" "$out" "error: 'nfs.proc.lookup': the module 'nfsv4' is not loaded"
out=$(spile -e 'probe nfs.fop.open ?, nfs.proc.lookup ?, sunrpc.sched.execute ? { println(name) } probe begin { println("skipped"); exit() }' 2>&1) || fail "not skipped: $out"
check "skipped" "$out" '^skipped$'
# On the disk, and not loaded: what reads no variables waits for it, the rest is left out.
mkdir -p "/lib/modules/$(uname -r)"
echo "kernel/fs/nfs/nfs.ko:" >"/lib/modules/$(uname -r)/modules.dep"
out=$(spile -e 'probe nfs.fop.read ? { println(file_name) } probe begin { println("skipped"); exit() }' 2>&1) || fail "not skipped: $out"
check "skipped, as not loaded" "$out" '^skipped$'
out=$(spile -e 'probe nfs.fop.read { println(file_name) }' -c true 2>&1) && fail "nfs is not loaded"
check "on the disk" "$out" "the module nfs is not loaded, so that its types are not known"

nfs_modules
nfs_server
nfs_client
cat >/work.sh <<'TEXT'
cd $1
for i in 1 2 3 4 5; do : >made$i; done
dd if=/dev/zero of=data bs=4096 count=10 2>/dev/null
nfs syncs data 1
echo 3 >/proc/sys/vm/drop_caches
dd if=data of=/dev/null bs=4096 count=10 2>/dev/null
dd if=data of=/dev/null bs=4096 skip=2 count=1 2>/dev/null
dd if=/dev/zero of=big bs=65536 count=16 2>/dev/null
mkdir d1
for i in 1 2 3; do mv made$i d1/moved$i; done
rm made4 made5
for i in 1 2 3 4; do [ ! -e missing$i ] || exit 1; done
cat data >/dev/null
nfs locks data 3
nfs maps data 2
cd /
rm -r $1/d1 $1/data $1/big
TEXT

# What programs do: each count is of the files and programs above. 13 opens are 5 of made*, and of data and big.
fop='global n, bytes, names
  probe nfs.fop.open { n["open"]++; names[file_name]++; if (flag & 0x40) n["creating"]++ }
  probe nfs.fop.release { n["release"]++ }
  probe nfs.fop.read_iter { if (execname() == "dd" && file_name == "data" && parent_name != "" && size == count) { n["read"]++; bytes["asked"] += count } }
  probe nfs.fop.read.return { if (execname() == "dd") bytes["read"] += size }
  probe nfs.fop.aio_write { if (execname() == "dd" && buf > 0) { n["write " . file_name]++; bytes[file_name] += count } }
  probe nfs.fop.llseek { if (execname() == "dd") n[sprintf("llseek %s %d", whence_str, offset)]++ }
  probe nfs.fop.fsync { if (execname() == "nfs") n["fsync " . file_name]++ }
  probe nfs.fop.flush { if (execname() == "nfs" && mode & 2) n["flush"]++ }
  probe nfs.fop.lock { n[sprintf("lock %d %d %d", fl_type, fl_start, fl_end)]++ }
  probe nfs.fop.mmap { if (vm_end - vm_start == 4096 && buf == vm_start && vm_flag & 8) n["mmap " . file_name]++ }
  probe nfs.fop.sendfile { if (execname() == "cat") n["sendfile"]++ }
  probe nfs.fop.check_flags.return { if (retstr == "0") n["flags"]++ }
  probe nfs.fop.entries { n["entries"]++ }
  probe end { foreach (what in n) printf("%s: %d\n", what, n[what]); foreach (what in bytes) printf("bytes %s: %d\n", what, bytes[what])
    foreach (name in names) printf("opened %s: %d\n", name, names[name]) }'
check_fop() {
  check "opens" "$out" '^open: 13$'
  for i in 1 2 3 4 5; do check "names" "$out" "^opened made$i: 1\$"; done
  check "names" "$out" '^opened data: 7$'
  check "names" "$out" '^opened big: 1$'
  check "releases" "$out" '^release: 13$'
  check "reads" "$out" '^read: 11$'
  check "bytes" "$out" '^bytes asked: 45056$'
  check "bytes" "$out" '^bytes read: 45056$'
  check "writes" "$out" '^write data: 10$'
  check "writes" "$out" '^write big: 16$'
  check "bytes" "$out" '^bytes data: 40960$'
  check "bytes" "$out" '^bytes big: 1048576$'
  check "seeks" "$out" '^llseek SEEK_CUR 8192: 1$'
  check "fsync" "$out" '^fsync data: 1$'
  check "closes" "$out" '^flush: 3$'
  check "locks" "$out" '^lock 1 7 7: 3$'
  check "unlocks" "$out" '^lock 2 7 7: [3-9]$'
  check "maps" "$out" '^mmap data: 2$'
  check "a group" "$out" '^entries: [1-9][0-9]+$'
}
out=$(spile -e "$fop" -c 'sh /work.sh /mnt' 2>&1)
check_fop
check "sendfile" "$out" '^sendfile: [1-9]$'
# Opens of version 3 may have the check in their own code.
check "flags" "$out" '^flags: [1-9]'

aop='global n, bytes
  probe nfs.aop.write_begin { if (execname() == "dd" && __page == 0) { n["begin"]++; bytes["begin"] += size } }
  probe nfs.aop.write_begin.return { if (execname() == "dd" && __page < 0) n["page"]++ }
  probe nfs.aop.write_end { if (execname() == "dd" && to == offset + size) { n["end"]++; bytes["end"] += size } }
  probe nfs.aop.set_page_dirty { if (execname() == "dd") n["dirty"]++ }
  probe nfs.aop.readpages { if (execname() == "dd" && rsize / 4096 == rpages) n["ahead"] += nr_pages }
  probe nfs.aop.writepages { if (wsize / 4096 == wpages && !for_kupdate) n["written"]++ }
  probe nfs.aop.entries { n["entries"]++ }
  probe end { foreach (what in n) printf("%s: %d\n", what, n[what]); foreach (what in bytes) printf("bytes %s: %d\n", what, bytes[what]) }'
out=$(spile -e "$aop" -c 'sh /work.sh /mnt' 2>&1)
check "begun" "$out" '^begin: [1-9][0-9]+$'
check "bytes" "$out" '^bytes begin: 1089536$'
check "bytes" "$out" '^bytes end: 1089536$'
[ "$(echo "$out" | grep -E '^(begin|page|end|dirty): ' | sed 's/.*: //' | sort -u | wc -l)" = 1 ] || fail "pages: $out"
check "ahead" "$out" '^ahead: 10$'
check "written" "$out" '^written: [1-9]'
check "a group" "$out" '^entries: [1-9][0-9]+$'

# The calls to the server, of both versions.
proc='global n, bytes, names
  probe nfs.proc.lookup { if (filename =~ "^missing" && name_len == 8 && (version == 3 || bitmask0 > 0)) names[filename]++ }
  probe nfs.proc.lookup.return { if (retstr == "-2 (ENOENT)") n["unknown"]++ }
  probe nfs.proc.create { if (filelen == strlen(filename) && strlen(fh) > 8) names["create " . filename]++ }
  probe nfs.proc.remove { if (filename =~ "^made") names["remove " . filename]++ }
  probe nfs.proc.rename { names["rename " . old_name . "=>" . new_name]++ }
  probe nfs.proc.rename_done { if (!status && old_fh != new_fh) n["renamed"]++ }
  probe nfs.proc.read { bytes["read"] += size; n[ip_ntop(server_ip) . sprintf(" %d %d", prot, version)]++ }
  probe nfs.proc.read_done { if (status >= 0) bytes["read_done"] += count }
  probe nfs.proc.write_setup { bytes["write"] += size; if (how == 0) n["unstable"]++ }
  probe nfs.proc.write_done { if (status >= 0) bytes["write_done"] += count }
  probe nfs.proc.commit { n["commit"]++ }
  probe nfs.proc.commit_done { if (!status) n["committed"]++ }
  probe nfs.proc.open { n["open"]++ }
  probe nfs.proc.release { n["release"]++ }
  probe nfs.proc.handle_exception ? { if (errorcode == -2) n["exception"]++ }
  probe nfs.proc.entries { n["entries"]++ }
  probe end { foreach (what in n) printf("%s: %d\n", what, n[what]); foreach (what in bytes) printf("bytes %s: %d\n", what, bytes[what])
    foreach (name in names) printf("%s: %d\n", name, names[name]) }'
check_proc() {
  for i in 1 2 3 4; do check "lookups" "$out" "^missing$i: 1\$"; done
  for i in 1 2 3 4 5; do check "creates" "$out" "^create made$i: 1\$"; done
  check "creates" "$out" '^create big: 1$'
  for i in 4 5; do check "removes" "$out" "^remove made$i: 1\$"; done
  for i in 1 2 3; do check "renames" "$out" "^rename made$i=>moved$i: 1\$"; done
  check "renames" "$out" '^renamed: 3$'
  check "unknown names" "$out" '^unknown: ([4-9]|1[0-9])$'
  check "bytes" "$out" '^bytes read: 40960$'
  check "bytes" "$out" '^bytes read_done: 40960$'
  check "bytes" "$out" '^bytes write: 1089536$'
  check "bytes" "$out" '^bytes write_done: 1089536$'
  check "writes that stay in memory" "$out" '^unstable: [1-9]'
  check "commits" "$out" '^commit: [1-9]'
  check "opens" "$out" '^open: 13$'
  check "releases" "$out" '^release: 13$'
  [ "$(echo "$out" | sed -n 's/^commit: //p')" = "$(echo "$out" | sed -n 's/^committed: //p')" ] || fail "commits: $out"
  check "a group" "$out" '^entries: [1-9][0-9]+$'
}
out=$(spile -e "$proc" -c 'sh /work.sh /mnt' 2>&1)
check_proc
check "server" "$out" '^127.0.0.1 6 4: [1-9]'
check "errors" "$out" '^exception: [4-9]$'

mkdir -p /mnt3
nfs mount3 /export /mnt3 || fail "no mount of NFS 3"
out=$(spile -e "$fop" -c 'sh /work.sh /mnt3' 2>&1)
check_fop
out=$(spile -e "$proc" -c 'sh /work.sh /mnt3' 2>&1)
check_proc
check "server" "$out" '^127.0.0.1 6 3: [1-9]'
