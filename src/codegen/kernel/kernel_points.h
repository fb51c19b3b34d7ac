#pragma once
// The programs of a probe in the kernel, and which of its points each of them serves. Most programs have an attachment for each
// point, whose cookie names it. Others are attached once, to a raw tracepoint that all system calls or all processes pass, and
// look themselves which point was hit:
//
//   system calls:         number of the call -> point of the probe, if it has one
//   lives of processes:   is it a birth, an exec, a death, of a process or a thread? -> point, by pid() and program
//
// Raw tracepoints have no cookies, so where handlers read a tracepoint's arguments each point has a program.

#include <string>
#include <vector>

#include "codegen/module/unit.h"
#include "codegen/terms/compiled_script.h"

namespace spile::codegen {

struct PointChoice {
  std::string suffix;            // of the program's section
  std::string raw_tracepoint;    // "": each point has an attachment
  std::vector<uint32_t> points;  // that the program serves: indexes into Probe::points
  enum class By { kAttachment, kCallNumber, kProcess, kOnly } by = By::kAttachment;
  enum class Thread { kAny, kFirst, kOthers } thread = Thread::kAny;  // of the process
  bool in_calls = false;                                              // the handler runs in a system call: its registers are read
  bool of_any_kind = false;                                           // also in calls of 32-bit code, or x32's
  bool at_exit = false;                                               // of the call
  bool only_births = false;                                           // in a thread that the call has just made
  bool not_births = false;    // not in such a thread: it has not made the call that it leaves
  bool before_exec = false;   // the process's program is meant that it executed until now
  bool by_arguments = false;  // the program's argument are the tracepoint's arguments, rather than its record
};

// Returns the programs of a probe on tracepoints, or on the lives and system calls of all processes (sema::Source::kWatch).
std::vector<PointChoice> point_choices(const sema::Probe& probe);

// Returns what the probe's programs return to the kernel: of netfilter, that the packet goes on (NF_ACCEPT).
uint32_t program_result(const sema::Probe& probe);

// Returns whether the probe's handler runs in the processes alone that abi::kKernelTargetsMap has, and the description of that
// map.
bool runs_in_traced_processes(const sema::Probe& probe);
KernelMap map_of_targets();

// Returns the paths of the programs whose processes the script's probes are about (KernelCode::followed).
std::vector<std::string> followed_programs(const sema::Program& program);

// Emits the choice into a program. Where no point was hit, the program returns 0.
class PointChooser {
 public:
  // Emits where `builder` stands. context: what the runtime's functions take, of which these make no use; may be null.
  PointChooser(Unit& unit, llvm::IRBuilder<>& builder, llvm::Function& program, const sema::Probe& probe, llvm::Value* context)
      : unit_(unit), b_(builder), program_(program), probe_(probe), context_(context) {}

  // As in SiteValues: null where the attachment's cookie names the point, and where no call's registers are read.
  struct Chosen {
    llvm::Value* point = nullptr;
    llvm::Value* registers = nullptr;
  };
  // reads_registers: whether the handler makes use of Chosen::registers; what it points to is not there otherwise.
  Chosen choose(const PointChoice& choice, bool reads_registers = true);
  // The handler goes on in the traced processes.
  void only_if_traced();

 private:
  llvm::Value* call(const char* name, llvm::Type* result, llvm::ArrayRef<llvm::Value*> arguments);
  void only_if(llvm::Value* condition);
  void read_registers(uint32_t from);
  void know_call(bool whole);
  llvm::Value* saved_registers();
  llvm::Value* known_number(llvm::Value* number);
  llvm::Value* register_word(uint32_t at);
  llvm::Value* choose_call(const std::vector<uint32_t>& points, llvm::Value* number);
  llvm::Value* is_born();
  llvm::Value* choose_process(bool before_exec);

  Unit& unit_;
  llvm::IRBuilder<>& b_;
  llvm::Function& program_;
  const sema::Probe& probe_;
  llvm::Value* context_;
  llvm::Value* registers_ = nullptr;
  uint32_t registers_from_ = 0;  // where in struct pt_regs they begin
};

}  // namespace spile::codegen
