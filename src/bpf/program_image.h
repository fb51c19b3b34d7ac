#pragma once
// Puts a program and the functions that it calls together, as the kernel takes them: one array of instructions, and BTF that says
// where each function begins, what it is, and of which statements of the script (https://docs.kernel.org/bpf/btf.html,
// "BTF_KIND_FUNC", "func_info", "line_info"). The verifier checks a function that BTF calls global once, apart from its callers.

#include <linux/bpf.h>

#include <functional>

#include "base/unique_fd.h"
#include "bpf/object.h"

namespace spile::bpf {

struct ProgramImage {
  std::vector<bpf_insn> code;
  struct Function {
    uint32_t begin = 0;  // index of its first instruction
    std::string name;
    uint32_t arguments = 0;  // numbers
    bool is_checked_apart = false;
  };
  std::vector<Function> functions;  // the program itself first
  std::vector<ScriptLine> lines;    // by ascending instruction
};

// Resolves what an instruction at `at` refers to, when it is not a function.
using ResolveData = std::function<Result<void>(const Section&, const Relocation&, std::vector<bpf_insn>&, size_t at)>;

// Errors: a call of a function that has no section of its own (abi/kernel.h), or what `resolve` returns.
Result<ProgramImage> link_program(const Object& object, const Section& program, const ResolveData& resolve);

// BTF of an image, as the kernel has loaded it, and what belongs to the program.
struct ProgramTypes {
  UniqueFd btf;
  std::vector<bpf_func_info> functions;
  std::vector<bpf_line_info> lines;  // the kernel wants one at the begin of each function; empty: no line is known
};
// Errors: the kernel rejects it.
Result<ProgramTypes> load_types(const ProgramImage& image);

// Returns the function that an instruction belongs to; null: the image has none.
const ProgramImage::Function* function_at(const ProgramImage& image, uint32_t instruction);
// Returns the statement that an instruction belongs to; null: it belongs to the runtime.
const ScriptLine* line_at(const ProgramImage& image, uint32_t instruction);

}  // namespace spile::bpf
