// Does one thing N times, for the tools and the library's probe aliases that count it:
//   causes unix|tcp|tcp6|udp N  sends and receives N messages of 6 bytes over one pair of sockets
//   causes mutex N          waits N times, 3 ms each, for a mutex that another thread holds
//   causes pages N          writes to N pages of memory for the first time
//   causes pieces N         reads 2 pieces of 3 bytes from /dev/zero and writes them to /dev/null, N times
//   causes brk N            makes the heap larger N times, by a page each
//   causes zombies N        leaves N ended children for 1 s, then waits for them
//   causes signals N        sends itself SIGUSR1, with a handler, N times
//   causes actions N        N times: asks for the action of SIGUSR2, changes it, blocks SIGUSR2, asks what is pending, and sends itself SIGUSR2, which is
//                           ignored, by kill, tkill and tgkill
//   causes timer N          gets N signals of a timer
//   causes badstack N       N children end because the stack of their signal handler is not there
//   causes shared N         writes to N pages that a child shares
//   causes peeks N          reads N words of a child by ptrace
//   causes files N          N times at one of two Unix sockets: write, read, writev and readv of 6 bytes
//   causes unconnect N      N times: connects a socket of UDP and one of TCP, sets TCP_NODELAY, and connects both to nothing
//   causes pty N            N times: sets the size of a pseudo-terminal's master, asks whether it is ready, writes 6 bytes to it and reads them from the slave
//   causes counters N      opens N counters of processor 0, and maps the ring of each
//   causes facts N          prints its parent, group, session, user and group of users, then asks for its parent N times
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t begin, end;

static void* hold(void* count) {
  for (long i = 0; i < (long)count; i++) {
    pthread_mutex_lock(&mutex);
    pthread_barrier_wait(&begin);
    while (__atomic_load_n(&mutex.__data.__lock, __ATOMIC_RELAXED) != 2) usleep(100);  // until the other thread waits (glibc's sign of it)
    usleep(3000);
    pthread_mutex_unlock(&mutex);
    pthread_barrier_wait(&end);
  }
  return NULL;
}
static void contend(long count) {
  pthread_t holder;
  pthread_barrier_init(&begin, NULL, 2);
  pthread_barrier_init(&end, NULL, 2);
  pthread_create(&holder, NULL, hold, (void*)count);
  for (long i = 0; i < count; i++) {
    pthread_barrier_wait(&begin);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    pthread_barrier_wait(&end);
  }
  pthread_join(holder, NULL);
}

static void talk(const char* kind, long count) {
  int ends[2];
  if (strcmp(kind, "unix") == 0) {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) exit(1);
  } else {
    const int family = strcmp(kind, "tcp6") == 0 ? AF_INET6 : AF_INET;
    union {
      struct sockaddr_in four;
      struct sockaddr_in6 six;
    } address;
    memset(&address, 0, sizeof address);
    if (family == AF_INET6)
      address.six = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    else
      address.four = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int type = strcmp(kind, "udp") == 0 ? SOCK_DGRAM : SOCK_STREAM;
    int server = socket(family, type, 0);
    ends[0] = socket(family, type, 0);
    if (bind(server, (struct sockaddr*)&address, size) || getsockname(server, (struct sockaddr*)&address, &size)) exit(1);
    if (type == SOCK_STREAM && listen(server, 1)) exit(1);
    if (connect(ends[0], (struct sockaddr*)&address, size)) exit(1);
    ends[1] = type == SOCK_STREAM ? accept(server, NULL, NULL) : server;
  }
  for (long i = 0; i < count; i++) {
    char text[100];
    if (send(ends[0], "hello\n", 6, 0) != 6 || recv(ends[1], text, sizeof text, 0) != 6) exit(1);
  }
  close(ends[0]);
  close(ends[1]);
}

static void on_signal(int number) {}

static void act(long count) {
  struct sigaction action = {.sa_handler = SIG_IGN}, old;
  sigset_t set;
  sigemptyset(&set);
  for (long i = 0; i < count; i++) {
    sigaddset(&action.sa_mask, SIGHUP);
    if (sigaction(SIGUSR2, NULL, &old) || sigaction(SIGUSR2, &action, NULL)) exit(1);
    if (kill(getpid(), SIGUSR2) || syscall(SYS_tkill, getpid(), SIGUSR2) || syscall(SYS_tgkill, getpid(), getpid(), SIGUSR2)) exit(1);
    sigaddset(&set, SIGUSR2);
    if (sigprocmask(SIG_BLOCK, &set, NULL) || sigpending(&set)) exit(1);
  }
}
static void take_timer(long count) {
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
  struct itimerspec times = {{0, 20000000}, {0, 20000000}};
  timer_t timer;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, NULL);
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &times, NULL)) exit(1);
  for (long i = 0; i < count; i++) sigwaitinfo(&set, NULL);
}
static void lose_stack(long count) {
  for (long i = 0; i < count; i++) {
    if (fork() == 0) {
      stack_t stack = {.ss_sp = (void*)0x1000, .ss_size = 1 << 20};
      struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
      if (sigaltstack(&stack, NULL) || sigaction(SIGUSR1, &action, NULL)) _exit(1);
      raise(SIGUSR1);
      _exit(0);
    }
    wait(NULL);
  }
}
static void share(long count) {
  char* pages = mmap(NULL, count * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(pages, count * 4096, MADV_NOHUGEPAGE);
  memset(pages, 1, count * 4096);
  int end[2];
  if (pipe(end)) exit(1);
  if (fork() == 0) {
    char byte;
    close(end[1]);
    _exit(read(end[0], &byte, 1) != 0);
  }
  for (long i = 0; i < count; i++) pages[i * 4096] = 2;
  close(end[1]);
  wait(NULL);
}
static void peek(long count) {
  pid_t child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGSTOP);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  for (long i = 0; i < count; i++) ptrace(PTRACE_PEEKDATA, child, &mutex, 0);
  ptrace(PTRACE_KILL, child, 0, 0);
  waitpid(child, NULL, 0);
}
static void pass(long count) {
  int ends[2];
  char text[6] = "hello\n";
  struct iovec pieces[2] = {{text, 3}, {text + 3, 3}};
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) exit(1);
  for (long i = 0; i < count; i++) {
    if (write(ends[0], text, 6) != 6 || read(ends[1], text, 6) != 6) exit(1);
    if (writev(ends[0], pieces, 2) != 6 || readv(ends[1], pieces, 2) != 6) exit(1);
  }
}
static void unconnect(long count) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  struct sockaddr nothing = {.sa_family = AF_UNSPEC};
  socklen_t size = sizeof address;
  int server = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(server, (struct sockaddr*)&address, size) || getsockname(server, (struct sockaddr*)&address, &size) || listen(server, 5)) exit(1);
  for (long i = 0; i < count; i++) {
    int on = 1;
    for (int type = SOCK_STREAM; type <= SOCK_DGRAM; type++) {
      int end = socket(AF_INET, type, 0);
      if (type == SOCK_STREAM && setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on)) exit(1);
      if (connect(end, (struct sockaddr*)&address, size) || connect(end, &nothing, sizeof nothing)) exit(1);
      close(end);
    }
    close(accept(server, NULL, NULL));
  }
}
// Counters of processor 0, with a ring each: memory that the kernel asks of that processor's node.
static void count_events(long count) {
  for (long i = 0; i < count; i++) {
    struct perf_event_attr event = {.type = PERF_TYPE_SOFTWARE, .size = sizeof event, .config = PERF_COUNT_SW_DUMMY};
    int counter = syscall(SYS_perf_event_open, &event, -1, 0, -1, 0);
    if (counter < 0 || mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, counter, 0) == MAP_FAILED) exit(1);
    close(counter);
  }
}
static void use_terminal(long count) {
  int master = posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || grantpt(master) || unlockpt(master)) exit(1);
  int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
  struct termios raw;
  tcgetattr(slave, &raw);
  cfmakeraw(&raw);
  tcsetattr(slave, TCSANOW, &raw);
  for (long i = 0; i < count; i++) {
    struct winsize size = {.ws_row = 24, .ws_col = 80 + i};
    struct pollfd ready = {master, POLLOUT, 0};
    char text[6];
    if (ioctl(master, TIOCSWINSZ, &size) || poll(&ready, 1, 0) != 1) exit(1);
    if (write(master, "hello\n", 6) != 6 || read(slave, text, 6) != 6) exit(1);
  }
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const char* what = argv[1];
  long count = atol(argv[2]);
  if (strcmp(what, "mutex") == 0) {
    contend(count);
  } else if (strcmp(what, "pages") == 0) {
    char* pages = mmap(NULL, count * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(pages, count * 4096, MADV_NOHUGEPAGE);
    for (long i = 0; i < count; i++) pages[i * 4096] = 1;
  } else if (strcmp(what, "pieces") == 0) {
    char text[6];
    struct iovec pieces[2] = {{text, 3}, {text + 3, 3}};
    int from = open("/dev/zero", O_RDONLY), to = open("/dev/null", O_WRONLY);
    for (long i = 0; i < count; i++)
      if (readv(from, pieces, 2) != 6 || writev(to, pieces, 2) != 6) return 1;
  } else if (strcmp(what, "brk") == 0) {
    for (long i = 0; i < count; i++)
      if (sbrk(4096) == (void*)-1) return 1;
  } else if (strcmp(what, "zombies") == 0) {
    for (long i = 0; i < count; i++)
      if (fork() == 0) _exit(3);
    sleep(1);
    while (wait(NULL) > 0) continue;
  } else if (strcmp(what, "signals") == 0) {
    signal(SIGUSR1, on_signal);
    for (long i = 0; i < count; i++) kill(getpid(), SIGUSR1);
  } else if (strcmp(what, "actions") == 0) {
    act(count);
  } else if (strcmp(what, "timer") == 0) {
    take_timer(count);
  } else if (strcmp(what, "badstack") == 0) {
    lose_stack(count);
  } else if (strcmp(what, "shared") == 0) {
    share(count);
  } else if (strcmp(what, "peeks") == 0) {
    peek(count);
  } else if (strcmp(what, "files") == 0) {
    pass(count);
  } else if (strcmp(what, "unconnect") == 0) {
    unconnect(count);
  } else if (strcmp(what, "pty") == 0) {
    use_terminal(count);
  } else if (strcmp(what, "counters") == 0) {
    count_events(count);
  } else if (strcmp(what, "facts") == 0) {
    printf("%d %d %d %d %d\n", getppid(), getpgrp(), getsid(0), geteuid(), getegid());
    fflush(stdout);
    for (long i = 0; i < count; i++) syscall(SYS_getppid);
  } else {
    talk(what, count);
  }
  return 0;
}
