#include "engine/space/arena_hold.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

#include "abi/arena.h"
#include "base/check.h"

namespace spile::engine {
namespace {

constexpr uint64_t kFutexOffset = abi::kPageSize + offsetof(abi::ArenaHeader, controller_futex);

// What the kernel walks when the thread ends (robust_list in linux/futex.h), and whose it is: a forked child starts without.
struct HeldList {
  robust_list_head head;
  pid_t owner;
};
thread_local HeldList t_held;

Result<void> register_list() {
  pid_t self = gettid();
  if (t_held.owner == self) return {};
  t_held.head.list.next = &t_held.head.list;
  t_held.head.futex_offset = static_cast<long>(kFutexOffset);
  t_held.head.list_op_pending = nullptr;
  if (syscall(SYS_set_robust_list, &t_held.head, sizeof t_held.head) != 0) return Error::from_errno("set_robust_list", errno);
  t_held.owner = self;
  return {};
}

uint32_t* word_of(uint8_t* pages) { return reinterpret_cast<uint32_t*>(pages + kFutexOffset); }

// The kernel may look at any moment, by SIGKILL: each store is whole, and in this order.
template <typename T>
void store(T* where, T value) {
  __atomic_store_n(where, value, __ATOMIC_SEQ_CST);
}

}  // namespace

Result<ArenaHold> ArenaHold::take(int arena_fd) {
  TRY_DO(register_list());
  void* pages = mmap(nullptr, 2 * abi::kPageSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return Error::from_errno("map memory for an arena's futex", errno);
  ArenaHold hold;
  hold.pages_ = static_cast<uint8_t*>(pages);
  void* header = mmap(hold.pages_ + abi::kPageSize, abi::kPageSize, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, arena_fd, 0);
  if (header == MAP_FAILED) {
    Error error = Error::from_errno("map an arena", errno);
    munmap(std::exchange(hold.pages_, nullptr), 2 * abi::kPageSize);
    return error;
  }
  auto* node = reinterpret_cast<robust_list*>(hold.pages_);
  store(&t_held.head.list_op_pending, node);
  store(word_of(hold.pages_), static_cast<uint32_t>(t_held.owner));
  node->next = t_held.head.list.next;
  store(&t_held.head.list.next, node);
  store<robust_list*>(&t_held.head.list_op_pending, nullptr);
  return hold;
}

void ArenaHold::release() {
  if (!pages_) return;
  uint8_t* pages = std::exchange(pages_, nullptr);
  CHECK(t_held.owner == gettid());
  auto* node = reinterpret_cast<robust_list*>(pages);
  store(&t_held.head.list_op_pending, node);
  for (robust_list* each = &t_held.head.list; each->next != &t_held.head.list; each = each->next) {
    if (each->next != node) continue;
    store(&each->next, node->next);
    break;
  }
  store(word_of(pages), 0u);
  store<robust_list*>(&t_held.head.list_op_pending, nullptr);
  munmap(pages, 2 * abi::kPageSize);
}

}  // namespace spile::engine
