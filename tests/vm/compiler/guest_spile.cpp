// The guest's spile: the program spile, with its own main() (src/cli/main.cpp), whose modules go to the compiler beside the
// emulator (compiler.cpp). It compiles as spile does without the device /dev/compiler, as an ordinary user, who may not open it,
// and with SPILE_COMPILES_IN_GUEST set.

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "base/unique_fd.h"
#include "codegen/machine/backend.h"
#include "shared_memory.h"

namespace {

using namespace spile;
using guest::SharedMemory;

SharedMemory* open_memory() {
  UniqueFd file(::open("/dev/compiler", O_RDWR | O_CLOEXEC));
  if (!file) return nullptr;
  void* mapped = ::mmap(nullptr, sizeof(SharedMemory), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  return mapped == MAP_FAILED ? nullptr : static_cast<SharedMemory*>(mapped);
}

// Waits until the compiler has answered the request. Error: it has done nothing for a minute.
Result<void> wait_for_answer(const SharedMemory& memory) {
  using Clock = std::chrono::steady_clock;
  uint32_t beats = memory.beats;
  Clock::time_point moved = Clock::now();
  while (memory.state.load(std::memory_order_acquire) == guest::kAsked) {
    if (memory.beats != beats) {
      beats = memory.beats;
      moved = Clock::now();
    } else if (Clock::now() - moved > std::chrono::seconds(60)) {
      return Error{"compile: the compiler beside the emulator does not answer", ""};
    }
    ::usleep(2000);
  }
  return {};
}

Result<std::string> ask(SharedMemory& memory, const codegen::CompileRequest& request) {
  UniqueFd turn(::open("/compiler.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!turn || ::flock(turn.get(), LOCK_EX) != 0) return Error::from_errno("/compiler.lock", errno);
  if (request.bitcode.size() > sizeof memory.data) return Error{"compile: too large for the compiler beside the emulator", ""};
  TRY_DO(wait_for_answer(memory));  // to a spile that was killed
  memory.step = request.step;
  memory.machine = static_cast<uint32_t>(request.machine);
  memory.level = request.level;
  memory.size = request.bitcode.size();
  std::memcpy(memory.data, request.bitcode.data(), request.bitcode.size());
  memory.state.store(guest::kAsked, std::memory_order_release);
  TRY_DO(wait_for_answer(memory));
  std::string answer(memory.data, std::min<uint64_t>(memory.size, sizeof memory.data));
  if (memory.failed == 0) return answer;
  const size_t end = std::min(answer.find('\0'), answer.size());
  return Error{answer.substr(0, end), answer.substr(std::min(end + 1, answer.size()))};
}

// Before main(), while there is one thread.
const bool is_set = [] {
  SharedMemory* memory = std::getenv("SPILE_COMPILES_IN_GUEST") ? nullptr : open_memory();
  if (memory) codegen::set_outside_compiler([memory](const auto& request) { return ask(*memory, request); });
  return memory != nullptr;
}();

}  // namespace
