// A program that attacks the spile which traces it (tools/torture/attack.py starts it, as another user than spile's).
//
//     attacker SEED SECONDS FOLDER [ACTION,ACTION...]
//
// Two threads call functions that scripts probe. Another one finds what spile has mapped into this process, and writes what it
// likes: random words, bits, whole snapshots of former contents, records of every kind, headers and slots with counts and offsets
// out of range; it punches holes, makes code writable, unmaps, forks, execs, ends threads within handlers, lies about names, and maps
// damaged files. A child that nobody traces tries the descriptors, sockets and memory of spile and of this program from outside.
//
// Which of these are tried, and how often, is drawn from SEED. FOLDER is writable by this user.
//
// What is written follows abi/arena.h and abi/record.h, so that it stays plausible when these change.

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "abi/arena.h"
#include "abi/record.h"

namespace abi = spile::abi;

// ---- what is probed --------------------------------------------------------------------------------------------------

struct Item {
  long number;
  const char* text;
  Item* next;
  double real;
};

extern "C" {
volatile long sink;
Item* volatile items;

__attribute__((noinline)) long leaf(long number) {
  sink = sink + number;
  __asm__ volatile("" ::: "memory");
  return sink ^ number;
}
__attribute__((noinline)) long deep(long number) {
  long more = number > 0 ? deep(number - 1) : leaf(number);
  sink = sink + more;
  return more + 1;
}
__attribute__((noinline)) long work(long number, const char* text, Item* item) {
  sink = sink + number + (item ? item->number : 0);
  __asm__ volatile("" : : "r"(text) : "memory");
  return leaf(number) + deep(number & 7);
}
__attribute__((noinline)) void rare(long number) {
  sink = sink - number;
  __asm__ volatile("" ::: "memory");
}
}

namespace {

// ---- chance ----------------------------------------------------------------------------------------------------------

struct Chance {
  uint64_t state;
  explicit Chance(uint64_t seed) : state(seed * 0x9e3779b97f4a7c15ULL + 0x1234567) {}
  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15ULL;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
    return z ^ z >> 31;
  }
  uint64_t below(uint64_t limit) { return limit ? next() % limit : 0; }
  bool one_in(uint64_t times) { return below(times) == 0; }
};

double now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

double g_end;
std::string g_folder;
uint64_t g_seed;
char** g_arguments;

// ---- what spile has mapped -------------------------------------------------------------------------------------------

struct Mapped {
  uint8_t* begin;
  uint64_t size;
  uint64_t offset;
  bool is_arena;
  bool is_code;
};

// By read(2), without locks or memory of libc's: other threads fork and die all the time.
std::vector<Mapped> find_mapped() {
  static char text[1 << 20];
  std::vector<Mapped> found;
  int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return found;
  size_t size = 0;
  for (ssize_t got; size + 1 < sizeof text && (got = read(fd, text + size, sizeof text - 1 - size)) > 0;) size += static_cast<size_t>(got);
  close(fd);
  text[size] = 0;
  for (char* line = text; *line;) {
    char* end = strchr(line, '\n');
    if (end) *end = 0;
    unsigned long begin = 0, last = 0, offset = 0;
    char flags[8] = "";
    if (strstr(line, "memfd:spile-") && sscanf(line, "%lx-%lx %7s %lx", &begin, &last, flags, &offset) == 4) {
      found.push_back({reinterpret_cast<uint8_t*>(begin), last - begin, offset, strstr(line, "spile-arena") != nullptr,
                       strstr(line, "spile-code") != nullptr});
    }
    if (!end) break;
    line = end + 1;
  }
  return found;
}

// ---- surviving what it does to itself ----------------------------------------------------------------------------------

thread_local sigjmp_buf t_back;
thread_local volatile sig_atomic_t t_has_back = 0;
volatile int g_faults;

void go_back(int) {
  if (g_faults > 100000) _exit(3);
  g_faults = g_faults + 1;
  if (t_has_back) siglongjmp(t_back, 1);
  syscall(SYS_exit, 0);
}

void end_thread(int) { syscall(SYS_exit, 0); }

void survive() {
  static thread_local char stack[64 << 10];
  stack_t other{};
  other.ss_sp = stack;
  other.ss_size = sizeof stack;
  sigaltstack(&other, nullptr);
}

// ---- workers ---------------------------------------------------------------------------------------------------------

std::string g_long;
char* g_bad;  // a page that can't be read

void* call_all(void* argument) {
  survive();
  Chance chance(g_seed + reinterpret_cast<uint64_t>(argument));
  Item loop{5, "loop", nullptr, 2.5};
  loop.next = &loop;
  items = &loop;
  volatile long number = 0;
  sigsetjmp(t_back, 1);
  t_has_back = 1;
  while (now() < g_end) {
    for (int i = 0; i < 50; i++) {
      number = number + 1;
      const char* text = "plain";
      switch (chance.below(8)) {
        case 0: text = g_long.c_str(); break;
        case 1: text = g_bad; break;
        case 2: text = g_bad - 5; break;
        case 3: text = "\033]0;title\007%s%n\n\xff\x80"; break;
        case 4: text = reinterpret_cast<const char*>(chance.next()); break;
        default: break;
      }
      work(chance.one_in(3) ? static_cast<long>(chance.next()) : number, text, chance.one_in(9) ? nullptr : &loop);
    }
    rare(number);
    if (chance.one_in(20)) deep(200);
    usleep(static_cast<useconds_t>(chance.below(400)));
  }
  return nullptr;
}

// ---- values ----------------------------------------------------------------------------------------------------------

struct Attack {
  Chance chance;
  std::vector<Mapped> mapped;
  uint8_t* arena = nullptr;
  uint64_t size = 0;
  std::vector<uint64_t> pages;  // of the arena, that have been touched: their offsets
  struct Snapshot {
    std::vector<uint64_t> pages;
    std::vector<uint8_t> bytes;
  };
  std::vector<Snapshot> snapshots;
  abi::ArenaHeader first{};  // as it was when it was found
  double next_look = 0;

  explicit Attack(uint64_t seed) : chance(seed) {}

  uint64_t value() {
    switch (chance.below(14)) {
      case 0: return 0;
      case 1: return chance.below(16);
      case 2: return chance.next();
      case 3: return ~chance.below(4096);
      case 4: return uint64_t{1} << chance.below(64);
      case 5: return (uint64_t{1} << chance.below(64)) - 1;
      case 6: return 0 - (uint64_t{1} << chance.below(64));
      case 7: return 0x7f0000000000 + chance.below(1ull << 40);
      case 8: return reinterpret_cast<uint64_t>(arena) + chance.below(size);
      case 9: return chance.below(size);
      case 10: return size - chance.below(64) * 8 + chance.below(2) * 4096;
      case 11: return chance.next() & 0xffffffff;
      case 12: return first.slots_offset + chance.below(4) * first.slot_stride + chance.below(4096);
      default: return chance.below(1 << 20);
    }
  }

  bool look() {
    if (arena && now() < next_look) return true;
    next_look = now() + 0.02;
    mapped = find_mapped();
    arena = nullptr;
    std::vector<const Mapped*> arenas;
    for (const Mapped& each : mapped) {
      if (each.is_arena && each.offset == 0) arenas.push_back(&each);
    }
    if (arenas.empty()) return false;
    const Mapped& one = *arenas[chance.below(arenas.size())];
    if (one.size != size) snapshots.clear();
    arena = one.begin;
    size = one.size;
    if (first.size != size) memcpy(&first, arena, sizeof first);
    static std::vector<unsigned char> resident;
    resident.resize(size / 4096);
    pages.clear();
    if (mincore(arena, size, resident.data()) == 0) {
      for (uint64_t i = 0; i < resident.size(); i++) {
        if (resident[i] & 1) pages.push_back(i * 4096);
      }
    }
    if (pages.empty()) pages.push_back(0);
    return true;
  }

  uint64_t* word() {
    uint64_t page = pages[chance.below(pages.size())];
    if (chance.one_in(4)) page = 0;
    return reinterpret_cast<uint64_t*>(arena + page + chance.below(512) * 8);
  }
  // Words that mean something are rarely zero.
  uint64_t* used_word() {
    uint64_t* at = word();
    for (int i = 0; i < 64 && *at == 0; i++) at = word();
    return at;
  }
  uint64_t slot_count() const { return first.slot_count > 1 && first.slot_count < 100000 ? first.slot_count : 1024; }
  uint64_t slot_stride() const { return first.slot_stride >= 4096 && first.slot_stride < size ? first.slot_stride : size / 1024; }
  uint8_t* slot_at(uint64_t index) {
    uint64_t at = first.slots_offset + index * slot_stride();
    return arena + (at + 4096 <= size ? at : 0);
  }
  uint8_t* some_slot() {
    switch (chance.below(4)) {
      case 0: return slot_at(0);
      case 1: return slot_at(slot_count() - 1);
      case 2: return slot_at(1 + chance.below(3));
      default: return slot_at(chance.below(slot_count()));
    }
  }

  // ---- actions in the arena ----

  void words() {
    for (uint64_t n = 1 + chance.below(64); n > 0; n--) *word() = value();
  }
  void used_words() {
    for (uint64_t n = 1 + chance.below(16); n > 0; n--) *used_word() = value();
  }
  void bits() {
    for (uint64_t n = 1 + chance.below(16); n > 0; n--) *used_word() ^= uint64_t{1} << chance.below(64);
  }
  void neighbors() {
    for (uint64_t n = 1 + chance.below(16); n > 0; n--) *used_word() += chance.below(3) - 1;
  }
  void halves() {
    for (uint64_t n = 1 + chance.below(32); n > 0; n--) reinterpret_cast<uint32_t*>(used_word())[chance.below(2)] = static_cast<uint32_t>(value());
  }
  void fill() {
    uint64_t page = pages[chance.below(pages.size())];
    static constexpr uint8_t kBytes[] = {0, 0xff, 0x41, 0x80, 1};
    if (chance.one_in(2)) {
      memset(arena + page, kBytes[chance.below(sizeof kBytes)], 4096);
    } else {
      for (int i = 0; i < 512; i++) reinterpret_cast<uint64_t*>(arena + page)[i] = value();
    }
  }
  void header() {
    for (uint64_t n = 1 + chance.below(8); n > 0; n--) {
      reinterpret_cast<uint32_t*>(arena)[chance.below((sizeof(abi::ArenaHeader) + 64) / 4)] = static_cast<uint32_t>(value());
    }
  }
  void slots() {
    for (uint64_t n = 1 + chance.below(8); n > 0; n--) {
      uint8_t* slot = some_slot();
      reinterpret_cast<uint64_t*>(slot)[chance.below(abi::kThreadSlotSize / 8)] = value();
      if (chance.one_in(3)) reinterpret_cast<uint64_t*>(slot)[chance.below(512)] = value();
    }
  }
  // All words of a slot's first part, and of its shadow frames: what lies there says the code regions' header.
  void frames() {
    uint64_t* slot = reinterpret_cast<uint64_t*>(some_slot());
    for (uint64_t i = 0; i < 512; i++) {
      if (chance.one_in(3)) slot[i] = value();
    }
    reinterpret_cast<abi::ThreadSlot*>(slot)->shadow_depth = static_cast<uint32_t>(chance.below(100000));
  }
  void copies() {
    uint64_t from = pages[chance.below(pages.size())], to = pages[chance.below(pages.size())];
    uint64_t shift = chance.one_in(2) ? 0 : chance.below(256) * 8;
    memmove(arena + to + shift, arena + from, 4096 - shift);
  }
  void keep() {
    Snapshot kept;
    for (uint64_t page : pages) {
      if (kept.pages.size() == 4096) break;
      kept.pages.push_back(page);
      kept.bytes.insert(kept.bytes.end(), arena + page, arena + page + 4096);
    }
    if (snapshots.size() == 4) snapshots.erase(snapshots.begin());
    snapshots.push_back(std::move(kept));
  }
  void replay() {
    if (snapshots.size() < 3) return keep();
    const Snapshot& kept = snapshots[chance.below(snapshots.size())];
    bool all = chance.one_in(3);
    uint64_t most = chance.below(8);
    for (size_t i = 0; i < kept.pages.size(); i++) {
      if (!all && chance.below(kept.pages.size()) > most) continue;
      if (kept.pages[i] + 4096 <= size) memcpy(arena + kept.pages[i], kept.bytes.data() + i * 4096, 4096);
    }
    if (chance.one_in(4)) keep();
  }
  void holes() {
    uint64_t begin = chance.one_in(2) ? pages[chance.below(pages.size())] : chance.below(size / 4096) * 4096;
    uint64_t length = chance.one_in(4) ? size - begin : std::min<uint64_t>(4096 << chance.below(8), size - begin);
    static constexpr int kAdvice[] = {MADV_REMOVE, MADV_REMOVE, MADV_DONTNEED, 21 /* PAGEOUT */, MADV_WILLNEED};
    madvise(arena + begin, length, kAdvice[chance.below(5)]);
  }

  // ---- records ----

  void text_into(uint8_t* at, uint64_t room) {
    std::string text;
    switch (chance.below(7)) {
      case 0: text = "touch " + g_folder + "/../root/stolen"; break;
      case 1: text = "id > " + g_folder + "/../root/stolen; exit 1"; break;
      case 2: text = "\033[2J\033]0;x\007\b\r%s%n%s"; break;
      case 3: text = "../../../root/stolen"; break;
      case 4: text = std::string(chance.below(3000), 'A'); break;
      case 5: for (int i = 0; i < 40; i++) text += std::to_string(value()) + " "; break;
      default: for (uint64_t i = chance.below(200); i > 0; i--) text += static_cast<char>(chance.next());
    }
    uint32_t length = chance.one_in(4) ? static_cast<uint32_t>(value()) : static_cast<uint32_t>(text.size());
    if (room < 4) return;
    memcpy(at, &length, 4);
    memcpy(at + 4, text.data(), std::min<uint64_t>(room - 4, text.size()));
  }
  uint64_t record(uint8_t* at, uint64_t room) {
    abi::RecordHeader head{};
    uint64_t payload = chance.below(16) * 8 * (chance.one_in(4) ? 16 : 1);
    if (room < sizeof head + payload) return 0;
    head.size = static_cast<uint32_t>(chance.one_in(6) ? value() : sizeof head + payload);
    head.kind = static_cast<uint16_t>(chance.one_in(10) ? value() : chance.below(18));
    head.cpu = static_cast<uint16_t>(value());
    head.id = static_cast<uint32_t>(chance.one_in(3) ? value() : chance.below(4));
    head.probe = static_cast<uint32_t>(chance.one_in(3) ? value() : chance.below(4));
    head.time = chance.one_in(2) ? __builtin_ia32_rdtsc() : value();
    memcpy(at, &head, sizeof head);
    uint8_t* body = at + sizeof head;
    for (uint64_t i = 0; i + 8 <= payload; i += 8) {
      uint64_t word = value();
      memcpy(body + i, &word, 8);
    }
    uint64_t skip = chance.below(4) * 8;
    if (payload > skip + 8) text_into(body + skip, payload - skip);
    return sizeof head + payload;
  }
  void records() {
    uint8_t* at = chance.one_in(4) ? slot_at(0) : some_slot();
    auto* slot = reinterpret_cast<abi::ThreadSlot*>(at);
    uint64_t stride = std::min<uint64_t>(slot_stride(), static_cast<uint64_t>(arena + size - at));
    // The ring is the slot's end; how large it is, is tried out.
    uint64_t ring_size = uint64_t{1} << (chance.one_in(3) ? 12 + chance.below(12) : 20);
    if (ring_size + 4096 > stride) ring_size = 4096;
    uint8_t* ring = at + stride - ring_size;
    uint64_t tail = slot->ring_tail, head = chance.one_in(2) ? tail : slot->ring_head;
    uint64_t total = 0;
    for (uint64_t n = 1 + chance.below(20); n > 0; n--) {
      uint64_t offset = (head + total) & (ring_size - 1);
      uint64_t wrote = record(ring + offset, ring_size - offset);
      if (wrote == 0) {
        memset(ring + offset, 0, ring_size - offset);
        uint32_t pad = static_cast<uint32_t>(ring_size - offset);
        memcpy(ring + offset, &pad, 4);
        wrote = pad;
      }
      total += wrote;
    }
    __atomic_store_n(&slot->ring_head, chance.one_in(12) ? value() : head + total, __ATOMIC_RELEASE);
    if (chance.one_in(12)) slot->ring_tail = value();
    if (slot->owner == 0 && chance.one_in(2)) slot->owner = static_cast<uint64_t>(getpid()) << 32 | 1;
  }

  // ---- actions on code regions, and on itself ----

  void code() {
    for (const Mapped& each : mapped) {
      if (!each.is_code || !chance.one_in(2)) continue;
      if (mprotect(each.begin, each.size, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) continue;
      // Header, journal, list of regions; code only now and then, which is this program's own harm.
      uint64_t reach = chance.one_in(8) ? each.size : std::min<uint64_t>(each.size, 4096 + 2048);
      for (uint64_t n = 1 + chance.below(8); n > 0; n--) reinterpret_cast<uint64_t*>(each.begin)[chance.below(reach / 8)] = value();
    }
  }
  void private_tables() {
    // What spile maps without a name: found by the code region's header.
    for (const Mapped& each : mapped) {
      if (!each.is_code || each.offset != 0) continue;
      auto* head = reinterpret_cast<const abi::RegionHeader*>(each.begin);
      if (head->magic != abi::kRegionMagic || head->process_table == 0) continue;
      auto* table = reinterpret_cast<uint64_t*>(head->process_table);
      for (uint64_t n = 1 + chance.below(64); n > 0; n--) table[chance.below(sizeof(abi::ProcessTable) / 8)] = value();
      for (uint64_t i = 0; i < abi::kThreadTableEntries; i++) {
        if (table[2 * i] != 0 && chance.one_in(2)) table[2 * i + 1] = value();
      }
    }
  }
  void unmaps() {
    if (mapped.empty()) return;
    const Mapped& each = mapped[chance.below(mapped.size())];
    uint64_t from = chance.below(each.size / 4096) * 4096;
    uint64_t length = std::min<uint64_t>(4096 << chance.below(12), each.size - from);
    switch (chance.below(5)) {
      case 0: munmap(each.begin + from, length); break;
      case 1: mprotect(each.begin + from, length, PROT_NONE); break;
      case 2: mmap(each.begin + from, length, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0); break;
      case 3: mremap(each.begin, each.size, each.size, MREMAP_MAYMOVE | MREMAP_FIXED, reinterpret_cast<void*>(0x600000000000 + chance.below(1 << 20) * 4096)); break;
      default: mprotect(each.begin + from, length, PROT_READ); break;
    }
    next_look = 0;
  }
  void descriptors() {
    DIR* folder = opendir("/proc/self/fd");
    if (!folder) return;
    while (dirent* each = readdir(folder)) {
      int fd = atoi(each->d_name);
      if (fd <= 2 || fd == dirfd(folder)) continue;
      char name[256] = "";
      std::string link = "/proc/self/fd/" + std::string(each->d_name);
      if (readlink(link.c_str(), name, sizeof name - 1) < 0 || !strstr(name, "memfd:spile")) continue;
      if (ftruncate(fd, 0) != 0) (void)!ftruncate(fd, 1l << 50);
      (void)!pwrite(fd, name, sizeof name, static_cast<off_t>(chance.below(1 << 20)));
    }
    closedir(folder);
    // The files behind mappings.
    for (const Mapped& each : mapped) {
      char path[128];
      snprintf(path, sizeof path, "/proc/self/map_files/%lx-%lx", reinterpret_cast<unsigned long>(each.begin),
               reinterpret_cast<unsigned long>(each.begin + each.size));
      int fd = open(path, O_RDWR | O_CLOEXEC);
      if (fd < 0) continue;
      (void)!ftruncate(fd, 0);
      close(fd);
    }
  }
  void forks() {
    pid_t child = fork();
    if (child == 0) {
      t_has_back = 0;
      alarm(1);
      if (chance.one_in(3)) {
        look();
        for (int i = 0; i < 50 && arena; i++) words();
      }
      for (int i = 0; i < 5; i++) work(i, "child", nullptr);
      if (chance.one_in(3)) unmaps();
      if (chance.one_in(4)) execl("/bin/true", "\033[31mtrue\n", nullptr);
      _exit(0);
    }
    if (child > 0 && chance.one_in(8)) kill(child, SIGKILL);
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
  void names() {
    static constexpr const char* kNames[] = {"a\nb", ") S 1 (x", "%s%n%p", "\033[2Jx", "", "spile", "../../x", "\xff\xfe\x80", "(((((((((((((((", "a b"};
    prctl(PR_SET_NAME, kNames[chance.below(10)]);
    size_t length = strlen(g_arguments[0]);
    for (size_t i = 0; i < length; i++) g_arguments[0][i] = static_cast<char>(chance.one_in(8) ? '\n' : 'a' + static_cast<int>(chance.below(26)));
    prctl_mm_map(value());
  }
  void prctl_mm_map(uint64_t end) {
    struct prctl_mm_map map {};
    map.exe_fd = static_cast<uint32_t>(-1);
    map.arg_start = reinterpret_cast<uint64_t>(arena);
    map.arg_end = chance.one_in(2) ? map.arg_start + 4096 : end;
    map.env_start = map.arg_start;
    map.env_end = map.arg_end;
    map.start_code = map.end_code = map.start_data = map.end_data = map.start_brk = map.brk = map.start_stack = map.arg_start;
    prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof map, 0);
  }
  void threads() {
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    auto body = [](void*) -> void* {
      survive();
      for (long i = 0; i < 2000 && now() < g_end; i++) work(i, "short lived", nullptr);
      return nullptr;
    };
    for (uint64_t n = 1 + chance.below(4); n > 0; n--) {
      if (pthread_create(&thread, &attributes, body, nullptr) != 0) break;
      // Ends it wherever it is: within a handler, with a lock held.
      if (chance.one_in(2)) {
        usleep(static_cast<useconds_t>(chance.below(300)));
        pthread_kill(thread, SIGUSR1);
      }
    }
    pthread_attr_destroy(&attributes);
  }
  void libraries();
  void executes() {
    if (now() < g_end - 0.5 || !chance.one_in(4)) return;
    char seconds[32], seed[32];
    snprintf(seconds, sizeof seconds, "%.3f", std::max(0.1, g_end - now()));
    snprintf(seed, sizeof seed, "%lu", chance.next() >> 1);
    execl("/proc/self/exe", "attacker\n\033[1m", seed, seconds, g_folder.c_str(), "words,records,slots", nullptr);
  }
};

// A copy of a library that is damaged, has a strange name, and becomes something else while it is mapped.
void Attack::libraries() {
  static int number;
  static constexpr const char* kPlaces[] = {"/lib/x86_64-linux-gnu/libm.so.6", "/lib/x86_64-linux-gnu/libc.so.6", "/usr/bin/true"};
  std::string path = g_folder + "/lib" + (chance.one_in(3) ? "\n7f00-7f01 r-xp 0 00:00 0 " : chance.one_in(3) ? "\033[2J (deleted)" : "x") +
                     std::to_string(number++ % 8) + ".so";
  int from = open(kPlaces[chance.below(3)], O_RDONLY | O_CLOEXEC);
  unlink(path.c_str());
  int to = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
  struct stat status {};
  if (from < 0 || to < 0 || fstat(from, &status) != 0) return;
  std::vector<uint8_t> bytes(static_cast<size_t>(status.st_size));
  ssize_t got = read(from, bytes.data(), bytes.size());
  for (uint64_t n = chance.below(20); n > 0 && got > 4096; n--) bytes[chance.below(chance.one_in(2) ? 512 : bytes.size())] = static_cast<uint8_t>(chance.next());
  (void)!write(to, bytes.data(), bytes.size());
  if (chance.one_in(6)) (void)!ftruncate(to, 1l << (30 + chance.below(10)));  // a huge sparse file
  void* where = mmap(nullptr, 1 << 20, PROT_READ | PROT_EXEC, MAP_PRIVATE, to, 0);
  if (chance.one_in(2)) {
    // In the list of the dynamic linker, so that its breakpoint reports it.
    if (void* handle = dlopen("libdl.so.2", RTLD_NOW)) dlclose(handle);
  }
  switch (chance.below(5)) {
    case 0: (void)!ftruncate(to, static_cast<off_t>(chance.below(8192))); break;
    case 1: unlink(path.c_str()); mkfifo(path.c_str(), 0666); break;
    case 2: unlink(path.c_str()); (void)!symlink("/dev/zero", path.c_str()); break;
    case 3: unlink(path.c_str()); (void)!symlink("/proc/self/mem", path.c_str()); break;
    default: break;
  }
  close(from);
  close(to);
  if (where != MAP_FAILED && chance.one_in(2)) munmap(where, 1 << 20);
}

// What a killed spile would have left, as this program likes it: the next one reads it when it attaches.
void leave_remains(Chance& chance) {
  uint64_t slots = 0x100000000;
  for (uint64_t n = 1 + chance.below(4); n > 0; n--) {
    uint64_t size = uint64_t{4096} << chance.below(chance.one_in(4) ? 28 : 12);
    int code = static_cast<int>(syscall(SYS_memfd_create, "spile-code", 1)), arena = static_cast<int>(syscall(SYS_memfd_create, "spile-arena", 1));
    if (ftruncate(code, static_cast<off_t>(size)) != 0 || ftruncate(arena, 1 << 24) != 0) return;
    void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, code, 0);
    void* data = mmap(nullptr, 1 << 24, PROT_READ | PROT_WRITE, MAP_SHARED, arena, 0);
    auto* table = static_cast<abi::ProcessTable*>(mmap(nullptr, sizeof(abi::ProcessTable), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    close(code);
    close(arena);
    if (at == MAP_FAILED || data == MAP_FAILED || table == MAP_FAILED) return;
    auto* head = static_cast<abi::RegionHeader*>(at);
    head->magic = abi::kRegionMagic;
    head->size = size;
    head->controller_pid = 1;
    head->journal_offset = 4096;
    head->journal_count = head->journal_capacity = chance.one_in(2) ? chance.below(100) : size / 80;
    head->arena = reinterpret_cast<uint64_t>(data);
    head->arena_size = 1 << 24;
    head->process_table = reinterpret_cast<uint64_t>(table);
    head->shadow_offset = 4096;
    head->shadow_stride = chance.one_in(4) ? 0 : 32;
    head->shadow_capacity = 1 << 14;
    head->slots_offset = 4096;
    head->slot_stride = 1 << 20;
    head->slot_count = 16;
    for (uint64_t i = 0; i < abi::kThreadTableEntries; i++) {
      table->entries[i] = {4096 + i * 64, chance.one_in(2) ? (i & 15) << 20 : i * 8};
    }
    auto* words = static_cast<uint64_t*>(data);
    uint64_t slot = reinterpret_cast<uint64_t>(&slots);
    for (uint64_t i = 0; i < (1 << 21); i++) words[i] = i % 4 == 0 ? (chance.one_in(2) ? slot : chance.next() >> 17) : reinterpret_cast<uint64_t>(at) + i % 4096;
    slots = reinterpret_cast<uint64_t>(at) + 8;
    auto* more = reinterpret_cast<uint64_t*>(at);
    if (chance.one_in(2)) {
      for (int i = 0; i < 4; i++) more[chance.below(sizeof(abi::RegionHeader) / 8)] = chance.one_in(2) ? chance.next() : uint64_t{1} << chance.below(64);
      head->magic = abi::kRegionMagic;
    }
    for (uint64_t i = 512; i < std::min<uint64_t>(size / 8, 1 << 16); i++) more[i] = chance.one_in(3) ? chance.next() : chance.below(1 << 16);
    mprotect(at, size, PROT_READ | PROT_EXEC);
  }
}

// ---- the driver of all that ------------------------------------------------------------------------------------------

struct Action {
  const char* name;
  void (Attack::*perform)();
  int weight;
};
constexpr Action kActions[] = {
    {"words", &Attack::words, 10},       {"used_words", &Attack::used_words, 10}, {"bits", &Attack::bits, 10},
    {"neighbors", &Attack::neighbors, 10}, {"halves", &Attack::halves, 10},     {"fill", &Attack::fill, 3},
    {"header", &Attack::header, 10},     {"slots", &Attack::slots, 10},           {"frames", &Attack::frames, 4},
    {"copies", &Attack::copies, 5},      {"replay", &Attack::replay, 5},          {"holes", &Attack::holes, 2},
    {"records", &Attack::records, 30},   {"code", &Attack::code, 3},              {"tables", &Attack::private_tables, 3},
    {"unmaps", &Attack::unmaps, 1},      {"descriptors", &Attack::descriptors, 2}, {"forks", &Attack::forks, 1},
    {"names", &Attack::names, 2},        {"threads", &Attack::threads, 2},        {"libraries", &Attack::libraries, 1},
    {"executes", &Attack::executes, 1},
};

std::vector<const Action*> choose_actions(Chance& chance, const char* wanted) {
  std::vector<const Action*> chosen;
  for (const Action& action : kActions) {
    bool take = wanted ? ("," + std::string(wanted) + ",").find("," + std::string(action.name) + ",") != std::string::npos : chance.one_in(3);
    for (int i = 0; take && i < action.weight; i++) chosen.push_back(&action);
  }
  if (chosen.empty()) chosen.push_back(&kActions[0]);
  return chosen;
}

struct AttackStart {
  const char* wanted;
};

void* attack(void* argument) {
  survive();
  static Attack attack(g_seed * 7 + 1);
  static std::vector<const Action*> actions = choose_actions(attack.chance, static_cast<AttackStart*>(argument)->wanted);
  static uint64_t pause = uint64_t{1} << attack.chance.below(14);  // some attacks leave spile time to get far, some do not
  static volatile uint64_t done;
  sigsetjmp(t_back, 1);
  t_has_back = 1;
  while (now() < g_end) {
    if (!attack.look()) {
      usleep(500);
      continue;
    }
    const Action* action = actions[attack.chance.below(actions.size())];
    (attack.*action->perform)();
    done = done + 1;
    if (attack.chance.one_in(4)) usleep(static_cast<useconds_t>(attack.chance.below(pause)));
  }
  return nullptr;
}

// ---- the accomplice, whom nobody traces --------------------------------------------------------------------------------

void try_descriptors(pid_t pid) {
  std::string folder = "/proc/" + std::to_string(pid) + "/fd";
  DIR* list = opendir(folder.c_str());
  if (!list) return;
  while (dirent* each = readdir(list)) {
    std::string link = folder + "/" + each->d_name;
    char name[256] = "";
    if (readlink(link.c_str(), name, sizeof name - 1) < 0 || !strstr(name, "memfd:spile")) continue;
    int fd = open(link.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) continue;
    (void)!ftruncate(fd, 0);
    (void)!ftruncate(fd, 1l << 50);
    fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
    fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 1 << 20);
    close(fd);
  }
  closedir(list);
}

pid_t tracer_of(pid_t pid) {
  std::string path = "/proc/" + std::to_string(pid) + "/status";
  FILE* file = fopen(path.c_str(), "re");
  char line[256];
  int tracer = 0;
  while (file && fgets(line, sizeof line, file)) {
    if (sscanf(line, "TracerPid: %d", &tracer) == 1) break;
  }
  if (file) fclose(file);
  return tracer;
}

int open_socket(const std::string& name, sockaddr_un& address, socklen_t& length) {
  address = {};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path + 1, name.data(), std::min(name.size(), sizeof address.sun_path - 1));
  length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

// The name at which the tracer listens, or one that somebody has taken in front of it.
std::string name_of(pid_t tracer, Chance& chance) {
  std::ifstream sockets("/proc/self/net/unix");
  std::string begin = "@spile-engine-" + std::to_string(tracer) + "-", found;
  for (std::string line; std::getline(sockets, line);) {
    size_t at = line.find(begin);
    if (at != std::string::npos && (found.empty() || chance.one_in(2))) found = line.substr(at + 1);
  }
  return found;
}

void try_sockets(pid_t tracer, Chance& chance, std::vector<int>& idle) {
  sockaddr_un address;
  socklen_t length;
  int fd = open_socket(name_of(tracer, chance), address, length);
  if (fd < 0) return;
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), length) == 0) {
    uint8_t bytes[256];
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(chance.next());
    (void)!send(fd, bytes, chance.below(sizeof bytes), MSG_NOSIGNAL);
  }
  idle.push_back(fd);
  if (idle.size() > 64) {
    close(idle.front());
    idle.erase(idle.begin());
  }
}

// Names that look like those of spiles of the near future; some with a backlog that is full at once.
void squat(pid_t around) {
  for (int i = 1; i < 64; i++) {
    sockaddr_un address;
    socklen_t length;
    int fd = open_socket("spile-engine-" + std::to_string(around + i) + "-0", address, length);
    if (bind(fd, reinterpret_cast<sockaddr*>(&address), length) != 0 || listen(fd, i % 2 ? 0 : 16) != 0) close(fd);
  }
}

void be_accomplice(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  Chance chance(g_seed * 13 + 5);
  std::vector<int> idle;
  if (chance.one_in(3)) squat(getpid());
  while (now() < g_end + 1) {
    try_descriptors(parent);
    if (pid_t tracer = tracer_of(parent); tracer != 0) {
      try_descriptors(tracer);
      if (chance.one_in(20)) try_sockets(tracer, chance, idle);
      kill(tracer, SIGTERM);
      std::string memory = "/proc/" + std::to_string(tracer) + "/mem";
      if (int fd = open(memory.c_str(), O_RDWR | O_CLOEXEC); fd >= 0) {
        printf("BROKEN: %s could be opened\n", memory.c_str());
        fflush(stdout);
        close(fd);
      }
    }
    usleep(static_cast<useconds_t>(chance.below(2000)));
  }
  _exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: attacker SEED SECONDS FOLDER [ACTION,...]\n");
    return 2;
  }
  g_seed = strtoull(argv[1], nullptr, 10);
  g_end = now() + atof(argv[2]);
  g_folder = argv[3];
  AttackStart start{argc > 4 ? argv[4] : nullptr};
  g_arguments = argv;
  g_long = std::string(100000, 'L');
  g_bad = static_cast<char*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) + 4096;
  memset(g_bad - 4096, 'b', 4096);
  mprotect(g_bad, 4096, PROT_NONE);
  // So that it can be read about from outside by its own user, whatever it was started by.
  prctl(PR_SET_DUMPABLE, 1);
  pid_t parent = getpid();
  if (fork() == 0) be_accomplice(parent);

  struct sigaction action {};
  action.sa_handler = go_back;
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP}) sigaction(signal, &action, nullptr);
  action.sa_handler = end_thread;
  sigaction(SIGUSR1, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);

  Chance past(g_seed * 31 + 3);
  if (start.wanted ? strstr(start.wanted, "remains") != nullptr : past.one_in(6)) leave_remains(past);
  pthread_t callers[2], attacker;
  for (uint64_t i = 0; i < 2; i++) pthread_create(&callers[i], nullptr, call_all, reinterpret_cast<void*>(i));
  pthread_create(&attacker, nullptr, attack, &start);
  printf("ready\n");
  fflush(stdout);
  while (now() < g_end) usleep(10000);
  _exit(0);
}
