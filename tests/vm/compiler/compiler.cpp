// compiler FILE PARENT: LLVM's optimizer and code generator for the spile of a guest (guest_spile.cpp), with which it shares
// FILE. It ends when its parent does, which is the process PARENT. Each request is compiled in a child: where LLVM aborts or does
// not come to an end, the guest gets an error.

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "codegen/machine/backend.h"
#include "shared_memory.h"

namespace {

using namespace spile;
using codegen::CompileRequest;
using codegen::Machine;
using guest::SharedMemory;

constexpr rlim_t kMostSeconds = 100;  // of the processor, for one request

void end_with(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
}

void write_answer(SharedMemory& memory, const std::string& answer, bool failed) {
  memory.failed = failed;
  memory.size = std::min(answer.size(), sizeof memory.data);
  std::memcpy(memory.data, answer.data(), memory.size);
}

// Does what the request asks for.
Result<std::string> compile(const CompileRequest& request) {
  const bool is_known = request.step <= CompileRequest::kEmit && request.machine >= Machine::kNative &&
                        request.machine <= Machine::kArenaBpf && request.level >= codegen::kQuick && request.level <= 3;
  if (!is_known) return Error{"compile: a request for an unknown step, machine or level", ""};
  codegen::initialize_machines();
  const std::span bytes(reinterpret_cast<const unsigned char*>(request.bitcode.data()), request.bitcode.size());
  TRY(auto script, codegen::ScriptModule::create("guest", bytes));
  if (llvm::Error unreadable = script->module().materializeAll()) {
    return Error{"compile: " + llvm::toString(std::move(unreadable)), ""};
  }
  if (request.step == CompileRequest::kEmit) return codegen::emit_object(*script, request.machine, request.level);
  TRY_DO(codegen::optimize(*script, request.machine, request.level));
  return script->bitcode();
}

void compile_request(SharedMemory& memory) {
  const std::string bitcode(memory.data, std::min<uint64_t>(memory.size, sizeof memory.data));
  Result<std::string> made =
      compile({static_cast<CompileRequest::Step>(memory.step), static_cast<Machine>(memory.machine), memory.level, bitcode});
  if (made.ok() && made->size() > sizeof memory.data)
    made = Error{"compile: too large for the memory of the guest's compiler", ""};
  write_answer(memory, made.ok() ? *made : made.error().message + '\0' + made.error().hint, !made.ok());
}

void answer(SharedMemory& memory) {
  const pid_t self = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    end_with(self);
    const rlimit limit{kMostSeconds, kMostSeconds};
    ::setrlimit(RLIMIT_CPU, &limit);
    compile_request(memory);
    ::_exit(0);
  }
  int status = -1;
  while (child > 0 && ::waitpid(child, &status, WNOHANG) == 0) {
    ++memory.beats;
    ::usleep(1000);
  }
  if (status != 0) {
    write_answer(memory, "compile: the compiler beside the emulator ended with status " + std::to_string(status) + '\0', true);
  }
  memory.state.store(guest::kAnswered, std::memory_order_release);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  end_with(std::atoi(argv[2]));
  const int file = ::open(argv[1], O_RDWR | O_CLOEXEC);
  void* mapped = file < 0 ? MAP_FAILED : ::mmap(nullptr, sizeof(SharedMemory), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) {
    std::perror(argv[1]);
    return 1;
  }
  auto& memory = *static_cast<SharedMemory*>(mapped);
  for (;; ::usleep(2000)) {
    ++memory.beats;
    if (memory.state.load(std::memory_order_acquire) == guest::kAsked) answer(memory);
  }
}
