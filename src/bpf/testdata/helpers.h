// eBPF helper functions by their numbers (linux/bpf.h).
static void* (*const lookup)(void*, const void*) = (void*)BPF_FUNC_map_lookup_elem;
static long (*const update)(void*, const void*, const void*, unsigned long) = (void*)BPF_FUNC_map_update_elem;
static unsigned long (*const current_pid_tgid)(void) = (void*)BPF_FUNC_get_current_pid_tgid;
static unsigned long (*const ktime)(void) = (void*)BPF_FUNC_ktime_get_ns;
static unsigned long (*const attach_cookie)(void*) = (void*)BPF_FUNC_get_attach_cookie;
static long (*const ring_output)(void*, void*, unsigned long, unsigned long) = (void*)BPF_FUNC_ringbuf_output;
