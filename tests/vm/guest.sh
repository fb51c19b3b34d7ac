# What the cases use in the guest: `. /guest.sh`.

fail() {
  echo "FAIL: $*"
  exit 1
}

# met: an expectation was met. A case that ends well without any has checked nothing, so the guest's init (tests/vm/run) fails it.
met() { echo >>/met; }
# check WHAT ACTUAL PATTERN: the extended regular expression must match a line of ACTUAL.
check() {
  echo "$2" | grep -Eq -- "$3" || fail "$1: wanted $3, got: $2"
  met
}

# The tools of examples/kernel, for cases with the line `# files: examples/kernel`.
tools=/files/kernel
# shows TOOL PATTERN COUNT COMMAND: runs the tool while the command runs; so many lines match.
shows() {
  out=$(spile $tools/$1.stp -c "$4" 2>&1)
  lines=$(echo "$out" | grep -Ec -- "$2")
  [ "$lines" = "$3" ] || fail "$1: $lines lines match $2, not $3: $out"
  met
}
# counts TOOL PATTERN LEAST MOST COMMAND: the number before the pattern lies between the two.
counts() {
  out=$(spile $tools/$1.stp -c "$5" 2>&1)
  number=$(echo "$out" | sed -n "s/^ *\([0-9][0-9]*\)$2/\1/p" | head -1)
  [ -n "$number" ] && [ "$number" -ge "$3" ] && [ "$number" -le "$4" ] || fail "$1: $number, not between $3 and $4: $out"
  met
}
# all_of TEXT: the sum of a histogram's counts.
all_of() { echo "$1" | sed -n 's/.*|@* *\([0-9][0-9]*\)$/\1/p' | awk '{ n += $1 } END { print n + 0 }'; }

# nfs_modules: loads what a client and a server of NFS need, each module before those that need it.
nfs_modules() {
  for name in netfs fscache sunrpc grace lockd nfs_acl auth_rpcgss dns_resolver nfs nfsv3 nfsv4 nfsd; do
    [ ! -e /modules/$name.ko ] || insmod /modules/$name.ko || fail "no $name.ko"
  done
}
# nfs_server: serves /export of this guest to itself, with the kernel's own files in place of daemons: which machine is the domain
# "all", what it may have, and which folder the file system number 0 is. Needs nfs_modules.
nfs_server() {
  mkdir -p /export /var/lib/nfs/v4recovery
  mount -t tmpfs tmpfs /export || fail "no tmpfs"
  mount -t nfsd nfsd /proc/fs/nfsd || fail "no file system of nfsd"
  mkdir -p /run /var/run
  nfs rpcbind /run >/dev/null 2>&1 </dev/null &
  for attempt in $(seq 100); do [ -S /run/rpcbind.sock ] && break; sleep 0.3; done
  [ -S /run/rpcbind.sock ] || fail "the program nfs did not stand in for rpcbind"
  ln -sf /run/rpcbind.sock /var/run/rpcbind.sock
  echo 10 >/proc/fs/nfsd/nfsv4leasetime
  echo 10 >/proc/fs/nfsd/nfsv4gracetime
  echo 2 >/proc/fs/nfsd/threads || fail "no server of NFS"
  echo Y >/proc/fs/nfsd/v4_end_grace
  later=$(($(date +%s) + 100000))
  echo "nfsd 127.0.0.1 $later all" >/proc/net/rpc/auth.unix.ip/channel || fail "no clients of NFS"
  # NFSEXP_FSID, NFSEXP_NOSUBTREECHECK and NFSEXP_INSECURE_PORT; root stays root.
  echo "all /export $later $((0x2402)) 65534 65534 0" >/proc/net/rpc/nfsd.export/channel || fail "no export"
  printf 'all 1 \\x00000000 %s /export\n' $later >/proc/net/rpc/nfsd.fh/channel || fail "no root of NFS"
}
# nfs_client: mounts it at /mnt with version 4.2. Needs nfs_server.
nfs_client() {
  mkdir -p /mnt
  mount -i -t nfs4 -o vers=4.2,addr=127.0.0.1,clientaddr=127.0.0.1,proto=tcp,sec=sys,port=2049 127.0.0.1:/ /mnt || fail "no mount of NFS"
}
