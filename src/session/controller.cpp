#include "session/controller.h"

#include <errno.h>
#include <sys/mman.h>

#include <cstring>
#include <vector>

namespace spile::session {

Result<std::unique_ptr<Controller>> Controller::place(const codegen::ControllerCode& code, Arena& arena,
                                                      std::function<void()> drain) {
  std::unique_ptr<Controller> controller(new Controller(code, arena, std::move(drain)));
  size_t size = (code.image.bytes.size() + abi::kPageSize - 1) & ~size_t{abi::kPageSize - 1};
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return Error::from_errno("place the controller's code", errno);
  controller->text_ = static_cast<char*>(memory);
  controller->text_size_ = size;
  std::memcpy(memory, code.image.bytes.data(), code.image.bytes.size());

  abi::ImageCells cells{};
  cells.arena = reinterpret_cast<uint64_t>(arena.base());
  cells.host_context = reinterpret_cast<uint64_t>(controller.get());
  cells.host_drain = reinterpret_cast<uint64_t>(+[](void* context) { static_cast<Controller*>(context)->drain_(); });
  std::memcpy(memory, &cells, sizeof cells);
  if (mprotect(memory, size, PROT_READ | PROT_EXEC) != 0) return Error::from_errno("protect the controller's code", errno);
  return controller;
}

Controller::~Controller() {
  if (text_) munmap(text_, text_size_);
}

void Controller::initialise() { function_at<void()>(code_.init)(); }

void Controller::merge() {
  uint32_t old = arena_.advance_epoch();
  lost_elements_ += function_at<uint64_t(uint32_t)>(code_.merge)(old);
}

void Controller::run_probe(int probe) {
  uint32_t offset = code_.probes[static_cast<size_t>(probe)];
  CHECK(offset != 0);
  function_at<void()>(offset)();
}

bool Controller::condition_holds(int probe) {
  uint32_t offset = code_.conditions[static_cast<size_t>(probe)];
  CHECK(offset != 0);
  return function_at<uint64_t()>(offset)() != 0;
}

void Controller::clear_global(int global) { function_at<void(uint32_t)>(code_.global_clear)(static_cast<uint32_t>(global)); }

bool Controller::put_element(int global, std::span<const char> key, const void* value) {
  auto* put = function_at<bool(uint32_t, const char*, uint32_t, const void*)>(code_.global_put);
  return put(static_cast<uint32_t>(global), key.data(), static_cast<uint32_t>(key.size()), value);
}

void Controller::add_element(int global, std::span<const char> key, std::span<const uint8_t> value) {
  auto* add = function_at<bool(uint32_t, const char*, uint32_t, void*)>(code_.global_add);
  std::vector<uint64_t> copy((value.size() + 7) / 8);  // aligned, and emptied by the merge
  std::memcpy(copy.data(), value.data(), value.size());
  if (!add(static_cast<uint32_t>(global), key.data(), static_cast<uint32_t>(key.size()), copy.data())) ++lost_elements_;
}

void Controller::for_each_element(int global,
                                  const std::function<void(std::span<const char>, const void*)>& visit) {
  auto* next = function_at<const char*(uint32_t, uint32_t*, uint32_t*, void**)>(code_.global_next);
  uint32_t cursor = 0, length = 0;
  void* value = nullptr;
  while (const char* key = next(static_cast<uint32_t>(global), &cursor, &length, &value)) visit({key, length}, value);
}

}  // namespace spile::session
