// Lets only the text that it has when it begins make system calls.
//   judged filter N | prctl N | dispatch N | harmless N [wait]   by a seccomp filter (of all threads; of one, and what it
//   starts) that kills it for others, by syscall user dispatch, or by a filter that does not look at where calls come from. Before
//   and afterwards N calls of getppid by each of two threads, and of a forked child; one more thread waits in read all the time.
//   "ready" when that is so; with wait, a byte on its input then lets it go on. "done" at the end.
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 32
static unsigned long begins[MOST], ends[MOST];
static int count;
static long rounds;
static volatile int going, judged;
static int waited_for[2];
static volatile char selector;

static void find_text(void) {
  FILE *maps = fopen("/proc/self/maps", "r");
  char line[512], rights[8];
  while (fgets(line, sizeof line, maps) && count < MOST) {
    if (strstr(line, "memfd:spile") || sscanf(line, "%lx-%lx %7s", &begins[count], &ends[count], rights) != 3) continue;
    if (rights[2] == 'x' && !strstr(line, "vsyscall")) count++;
  }
  fclose(maps);
}

static void judge(const char *how) {
  struct sock_filter filter[6 * MOST + 2];
  int n = 0, harmless = !strcmp(how, "harmless");
  for (int i = 0; i < count && !harmless; i++) {
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer) + 4);
    filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, begins[i] >> 32, 0, 4);
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer));
    filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, begins[i], 0, 2);
    filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, ends[i], 1, 0);
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  }
  filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, harmless ? SECCOMP_RET_ALLOW : SECCOMP_RET_KILL_PROCESS);
  struct sock_fprog program = {n, filter};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (!strcmp(how, "dispatch")) {
    // The C library's text, which getppid is in.
    for (int i = 0; i < count; i++) {
      if (begins[i] <= (unsigned long)&syscall && (unsigned long)&syscall < ends[i]) {
        if (prctl(59, 1, begins[i], ends[i] - begins[i], &selector)) exit(2);
        selector = 1;  // SYSCALL_DISPATCH_FILTER_BLOCK
      }
    }
  } else if (!strcmp(how, "prctl")) {
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) exit(3);
  } else if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program)) {
    exit(4);
  }
}

static void *call(void *unused) {
  for (long i = 0; i < rounds; i++) syscall(SYS_getppid);
  for (going++; !judged; usleep(100)) continue;
  for (long i = 0; i < rounds; i++) syscall(SYS_getppid);
  return NULL;
}

static void *wait_in_read(void *unused) {
  char byte;
  if (read(waited_for[0], &byte, 1) != 1) abort();
  return NULL;
}

static void call_as_child(void) {
  pid_t pid = fork();
  for (long i = 0; i < rounds && pid == 0; i++) syscall(SYS_getppid);
  if (pid == 0) _exit(0);
  int status;
  if (waitpid(pid, &status, 0) != pid || status != 0) exit(5);
}

int main(int argc, char **argv) {
  pthread_t threads[3];
  char byte;
  int waits = argc > 3;
  find_text();
  rounds = atol(argv[2]);
  pipe(waited_for);
  if (waits) judge(argv[1]);
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, call, NULL);
  pthread_create(&threads[2], NULL, wait_in_read, NULL);
  call_as_child();
  while (going != 2) usleep(1000);
  write(1, "ready\n", 6);
  if (waits && read(0, &byte, 1) != 1) return 6;
  if (!waits) judge(argv[1]);
  judged = 1;
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  call_as_child();
  write(waited_for[1], "x", 1);
  pthread_join(threads[2], NULL);
  write(1, "done\n", 5);
  return 0;
}
