// Walks its own stack in every way that programs do: backtrace(3), _Unwind_Backtrace, libunwind's steps, and from the
// handlers of a fatal signal and of an exception that nobody catches. Prints the names of the frames.
//
//   backtraces walk      three walks of each kind; an exception through frames that clean up
//   backtraces segv | terminate
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

#include <exception>
#include <stdexcept>
#include <string>
#define KEEP extern "C" __attribute__((noinline, noclone, noipa))

static volatile long sink;
constexpr int kMost = 64;
static const char* how;

static void print_names(const char* what, void** pcs, int count) {
  printf("%s:", what);
  for (int i = 0; i < count; i++) {
    Dl_info info;
    bool found = dladdr(static_cast<char*>(pcs[i]) - 1, &info) && info.dli_sname;
    printf(" %s", found ? info.dli_sname : "?");
  }
  printf("\n");
  fflush(stdout);
}

struct Walk {
  void* pcs[kMost];
  int count = 0;
  decltype(&_Unwind_GetIP) get_ip = nullptr;  // of the library that walks
};
static _Unwind_Reason_Code take_frame(_Unwind_Context* context, void* argument) {
  auto* walk = static_cast<Walk*>(argument);
  if (walk->count < kMost) walk->pcs[walk->count++] = reinterpret_cast<void*>(walk->get_ip(context));
  return _URC_NO_REASON;
}

KEEP void by_backtrace() {
  Walk walk;
  walk.count = backtrace(walk.pcs, kMost);
  print_names("backtrace", walk.pcs, walk.count);
}

KEEP void by_unwinder(const char* name, void* library) {
  auto function = reinterpret_cast<decltype(&_Unwind_Backtrace)>(dlsym(library, "_Unwind_Backtrace"));
  Walk walk;
  walk.get_ip = reinterpret_cast<decltype(&_Unwind_GetIP)>(dlsym(library, "_Unwind_GetIP"));
  if (!function || !walk.get_ip) return;
  function(take_frame, &walk);
  print_names(name, walk.pcs, walk.count);
}

// prefix: of the names of libunwind's functions.
KEEP void by_steps(const char* name, void* library, const std::string& prefix, const char* get_context) {
  auto function = [&](const std::string& what) { return dlsym(library, what.c_str()); };
  auto context = reinterpret_cast<int (*)(void*)>(function(get_context));
  auto start = reinterpret_cast<int (*)(void*, void*)>(function(prefix + "init_local"));
  auto step = reinterpret_cast<int (*)(void*)>(function(prefix + "step"));
  auto get = reinterpret_cast<int (*)(void*, int, void*)>(function(prefix + "get_reg"));
  if (!context || !start || !step || !get) return;
  alignas(64) static char registers[8192], cursor[8192];
  Walk walk;
  context(registers);
  start(cursor, registers);
  do {
    get(cursor, 16, &walk.pcs[walk.count++]);  // rip
  } while (walk.count < kMost && step(cursor) > 0);
  print_names(name, walk.pcs, walk.count);
}

KEEP void leaf() {
  static void* llvm = dlopen("libunwind.so.1", RTLD_NOW);
  static void* other = dlopen("libunwind.so.8", RTLD_NOW);
  if (!strcmp(how, "segv")) *static_cast<volatile int*>(nullptr) = 1;
  if (!strcmp(how, "terminate")) throw std::runtime_error("nobody catches this");
  by_backtrace();
  by_unwinder("libgcc", RTLD_DEFAULT);
  if (llvm) by_unwinder("llvm", llvm);
  if (llvm) by_steps("llvm steps", llvm, "unw_", "unw_getcontext");
  if (other) by_steps("libunwind steps", other, "_ULx86_64_", "_Ux86_64_getcontext");
  sink++;
}
KEEP void middle() {
  leaf();
  sink++;
}
KEEP void outer() {
  middle();
  sink++;
}

struct Cleanup {
  ~Cleanup() { sink++; }
};
KEEP void thrower() { throw std::runtime_error("caught"); }
KEEP void cleaner() {
  Cleanup cleanup;
  thrower();
  sink++;
}
KEEP void catcher() {
  try {
    cleaner();
  } catch (const std::exception&) {
    sink++;
  }
}

static void on_segv(int) {
  Walk walk;
  print_names("segv", walk.pcs, backtrace(walk.pcs, kMost));
  _exit(0);
}
static void on_terminate() {
  Walk walk;
  print_names("terminate", walk.pcs, backtrace(walk.pcs, kMost));
  _exit(0);
}

int main(int, char** arguments) {
  how = arguments[1];
  signal(SIGSEGV, on_segv);
  std::set_terminate(on_terminate);
  for (int i = 0; i < 3; i++) {
    outer();
    catcher();
  }
  puts("done");
}
