#include "engine/space/remote_mapping.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "engine/process/process_status.h"

namespace spile::engine {
namespace {

constexpr uint64_t kPage = 4096;

uint64_t locked_kib(pid_t pid) { return strtoull(ProcessStatus::read(pid).field("VmLck").c_str(), nullptr, 10); }

// Where nothing is locked, locking of what comes can only be seen by mapping something.
Result<bool> locks_new_memory(RemoteCalls& calls, pid_t pid) {
  uint64_t before = locked_kib(pid);
  TRY(uint64_t page,
      calls.call("map a page", SYS_mmap, {0, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, static_cast<uint64_t>(-1), 0}));
  uint64_t after = locked_kib(pid);
  TRY_DO(calls.call("munmap", SYS_munmap, {page, kPage}));
  return after > before;
}

Result<Address> map_as_it_is(RemoteCalls& calls, const MemoryRequest& request, Address where, uint64_t size) {
  uint64_t flags = request.fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED;
  if (where != Address()) flags |= request.replaces ? MAP_FIXED : MAP_FIXED_NOREPLACE;
  TRY(uint64_t at,
      calls.call(request.what, SYS_mmap,
                 {where.value, size, request.protection, flags, static_cast<uint64_t>(int64_t{request.fd}), request.offset}));
  if (where == Address() || at == where.value) return Address(at);
  (void)calls.call("munmap", SYS_munmap, {at, size});  // a kernel before 4.17 takes it for a wish
  return Error{std::string(request.what) + ": its place is already in use", ""};
}

Result<Address> map_unlocked(RemoteCalls& calls, const MemoryRequest& request, Address where) {
  TRY(Address at, map_as_it_is(calls, request, where, kPage));
  auto grow = [&]() -> Result<void> {
    TRY_DO(calls.call("munlock", SYS_munlock, {at.value, kPage}));
    if (request.size > kPage) TRY_DO(calls.call(request.what, SYS_mremap, {at.value, kPage, request.size, 0}));
    return {};
  };
  auto grown = grow();
  if (grown.ok()) return at;
  (void)calls.call("munmap", SYS_munmap, {at.value, kPage});
  return std::move(grown).error();
}

Result<Address> map_within_limits(RemoteCalls& calls, pid_t pid, const MemoryRequest& request) {
  if (request.replaces) return map_as_it_is(calls, request, request.where, request.size);
  TRY(bool locks, locks_new_memory(calls, pid));
  if (!locks) return map_as_it_is(calls, request, request.where, request.size);
  if (request.where != Address()) return map_unlocked(calls, request, request.where);
  constexpr int kMostTries = 16;  // other threads map something, too
  Result<Address> mapped = Error{fmt::format("{}: no room in process {}", request.what, pid), ""};
  for (int tries = 0; tries < kMostTries && !mapped.ok(); tries++) {
    TRY(MemoryMap map, MemoryMap::read(pid));
    auto hole = map.find_hole(request.size, 0);
    if (!hole) break;
    mapped = map_unlocked(calls, request, Address(*hole));
  }
  return mapped;
}

// Adds whether the process's own limits are the reason of the failure, and what to do.
Error explain_limits(Error error, pid_t pid, const MemoryRequest& request) {
  rlimit limit{};
  auto limited = [&](auto resource) { return prlimit(pid, resource, nullptr, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY; };
  auto taken = [&](const char* field) { return strtoull(ProcessStatus::read(pid).field(field).c_str(), nullptr, 10) * 1024; };
  auto explain = [&](const char* what, const char* name, const char* option, const char* shell, uint64_t has) {
    auto mib = [](uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
    error.hint = fmt::format(
        "its {} is limited to {:.1f} MiB ({}), of which it uses {:.1f}; {:.1f} more are needed: raise the limit "
        "(prlimit --pid {} --{}=BYTES, ulimit -{}), use fewer or smaller arrays, or a smaller -s",
        what, mib(limit.rlim_cur), name, mib(has), mib(request.size), pid, option, shell);
  };
  const bool is_data = request.fd < 0 && (request.protection & PROT_WRITE) != 0;  // getrlimit(2)
  if (uint64_t has = taken("VmSize"); limited(RLIMIT_AS) && has + request.size > limit.rlim_cur) {
    explain("address space", "RLIMIT_AS", "as", "v", has);
  } else if (has = taken("VmData"); is_data && limited(RLIMIT_DATA) && has + request.size > limit.rlim_cur) {
    explain("private writable memory", "RLIMIT_DATA", "data", "d", has);
  } else if (locked_kib(pid) != 0 && limited(RLIMIT_MEMLOCK)) {
    error.hint = fmt::format(
        "it locks its memory (mlockall), of which it may have {} KiB: raise the limit (prlimit --pid {} --memlock=BYTES)",
        limit.rlim_cur / 1024, pid);
  }
  return error;
}

}  // namespace

Result<Address> map_memory(RemoteCalls& calls, pid_t pid, const MemoryRequest& request) {
  auto mapped = map_within_limits(calls, pid, request);
  if (!mapped.ok()) return explain_limits(std::move(mapped).error(), pid, request);
  return mapped;
}

}  // namespace spile::engine
