#pragma once
// The names of x86-64's system calls from number 0 on, each ended by a NUL; "" for numbers that are not in use (the kernel's
// arch/x86/entry/syscalls/syscall_64.tbl). From number 512 on those of i386 that x86-64 does not have (syscall_32.tbl; see
// foreign_calls.h); old_select and old_mmap are named as the kernel's functions, as they have other arguments than select and
// mmap. Numbers behind the last have no name.

namespace spile::abi::x86_64 {

inline constexpr char kSystemCallNames[] =
    "read\0write\0open\0close\0stat\0fstat\0lstat\0poll\0lseek\0mmap\0mprotect\0munmap\0brk\0rt_sigaction\0"
    "rt_sigprocmask\0rt_sigreturn\0ioctl\0pread64\0pwrite64\0readv\0writev\0access\0pipe\0select\0sched_yield\0"
    "mremap\0msync\0mincore\0madvise\0shmget\0shmat\0shmctl\0dup\0dup2\0pause\0nanosleep\0getitimer\0alarm\0"
    "setitimer\0getpid\0sendfile\0socket\0connect\0accept\0sendto\0recvfrom\0sendmsg\0recvmsg\0shutdown\0bind\0"
    "listen\0getsockname\0getpeername\0socketpair\0setsockopt\0getsockopt\0clone\0fork\0vfork\0execve\0exit\0"
    "wait4\0kill\0uname\0semget\0semop\0semctl\0shmdt\0msgget\0msgsnd\0msgrcv\0msgctl\0fcntl\0flock\0fsync\0"
    "fdatasync\0truncate\0ftruncate\0getdents\0getcwd\0chdir\0fchdir\0rename\0mkdir\0rmdir\0creat\0link\0"
    "unlink\0symlink\0readlink\0chmod\0fchmod\0chown\0fchown\0lchown\0umask\0gettimeofday\0getrlimit\0"
    "getrusage\0sysinfo\0times\0ptrace\0getuid\0syslog\0getgid\0setuid\0setgid\0geteuid\0getegid\0setpgid\0"
    "getppid\0getpgrp\0setsid\0setreuid\0setregid\0getgroups\0setgroups\0setresuid\0getresuid\0setresgid\0"
    "getresgid\0getpgid\0setfsuid\0setfsgid\0getsid\0capget\0capset\0rt_sigpending\0rt_sigtimedwait\0"
    "rt_sigqueueinfo\0rt_sigsuspend\0sigaltstack\0utime\0mknod\0uselib\0personality\0ustat\0statfs\0fstatfs\0"
    "sysfs\0getpriority\0setpriority\0sched_setparam\0sched_getparam\0sched_setscheduler\0sched_getscheduler\0"
    "sched_get_priority_max\0sched_get_priority_min\0sched_rr_get_interval\0mlock\0munlock\0mlockall\0"
    "munlockall\0vhangup\0modify_ldt\0pivot_root\0_sysctl\0prctl\0arch_prctl\0adjtimex\0setrlimit\0chroot\0"
    "sync\0acct\0settimeofday\0mount\0umount2\0swapon\0swapoff\0reboot\0sethostname\0setdomainname\0iopl\0"
    "ioperm\0create_module\0init_module\0delete_module\0get_kernel_syms\0query_module\0quotactl\0nfsservctl\0"
    "getpmsg\0putpmsg\0afs_syscall\0tuxcall\0security\0gettid\0readahead\0setxattr\0lsetxattr\0fsetxattr\0"
    "getxattr\0lgetxattr\0fgetxattr\0listxattr\0llistxattr\0flistxattr\0removexattr\0lremovexattr\0"
    "fremovexattr\0tkill\0time\0futex\0sched_setaffinity\0sched_getaffinity\0set_thread_area\0io_setup\0"
    "io_destroy\0io_getevents\0io_submit\0io_cancel\0get_thread_area\0lookup_dcookie\0epoll_create\0"
    "epoll_ctl_old\0epoll_wait_old\0remap_file_pages\0getdents64\0set_tid_address\0restart_syscall\0semtimedop\0"
    "fadvise64\0timer_create\0timer_settime\0timer_gettime\0timer_getoverrun\0timer_delete\0clock_settime\0"
    "clock_gettime\0clock_getres\0clock_nanosleep\0exit_group\0epoll_wait\0epoll_ctl\0tgkill\0utimes\0vserver\0"
    "mbind\0set_mempolicy\0get_mempolicy\0mq_open\0mq_unlink\0mq_timedsend\0mq_timedreceive\0mq_notify\0"
    "mq_getsetattr\0kexec_load\0waitid\0add_key\0request_key\0keyctl\0ioprio_set\0ioprio_get\0inotify_init\0"
    "inotify_add_watch\0inotify_rm_watch\0migrate_pages\0openat\0mkdirat\0mknodat\0fchownat\0futimesat\0"
    "newfstatat\0unlinkat\0renameat\0linkat\0symlinkat\0readlinkat\0fchmodat\0faccessat\0pselect6\0ppoll\0"
    "unshare\0set_robust_list\0get_robust_list\0splice\0tee\0sync_file_range\0vmsplice\0move_pages\0utimensat\0"
    "epoll_pwait\0signalfd\0timerfd_create\0eventfd\0fallocate\0timerfd_settime\0timerfd_gettime\0accept4\0"
    "signalfd4\0eventfd2\0epoll_create1\0dup3\0pipe2\0inotify_init1\0preadv\0pwritev\0rt_tgsigqueueinfo\0"
    "perf_event_open\0recvmmsg\0fanotify_init\0fanotify_mark\0prlimit64\0name_to_handle_at\0open_by_handle_at\0"
    "clock_adjtime\0syncfs\0sendmmsg\0setns\0getcpu\0process_vm_readv\0process_vm_writev\0kcmp\0finit_module\0"
    "sched_setattr\0sched_getattr\0renameat2\0seccomp\0getrandom\0memfd_create\0kexec_file_load\0bpf\0execveat\0"
    "userfaultfd\0membarrier\0mlock2\0copy_file_range\0preadv2\0pwritev2\0pkey_mprotect\0pkey_alloc\0pkey_free\0"
    "statx\0io_pgetevents\0rseq\0uretprobe\0uprobe\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
    "pidfd_send_signal\0io_uring_setup\0io_uring_enter\0io_uring_register\0open_tree\0move_mount\0fsopen\0"
    "fsconfig\0fsmount\0fspick\0pidfd_open\0clone3\0close_range\0openat2\0pidfd_getfd\0faccessat2\0"
    "process_madvise\0epoll_pwait2\0mount_setattr\0quotactl_fd\0landlock_create_ruleset\0landlock_add_rule\0"
    "landlock_restrict_self\0memfd_secret\0process_mrelease\0futex_waitv\0set_mempolicy_home_node\0cachestat\0"
    "fchmodat2\0map_shadow_stack\0futex_wake\0futex_wait\0futex_requeue\0statmount\0listmount\0lsm_get_self_attr\0"
    "lsm_set_self_attr\0lsm_list_modules\0mseal\0setxattrat\0getxattrat\0listxattrat\0removexattrat\0"
    "open_tree_attr\0file_getattr\0file_setattr\0"
    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0waitpid\0\0\0\0\0\0"
    "\0\0\0\0break\0oldstat\0\0\0\0umount\0\0\0stime\0\0\0oldfstat\0\0\0stty\0gtty\0\0nice\0ftime\0\0\0\0\0\0\0\0\0prof\0\0"
    "\0\0signal\0\0\0\0\0lock\0\0\0mpx\0\0ulimit\0oldolduname\0\0\0\0\0\0\0\0sigaction\0sgetmask\0ssetmask\0\0\0"
    "sigsuspend\0sigpending\0\0\0\0\0\0\0\0\0old_select\0\0oldlstat\0\0\0\0\0readdir\0old_mmap\0\0\0\0\0\0\0\0profil\0\0\0"
    "\0socketcall\0\0\0\0\0\0\0olduname\0\0\0idle\0vm86old\0\0\0\0ipc\0\0sigreturn\0\0\0\0\0\0\0sigprocmask\0\0\0\0\0\0\0\0"
    "bdflush\0\0\0\0\0\0_llseek\0\0_newselect\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0vm86\0\0\0\0\0\0\0\0\0\0\0\0\0"
    "\0\0\0\0\0\0\0\0\0\0\0\0ugetrlimit\0mmap2\0truncate64\0ftruncate64\0stat64\0lstat64\0fstat64\0lchown32\0getuid32\0"
    "getgid32\0geteuid32\0getegid32\0setreuid32\0setregid32\0getgroups32\0setgroups32\0fchown32\0setresuid32\0getresuid32\0"
    "setresgid32\0getresgid32\0chown32\0setuid32\0setgid32\0setfsuid32\0setfsgid32\0\0\0\0\0fcntl64\0\0\0\0\0\0\0\0\0\0\0\0"
    "\0\0\0\0\0\0sendfile64\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0statfs64\0fstatfs64\0\0\0"
    "fadvise64_64\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0fstatat64\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0clock_gettime64\0clock_settime64\0clock_adjtime64\0"
    "clock_getres_time64\0clock_nanosleep_time64\0timer_gettime64\0timer_settime64\0timerfd_gettime64\0timerfd_settime64\0"
    "utimensat_time64\0pselect6_time64\0ppoll_time64\0\0io_pgetevents_time64\0recvmmsg_time64\0mq_timedsend_time64\0"
    "mq_timedreceive_time64\0semtimedop_time64\0rt_sigtimedwait_time64\0futex_time64\0sched_rr_get_interval_time64\0\0\0\0"
    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

// System calls whose tracepoints, syscalls:sys_enter_NAME and sys_exit_NAME, have another name: that of the kernel's function.
struct TracedSystemCall {
  const char* tracepoint;
  const char* name;
};
inline constexpr TracedSystemCall kTracedSystemCalls[] = {
    {"newstat", "stat"},   {"newfstat", "fstat"},      {"newlstat", "lstat"}, {"newuname", "uname"},
    {"umount", "umount2"}, {"sendfile64", "sendfile"}, {"sysctl", "_sysctl"},
};

}  // namespace spile::abi::x86_64
