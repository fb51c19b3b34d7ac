// Does one thing N times, for the tools and the library's probe aliases that count it:
//   causes unix|tcp|udp N   sends and receives N messages of 6 bytes over one pair of sockets
//   causes mutex N          waits N times, 3 ms each, for a mutex that another thread holds
//   causes pages N          writes to N pages of memory for the first time
//   causes pieces N         reads 2 pieces of 3 bytes from /dev/zero and writes them to /dev/null, N times
//   causes brk N            makes the heap larger N times, by a page each
//   causes zombies N        leaves N ended children for 1 s, then waits for them
//   causes signals N        sends itself SIGUSR1, with a handler, N times
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
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
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int type = strcmp(kind, "tcp") == 0 ? SOCK_STREAM : SOCK_DGRAM;
    int server = socket(AF_INET, type, 0);
    ends[0] = socket(AF_INET, type, 0);
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
  } else {
    talk(what, count);
  }
  return 0;
}
