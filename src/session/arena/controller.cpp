#include "session/arena/controller.h"

#include <errno.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "abi/handler.h"
#include "abi/stack_tables.h"
#include "base/check.h"
#include "codegen/terms/global_cursor.h"

namespace spile::session {

Result<std::unique_ptr<Controller>> Controller::place(const codegen::ControllerCode& code, ArenaView& arena,
                                                      std::function<void()> drain) {
  std::unique_ptr<Controller> controller(new Controller(code, arena, std::move(drain)));
  TRY(controller->guard_, HandlerGuard::create());
  size_t size = (code.image.bytes.size() + abi::kPageSize - 1) & ~size_t{abi::kPageSize - 1};
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return Error::from_errno("place the controller's code", errno);
  controller->text_ = static_cast<char*>(memory);
  controller->text_size_ = size;
  std::memcpy(memory, code.image.bytes.data(), code.image.bytes.size());

  abi::ImageCells cells{};
  cells.arena = reinterpret_cast<uint64_t>(arena.base());
  cells.host_context = reinterpret_cast<uint64_t>(controller.get());
  cells.host_drain = reinterpret_cast<uint64_t>(+[](void* context) {
    auto* self = static_cast<Controller*>(context);
    HandlerGuard::Pause ours(*self->guard_);
    self->drain_();
  });
  std::memcpy(memory, &cells, sizeof cells);
  arena.controller_state().image_size = size;
  if (mprotect(memory, size, PROT_READ | PROT_EXEC) != 0) return Error::from_errno("protect the controller's code", errno);
  return controller;
}

Controller::~Controller() {
  if (text_) munmap(text_, text_size_);
}

void Controller::give_up(std::string_view reason) {
  if (failure_) return;
  failure_ = Error{fmt::format("code of the script that runs in spile {}: the session ends, and probes are removed", reason),
                   "in a bundle: somebody has changed it, make it again; in embedded C (-g): look there; else please report it "
                   "with the script"};
}

void Controller::initialize() { call<void()>(code_.init); }

void Controller::merge() {
  uint32_t old = arena_.advance_epoch();
  lost_updates_ += call<uint64_t(uint32_t)>(code_.merge, old);
}

void Controller::run_probe(int probe) { call<void()>(code_.probes[static_cast<size_t>(probe)]); }

bool Controller::condition_holds(int probe) { return call<uint64_t()>(code_.conditions[static_cast<size_t>(probe)]) != 0; }

std::vector<uint64_t> Controller::walk_stack(uint32_t most) {
  const uint64_t stack_end = arena_.controller_state().stack_end;  // of a handler that runs
  std::vector<char> kept(arena_.exchange(), arena_.exchange() + arena_.layout().exchange_size);
  auto* addresses = reinterpret_cast<uint64_t*>(arena_.exchange());
  const uint32_t count = call<uint32_t(uint64_t*, uint32_t)>(code_.walk_stack, addresses, std::min(most, abi::kMostFrames));
  std::vector<uint64_t> stack(addresses, addresses + std::min(count, abi::kMostFrames));
  std::memcpy(arena_.exchange(), kept.data(), kept.size());
  arena_.controller_state().stack_end = stack_end;
  return stack;
}

void Controller::clear_global(int global) { call<void(uint32_t)>(code_.global_clear, static_cast<uint32_t>(global)); }

char* Controller::hand_over(std::span<const char> key, std::span<const uint8_t> value) {
  char* at = exchanged_key();
  char* value_at = at + (key.size() + 7) / 8 * 8;
  CHECK(codegen::kExchangeHead + (value_at - at) + value.size() <= arena_.layout().exchange_size);
  if (!key.empty()) std::memcpy(at, key.data(), key.size());
  if (!value.empty()) std::memcpy(value_at, value.data(), value.size());
  return value_at;
}

bool Controller::put_element(int global, std::span<const char> key, std::span<const uint8_t> value) {
  char* value_at = hand_over(key, value);
  return call<bool(uint32_t, const char*, uint32_t, const void*)>(code_.global_put, static_cast<uint32_t>(global),
                                                                  exchanged_key(), static_cast<uint32_t>(key.size()), value_at);
}

void Controller::add_element(int global, std::span<const char> key, std::span<const uint8_t> value) {
  char* value_at = hand_over(key, value);
  bool fits = call<bool(uint32_t, const char*, uint32_t, void*)>(code_.global_add, static_cast<uint32_t>(global), exchanged_key(),
                                                                 static_cast<uint32_t>(key.size()), value_at);
  if (fits) return;
  // The first number of an aggregate, and of a sum of ones, is that of its updates; other sums have it behind them.
  uint64_t updates = 1;
  const size_t at = value.size() == abi::kCountedLong ? 8 : 0;
  if (value.size() >= at + 8) std::memcpy(&updates, value.data() + at, sizeof updates);
  lost_updates_ += updates;
}

bool Controller::for_each_element(int global, const std::function<void(std::span<const char>, const void*)>& visit) {
  struct Cursor {
    uint32_t position, length;
    void* value;
  };
  static_assert(sizeof(Cursor) <= codegen::kExchangeHead);
  auto* cursor = reinterpret_cast<Cursor*>(arena_.exchange());
  *cursor = {};
  using Next = const char*(uint32_t, uint32_t*, uint32_t*, void**);
  // What the code returns is as good as the code: places outside the arena, and steps that don't lead on, are not believed.
  uint32_t before = 0;
  while (const char* key =
             call<Next>(code_.global_next, static_cast<uint32_t>(global), &cursor->position, &cursor->length, &cursor->value)) {
    const uint32_t length = cursor->length;
    const bool leads_on = cursor->position > std::exchange(before, cursor->position);
    if (!leads_on || (length > 0 && !arena_.holds(key, length)) || !arena_.holds(cursor->value, arena_.layout().exchange_size)) {
      give_up("returned an element that can't be");
      break;
    }
    visit({key, length}, cursor->value);
  }
  return cursor->position != codegen::kNoLock;
}

}  // namespace spile::session
