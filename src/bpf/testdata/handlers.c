// Handlers for the loader's tests, compiled by clang for eBPF: what codegen's objects are made of, in small.
#include <linux/bpf.h>

#include "helpers.h"

extern char test_calls, test_by_key, test_ring;

struct Constants { long target; };
struct Control { unsigned enabled, exit_requested, epoch, errors, interrupts, unused; };
const volatile struct Constants test_constants __attribute__((section(".rodata"))) = {0};
volatile struct Control spile_kernel_control __attribute__((section(".data"))) = {0, 7};

static inline __attribute__((always_inline)) void add(void* map, unsigned index, long amount) {
  long* cell = lookup(map, &index);
  if (cell) *cell += amount;
}

// foo(a): counts calls at level `a & 1` of the epoch, and sums `a` by a & 3.
__attribute__((section("uprobe"), used)) int on_call(unsigned long* registers) {
  if (!spile_kernel_control.enabled) return 0;
  unsigned long a = registers[14];  // rdi of struct pt_regs
  unsigned base = (spile_kernel_control.epoch & 1) * 4;
  add(&test_calls, base + (a & 1), 1);
  struct { unsigned long key, level; } key = {a & 3, base + (a >> 2 & 1)};
  long* sum = lookup(&test_by_key, &key);
  if (!sum) {
    long zero = 0;
    update(&test_by_key, &key, &zero, BPF_NOEXIST);
    sum = lookup(&test_by_key, &key);
  }
  if (sum) *sum += (long)a;
  return 0;
}

// A record for each return: header and the returned value.
__attribute__((section("uretprobe"), used)) int on_return(unsigned long* registers) {
  struct { unsigned size; unsigned short kind, cpu; unsigned id, probe; unsigned long time; unsigned long value; } record;
  record.size = sizeof record;
  record.kind = 1;
  record.cpu = 0;
  record.id = 3;
  record.probe = (unsigned)attach_cookie(registers);
  record.time = ktime();
  record.value = registers[10];  // rax
  ring_output(&test_ring, &record, sizeof record, 0);
  return 0;
}

// sched:sched_switch, away from the test's own process only.
__attribute__((section("tracepoint"), used)) int on_switch(char* record) {
  if ((long)(current_pid_tgid() >> 32) == test_constants.target) add(&test_calls, 0, 1);
  return 0;
}

__attribute__((section("profile"), used)) int on_tick(void* context) {
  if ((long)(current_pid_tgid() >> 32) == test_constants.target) add(&test_calls, 0, 1);
  return 0;
}

// Reads through a pointer that nobody has checked: the verifier refuses it.
__attribute__((section("wrong"), used)) int on_wrong(char* record) {
  unsigned long key[2] = {0, 0};
  return *(int*)lookup(&test_by_key, key);
}

// Runs for more instructions than the verifier follows.
__attribute__((section("endless"), used)) int on_endless(char* record) {
  volatile long turns = 0;
  for (int i = 0; i < 10000000; ++i) {
    turns += i;
  }
  return 0;
}

static __attribute__((noinline)) int not_inlined(int n) {
  asm volatile("" : "+r"(n));
  return n;
}
__attribute__((section("calls"), used)) int on_calls(char* record) { return not_inlined(*(int*)(record + 8)); }
