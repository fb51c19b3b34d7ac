#pragma once
// For the engine's tests: programs to probe, driven through pipes, and handlers as a CodeImage.

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "abi/arena.h"
#include "engine/engine.h"
#include "engine/process/memory_map.h"
#include "engine/process/process_status.h"

namespace spile::engine::test {

struct Symbol {
  uint64_t address, size;  // address: as the file states it; size: bytes
};

inline std::vector<uint8_t> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::vector<uint8_t> bytes(file ? static_cast<size_t>(file.tellg()) : 0);
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

// Reads the functions (any_type: all symbols) of an ELF file's symbol tables of one type, SHT_SYMTAB or SHT_DYNSYM. Empty: it has
// none.
inline std::map<std::string, Symbol> read_symbols(const std::string& path, unsigned section_type, bool any_type = false) {
  std::vector<uint8_t> file = read_file(path);
  std::map<std::string, Symbol> symbols;
  if (file.size() < sizeof(Elf64_Ehdr)) return symbols;
  auto* header = reinterpret_cast<const Elf64_Ehdr*>(file.data());
  auto* sections = reinterpret_cast<const Elf64_Shdr*>(&file[header->e_shoff]);
  for (int i = 0; i < header->e_shnum; i++) {
    if (sections[i].sh_type != section_type) continue;
    const char* names = reinterpret_cast<const char*>(&file[sections[sections[i].sh_link].sh_offset]);
    auto* table = reinterpret_cast<const Elf64_Sym*>(&file[sections[i].sh_offset]);
    for (uint64_t s = 0; s < sections[i].sh_size / sizeof(Elf64_Sym); s++) {
      if (table[s].st_shndx == SHN_UNDEF) continue;
      if (!any_type && ELF64_ST_TYPE(table[s].st_info) != STT_FUNC) continue;
      symbols[names + table[s].st_name] = {table[s].st_value, table[s].st_size};
    }
  }
  return symbols;
}

// The counts that programs/test_handlers.cc keeps for each site, in the arena's second page.
struct Counts {
  uint64_t entered, returned, skipped, sum;
};
inline constexpr ArenaGeometry kGeometry{.size = 64 << 20,
                                         .slots_offset = 1 << 20,
                                         .slot_stride = 1 << 16,
                                         .slot_count = 512,
                                         .shadow_offset = 4096,
                                         .shadow_stride = 32,
                                         .shadow_capacity = 1024};

// The image of programs/test_handlers.cc, and where its functions are in it.
struct Handlers {
  abi::CodeImage image;
  std::map<std::string, Symbol> symbols;

  Handlers() {
    symbols = read_symbols(ENGINE_HANDLERS, SHT_SYMTAB, true);
    std::vector<uint8_t> file = read_file(ENGINE_HANDLERS);
    auto* header = reinterpret_cast<const Elf64_Ehdr*>(file.data());
    auto* programs = reinterpret_cast<const Elf64_Phdr*>(&file[header->e_phoff]);
    for (int i = 0; i < header->e_phnum; i++) {
      if (programs[i].p_type != PT_LOAD) continue;
      image.bytes.resize(std::max<size_t>(image.bytes.size(), programs[i].p_vaddr + programs[i].p_memsz));
      std::copy_n(&file[programs[i].p_offset], programs[i].p_filesz, &image.bytes[programs[i].p_vaddr]);
    }
    image.code_end = static_cast<uint32_t>(image.bytes.size());
    image.fixups = {{offset("fault_at"), offset("fault_resume")}};
  }
  uint32_t offset(const std::string& name) const {
    auto found = symbols.find(name);
    EXPECT_NE(found, symbols.end()) << name;
    return found == symbols.end() ? 0 : static_cast<uint32_t>(found->second.address);
  }
};

// A program as an ordinary child, not traced; it gets and writes lines. Killed at the end.
class Program {
 public:
  explicit Program(std::vector<std::string> arguments) { start(arguments); }
  Program() = default;
  ~Program() { end(); }

  // Starts the program with pipes as its standard input and output, and all signals unblocked. The first argument is its path.
  void start(std::vector<std::string> arguments) {
    open_pipes();
    pid_ = fork();
    if (pid_ == 0) {
      std::vector<char*> argv;
      for (std::string& argument : arguments) argv.push_back(argument.data());
      argv.push_back(nullptr);
      dup2(in_[0], 0);
      dup2(out_[1], 1);
      for (int fd : {in_[0], in_[1], out_[0], out_[1]}) close(fd);
      sigset_t none;
      sigemptyset(&none);
      sigprocmask(SIG_SETMASK, &none, nullptr);
      execv(argv[0], argv.data());
      _exit(127);
    }
    close(in_[0]);
    close(out_[1]);
    answers_ = fdopen(out_[0], "r");
  }
  pid_t pid() const { return pid_; }
  void tell(const std::string& line) { (void)!write(in_[1], (line + "\n").data(), line.size() + 1); }
  // Returns the next line that it writes; "(end)" when it has ended. engine: polled while waiting, for 60 s at most; its events
  // are added to `events`.
  std::string answer(Engine* engine = nullptr, std::vector<Event>* events = nullptr) {
    if (engine) {
      auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
      while (std::chrono::steady_clock::now() < deadline) {
        int waiting = 0;
        pollfd both[2] = {{out_[0], POLLIN, 0}, {engine->wait_fd(), POLLIN, 0}};
        waiting = ::poll(both, 2, 50);
        (void)waiting;
        auto happened = engine->poll(0);
        if (happened.ok() && events) events->insert(events->end(), happened->begin(), happened->end());
        if (both[0].revents) break;
      }
    }
    char line[512];
    if (!fgets(line, sizeof line, answers_)) return "(end)";
    line[strcspn(line, "\n")] = 0;
    return line;
  }
  std::string ask(const std::string& line, Engine* engine = nullptr, std::vector<Event>* events = nullptr) {
    tell(line);
    return answer(engine, events);
  }
  // Stops it by SIGSTOP, and returns when it stands still (by the signal, or for its tracer).
  void stop() {
    kill(pid_, SIGSTOP);
    auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    auto state = [&] { return tolower(process_status(pid_, "State")[0]); };
    while (state() != 't' && std::chrono::steady_clock::now() < deadline) usleep(1000);
    EXPECT_EQ(state(), 't') << "process " << pid_ << " does not stop";
  }
  // Kills the program and waits for its end.
  void end() {
    if (in_[1] >= 0) close(in_[1]);
    in_[1] = -1;
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      await_end();
    }
    pid_ = 0;
    if (answers_) fclose(answers_);
    answers_ = nullptr;
  }

 private:
  // If it is traced still, because an assertion has failed, its threads' ends are ours to wait for, and its own comes after them.
  void await_end() {
    auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    int status = 0;
    while (std::chrono::steady_clock::now() < deadline) {
      pid_t got = waitpid(pid_, &status, __WALL | WNOHANG);
      if ((got == pid_ && !WIFSTOPPED(status)) || (got < 0 && errno != EINTR)) return;
      std::error_code ended;
      for (auto& task : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid_), ended)) {
        pid_t tid = atoi(task.path().filename().c_str());
        if (tid != pid_) waitpid(tid, &status, __WALL | WNOHANG);
      }
      usleep(1000);
    }
    ADD_FAILURE() << "process " << pid_ << " does not end";
  }
  void open_pipes() {
    ASSERT_EQ(pipe2(in_, O_CLOEXEC), 0);
    ASSERT_EQ(pipe2(out_, O_CLOEXEC), 0);
  }
  pid_t pid_ = 0;
  int in_[2] = {-1, -1}, out_[2] = {-1, -1};
  FILE* answers_ = nullptr;
};

// Reports files whose executable mappings differ from the file, and mappings of ours. Empty after a detach that restored
// everything.
inline std::string traces(pid_t pid) {
  std::string found;
  auto map = MemoryMap::read(pid);
  if (!map.ok()) return map.error().message;
  int memory = open(fmt::format("/proc/{}/mem", pid).c_str(), O_RDONLY | O_CLOEXEC);
  for (const Mapping& mapping : map->all()) {
    if (mapping.path.find("spile") != std::string::npos && mapping.path.starts_with("/memfd")) {
      found += "mapping " + mapping.path + "; ";
    }
    if (!mapping.executable || mapping.inode == 0 || mapping.path[0] != '/') continue;
    std::vector<uint8_t> now(mapping.size()), file(mapping.size());
    int fd = open(mapping.path.c_str(), O_RDONLY | O_CLOEXEC);
    ssize_t size = pread(fd, file.data(), file.size(), static_cast<off_t>(mapping.offset));
    close(fd);
    ssize_t have = pread(memory, now.data(), now.size(), static_cast<off_t>(mapping.begin));
    for (ssize_t i = 0; i < std::min(size, have); i++) {
      if (now[i] == file[i]) continue;
      found += fmt::format("{}+{:#x} differs; ", mapping.path, mapping.offset + i);
      break;
    }
  }
  close(memory);
  return found;
}
inline size_t count_descriptors(pid_t pid) {
  size_t count = 0;
  for ([[maybe_unused]] auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", pid))) count++;
  return count;
}
inline size_t count_mappings(pid_t pid) {
  auto map = MemoryMap::read(pid);
  return map.ok() ? map->all().size() : 0;
}

// An engine with the test handlers, and requests for functions of a program.
class EngineFixture : public ::testing::Test {
 protected:
  void SetUp() override { open_engine({}); }
  void TearDown() override { engine_.reset(); }

  void open_engine(EngineOptions options) {
    engine_.reset();
    auto made = Engine::create(std::move(options));
    ASSERT_TRUE(made.ok()) << made.error().message;
    engine_ = std::move(made).value();
    auto set = engine_->set_image(handlers_.image, kGeometry);
    ASSERT_TRUE(set.ok()) << set.error().message;
  }

  SiteRequest entry(const std::string& path, const std::string& function, uint32_t site) {
    SiteRequest request = base(path, function, site);
    request.probe = EntryProbe{handlers_.offset("count_by_id")};
    request.flags = abi::kWantsSiteId;
    return request;
  }
  SiteRequest returns(const std::string& path, const std::string& function, uint32_t site) {
    SiteRequest request = base(path, function, site);
    request.probe = ReturnProbe{.enter = handlers_.offset("enter_return"), .exit = handlers_.offset("exit_return")};
    return request;
  }
  SiteRequest base(const std::string& path, const std::string& function, uint32_t site) {
    auto& known = symbols_[path];
    if (!known.contains(function)) known = read_symbols(path, SHT_DYNSYM);
    if (!known.contains(function)) known = read_symbols(path, SHT_SYMTAB);
    EXPECT_TRUE(known.contains(function)) << function;
    const Symbol symbol = known[function];
    SiteRequest request;
    request.site_id = site;
    request.module_path = std::filesystem::canonical(path);
    request.address = FileAddress(symbol.address);
    request.size = symbol.size;
    return request;
  }
  const Counts& counts(uint32_t site) { return reinterpret_cast<const Counts*>(engine_->arena().data() + 4096)[site]; }
  // Arms all of the sites. Fails the test for each that is refused.
  ArmReport arm(const std::vector<SiteRequest>& sites) {
    auto report = engine_->arm(sites);
    EXPECT_TRUE(report.ok()) << report.error().message;
    if (!report.ok()) return {};
    for (const SiteOutcome& outcome : report->outcomes) {
      EXPECT_NE(outcome.mechanism, Mechanism::kRefused) << "site " << outcome.site_id << ": " << outcome.reason;
    }
    return *report;
  }
  // Starts another process that attaches and arms all of the sites. The caller kills it, waits for it and calls open_engine():
  // our own engine is gone.
  pid_t start_controller(pid_t pid, const std::vector<SiteRequest>& sites) {
    engine_.reset();
    int armed[2];
    EXPECT_EQ(pipe(armed), 0);
    pid_t controller = fork();
    if (controller == 0) {
      open_engine({});
      auto attached = engine_->attach(pid);
      auto report = engine_->arm(sites);
      char byte = attached.ok() && report.ok() && report->armed() == sites.size() ? 'y' : 'n';
      (void)!write(armed[1], &byte, 1);
      for (;;) (void)engine_->poll(100);
    }
    char byte = 0;
    EXPECT_EQ(read(armed[0], &byte, 1), 1);
    EXPECT_EQ(byte, 'y');
    for (int end : armed) close(end);
    return controller;
  }
  void attach(pid_t pid) {
    auto attached = engine_->attach(pid);
    ASSERT_TRUE(attached.ok()) << attached.error().message;
  }
  void detach() {
    auto detached = engine_->detach();
    EXPECT_TRUE(detached.ok()) << detached.error().message;
  }

  Handlers handlers_;
  std::unique_ptr<Engine> engine_;
  std::map<std::string, std::map<std::string, Symbol>> symbols_;  // by path
};

}  // namespace spile::engine::test
