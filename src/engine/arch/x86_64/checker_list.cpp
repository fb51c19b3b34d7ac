#include "engine/arch/x86_64/checker_list.h"

#include <sys/prctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace spile::engine::x86_64 {
namespace {

constexpr std::string_view kMnemonics[] = {
    "mov",    "movzx",  "movsx",   "movsxd",  "movabs", "lea",    "add",    "sub",     "adc",        "sbb",    "inc",
    "dec",    "neg",    "not",     "and",     "or",     "xor",    "test",   "cmp",     "shl",        "shr",    "sar",
    "rol",    "ror",    "rcl",     "rcr",     "shld",   "shrd",   "mul",    "imul",    "div",        "idiv",   "cdq",
    "cqo",    "cdqe",   "cwde",    "cwd",     "cbw",    "bt",     "bts",    "btr",     "btc",        "bsf",    "bsr",
    "tzcnt",  "lzcnt",  "popcnt",  "bswap",   "xchg",   "xadd",   "cmpxchg", "push",   "pop",        "call",   "ret",
    "jmp",    "nop",    "endbr64", "ud2",     "int3",   "rdtsc",  "rdtscp", "rdfsbase", "lfence",    "mfence", "pause",
    "andn",   "bextr",  "blsr",    "blsi",    "blsmsk", "mulx",   "shlx",   "shrx",    "sarx",       "rorx",   "bzhi",
    "syscall", "cld",   "movbe",   "movsb",   "movsw",  "movsd",  "movsq",  "stosb",   "stosw",      "stosd",  "stosq",
    "crc32",  "prefetcht0", "leave", "stc",   "clc",    "cmc",    "sahf",   "lahf", "lsl",
};

constexpr int64_t kCalls[] = {SYS_getpid,  SYS_gettid,  SYS_getppid, SYS_getuid,       SYS_geteuid,       SYS_getgid,
                              SYS_getegid, SYS_getpgid, SYS_getsid,  SYS_getpgrp,      SYS_getcpu,        SYS_clock_gettime,
                              SYS_gettimeofday, SYS_nanosleep, SYS_openat, SYS_read, SYS_close, SYS_time, SYS_uname, SYS_sched_yield,  SYS_process_vm_readv};

}  // namespace

bool is_listed(ZydisMnemonic mnemonic) {
  const char* text = ZydisMnemonicGetString(mnemonic);
  if (!text) return false;
  std::string_view name(text);
  // jcc, setcc, cmovcc: all of them. Nothing else begins like that but jumps that count rcx down.
  if (name.starts_with("set") && name != "setssbsy") return true;
  if (name.starts_with("cmov")) return true;
  if (name.starts_with("j")) return name != "jkzd" && name != "jknzd";
  return std::find(std::begin(kMnemonics), std::end(kMnemonics), name) != std::end(kMnemonics);
}

bool is_listed_call(int64_t number, int64_t first, int64_t second) {
  if (number == SYS_kill) return second == 0;            // is there such a process?
  if (number == SYS_prctl) return first == PR_GET_NAME;  // how is this thread called?
  return std::find(std::begin(kCalls), std::end(kCalls), number) != std::end(kCalls);
}

}  // namespace spile::engine::x86_64
