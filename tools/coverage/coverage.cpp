// Arms every function (or every instruction) of programs and libraries with handlers that do nothing, and prints by which
// mechanism, and why some were refused:
//
//   coverage [--returns] [--instructions N] [--refused] [--run] [--table] [--limits ARMED INT3] FILE...
//
//   --returns          return probes instead of entry probes
//   --instructions N   every N-th instruction of every function instead of its entry
//   --refused          also name each function that was refused or needs a breakpoint
//   --table            a row for each file, in Markdown
//   --limits A I       fail unless at least A % are armed, and at most I % by breakpoints
//   --run              let the program run to its end with all that armed (an executable, without arguments)
//
// A program is started and stopped at its first instruction; a library is preloaded into /bin/true.

#include <elf.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>

#include "abi/arena.h"
#include "debuginfo/debuginfo.h"
#include "engine/arch/x86_64/decoder.h"
#include "engine/engine.h"

namespace {

using namespace spile;

struct Options {
  bool returns = false, refused = false, run = false, table = false;
  double least_armed = 0, most_int3 = 100;  // per cent
  mutable bool kept = true;                 // false: some file was outside of these
  uint64_t every = 0;  // instructions; 0: entries
  std::vector<std::string> files;
};

struct Probes {
  std::vector<engine::SiteRequest> requests;
  std::vector<std::string> names;  // by site id
};

// enter: xor %eax, %eax; ret (a return probe is skipped).
abi::CodeImage empty_handler() {
  abi::CodeImage image;
  image.bytes.resize(sizeof(abi::ImageCells));
  image.code_begin = sizeof(abi::ImageCells);
  image.bytes.insert(image.bytes.end(), {0x0f, 0x1f, 0x00, 0xc3, 0x31, 0xc0, 0xc3});
  image.code_end = static_cast<uint32_t>(image.bytes.size());
  return image;
}

void add_instructions(const std::vector<uint8_t>& file, const debuginfo::Module& module, const debuginfo::Function& function,
                      uint64_t every, engine::SiteRequest request, Probes& probes) {
  uint64_t offset = 0;
  for (const debuginfo::Segment& segment : module.segments()) {
    if (function.address < segment.address || function.address >= segment.address + segment.file_size) continue;
    offset = segment.offset + static_cast<uint64_t>(function.address - segment.address);
  }
  if (offset == 0 || offset + function.size > file.size()) return;
  std::span<const uint8_t> text = std::span(file).subspan(offset, function.size);
  request.probe = engine::InstructionProbe{sizeof(abi::ImageCells)};
  request.function = function.address;
  uint64_t n = 0;
  for (size_t at = 0; at < text.size();) {
    auto instruction = engine::x86_64::decode(text.subspan(at));
    if (!instruction) break;
    if (n++ % every == 0) {
      request.site_id = static_cast<uint32_t>(probes.names.size());
      request.address = function.address + static_cast<int64_t>(at);
      request.size = function.size - at;
      probes.names.push_back(fmt::format("{}+{:#x}", function.name(), at));
      probes.requests.push_back(request);
    }
    at += instruction->length;
  }
}

Result<Probes> probes_of(const std::string& path, const Options& options) {
  TRY(auto module, debuginfo::Module::open(path));
  TRY(auto functions, module->functions({.name = "*", .file = {}}));
  std::vector<uint8_t> file;
  if (options.every != 0) {
    std::ifstream stream(path, std::ios::binary);
    file.assign(std::istreambuf_iterator<char>(stream), {});
  }
  Probes probes;
  for (const debuginfo::Function& function : functions) {
    engine::SiteRequest request;
    request.site_id = static_cast<uint32_t>(probes.names.size());
    request.module_path = path;
    request.address = function.address;
    request.size = function.size;
    request.probe = engine::EntryProbe{sizeof(abi::ImageCells)};
    if (options.every != 0) {
      add_instructions(file, *module, function, options.every, request, probes);
      continue;
    }
    if (options.returns) {
      request.probe = engine::ReturnProbe{.enter = sizeof(abi::ImageCells) + 4, .exit = sizeof(abi::ImageCells) + 4};
    }
    probes.names.push_back(function.linkage_name);
    probes.requests.push_back(request);
  }
  return probes;
}

bool is_library(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header{};
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  for (int i = 0; i < header.e_phnum; i++) {
    Elf64_Phdr program{};
    file.seekg(static_cast<std::streamoff>(header.e_phoff + i * sizeof program));
    file.read(reinterpret_cast<char*>(&program), sizeof program);
    if (program.p_type == PT_INTERP) return false;
  }
  return header.e_type == ET_DYN;
}

void print(const std::string& path, const Probes& probes, const engine::ArmReport& report, const Options& options) {
  std::map<engine::Mechanism, size_t> mechanisms;
  std::map<std::string, size_t> reasons;
  double total = static_cast<double>(std::max<size_t>(report.outcomes.size(), 1));
  for (const engine::SiteOutcome& outcome : report.outcomes) {
    mechanisms[outcome.mechanism]++;
    bool refused = outcome.mechanism == engine::Mechanism::kRefused;
    if (refused) reasons[outcome.reason]++;
    if (options.refused && (refused || outcome.mechanism == engine::Mechanism::kInt3)) {
      fmt::print("    {}: {}\n", probes.names[outcome.site_id],
                 refused ? outcome.reason : engine::mechanism_name(outcome.mechanism));
    }
  }
  auto share = [&](engine::Mechanism mechanism) { return 100.0 * static_cast<double>(mechanisms[mechanism]) / total; };
  double armed = 100.0 * static_cast<double>(report.armed()) / total;
  options.kept &= armed >= options.least_armed && share(engine::Mechanism::kInt3) <= options.most_int3;
  if (options.table) {
    fmt::print("| {} | {} | {:.2f} |", std::filesystem::path(path).filename().string(), report.outcomes.size(), armed);
    for (auto mechanism : {engine::Mechanism::kJump, engine::Mechanism::kNop, engine::Mechanism::kShortJump,
                           engine::Mechanism::kPunned, engine::Mechanism::kInt3}) {
      fmt::print(" {:.2f} |", share(mechanism));
    }
    fmt::print("\n");
    fflush(stdout);
    return;
  }
  fmt::print("{}: {} of {} armed, {:.2f} %; prepared in {:.1f} ms, paused {:.1f} ms in all, {:.1f} ms at once\n", path,
             report.armed(), report.outcomes.size(), 100.0 * static_cast<double>(report.armed()) / total,
             static_cast<double>(report.prepare_ns) / 1e6, static_cast<double>(report.total_pause_ns) / 1e6,
             static_cast<double>(report.pause_ns) / 1e6);
  for (auto& [mechanism, count] : mechanisms) {
    fmt::print("  {:8} {:6.2f} %  {}\n", count, 100.0 * static_cast<double>(count) / total,
               engine::mechanism_name(mechanism));
  }
  for (auto& [reason, count] : reasons) fmt::print("           {:8}  {}\n", count, reason);
  fflush(stdout);
}

// Waits until the program has ended; says how.
void run_to_end(engine::Engine& engine, pid_t pid) {
  engine.resume_all();
  for (;;) {
    auto events = engine.poll(100);
    if (!events.ok()) return;
    for (const engine::Event& event : *events) {
      if (event.kind != engine::Event::Kind::kProcessExited || event.pid != pid) continue;
      fmt::print("  ended with status {:#x}\n", event.status);
      return;
    }
  }
}

Result<void> cover(const std::string& given, const Options& options) {
  std::string path = std::filesystem::canonical(given);
  TRY(Probes probes, probes_of(path, options));
  engine::EngineOptions engine_options;
  bool library = is_library(path);
  if (library) {
    engine_options.events.resolve_module = [&](pid_t, const engine::Module& module) {
      return module.path == path ? probes.requests : std::vector<engine::SiteRequest>();
    };
  }
  TRY(auto engine, engine::Engine::create(engine_options));
  TRY_DO(engine->set_image(empty_handler(), {.size = 4096}));
  engine::LaunchOptions launch{.arguments = {path}};
  if (library) launch = {.arguments = {"/bin/true"}, .environment = {{"LD_PRELOAD=" + path, "LD_BIND_NOW=1"}}};
  TRY(pid_t pid, engine->launch(launch));
  std::optional<engine::ArmReport> report;
  if (!library) {
    TRY(report, engine->arm(probes.requests));
    print(path, probes, *report, options);
    if (options.run) {
      run_to_end(*engine, pid);
      return {};
    }
  }
  if (library) engine->resume_all();
  for (int i = 0; i < 600 && !report; i++) {
    TRY(auto events, engine->poll(50));
    for (engine::Event& event : events) {
      if (event.kind == engine::Event::Kind::kArmed) report = std::move(event.report);
      if (event.kind == engine::Event::Kind::kTrouble) return Error{event.message, ""};
    }
    if (report) print(path, probes, *report, options);
  }
  if (!report) return Error{path + ": was not loaded", ""};
  if (options.run) {
    run_to_end(*engine, pid);
  } else {
    kill(pid, SIGKILL);
  }
  return {};
}

}  // namespace

int main(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; i++) {
    std::string argument = arguments[i];
    if (argument == "--returns") {
      options.returns = true;
    } else if (argument == "--refused") {
      options.refused = true;
    } else if (argument == "--table") {
      options.table = true;
    } else if (argument == "--limits" && i + 2 < count) {
      options.least_armed = strtod(arguments[++i], nullptr);
      options.most_int3 = strtod(arguments[++i], nullptr);
    } else if (argument == "--run") {
      options.run = true;
    } else if (argument == "--instructions" && i + 1 < count) {
      options.every = strtoull(arguments[++i], nullptr, 10);
    } else if (argument.starts_with("-")) {
      fmt::print(stderr, "usage: coverage [--returns] [--instructions N] [--refused] [--run] [--table] [--limits ARMED INT3] FILE...\n");
      return 2;
    } else {
      options.files.push_back(argument);
    }
  }
  int status = 0;
  if (options.table) {
    fmt::print("| file | functions | armed, % | jump | nop | short jump | punned jump | int3 |\n"
               "|---|---:|---:|---:|---:|---:|---:|---:|\n");
  }
  for (const std::string& file : options.files) {
    auto covered = cover(file, options);
    if (covered.ok()) continue;
    fmt::print(stderr, "{}: {}\n", file, covered.error().message);
    status = 1;
  }
  if (!options.kept) {
    fmt::print(stderr, "coverage: fewer than {} % armed, or more than {} % by int3\n", options.least_armed, options.most_int3);
    status = 1;
  }
  return status;
}
