#pragma once
// Puts a program and the functions that it calls together, as the kernel takes them: one array of instructions, and BTF that says where each
// function begins and what it is (https://docs.kernel.org/bpf/btf.html, "BTF_KIND_FUNC", "func_info"). The verifier checks a function that BTF
// calls global once, apart from its callers.

#include <linux/bpf.h>

#include <functional>

#include "base/unique_fd.h"
#include "bpf/object.h"

namespace spile::bpf {

struct ProgramImage {
  std::vector<bpf_insn> code;
  struct Function {
    uint32_t begin = 0;      // index of its first instruction
    std::string name;
    uint32_t arguments = 0;  // numbers
    bool is_checked_apart = false;
  };
  std::vector<Function> functions;  // the program itself first
};

// Resolves what an instruction at `at` refers to, when it is not a function.
using ResolveData = std::function<Result<void>(const Section&, const Relocation&, std::vector<bpf_insn>&, size_t at)>;

// Errors: a call of a function that has no section of its own (abi/kernel.h), or what `resolve` returns.
Result<ProgramImage> link_program(const Object& object, const Section& program, const ResolveData& resolve);

// Returns BTF for the functions of an image as the kernel has loaded it, and fills `infos`, one for each function. Errors: the kernel rejects it.
Result<UniqueFd> load_function_types(const ProgramImage& image, std::vector<bpf_func_info>& infos);

}  // namespace spile::bpf
