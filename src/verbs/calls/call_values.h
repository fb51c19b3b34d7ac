#pragma once
// Names, arguments and results of calls as text, for trees of calls.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "debuginfo/terms/type.h"
#include "kernelinfo/kernel_info.h"

namespace spile::verbs {

struct CallValue {
  std::string name;     // of a parameter; may be empty
  std::string text;     // "0xffff888003a1b200", "4096", "-ENOENT", "PIDTYPE_PID"
  bool number = false;  // text is a decimal number, which JSON can have as it is
};

// What is known of a function.
struct Prototype {
  struct Parameter {
    std::string name;
    debuginfo::Type type;
  };
  std::vector<Parameter> parameters;
  debuginfo::Type returned;
  bool known = false;
  bool incomplete = false;  // further parameters are not known, or are passed elsewhere than in registers
};

// Answers by functions' names; remembers the answers. Thread rule: one thread.
class KernelPrototypes {
 public:
  explicit KernelPrototypes(std::shared_ptr<kernelinfo::KernelInfo> kernel, std::map<std::string, std::string> modules)
      : kernel_(std::move(kernel)), modules_(std::move(modules)) {}
  const Prototype& of(std::string_view function);

 private:
  std::shared_ptr<kernelinfo::KernelInfo> kernel_;
  std::map<std::string, std::string> modules_;  // by function, the modules that have them; of vmlinux none
  std::map<std::string, Prototype, std::less<>> known_;
};

// Types of functions of processes, as -L lists them: "int", "const char*".
// by function and parameter; "return"
using ProcessTypes = std::map<std::string, std::map<std::string, std::string, std::less<>>, std::less<>>;

// Takes "a=0x1 b=\"text\"" apart, as $$parms has it. types: of the function; null: not known. What is not known ("?") is left out
// of `return=`.
std::vector<CallValue> values_in(std::string_view parameters, const std::map<std::string, std::string, std::less<>>* types);

// Returns a value of a type as text. word: as a register has it.
CallValue value_text(const debuginfo::Type& type, uint64_t word, std::string name = {});
// Returns the arguments that registers had at a call, in order.
std::vector<CallValue> argument_texts(const Prototype& prototype, std::span<const uint64_t> registers);
// Returns a result with the name of the error that it is ("-ENOENT"); nullopt: the function returns nothing, or that is not
// known.
std::optional<CallValue> result_text(const Prototype& prototype, uint64_t word);
// Returns "ENOENT" of 2, also for the kernel's own numbers from 512 on; "": not an error's number.
std::string error_name(uint64_t number);

}  // namespace spile::verbs
