// forger WHAT RING_BYTES [TEXT]: calls work(i) in a loop until SIGTERM or 60 s have passed. Once it finds the memory that a
// tracer shares with it, and its thread's slot there (src/abi/arena.h), it does WHAT: writes records (src/abi/record.h) into
// its own output ring as a hostile program would. Prints "forged N", N the number of records, when the tracer has read them and
// work() was called 100 times more.
#include <fcntl.h>
#include <sys/wait.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <initializer_list>

#include "abi/arena.h"
#include "abi/record.h"

#define PROBED __attribute__((noinline, noclone, used))

using namespace spile::abi;

static volatile sig_atomic_t stop;
static void on_signal(int) { stop = 1; }

extern "C" PROBED long work(long arg) {
  asm volatile("" : "+r"(arg));
  return arg * 2;
}

static char* arena;
static ThreadSlot* slot;
static uint64_t ring_size;
static long forged;

// The lowest mapping of the tracer's memory begins at the arena's header.
static void find_arena() {
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[512];
  while (!arena && fgets(line, sizeof line, maps)) {
    unsigned long begin, end, offset;
    if (sscanf(line, "%lx-%lx rw-s %lx", &begin, &end, &offset) != 3 || offset != 0 || !strstr(line, "memfd:")) continue;
    if (*(volatile uint64_t*)begin == kArenaMagic) arena = (char*)begin;
  }
  fclose(maps);
}

static void find_slot() {
  const ArenaHeader* header = (ArenaHeader*)arena;
  for (uint32_t i = 1; i < header->slot_count && !slot; i++) {
    ThreadSlot* each = (ThreadSlot*)(arena + header->slots_offset + i * header->slot_stride);
    if (each->owner == 0) break;
    if ((each->owner & 0xffffffff) == (uint64_t)getpid()) slot = each;
  }
}

static char* ring() { return (char*)slot + ((ArenaHeader*)arena)->slot_stride - ring_size; }

// Until the tracer has read all; random heads may lead it nowhere.
static void wait_for_reader() {
  for (int i = 0; i < 5000 && !stop && slot->ring_head != *(volatile uint64_t*)&slot->ring_tail; i++) usleep(100);
}

// Waits for room, as a handler does; what a record does not fit before the ring's end goes to its begin.
static void put(uint32_t kind, uint32_t id, uint64_t time, const void* payload, uint32_t bytes) {
  uint64_t size = (sizeof(RecordHeader) + bytes + 7) & ~7ULL;
  uint64_t head = slot->ring_head, at = head & (ring_size - 1), rest = ring_size - at;
  uint64_t pad = rest < size ? rest : 0;
  for (int i = 0; i < 20000 && !stop && head + pad + size - *(volatile uint64_t*)&slot->ring_tail > ring_size; i++) usleep(100);
  if (pad) {
    RecordHeader* padding = (RecordHeader*)(ring() + at);
    padding->size = (uint32_t)pad;
    padding->kind = kPad;
    at = 0;
  }
  RecordHeader record = {(uint32_t)size, (uint16_t)kind, 0, id, 0, time};
  memcpy(ring() + at, &record, sizeof record);
  memcpy(ring() + at + sizeof record, payload, bytes);
  __atomic_store_n(&slot->ring_head, head + pad + size, __ATOMIC_RELEASE);
  forged++;
}

static void put_text(uint32_t kind, uint32_t id, uint64_t time, const char* text) {
  char payload[4096];
  uint32_t length = (uint32_t)strnlen(text, sizeof payload - 8);
  memcpy(payload, &length, 4);
  memcpy(payload + 4, text, length);
  put(kind, id, time, payload, (4 + length + 7) & ~7u);
}

static uint64_t random_word() {
  static uint64_t x = 88172645463325252ULL;
  x ^= x << 13, x ^= x >> 7, x ^= x << 17;
  return x;
}

static void forge(const char* what, const char* text) {
  uint64_t now = __builtin_ia32_rdtsc();
  if (!strcmp(what, "own")) {  // in the slot of the tracer's own handlers
    slot = (ThreadSlot*)(arena + ((ArenaHeader*)arena)->slots_offset);
    for (int i = 0; i < 100 && !stop; i++, usleep(2000)) put_text(kSystem, kCommandText, now, text);
  } else if (!strcmp(what, "system")) {
    for (uint32_t id : {0u, 1u, kCommandText}) put_text(kSystem, id, now, text);
  } else if (!strcmp(what, "dying")) {  // as a worker that gives up its rights, and is gone before anybody looks
    for (int i = 0; i < 20 && !stop; i++) {
      pid_t worker = fork();
      if (worker == 0) {
        if (setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0) put_text(kSystem, kCommandText, now, text);
        _exit(0);
      }
      waitpid(worker, NULL, 0);
    }
    stop = 1;
  } else if (!strcmp(what, "exit")) {
    put(kExit, 0, now, "", 0);
    __atomic_store_n(&((ArenaHeader*)arena)->exit_requested, 1u, __ATOMIC_RELEASE);
  } else if (!strcmp(what, "switch")) {
    for (int i = 0; i < 5000 && !stop; i++) put(kSwitchFile, 0, now, "", 0);
  } else if (!strcmp(what, "warnings")) {
    char line[64];
    for (int i = 0; i < 20000 && !stop; i++) {
      snprintf(line, sizeof line, "%s %d", text, i);
      put_text(kWarning, 0, now, line);
    }
  } else if (!strcmp(what, "errors")) {
    put_text(kErrorText, 0, now, text);
  } else if (!strcmp(what, "future")) {
    put_text(kPrintf, 0, ~0ULL, text);
  } else if (!strcmp(what, "text")) {
    put_text(kPrintf, 0, now, text);
  } else if (!strcmp(what, "heads")) {
    for (int i = 0; i < 300 && !stop; i++) {
      __atomic_store_n(&slot->ring_head, random_word(), __ATOMIC_RELEASE);
      usleep(3000);
      forged++;
    }
  } else if (!strcmp(what, "nonsense")) {
    uint64_t payload[64];
    for (int i = 0; i < 200000 && !stop; i++) {
      for (uint64_t& word : payload) word = random_word() >> (random_word() & 63);
      uint32_t kind = random_word() & 15, id = random_word() & 1 ? random_word() & 3 : (uint32_t)random_word();
      put(kind == kSystem ? (uint32_t)kPrintf : kind, id, random_word() & 1 ? now : random_word(), payload, (random_word() & 63) * 8);
    }
  }
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  ring_size = strtoull(argv[2], nullptr, 0);
  signal(SIGTERM, on_signal);
  signal(SIGALRM, on_signal);
  alarm(60);
  puts("ready");
  fflush(stdout);
  for (long i = 0; !stop; i++) {
    work(i);
    usleep(1000);
    if (!arena) find_arena();
    if (!arena || slot) continue;
    find_slot();
    if (!slot) continue;
    usleep(50000);  // what spile does at the first hit of a thread is over
    forge(argv[1], argc > 3 ? argv[3] : "");
    wait_for_reader();
    for (int more = 0; more < 100 && !stop; more++, usleep(1000)) work(i);
    printf("forged %ld\n", forged);
    fflush(stdout);
  }
  return 0;
}
