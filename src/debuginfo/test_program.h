#pragma once
// For this folder's tests: programs compiled small in a directory of their own, and run under ptrace up to an address,
// to compare what the places say with what is really there.

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include "debuginfo/debuginfo.h"

namespace spile::debuginfo {

class TestDirectory {
 public:
  TestDirectory() {
    std::string pattern = testing::TempDir() + "debuginfo-test-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~TestDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestDirectory(const TestDirectory&) = delete;
  TestDirectory& operator=(const TestDirectory&) = delete;

  std::string path(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, const std::string& contents) const {
    std::ofstream(path(name), std::ios::binary) << contents;
    return path(name);
  }
  std::string read(const std::string& name) const {
    std::stringstream contents;
    contents << std::ifstream(path(name), std::ios::binary).rdbuf();
    return contents.str();
  }
  // In the directory, by the shell.
  bool run(const std::string& command) const { return system(("cd " + path_ + " && " + command).c_str()) == 0; }

 private:
  std::string path_;
};

inline OpenOptions without_cache() {
  OpenOptions options;
  options.use_cache = false;
  return options;
}

// A child process stopped at its first instruction, by ptrace.
class StoppedProgram {
 public:
  StoppedProgram(const std::string& path, const Module& module) {
    pid_ = fork();
    if (pid_ == 0) {
      ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
      execl(path.c_str(), path.c_str(), nullptr);
      _exit(127);
    }
    wait();
    ptrace(PTRACE_SETOPTIONS, pid_, nullptr, PTRACE_O_EXITKILL);
    // At the first instruction only the program and its loader are mapped; AT_ENTRY says where the program is.
    std::ifstream auxv("/proc/" + std::to_string(pid_) + "/auxv", std::ios::binary);
    uint64_t pair[2];
    while (auxv.read(reinterpret_cast<char*>(pair), sizeof pair))
      if (pair[0] == 9) bias_ = pair[1] - module.entry_point().value;
  }
  ~StoppedProgram() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  StoppedProgram(const StoppedProgram&) = delete;
  StoppedProgram& operator=(const StoppedProgram&) = delete;

  // Runs to the address, and stops before its instruction. False: it ended first.
  bool run_to(FileAddress address) { return run_to(address.value + bias_); }
  bool run_to(uint64_t address) {
    const long original = ptrace(PTRACE_PEEKDATA, pid_, address, nullptr);
    ptrace(PTRACE_POKEDATA, pid_, address, (original & ~0xffL) | 0xcc);
    ptrace(PTRACE_CONT, pid_, nullptr, nullptr);
    if (!wait()) return false;
    ptrace(PTRACE_POKEDATA, pid_, address, original);
    ptrace(PTRACE_GETREGS, pid_, nullptr, &registers_);
    if (registers_.rip != address + 1) return false;
    registers_.rip = address;
    ptrace(PTRACE_SETREGS, pid_, nullptr, &registers_);
    return true;
  }
  // From a function's first instruction to its return.
  bool run_to_return() { return run_to(read(registers_.rsp, 8)); }

  uint64_t read(uint64_t address, unsigned size) const {
    const uint64_t word = static_cast<uint64_t>(ptrace(PTRACE_PEEKDATA, pid_, address, nullptr));
    return size == 8 ? word : word & ((uint64_t{1} << size * 8) - 1);
  }
  std::string read_string(uint64_t address) const {
    std::string text;
    char c;
    while (text.size() < 100 && (c = static_cast<char>(read(address++, 1)))) text += c;
    return text;
  }

  uint64_t evaluate(const location::Operations& operations, const std::vector<uint64_t>& indices = {}) const {
    std::vector<uint64_t> stack;
    auto pop = [&] {
      uint64_t top = stack.back();
      stack.pop_back();
      return top;
    };
    for (const location::Operation& operation : operations) {
      auto push = [&](uint64_t value) {
        stack.push_back(value);
        return true;
      };
      const bool known = location::visit(
          operation, [&](location::Register o) { return push(register_value(o.number)); },
          [&](location::Constant o) { return push(static_cast<uint64_t>(o.value)); },
          [&](const location::Address& o) { return push(o.address.value + bias_); },
          [&](location::Index o) { return push(indices.at(o.step)); },
          [&](location::PlusConstant o) { return push(pop() + static_cast<uint64_t>(o.value)); },
          [&](location::Deref o) { return push(extended(read(pop(), o.bytes), o.bytes * 8, o.is_signed)); },
          [&](location::Convert o) { return push(extended(pop(), o.bytes * 8, o.is_signed)); },
          [&](location::BitField o) { return push(extended(pop() >> o.first_bit, o.bits, o.is_signed)); },
          [&](location::Unary o) {
            const uint64_t x = pop();
            return (o == location::Unary::kNeg && push(0 - x)) || (o == location::Unary::kNot && push(~x));
          },
          [&](location::Binary o) {
            const uint64_t y = pop(), x = pop();
            const auto value = combined(o, x, y);
            return value && push(*value);
          },
          [](const auto&) { return false; });
      if (!known) {
        ADD_FAILURE() << "operation of " << to_string(operations);
        return 0;
      }
    }
    return stack.back();
  }

 private:
  bool wait() {
    int status = 0;
    return waitpid(pid_, &status, 0) == pid_ && WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP;
  }
  static std::optional<uint64_t> combined(location::Binary operation, uint64_t x, uint64_t y) {
    switch (operation) {
      case location::Binary::kPlus: return x + y;
      case location::Binary::kMinus: return x - y;
      case location::Binary::kMul: return x * y;
      case location::Binary::kAnd: return x & y;
      case location::Binary::kOr: return x | y;
      case location::Binary::kShl: return x << y;
      case location::Binary::kShr: return x >> y;
      case location::Binary::kShra: return static_cast<uint64_t>(static_cast<int64_t>(x) >> y);
      default: return std::nullopt;
    }
  }
  static uint64_t extended(uint64_t value, unsigned bits, bool is_signed) {
    if (bits >= 64) return value;
    value <<= 64 - bits;
    return is_signed ? static_cast<uint64_t>(static_cast<int64_t>(value) >> (64 - bits)) : value >> (64 - bits);
  }
  uint64_t register_value(int64_t number) const {
    constexpr int64_t kXmm0 = 17;
    if (number >= kXmm0) {
      user_fpregs_struct vectors{};
      if (ptrace(PTRACE_GETFPREGS, pid_, nullptr, &vectors) != 0) return 0;
      return uint64_t{vectors.xmm_space[4 * (number - kXmm0) + 1]} << 32 | vectors.xmm_space[4 * (number - kXmm0)];
    }
    const auto& r = registers_;
    const uint64_t values[] = {r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp,
                               r.r8,  r.r9,  r.r10, r.r11, r.r12, r.r13, r.r14, r.r15};
    return values[number];
  }

  pid_t pid_ = -1;
  uint64_t bias_ = 0;
  user_regs_struct registers_{};
};

}  // namespace spile::debuginfo
