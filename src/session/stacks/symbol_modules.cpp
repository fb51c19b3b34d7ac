#include "session/stacks/symbol_modules.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace spile::session {

namespace {

namespace fs = std::filesystem;

bool is_elf(const std::string& path) {
  std::error_code error;
  char magic[4] = {};
  return fs::is_regular_file(path, error) && std::ifstream(path, std::ios::binary).read(magic, sizeof magic) &&
         std::string_view(magic, sizeof magic) ==
             "\x7f"
             "ELF";
}

// Returns why spile finds no symbols under this name, or "".
std::string problem_with(const std::string& module) {
  std::error_code error;
  if (module == "kernel") return {};
  if (module.find('/') == std::string::npos) {
    std::string name = module;  // the kernel's own names for modules have underscores
    std::replace(name.begin(), name.end(), '-', '_');
    if (fs::is_directory("/sys/module/" + name, error)) return {};
  }
  if (is_elf(module)) return {};
  if (fs::exists(module, error)) return "it is not an ELF file";
  return module.find('/') == std::string::npos ? "no kernel module of that name is loaded; a program is named by its path"
                                               : "no such file";
}

}  // namespace

void warn_missing_modules(const std::vector<std::string>& modules, Diagnostics& diagnostics) {
  for (const std::string& module : modules) {
    std::string problem = problem_with(module);
    if (problem.empty()) continue;
    diagnostics.warning({}, fmt::format("missing unwind/symbol data for module '{}'", module)).hint(problem);
  }
}

}  // namespace spile::session
