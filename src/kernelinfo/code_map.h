#pragma once
// The functions of the running kernel and of its loaded modules by address, as /proc/kallsyms and /proc/modules show them at one
// moment. Thread rule: any thread, as it doesn't change.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kernelinfo/kernel_info.h"
#include "kernelinfo/symbols.h"

namespace spile::kernelinfo {

inline constexpr std::string_view kVmlinux = "kernel";  // its name among the modules

class CodeMap {
 public:
  struct Function {
    uint64_t begin = 0, end = 0;  // up to the next symbol: the kernel does not say how long a function is
    // of several at one address, the first that the kernel lists, as the kernel itself names it. Lives as long as the CodeMap
    std::string_view name;
    size_t module = 0;  // index into modules()
  };
  struct Module {
    std::string name;
    uint64_t begin = 0, end = 0;
    size_t first = 0, count = 0;  // its functions
  };

  CodeMap() = default;
  // modules: the text of /proc/modules, or "".
  static CodeMap make(Symbols symbols, std::string_view modules);

  // Ascending.
  const std::vector<Function>& functions() const { return functions_; }
  const std::vector<Module>& modules() const { return modules_; }
  // Returns the function, or the module, with code at the address; null: absent.
  const Function* function_at(uint64_t address) const;
  const Module* module_at(uint64_t address) const;

 private:
  Symbols symbols_;
  std::vector<Function> functions_;
  std::vector<Module> modules_;
};

// Errors: the kernel hides addresses from this process, or does not list its symbols.
Result<CodeMap> read_code_map(const Places& places = {});
// Returns the text of /proc/modules, which changes when a module comes or goes; "": the kernel has no modules.
std::string loaded_modules(const Places& places = {});
// Returns the lines of loaded_modules() without who uses a module, which changes all the time: the same text: the same code.
std::string without_users(std::string_view modules);

}  // namespace spile::kernelinfo
