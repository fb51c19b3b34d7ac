#pragma once
// The programs that process("PATH").begin and its like are about without -x and -c: which files they are to the kernel, and which
// processes execute them when handlers start. From then on handlers note it themselves (abi::KernelPrograms, abi::KernelLife). A
// program is a file, not a path (docs/decisions/028): processes of another file that has the path are others. Thread rule: one
// thread.

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "bpf/bpf.h"
#include "kernelinfo/mechanisms.h"

namespace spile::session {

class FollowedPrograms {
 public:
  // Opens the files and keeps them open. paths: as codegen::KernelCode::followed. Errors: a file is gone; the kernel does not
  // describe its structures; no privilege.
  static Result<FollowedPrograms> open(const std::vector<std::string>& paths, const kernelinfo::Features& features);

  // Returns abi::KernelPrograms as bytes.
  const std::vector<uint8_t>& constants() const { return constants_; }
  // Tells handlers which processes execute the programs now. REQUIRES: handlers are attached, and abi::KernelControl::enabled is
  // 0.
  Result<void> add_running(bpf::Kernel& kernel) const;

 private:
  std::vector<UniqueFd> files_;
  std::vector<uint8_t> constants_;
};

}  // namespace spile::session
