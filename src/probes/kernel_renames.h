// Functions of the kernel that scripts for older kernels name, and that Linux 6.1 to 6.18 do not have: what became of each. From the kernel's history
// (git log -S of each name); the version is the first that lacks the old name.
#pragma once

#include <array>
#include <string_view>

namespace spile::probes {

// A function that only got another name, or that a function of another name took over whole: a probe of the old name is put at the new one, with a warning.
// Parameters may have changed.
struct RenamedFunction {
  std::string_view old_name, since;
  std::array<std::string_view, 3> new_names;  // newest first; the first that the kernel has counts
};
constexpr RenamedFunction kRenamedFunctions[] = {
    {"__alloc_pages_nodemask", "5.13", {"__alloc_frozen_pages_noprof", "__alloc_pages_noprof", "__alloc_pages"}},
    {"__do_softirq", "6.9", {"handle_softirqs"}},
    {"__lock_page", "5.16", {"__folio_lock"}},
    {"__send_signal", "5.19", {"__send_signal_locked"}},
    {"_do_fork", "5.10", {"kernel_clone"}},
    {"add_to_page_cache_lru", "5.16", {"filemap_add_folio"}},
    {"blk_account_io_done", "6.1", {"__blk_account_io_done"}},
    {"dev_queue_xmit", "5.18", {"__dev_queue_xmit"}},
    {"do_fork", "4.2", {"kernel_clone", "_do_fork"}},
    {"do_generic_file_read", "4.16", {"filemap_read", "generic_file_buffered_read"}},
    {"do_mmap_pgoff", "5.8", {"do_mmap"}},
    {"generic_file_aio_read", "3.16", {"generic_file_read_iter"}},
    {"generic_file_aio_write", "3.16", {"generic_file_write_iter"}},
    {"generic_make_request", "5.9", {"submit_bio_noacct"}},
    {"kfree_skb", "5.17", {"sk_skb_reason_drop", "kfree_skb_reason"}},
    {"lru_cache_add", "6.8", {"folio_add_lru"}},
    {"mark_page_accessed", "6.9", {"folio_mark_accessed"}},
    {"netif_rx_ni", "5.18", {"netif_rx"}},
    {"send_signal", "5.19", {"send_signal_locked"}},
    {"sock_aio_read", "4.0", {"sock_read_iter"}},
    {"sock_aio_write", "4.0", {"sock_write_iter"}},
    {"vfs_readdir", "3.11", {"iterate_dir"}},
    {"wait_on_page_bit", "5.16", {"folio_wait_bit"}},
};

// A function that is gone, or that the compiler builds into its callers: what a script can probe in its place, which is not the same.
struct GoneFunction {
  std::string_view old_name, why;
  std::string_view instead;  // a function, or a probe point if it has a '('
};
constexpr GoneFunction kGoneFunctions[] = {
    {"__blk_put_request", "went with Linux 5.0", "blk_mq_free_request"},
    {"__do_page_fault", "went with Linux 5.8", "handle_mm_fault"},
    {"__vfs_read", "went with Linux 5.8", "vfs_read"},
    {"__vfs_write", "went with Linux 5.8", "vfs_write"},
    {"blk_account_io_completion", "went with Linux 6.3, or is built into its callers", "kernel.trace(\"block:block_rq_complete\")"},
    {"blk_start_request", "went with Linux 5.0", "blk_mq_start_request"},
    {"context_switch", "is built into its caller", "kernel.trace(\"sched:sched_switch\")"},
    {"do_munmap", "went with Linux 6.18", "do_vmi_munmap"},
    {"do_page_fault", "went with Linux 5.8", "handle_mm_fault"},
    {"do_sync_read", "went with Linux 4.1", "vfs_read"},
    {"do_sync_write", "went with Linux 4.1", "vfs_write"},
    {"follow_page_mask", "is built into its callers", "handle_mm_fault"},
    {"free_hot_cold_page", "went with Linux 4.15", "kernel.trace(\"kmem:mm_page_free\")"},
    {"futex_wait_queue_me", "went with Linux 5.16", "futex_wait"},
    {"get_request_wait", "went with Linux 5.0", "blk_mq_submit_bio"},
    {"inet_csk_wait_for_connect", "is built into its caller", "inet_csk_accept"},
    {"inode_setattr", "went with Linux 2.6.36", "setattr_copy"},
    {"page_cache_read", "went with Linux 5.1", "filemap_fault"},
    {"resched_task", "went with Linux 3.18", "resched_curr"},
    {"shrink_page_list", "went with Linux 5.19", "shrink_folio_list"},
    {"shrink_zone", "went with Linux 4.8", "shrink_node"},
    {"skb_copy_datagram_iovec", "went with Linux 3.19", "skb_copy_datagram_iter"},
    {"sys_clone", "is called in another way", "syscall.clone"},
    {"tcp_accept", "went with Linux 2.6.13", "inet_csk_accept"},
    {"tcp_openreq_init", "is built into its caller", "tcp_conn_request"},
    {"vfs_follow_link", "went with Linux 3.13", "vfs_get_link"},
};

}  // namespace spile::probes
