// signal_actions caught|ignored LIBRARY N: sets actions for SIGSEGV, SIGBUS and SIGTRAP, then says "ready". For each line on
// standard input a thread that blocks all signals (with "ignored": but these three) calls follow() N times with a bad pointer, opens and closes LIBRARY, and
// says whether its mask and the actions are what they were; then all three signals are raised. With "later" as the line
// the actions are set anew, with another handler.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROBED __attribute__((noinline, noclone, used))

struct node { struct node* next; long value; };
PROBED long follow(struct node* node) { __asm__ volatile("" : "+r"(node)); return (long)node; }

enum { kRestorer = 0x04000000 };  // the C library's own flag
static const int kSignals[] = {SIGSEGV, SIGBUS, SIGTRAP};
static struct sigaction wanted[3];
static volatile long handled;
static void on_signal(int number, siginfo_t* info, void* context) { handled++; }
static void on_signal_later(int number, siginfo_t* info, void* context) { handled += 100; }

static void set(void (*handler)(int, siginfo_t*, void*)) {
  for (int i = 0; i < 3; i++) {
    memset(&wanted[i], 0, sizeof wanted[i]);
    wanted[i].sa_flags = handler ? SA_SIGINFO | SA_ONSTACK : SA_RESTART;
    if (handler) {
      wanted[i].sa_sigaction = handler;
    } else {
      wanted[i].sa_handler = SIG_IGN;
    }
    sigaddset(&wanted[i].sa_mask, SIGUSR1);
    sigaction(kSignals[i], &wanted[i], NULL);
  }
}

static void compare(const char* who, const sigset_t* mask) {
  sigset_t now;
  pthread_sigmask(SIG_SETMASK, NULL, &now);
  printf("%s:", who);
  for (int i = 0; i < 3; i++) {
    struct sigaction action;
    sigaction(kSignals[i], NULL, &action);
    int same = action.sa_handler == wanted[i].sa_handler && ((action.sa_flags ^ wanted[i].sa_flags) & ~kRestorer) == 0;
    printf(" %d %s %s", kSignals[i], same ? "kept" : "lost",
           sigismember(mask, kSignals[i]) == sigismember(&now, kSignals[i]) ? "kept" : "lost");
  }
  printf("\n");
}

static int caught;
static const char* library;
static long rounds;
static void meet(const char* who, const sigset_t* mask) {
  for (long i = 0; i < rounds; i++) follow((struct node*)(16 + 8 * i));
  void* opened = dlopen(library, RTLD_NOW);
  if (!opened || dlclose(opened)) printf("no library\n");
  compare(who, mask);
}

static void* blocked(void* data) {
  sigset_t all;
  sigfillset(&all);
  for (int i = 0; !caught && i < 3; i++) sigdelset(&all, kSignals[i]);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
  meet("blocked", &all);
  return NULL;
}

int main(int argc, char** argv) {
  caught = strcmp(argv[1], "caught") == 0;
  library = argv[2];
  rounds = atol(argv[3]);
  setvbuf(stdout, NULL, _IOLBF, 0);
  set(caught ? on_signal : NULL);
  printf("ready\n");
  char line[16];
  while (fgets(line, sizeof line, stdin)) {
    if (strcmp(line, "later\n") == 0) set(on_signal_later);
    pthread_t thread;
    pthread_create(&thread, NULL, blocked, NULL);
    pthread_join(thread, NULL);
    sigset_t none;
    sigemptyset(&none);
    meet("open", &none);
    for (int i = 0; i < 3; i++) raise(kSignals[i]);
    printf("handled %ld\n", handled);
  }
  return 0;
}
