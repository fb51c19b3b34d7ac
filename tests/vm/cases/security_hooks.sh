# What the kernel asks its security modules: as often as it is asked, and what they say.
. /guest.sh
work='i=0; while [ $i -lt 12 ]; do mkdir /tmp/hooked.$i; i=$((i+1)); done'
out=$(spile -v -e 'global asked, allowed probe kernel.lsm("inode_mkdir") { if (execname() == "mkdir") asked++ }
                   probe kernel.lsm("inode_mkdir").return { if (execname() == "mkdir" && $return == 0) allowed++ }
                   probe end { printf("%d %d\n", asked, allowed) }' -c "$work" 2>&1)
check "hooks" "$out" '^12 12$'
check "mechanism" "$out" '^kernel.lsm\("inode_mkdir"\): (fentry|kprobe.multi|kprobe)$'
out=$(spile -e 'global n, name probe kernel.lsm("inode_*dir") { if (execname() == "rmdir") { n[pp()]++; name = kernel_string($dentry->d_name->name) } }
                probe end { foreach (p in n) printf("%s %d %s\n", p, n[p], name) }' -c 'rmdir /tmp/hooked.*' 2>&1)
check "patterns and parameters" "$out" '^kernel.lsm\("inode_rmdir"\) 12 hooked.[0-9]+$'
out=$(spile -l 'kernel.lsm("inode_*dir")' 2>&1)
check "lists" "$out" '^kernel.lsm\("inode_mkdir"\)$'
out=$(spile -e 'probe kernel.lsm("inode_mkdri") { next }' 2>&1) && fail "a hook that is not there"
check "did you mean" "$out" "no security hook 'inode_mkdri' in this kernel"
check "did you mean" "$out" "did you mean 'inode_mkdir'"
