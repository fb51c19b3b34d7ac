// Functions of the kernel that scripts for older kernels name, and that Linux 6.1 to 6.18 do not have: what became of each.
#pragma once

#include <array>
#include <string_view>

namespace spile::probes {

// A function that only got another name, or that a function of another name took over whole: a probe of the old name is put at
// the new one, with a warning. Parameters may have changed.
struct RenamedFunction {
  std::string_view old_name;
  std::array<std::string_view, 3> new_names;  // newest first; the first that the kernel has counts
};
constexpr RenamedFunction kRenamedFunctions[] = {
    {"__alloc_pages_nodemask", {"__alloc_frozen_pages_noprof", "__alloc_pages_noprof", "__alloc_pages"}},
    {"__dentry_open", {"do_dentry_open"}},
    {"__do_softirq", {"handle_softirqs"}},
    {"__generic_file_aio_write", {"__generic_file_write_iter"}},
    {"__lock_page", {"__folio_lock"}},
    {"__send_signal", {"__send_signal_locked"}},
    {"_do_fork", {"kernel_clone"}},
    {"add_to_page_cache_lru", {"filemap_add_folio"}},
    {"blk_account_io_done", {"__blk_account_io_done"}},
    {"blk_mq_make_request", {"blk_mq_submit_bio"}},
    {"dev_queue_xmit", {"__dev_queue_xmit"}},
    {"do_brk", {"do_brk_flags"}},
    {"do_coredump", {"vfs_coredump"}},
    {"do_fork", {"kernel_clone", "_do_fork"}},
    {"do_generic_file_read", {"filemap_read", "generic_file_buffered_read"}},
    {"do_mmap_pgoff", {"do_mmap"}},
    {"do_path_lookup", {"filename_lookup"}},
    {"do_settimeofday", {"do_settimeofday64"}},
    {"ext4_da_writepages", {"ext4_writepages"}},
    {"flush_old_exec", {"begin_new_exec"}},
    {"generic_file_aio_read", {"generic_file_read_iter"}},
    {"generic_file_aio_write", {"generic_file_write_iter"}},
    {"generic_make_request", {"submit_bio_noacct"}},
    {"handle_IRQ_event", {"handle_irq_event_percpu"}},
    {"icmp_send", {"__icmp_send"}},
    {"isolate_lru_pages", {"isolate_lru_folios"}},
    {"kfree_skb", {"sk_skb_reason_drop", "kfree_skb_reason"}},
    {"load_balance", {"sched_balance_rq"}},
    {"lru_cache_add", {"folio_add_lru"}},
    {"mark_page_accessed", {"folio_mark_accessed"}},
    {"mem_cgroup_charge", {"__mem_cgroup_charge"}},
    {"mpage_readpage", {"mpage_read_folio"}},
    {"mpage_readpages", {"mpage_readahead"}},
    {"napi_complete", {"napi_complete_done"}},
    {"napi_gro_receive", {"gro_receive_skb"}},
    {"netif_rx_ni", {"netif_rx"}},
    {"newidle_balance", {"sched_balance_newidle"}},
    {"page_referenced", {"folio_referenced"}},
    {"printk", {"_printk"}},
    {"rebalance_domains", {"sched_balance_domains"}},
    {"run_rebalance_domains", {"sched_balance_softirq"}},
    {"scheduler_tick", {"sched_tick"}},
    {"send_signal", {"send_signal_locked"}},
    {"sock_aio_read", {"sock_read_iter"}},
    {"sock_aio_write", {"sock_write_iter"}},
    {"swap_readpage", {"swap_read_folio"}},
    {"swap_writepage", {"swap_writeout"}},
    {"tcp_transmit_skb", {"__tcp_transmit_skb"}},
    {"tick_sched_timer", {"tick_nohz_handler"}},
    {"vfs_readdir", {"iterate_dir"}},
    {"wait_on_page_bit", {"folio_wait_bit"}},
};

// A function that is gone, or that the compiler builds into its callers: what a script can probe in its place, which is not the
// same.
struct GoneFunction {
  std::string_view old_name, why;
  std::string_view instead;  // a function, or a probe point if it has a '('
};
constexpr GoneFunction kGoneFunctions[] = {
    {"__blk_put_request", "is gone", "blk_mq_free_request"},
    {"__do_page_fault", "is gone", "handle_mm_fault"},
    {"__run_hrtimer", "is built into its caller", "__hrtimer_run_queues"},
    {"__vfs_read", "is gone", "vfs_read"},
    {"__vfs_write", "is gone", "vfs_write"},
    {"alloc_skb", "is built into its callers", "__alloc_skb"},
    {"blk_account_io_completion", "is gone, or is built into its callers", "kernel.trace(\"block:block_rq_complete\")"},
    {"blk_queue_bio", "is gone", "blk_mq_submit_bio"},
    {"blk_start_request", "is gone", "blk_mq_start_request"},
    {"context_switch", "is built into its caller", "kernel.trace(\"sched:sched_switch\")"},
    {"do_IRQ", "is gone", "kernel.trace(\"irq:irq_handler_entry\")"},
    {"do_gettimeofday", "is gone", "ktime_get_real_ts64"},
    {"do_munmap", "is gone", "do_vmi_munmap"},
    {"do_page_fault", "is gone", "handle_mm_fault"},
    {"do_poll", "is built into its caller", "do_sys_poll"},
    {"do_sync_read", "is gone", "vfs_read"},
    {"do_sync_write", "is gone", "vfs_write"},
    {"elv_insert", "is gone", "kernel.trace(\"block:block_rq_insert\")"},
    {"ep_poll", "is built into its caller", "do_epoll_wait"},
    {"exit_notify", "is built into its caller", "do_exit"},
    {"follow_page_mask", "is built into its callers", "handle_mm_fault"},
    {"free_hot_cold_page", "is gone", "kernel.trace(\"kmem:mm_page_free\")"},
    {"futex_wait_queue_me", "is gone", "futex_wait"},
    {"get_request_wait", "is gone", "blk_mq_submit_bio"},
    {"getnstimeofday", "is gone", "ktime_get_real_ts64"},
    {"inet_csk_wait_for_connect", "is built into its caller", "inet_csk_accept"},
    {"inode_setattr", "is gone", "setattr_copy"},
    {"journal_commit_transaction", "is gone", "jbd2_journal_commit_transaction"},
    {"kmalloc", "is built into its callers", "kernel.trace(\"kmem:kmalloc\")"},
    {"page_cache_read", "is gone", "filemap_fault"},
    {"resched_task", "is gone", "resched_curr"},
    {"search_binary_handler", "is built into its caller", "bprm_execve"},
    {"setxattr", "is gone, or is built into its callers", "vfs_setxattr"},
    {"shrink_page_list", "is gone", "shrink_folio_list"},
    {"shrink_zone", "is gone", "shrink_node"},
    {"skb_copy_datagram_iovec", "is gone", "skb_copy_datagram_iter"},
    {"sys_clone", "is called in another way", "syscall.clone"},
    {"sysfs_write_file", "is gone", "kernfs_fop_write_iter"},
    {"tcp_accept", "is gone", "inet_csk_accept"},
    {"tcp_openreq_init", "is built into its caller", "tcp_conn_request"},
    {"vfs_follow_link", "is gone", "vfs_get_link"},
};

}  // namespace spile::probes
