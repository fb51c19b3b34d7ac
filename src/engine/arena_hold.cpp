#include "engine/arena_hold.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#include "abi/arena.h"

namespace spile::engine {
namespace {

pthread_mutex_t* mutex_in(uint8_t* arena) {
  return reinterpret_cast<pthread_mutex_t*>(reinterpret_cast<abi::ArenaHeader*>(arena)->controller_futex);
}

}  // namespace

Result<ArenaHold> ArenaHold::take(int arena_fd) {
  void* view = mmap(nullptr, abi::kPageSize, PROT_READ | PROT_WRITE, MAP_SHARED, arena_fd, 0);
  if (view == MAP_FAILED) return Error::from_errno("map an arena", errno);
  ArenaHold hold;
  hold.page_ = static_cast<uint8_t*>(view);
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(mutex_in(hold.page_), &attributes);
  pthread_mutexattr_destroy(&attributes);
  pthread_mutex_lock(mutex_in(hold.page_));
  return hold;
}

void ArenaHold::give_up(uint8_t* arena) { (void)pthread_mutex_unlock(mutex_in(arena)); }

void ArenaHold::release() {
  if (!page_) return;
  pthread_mutex_unlock(mutex_in(page_));
  munmap(std::exchange(page_, nullptr), abi::kPageSize);
}

}  // namespace spile::engine
