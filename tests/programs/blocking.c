// blocking LIBRARY MS ROUNDS EVERY [filter]: waits in some 50 kinds of system calls, each in a thread of its own, ROUNDS times
// one after the other. Most kinds time out after MS milliseconds; the others wait without a limit, and get what they wait for
// after MS. Prints "KIND RESULT ERRNO MILLISECONDS" for each. Meanwhile another thread loads LIBRARY, calls its plugin_step()
// and unloads it, every EVERY ms (0: never). filter: under a seccomp filter that kills the process at restart_syscall(2).
// Begins with a line of its input, and says "ready" before.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long ms;
static char folder[] = "/tmp/blocking-XXXXXX";

// What a kind works with: made by its preparation, in each round.
struct place {
  int fds[4];
  long number;
  unsigned word;
  pthread_t waiter;
  char path[100];
  void* memory;
};

struct kind {
  const char* name;
  int (*prepare)(struct place*);  // NULL: nothing to prepare. Not 0: this system has none
  long (*wait)(struct place*);    // the call: its result, -1 with errno
  void (*wake)(struct place*);    // after MS, if the call does not time out
};

static struct timespec span(void) { return (struct timespec){ms / 1000, ms % 1000 * 1000000}; }
static struct timespec end(int clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  long long all = now.tv_sec * 1000000000ll + now.tv_nsec + ms * 1000000ll;
  return (struct timespec){all / 1000000000, all % 1000000000};
}

// ---- descriptors

static int make_pipe(struct place* p) { return pipe(p->fds); }
static int make_epoll(struct place* p) {
  if (pipe(p->fds)) return -1;
  p->fds[2] = epoll_create1(0);
  struct epoll_event event = {EPOLLIN};
  return epoll_ctl(p->fds[2], EPOLL_CTL_ADD, p->fds[0], &event);
}
static void write_byte(struct place* p) { (void)!write(p->fds[1], "x", 1); }
static long epoll_wait_(struct place* p) {
  struct epoll_event event;
  return epoll_wait(p->fds[2], &event, 1, ms);
}
static long epoll_pwait_(struct place* p) {
  struct epoll_event event;
  sigset_t none;
  sigemptyset(&none);
  return epoll_pwait(p->fds[2], &event, 1, ms, &none);
}
static long epoll_pwait2_(struct place* p) {
  struct epoll_event event;
  struct timespec time = span();
  long result = syscall(SYS_epoll_pwait2, p->fds[2], &event, 1, &time, NULL, 0);
  return time.tv_sec == ms / 1000 ? result : -2;
}
static long epoll_forever(struct place* p) {
  struct epoll_event event;
  return epoll_wait(p->fds[2], &event, 1, -1);
}
static void ignored_signals(struct place* p) {
  for (int i = 0; i < 4; i++) {
    pthread_kill(p->waiter, SIGURG);  // which nobody handles
    usleep(ms * 100);
  }
}
static long poll_(struct place* p) { return poll(&(struct pollfd){p->fds[0], POLLIN}, 1, ms); }
static long ppoll_(struct place* p) {
  struct timespec time = span();
  return ppoll(&(struct pollfd){p->fds[0], POLLIN}, 1, &time, NULL);
}
// Where the kernel can't write the time that is left.
static struct timespec* constant_span(void) {
  struct timespec* time = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *time = span();
  mprotect(time, 4096, PROT_READ);
  return time;
}
static long pselect_constant(struct place* p) {
  struct timespec* time = constant_span();
  fd_set set;
  FD_ZERO(&set);
  FD_SET(p->fds[0], &set);
  long result = syscall(SYS_pselect6, p->fds[0] + 1, &set, NULL, NULL, time, NULL);
  munmap(time, 4096);
  return FD_ISSET(p->fds[0], &set) ? -2 : result;
}
static long ppoll_constant(struct place* p) {
  struct timespec* time = constant_span();
  struct pollfd poll = {p->fds[0], POLLIN};
  long result = syscall(SYS_ppoll, &poll, 1, time, NULL, 0);
  munmap(time, 4096);
  return result;
}
static long select_(struct place* p) {
  struct timeval time = {ms / 1000, ms % 1000 * 1000};
  fd_set set;
  FD_ZERO(&set);
  FD_SET(p->fds[0], &set);
  long result = select(p->fds[0] + 1, &set, NULL, NULL, &time);
  return FD_ISSET(p->fds[0], &set) ? -2 : result;
}
static long pselect_(struct place* p) {
  struct timespec time = span();
  fd_set set;
  FD_ZERO(&set);
  FD_SET(p->fds[0], &set);
  long result = pselect(p->fds[0] + 1, &set, NULL, NULL, &time, NULL);
  return FD_ISSET(p->fds[0], &set) ? -2 : result;
}
static long read_(struct place* p) {
  char byte[4];
  return read(p->fds[0], byte, sizeof byte);
}
static int fill_pipe(struct place* p) {
  if (pipe(p->fds)) return -1;
  static char zeros[65536];
  return write(p->fds[1], zeros, sizeof zeros) != sizeof zeros;
}
static long write_pipe(struct place* p) { return write(p->fds[1], "x", 1); }
static void drain_pipe(struct place* p) {
  static char bytes[65536];
  (void)!read(p->fds[0], bytes, sizeof bytes);
}
static int make_inotify(struct place* p) {
  p->fds[0] = inotify_init1(0);
  snprintf(p->path, sizeof p->path, "%s/watched", folder);
  mkdir(p->path, 0700);
  return inotify_add_watch(p->fds[0], p->path, IN_CREATE) < 0;
}
static long read_inotify(struct place* p) {
  char bytes[1000];
  return read(p->fds[0], bytes, sizeof bytes) > 0;
}
static void create_file(struct place* p) {
  char path[200];
  snprintf(path, sizeof path, "%s/file", p->path);
  close(open(path, O_CREAT | O_RDWR, 0600));
  unlink(path);
}
static int make_locked(struct place* p) {
  snprintf(p->path, sizeof p->path, "%s/locked", folder);
  p->fds[0] = open(p->path, O_CREAT | O_RDWR, 0600);
  p->fds[1] = open(p->path, O_RDWR);
  return flock(p->fds[0], LOCK_EX);
}
static long flock_(struct place* p) { return flock(p->fds[1], LOCK_EX); }
static void unlock(struct place* p) { flock(p->fds[0], LOCK_UN); }
static int make_fifo(struct place* p) {
  snprintf(p->path, sizeof p->path, "%s/fifo", folder);
  unlink(p->path);
  return mkfifo(p->path, 0600);
}
static long open_fifo(struct place* p) { return (p->fds[0] = open(p->path, O_RDONLY)) >= 0 ? 0 : -1; }
static void open_other_end(struct place* p) { p->fds[1] = open(p->path, O_WRONLY); }

// ---- sockets

static int set_time(int fd, int option) {
  struct timeval time = {ms / 1000, ms % 1000 * 1000};
  return setsockopt(fd, SOL_SOCKET, option, &time, sizeof time);
}
static int make_sockets(struct place* p) { return socketpair(AF_UNIX, SOCK_STREAM, 0, p->fds); }
static int make_receiver(struct place* p) { return make_sockets(p) || set_time(p->fds[0], SO_RCVTIMEO); }
static int tcp(int listening, struct sockaddr_in* address) {
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  socklen_t size = sizeof *address;
  *address = (struct sockaddr_in){AF_INET, 0, {htonl(INADDR_LOOPBACK)}};
  if (bind(fd, (void*)address, size) || (listening >= 0 && listen(fd, listening)) || getsockname(fd, (void*)address, &size))
    return -1;
  return fd;
}
static int make_tcp_receiver(struct place* p) {
  struct sockaddr_in address;
  p->fds[2] = tcp(1, &address);
  p->fds[0] = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(p->fds[0], (void*)&address, sizeof address)) return -1;
  p->fds[1] = accept(p->fds[2], NULL, NULL);
  return p->fds[1] < 0 || set_time(p->fds[0], SO_RCVTIMEO);
}
static int make_sender(struct place* p) {
  if (make_sockets(p)) return -1;
  static char zeros[4096];
  while (send(p->fds[0], zeros, sizeof zeros, MSG_DONTWAIT) > 0) {
  }
  return set_time(p->fds[0], SO_SNDTIMEO);
}
static int make_listener(struct place* p) {
  struct sockaddr_in address;
  p->fds[0] = tcp(1, &address);
  return p->fds[0] < 0 || set_time(p->fds[0], SO_RCVTIMEO);
}
static int make_full_listener(struct place* p) {
  struct sockaddr_in address;
  p->fds[0] = tcp(0, &address);
  p->number = address.sin_port;
  for (int i = 1; i < 3; i++) {
    p->fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    connect(p->fds[i], (void*)&address, sizeof address);
  }
  p->fds[3] = socket(AF_INET, SOCK_STREAM, 0);
  usleep(20000);
  return set_time(p->fds[3], SO_SNDTIMEO);
}
static int make_full_unix(struct place* p) {
  struct sockaddr_un address = {AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", folder);
  unlink(address.sun_path);
  strcpy(p->path, address.sun_path);
  p->fds[0] = socket(AF_UNIX, SOCK_STREAM, 0);
  if (bind(p->fds[0], (void*)&address, sizeof address) || listen(p->fds[0], 0)) return -1;
  p->fds[1] = socket(AF_UNIX, SOCK_STREAM, 0);
  if (connect(p->fds[1], (void*)&address, sizeof address)) return -1;
  p->fds[3] = socket(AF_UNIX, SOCK_STREAM, 0);
  return set_time(p->fds[3], SO_SNDTIMEO);
}
static long recv_(struct place* p) {
  char byte[4];
  return recv(p->fds[0], byte, sizeof byte, 0);
}
static long readv_(struct place* p) {
  char byte[4];
  struct iovec vector = {byte, sizeof byte};
  return readv(p->fds[0], &vector, 1);
}
static long recvmsg_(struct place* p) {
  char byte[4];
  struct iovec vector = {byte, sizeof byte};
  struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
  return recvmsg(p->fds[0], &message, 0);
}
static long recvmmsg_(struct place* p) {
  char byte[4];
  struct iovec vector = {byte, sizeof byte};
  struct mmsghdr message = {.msg_hdr = {.msg_iov = &vector, .msg_iovlen = 1}};
  return recvmmsg(p->fds[0], &message, 1, 0, NULL);
}
static long accept_(struct place* p) { return accept(p->fds[0], NULL, NULL); }
static long send_(struct place* p) { return send(p->fds[0], "x", 1, 0); }
static long sendmsg_(struct place* p) {
  struct iovec vector = {"x", 1};
  struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
  return sendmsg(p->fds[0], &message, 0);
}
static long write_socket(struct place* p) { return write(p->fds[0], "x", 1); }
static long connect_(struct place* p) {
  struct sockaddr_in address = {AF_INET, p->number, {htonl(INADDR_LOOPBACK)}};
  return connect(p->fds[3], (void*)&address, sizeof address);
}
static long connect_unix(struct place* p) {
  struct sockaddr_un address = {AF_UNIX};
  strcpy(address.sun_path, p->path);
  return connect(p->fds[3], (void*)&address, sizeof address);
}
static void take_connection(struct place* p) { p->fds[2] = accept(p->fds[0], NULL, NULL); }

// ---- time

static long nanosleep_(struct place* p) {
  struct timespec time = span();
  return nanosleep(&time, NULL);
}
static long clock_nanosleep_(struct place* p) {
  struct timespec time = span();
  return clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}
static long clock_nanosleep_until(struct place* p) {
  struct timespec time = end(CLOCK_MONOTONIC);
  return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

// ---- semaphores, queues, futexes, signals

static int make_semaphore(struct place* p) { return (p->number = semget(IPC_PRIVATE, 1, 0600)) < 0; }
static long semop_(struct place* p) {
  long result = semop(p->number, &(struct sembuf){0, -1, 0}, 1);
  int error = errno;
  semctl(p->number, 0, IPC_RMID);
  errno = error;
  return result;
}
static void raise_semaphore(struct place* p) { semop(p->number, &(struct sembuf){0, 1, 0}, 1); }
static long semtimedop_(struct place* p) {
  struct timespec time = span();
  long result = semtimedop(p->number, &(struct sembuf){0, -1, 0}, 1, &time);
  int error = errno;
  semctl(p->number, 0, IPC_RMID);
  errno = error;
  return result;
}
struct message {
  long type;
  char text[8];
};
static int make_messages(struct place* p) { return (p->number = msgget(IPC_PRIVATE, 0600)) < 0; }
static long msgrcv_(struct place* p) {
  struct message message;
  long result = msgrcv(p->number, &message, sizeof message.text, 0, 0);
  msgctl(p->number, IPC_RMID, NULL);
  return result;
}
static void send_message(struct place* p) { msgsnd(p->number, &(struct message){1, "text"}, 5, 0); }
static int make_queue(struct place* p, int full) {
  char name[50];
  snprintf(name, sizeof name, "/blocking-%d-%d", getpid(), full);
  struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 8};
  p->fds[0] = mq_open(name, O_CREAT | O_RDWR, 0600, &attributes);
  if (p->fds[0] < 0) return -1;
  mq_unlink(name);
  return full ? mq_send(p->fds[0], "x", 1, 0) : 0;
}
static int make_empty_queue(struct place* p) { return make_queue(p, 0); }
static int make_full_queue(struct place* p) { return make_queue(p, 1); }
static long mq_receive_(struct place* p) {
  char bytes[8];
  struct timespec time = end(CLOCK_REALTIME);
  return mq_timedreceive(p->fds[0], bytes, sizeof bytes, NULL, &time);
}
static long mq_send_(struct place* p) {
  struct timespec time = end(CLOCK_REALTIME);
  return mq_timedsend(p->fds[0], "x", 1, 0, &time);
}
static long futex_wait_(struct place* p) {
  struct timespec time = span();
  return syscall(SYS_futex, &p->word, FUTEX_WAIT_PRIVATE, 0, &time);
}
static long futex_bitset(struct place* p) {
  struct timespec time = end(CLOCK_MONOTONIC);
  return syscall(SYS_futex, &p->word, FUTEX_WAIT_BITSET_PRIVATE, 0, &time, NULL, FUTEX_BITSET_MATCH_ANY);
}
static long futex_waitv_(struct place* p) {
  struct { uint64_t value, address; uint32_t flags, reserved; } wait = {0, (uint64_t)&p->word, 2 | 128, 0};
  struct timespec time = end(CLOCK_MONOTONIC);
  return syscall(449, &wait, 1, 0, &time, CLOCK_MONOTONIC);
}
static long futex_forever(struct place* p) { return syscall(SYS_futex, &p->word, FUTEX_WAIT_PRIVATE, 0, NULL); }
static void wake_futex(struct place* p) {
  p->word = 1;
  syscall(SYS_futex, &p->word, FUTEX_WAKE_PRIVATE, 1);
}
static int block_signals(struct place* p) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  return pthread_sigmask(SIG_BLOCK, &set, NULL);
}
static long sigtimedwait_(struct place* p) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  struct timespec time = span();
  return sigtimedwait(&set, NULL, &time);
}
static long sigwaitinfo_(struct place* p) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  return sigwaitinfo(&set, NULL);
}
static void send_usr2(struct place* p) { pthread_kill(p->waiter, SIGUSR2); }
static void handle(int signal) {}
static long pause_(struct place* p) { return pause(); }
static long epoll_handled(struct place* p) { return epoll_forever(p); }
static void send_usr1(struct place* p) { pthread_kill(p->waiter, SIGUSR1); }
static int make_child(struct place* p) {
  if (pipe(p->fds)) return -1;
  p->number = fork();
  if (p->number != 0) return p->number < 0;
  char byte;
  close(p->fds[1]);
  (void)!read(p->fds[0], &byte, 1);
  _exit(7);
}
static long wait_(struct place* p) {
  int status = 0;
  return waitpid(p->number, &status, 0) == p->number ? WEXITSTATUS(status) : -1;
}

// ---- asynchronous input and output

static int make_aio(struct place* p) {
  unsigned long context = 0;
  if (syscall(SYS_io_setup, 4, &context)) return -1;
  p->number = context;
  return 0;
}
static long io_getevents_(struct place* p) {
  struct io_event events[1];
  struct timespec time = span();
  long result = syscall(SYS_io_getevents, p->number, 1, 1, events, &time);
  int error = errno;
  syscall(SYS_io_destroy, p->number);
  errno = error;
  return result;
}
static long io_pgetevents_(struct place* p) {
  struct io_event events[1];
  struct timespec time = span();
  long result = syscall(SYS_io_pgetevents, p->number, 1, 1, events, &time, NULL);
  int error = errno;
  syscall(SYS_io_destroy, p->number);
  errno = error;
  return result;
}
static int make_ring(struct place* p) {
  struct io_uring_params parameters = {0};
  p->fds[0] = syscall(SYS_io_uring_setup, 4, &parameters);
  return p->fds[0] < 0;
}
static long io_uring_(struct place* p) {
  struct timespec time = span();
  struct io_uring_getevents_arg more = {.ts = (uint64_t)&time};
  return syscall(SYS_io_uring_enter, p->fds[0], 0, 1, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &more, sizeof more);
}

static const struct kind kinds[] = {
    {"epoll_wait", make_epoll, epoll_wait_},
    {"epoll_pwait", make_epoll, epoll_pwait_},
    {"epoll_pwait2", make_epoll, epoll_pwait2_},
    {"epoll_forever", make_epoll, epoll_forever, write_byte},
    {"epoll_ignored", make_epoll, epoll_wait_, ignored_signals},
    {"epoll_handled", make_epoll, epoll_handled, send_usr1},
    {"poll", make_pipe, poll_},
    {"ppoll", make_pipe, ppoll_},
    {"ppoll_constant", make_pipe, ppoll_constant},
    {"select", make_pipe, select_},
    {"pselect", make_pipe, pselect_},
    {"pselect_constant", make_pipe, pselect_constant},
    {"read_pipe", make_pipe, read_, write_byte},
    {"write_pipe", fill_pipe, write_pipe, drain_pipe},
    {"read_inotify", make_inotify, read_inotify, create_file},
    {"flock", make_locked, flock_, unlock},
    {"open_fifo", make_fifo, open_fifo, open_other_end},
    {"recv", make_receiver, recv_},
    {"recv_tcp", make_tcp_receiver, recv_},
    {"recv_arrives", make_sockets, recv_, write_byte},
    {"read_socket", make_receiver, read_},
    {"readv_socket", make_receiver, readv_},
    {"recvmsg", make_receiver, recvmsg_},
    {"recvmmsg", make_receiver, recvmmsg_},
    {"accept", make_listener, accept_},
    {"send", make_sender, send_},
    {"sendmsg", make_sender, sendmsg_},
    {"write_socket", make_sender, write_socket},
    {"connect", make_full_listener, connect_},
    {"connect_unix", make_full_unix, connect_unix},
    {"nanosleep", NULL, nanosleep_},
    {"clock_nanosleep", NULL, clock_nanosleep_},
    {"clock_nanosleep_until", NULL, clock_nanosleep_until},
    {"semop", make_semaphore, semop_, raise_semaphore},
    {"semtimedop", make_semaphore, semtimedop_},
    {"msgrcv", make_messages, msgrcv_, send_message},
    {"mq_receive", make_empty_queue, mq_receive_},
    {"mq_send", make_full_queue, mq_send_},
    {"futex_wait", NULL, futex_wait_},
    {"futex_bitset", NULL, futex_bitset},
    {"futex_waitv", NULL, futex_waitv_},
    {"futex_forever", NULL, futex_forever, wake_futex},
    {"sigtimedwait", block_signals, sigtimedwait_},
    {"sigwaitinfo", block_signals, sigwaitinfo_, send_usr2},
    {"pause", NULL, pause_, send_usr1},
    {"wait", make_child, wait_, write_byte},
    {"io_getevents", make_aio, io_getevents_},
    {"io_pgetevents", make_aio, io_pgetevents_},
    {"io_uring_enter", make_ring, io_uring_},
};
enum { kKinds = sizeof kinds / sizeof *kinds };

struct waking {
  const struct kind* kind;
  struct place* place;
};

static void* wake_later(void* argument) {
  struct waking* waking = argument;
  struct timespec time = span();
  if (waking->kind->wake != ignored_signals) clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
  waking->kind->wake(waking->place);
  return NULL;
}

static long rounds;

static void* run_kind(void* argument) {
  const struct kind* kind = argument;
  for (long round = 0; round < rounds; round++) {
    struct place place = {{-1, -1, -1, -1}, .waiter = pthread_self()};
    if (kind->prepare && kind->prepare(&place)) {
      printf("%s unavailable %d 0\n", kind->name, errno);
      return NULL;
    }
    struct waking waking = {kind, &place};
    pthread_t waker;
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    if (kind->wake) pthread_create(&waker, NULL, wake_later, &waking);
    errno = 0;
    long result = kind->wait(&place);
    int error = errno;
    clock_gettime(CLOCK_MONOTONIC, &after);
    if (kind->wake) pthread_join(waker, NULL);
    long long took = (after.tv_sec - before.tv_sec) * 1000000000ll + after.tv_nsec - before.tv_nsec;
    printf("%s %ld %d %lld\n", kind->name, result, error, took / 1000000);
    for (int i = 0; i < 4; i++) {
      if (place.fds[i] >= 0) close(place.fds[i]);
    }
  }
  return NULL;
}

static volatile int all_done;
static const char* library;

static void* load(void* every) {
  while (!all_done) {
    void* loaded = dlopen(library, RTLD_NOW);
    if (!loaded) exit(2);
    ((long (*)(long))dlsym(loaded, "plugin_step"))(1);
    usleep((long)every * 500);
    dlclose(loaded);
    usleep((long)every * 500);
  }
  return NULL;
}

static void put_filter(void) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_restart_syscall, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) exit(3);
}

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  library = argv[1];
  ms = atol(argv[2]);
  rounds = atol(argv[3]);
  long every = atol(argv[4]);
  if (!mkdtemp(folder)) return 1;
  signal(SIGUSR1, handle);
  puts("ready");
  getchar();
  if (argc > 5) put_filter();
  puts("begun");
  pthread_t threads[kKinds], loader;
  if (every) pthread_create(&loader, NULL, load, (void*)every);
  for (int i = 0; i < kKinds; i++) pthread_create(&threads[i], NULL, run_kind, (void*)&kinds[i]);
  for (int i = 0; i < kKinds; i++) pthread_join(threads[i], NULL);
  all_done = 1;
  if (every) pthread_join(loader, NULL);
  char command[100];
  snprintf(command, sizeof command, "rm -r %s", folder);
  return system(command) != 0;
}
