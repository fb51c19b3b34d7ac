#pragma once
// Which functions of the kernel a function calls, and those that they call: direct calls, decoded from the running kernel's code.
// Calls through pointers are not found.

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kernelinfo/kernel_info.h"

namespace spile::verbs {

// A function as a script names it.
struct KernelFunction {
  std::string name, module;  // module "": vmlinux
  auto operator<=>(const KernelFunction&) const = default;
};

struct KernelCalls {
  std::vector<KernelFunction> roots, callees;   // that can be traced, each once, in the order of their names
  std::map<std::string, std::string> left_out;  // by name, functions on the way that can't be: why, as a phrase behind the name
};

struct KernelCallsWish {
  std::vector<std::string> roots;     // names and patterns
  std::vector<std::string> also;      // patterns of functions that are callees wherever they are
  std::vector<std::string> excluded;  // patterns of functions that are neither traced nor looked into
  int levels = 1;                     // of calls, with the roots
};

// Finds them. Errors: the kernel's lists or its code can't be read, no root fits, or the roots can't be traced.
Result<KernelCalls> find_kernel_calls(kernelinfo::KernelInfo& kernel, const KernelCallsWish& wish);

// The search, over any code. Functions are known by where they begin.
class CallSearch {
 public:
  struct Function {
    uint64_t begin = 0, end = 0;
    bool traced = false;  // false: its own calls are looked at as if its caller made them
    bool part = false;    // of another function, which jumps to it (foo.cold)
    bool opaque = false;  // not looked into
  };
  struct Source {
    std::function<const Function*(uint64_t address)> function_at;  // the function with code there; null: none
    std::function<std::vector<uint8_t>(const Function& function)> code;
  };
  explicit CallSearch(Source source) : source_(std::move(source)) {}
  // Returns the level of every function that is reached, by its begin: of a root 1, of those that it calls 2, up to `levels`.
  std::map<uint64_t, int> find(std::span<const uint64_t> roots, int levels);

 private:
  Source source_;
};

}  // namespace spile::verbs
