# Calls of RPC between a client and a server of NFS in the same guest: the tasks that make them, and the requests that they are to
# the server.
# often: 6.12
. /guest.sh
nfs_modules
nfs_server
nfs_client
out=$(spile -e 'global n
  probe sunrpc.sched.new_task { if (prog == 100003 && vers == 4 && prot == 6) n["new"]++ }
  probe sunrpc.sched.execute { if (prog == 100003 && vers == 4 && prot == 6) n["execute"]++ }
  probe sunrpc.sched.release_task { if (prog == 100003 && vers == 4 && xid) n["release"]++ }
  probe sunrpc.svc.process { if (rq_prog == 100003 && rq_vers == 4 && rq_proc == 1 && rq_prot == 6 && sv_nrthreads == 2 && ip_ntop(peer_ip) == "127.0.0.1" && sv_name == "nfsd") n["process"]++ }
  probe sunrpc.svc.authorise { if (rq_prog == 100003 && sv_prog == 100003) n["authorise"]++ }
  probe sunrpc.svc.send { if (rq_prog == 100003 && rq_xid) n["send"]++ }
  probe sunrpc.svc.recv { if (sv_name == "nfsd") n["receive"]++ }
  probe sunrpc.svc.drop { n["drop"]++ }
  probe sunrpc.sched.delay ? { if (delay > 0) n["delay"]++ }
  probe sunrpc.entry { n["entries"]++ }
  # Files close some time after the command has done its work: it ends when nothing is on its way.
  global worked, before
  probe kernel.trace("sched:sched_process_exec") { if (execname() == "wait_for") worked = 1 }
  probe timer.ms(200) {
    if (worked && n["send"] == before && n["new"] == n["release"] && n["process"] == n["send"]) system("echo >/tmp/done")
    before = n["send"]
  }
  probe end { foreach (what in n) printf("%s: %d\n", what, n[what]) }' \
  -c 'cd /mnt; for i in 1 2 3 4 5 6 7 8 9 10; do : >f$i; done; rm f*; wait_for /tmp/done' 2>&1)
# 10 files: each an OPEN, a CLOSE and a REMOVE at least.
check "calls" "$out" '^execute: [3-9][0-9]$'
for three in 'new|execute|release' 'process|authorise|send'; do
  [ "$(echo "$out" | grep -E "^($three): " | sed 's/.*: //' | sort -u | wc -l)" = 1 ] || fail "$three: $out"
done
check "requests" "$out" '^process: [3-9][0-9]$'
check "waits" "$out" '^receive: [1-9][0-9]'
check "a group" "$out" '^entries: [1-9][0-9]+$'
