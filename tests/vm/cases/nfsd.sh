# The kernel's server of NFS, asked by a client of version 4.2 and one of version 3 in the same guest: requests, and what it does
# with files.
# often: 6.12
. /guest.sh
out=$(spile -e 'probe nfsd.dispatch { println(xid) }' -c true 2>&1) && fail "nfsd is not loaded"
check "nfsd is not loaded" "$out" "^<input>:1:7: error: 'nfsd.dispatch': the module 'nfsd' is not loaded"
nfs_modules
nfs_server
nfs_client
mkdir -p /mnt3
nfs mount3 /export /mnt3 || fail "no mount of NFS 3"
cat >/work.sh <<'TEXT'
cd $1
for i in 1 2 3 4 5; do : >made$i; done
dd if=/dev/zero of=data bs=4096 count=10 2>/dev/null
echo 3 >/proc/sys/vm/drop_caches
dd if=data of=/dev/null bs=4096 count=10 2>/dev/null
dd if=/dev/zero of=big bs=65536 count=16 2>/dev/null
nfs syncs big 1
mkdir d1
for i in 1 2 3; do mv made$i d1/moved$i; done
rm made4 made5
for i in 1 2 3 4; do [ ! -e missing$i ] || exit 1; done
ls d1 >/dev/null
cd /
rm -r $1/d1 $1/data $1/big
TEXT
server='global n, bytes, names
  probe nfsd.dispatch { if (prog == 100003) n[sprintf("dispatch %s %d %d", client_ip, version, proto)]++ }
  probe nfsd.dispatch.return { n["dispatched " . retstr]++ }
  probe sunrpc.svc.send { if (rq_prog == 100003) n[sprintf("answers %d", rq_vers)]++ }
  probe nfsd.lookup { if (filename =~ "^missing" && filelen == 8) names["lookup " . filename]++ }
  probe nfsd.open { n[sprintf("open %o", type)]++ }
  probe nfsd.close { names["close " . filename]++ }
  probe nfsd.read { bytes["read"] += size }
  probe nfsd.write { bytes["write"] += size; if (file < 0 && strlen(fh) > 8) n["write"]++ }
  probe nfsd.commit { if (flag == 1) n["commit"]++ }
  probe nfsd.create { names[sprintf("create %s %o", filename, type)]++ }
  probe nfsd.createv3 { if (iap_valid & 1 && filelen == strlen(filename)) names["createv3 " . filename]++ }
  probe nfsd.unlink { names["unlink " . filename]++ }
  probe nfsd.rename { if (fh != tfh) names["rename " . filename . "=>" . tname]++ }
  probe nfsd.rename.return { n["renamed " . retstr]++ }
  probe nfsd.entries { n["entries"]++ }
  probe end { foreach (what in n) printf("%s: %d\n", what, n[what]); foreach (what in bytes) printf("bytes %s: %d\n", what, bytes[what])
    foreach (name in names) printf("%s: %d\n", name, names[name]) }'
requests='global n, bytes, names
  probe nfsd.proc.lookup { if (filename =~ "^missing" && uid == 0 && gid == 0 && strlen(fh) > 8) names["lookup " . filename]++ }
  probe nfsd.proc.lookup.return { if (retstr == "NFSERR_NOENT") n["unknown"]++ }
  probe nfsd.proc.read { bytes["read"] += size; n[sprintf("%s %d %d", client_ip, proto, version)]++ }
  probe nfsd.proc.write { bytes["write"] += size; if (stable == 0) n["unstable"]++ }
  probe nfsd.proc.commit { if (offset == 0) n["commit"]++ }
  probe nfsd.proc.create { names["create " . filename]++ }
  probe nfsd.proc.create.return { if (retstr == "NFS_OK") n["created"]++ }
  probe nfsd.proc.remove { names["remove " . filename]++ }
  probe nfsd.proc.rename { if (flen == 5 && tlen == 6 && fh != tfh) names["rename " . filename . "=>" . tname]++ }
  probe nfsd.proc.rename.return { n["renamed " . retstr]++ }
  probe nfsd.proc.entries { n["entries"]++ }
  probe end { foreach (what in n) printf("%s: %d\n", what, n[what]); foreach (what in bytes) printf("bytes %s: %d\n", what, bytes[what])
    foreach (name in names) printf("%s: %d\n", name, names[name]) }'
for version in 4 3; do
  mount=/mnt
  [ $version = 4 ] || mount=/mnt3
  out=$(spile -e "$server" -c "sh /work.sh $mount" 2>&1)
  for i in 1 2 3 4; do check "lookups" "$out" "^lookup missing$i: 1\$"; done
  for i in 1 2 3 4 5; do check "creates" "$out" "^createv3 made$i: 1\$"; done
  for name in data big; do check "creates" "$out" "^createv3 $name: 1\$"; check "removes" "$out" "^unlink $name: 1\$"; done
  check "folders" "$out" '^create d1 40000: 1$'
  for i in 4 5; do check "removes" "$out" "^unlink made$i: 1\$"; done
  for i in 1 2 3; do check "renames" "$out" "^rename made$i=>moved$i: 1\$"; done
  check "renames" "$out" '^renamed NFS_OK: 3$'
  check "bytes" "$out" '^bytes read: 40960$'
  check "bytes" "$out" '^bytes write: 1089536$'
  check "writes" "$out" '^write: [1-9]'
  check "commits" "$out" '^commit: [1-9]'
  check "files" "$out" '^open 100000: [1-9]'
  check "folders" "$out" '^open 40000: [1-9]'
  check "requests" "$out" "^dispatch 127.0.0.1 $version 6: [1-9]"
  [ "$(echo "$out" | sed -n "s/^dispatch 127.0.0.1 $version 6: //p")" -ge "$(echo "$out" | sed -n "s/^answers $version: //p")" ] || fail "answers: $out"
  check "a group" "$out" '^entries: [1-9][0-9]+$'

  out=$(spile -e "$requests" -c "sh /work.sh $mount" 2>&1)
  for i in 1 2 3 4; do check "lookups" "$out" "^lookup missing$i: 1\$"; done
  check "unknown names" "$out" '^unknown: ([4-9]|1[0-9])$'
  for i in 1 2 3 4 5; do check "creates" "$out" "^create made$i: 1\$"; done
  for name in data big; do check "creates" "$out" "^create $name: 1\$"; check "removes" "$out" "^remove $name: 1\$"; done
  check "creates" "$out" "^created: $((version == 4 ? 8 : 7))\$"
  for i in 4 5; do check "removes" "$out" "^remove made$i: 1\$"; done
  for i in 1 2 3; do check "renames" "$out" "^rename made$i=>moved$i: 1\$"; done
  check "renames" "$out" '^renamed NFS_OK: 3$'
  check "bytes" "$out" '^bytes read: 40960$'
  check "bytes" "$out" '^bytes write: 1089536$'
  check "writes that stay in memory" "$out" '^unstable: [1-9]'
  check "commits" "$out" '^commit: [1-9]'
  check "who asks" "$out" "^127.0.0.1 6 $version: [1-9]"
  check "a group" "$out" '^entries: [1-9][0-9]+$'
done
# A file that a client of version 4 closes is closed by the server, sooner or later.
out=$(spile -e 'global closed
  probe nfsd.close { if (filename == "closed") closed++ }
  probe timer.ms(200) { if (closed) system("echo >/tmp/closed") }
  probe end { printf("closed %d\n", closed) }' -c ': >/mnt/closed; wait_for /tmp/closed' 2>&1)
check "closes" "$out" '^closed 1$'
