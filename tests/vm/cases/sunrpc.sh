# RPC between clients and a server of NFS in the same guest: the lives of both, and a call of version 3.
. /guest.sh
out=$(spile -e 'probe sunrpc.sched.execute { println(xid) }' -c true 2>&1) && fail "sunrpc is not loaded"
check "sunrpc is not loaded" "$out" "^<input>:1:7: error: 'sunrpc.sched.execute': the module 'sunrpc' is not loaded"
nfs_modules
cat >/live.sh <<'TEXT'
. /guest.sh
nfs_server
nfs_client
umount /mnt
mkdir -p /mnt3
nfs mount3 /export /mnt3
[ ! -e /mnt3/missing ] || exit 1
umount /mnt3
echo 0 >/proc/fs/nfsd/threads
sleep 1
TEXT
out=$(spile -e 'global n
  probe sunrpc.svc.create { n[sprintf("create %s %d %d", progname, prog, pg_nvers > 3 && bufsize > 65536)]++ }
  probe sunrpc.svc.register { n[sprintf("register %s %d %d %d", progname, prog, prot, port)]++ }
  probe sunrpc.svc.destroy { n[sprintf("destroy %s %s %d", sv_name, sv_progname, sv_prog)]++; if (sv_prog == 100003 && netcnt == rpccnt && rpccnt > 5 && !rpcbadfmt && !rpcbadauth && nettcpconn > 0) n["counted"]++ }
  probe sunrpc.clnt.create_client { n[sprintf("client %s %s %d %d %d %d", servername, progname, prog, vers, prot, port)]++ }
  probe sunrpc.clnt.create_client.return { if (retstr == "0") n["made"]++ }
  probe sunrpc.clnt.clone_client ?, sunrpc.clnt.bind_new_program ? { n[name]++ }
  probe sunrpc.clnt.shutdown_client { n[sprintf("shutdown %s %d %d %d", progname, vers, port, tasks)]++; if (vers == 3) { if (om_ops && om_bytes_sent > 0 && om_bytes_recv > 0 && om_execute > 0 && om_ntrans >= om_ops && rpccnt >= om_ops) n["ops of 3"] += om_ops } }
  probe sunrpc.clnt.call_sync { if (prog == 100003) n[sprintf("sync %d %s %d %s", proc, procname, vers, servername)]++ }
  probe sunrpc.clnt.entry { n["entries"]++ }
  probe end { foreach (what in n) printf("%s: %d\n", what, n[what]) }' -c 'sh /live.sh' 2>&1)
check "a server" "$out" '^create nfsd 100003 1: 1$'
check "its end" "$out" '^destroy nfsd nfsd 100003: 1$'
check "its name" "$out" '^register nfsd 100003 6 2049: [1-9]'
check "a client" "$out" '^client 127.0.0.1 nfs 100003 4 6 2049: [1-9]$'
check "a client" "$out" '^client 127.0.0.1 nfs 100003 3 6 2049: 1$'
check "their ends" "$out" '^shutdown nfs 4 2049 [0-9]+: [1-9]$'
check "their ends" "$out" '^shutdown nfs 3 2049 [0-9]+: [1-9]$'
check "their calls" "$out" '^ops of 3: [1-9]'
check "calls" "$out" '^sync 3 LOOKUP 3 127.0.0.1: 1$'
check "a group" "$out" '^entries: [1-9]'
