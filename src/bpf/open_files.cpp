#include "bpf/open_files.h"

#include <errno.h>

#include "base/unique_fd.h"
#include "bpf/instructions.h"
#include "bpf/library.h"
#include "bpf/privilege.h"

namespace spile::bpf {

namespace {

// int program(void*) { stores the word behind the pointers into the map's element }
std::vector<bpf_insn> follow(std::span<const uint32_t> offsets, int map) {
  constexpr int16_t kWord = -8;  // on the stack
  std::vector<bpf_insn> code = {call(BPF_FUNC_get_current_task), move(3, 0)};
  for (size_t i = 0; i < offsets.size(); ++i) {
    const bool last = i + 1 == offsets.size();
    code.push_back(add(3, static_cast<int32_t>(offsets[i])));
    if (last) {
      code.push_back({BPF_LD | BPF_IMM | BPF_DW, 1, BPF_PSEUDO_MAP_VALUE, 0, map});
      code.push_back({0, 0, 0, 0, 0});
    } else {
      code.push_back(move(1, 10));
      code.push_back(add(1, kWord));
    }
    code.push_back(move_number(2, 8));
    code.push_back(call(BPF_FUNC_probe_read_kernel));
    if (!last) code.push_back(load(3, 10, kWord, BPF_DW));
  }
  code.push_back(move_number(0, 0));
  code.push_back(exit_program());
  return code;
}

Error failure(const char* what, int error) {
  const std::string whole = std::string("find the inodes of programs: ") + what;
  return is_privilege_error(error) ? privilege_error(whole, error) : Error::from_errno(whole, error);
}

}  // namespace

Result<std::vector<uint64_t>> inodes_of(std::span<const int> files, const OpenFilesLayout& layout) {
  UniqueFd map(bpf_map_create(BPF_MAP_TYPE_ARRAY, "spile_inode", 4, 8, 1, nullptr));
  if (!map) return failure("create a map", errno);
  std::vector<uint64_t> inodes;
  for (int file : files) {
    const uint32_t offsets[] = {layout.task_files, layout.files_table, layout.table_files, 8 * static_cast<uint32_t>(file),
                                layout.file_inode};
    const std::vector<bpf_insn> code = follow(offsets, map.get());
    UniqueFd program(
        bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "spile_inode", "Dual MIT/GPL", code.data(), code.size(), nullptr));
    if (!program) return failure("load a program", errno);
    bpf_test_run_opts run{};
    run.sz = sizeof run;
    if (int error = bpf_prog_test_run_opts(program.get(), &run); error != 0) return failure("run a program", -error);
    const uint32_t zero = 0;
    uint64_t inode = 0;
    if (int error = bpf_map_lookup_elem(map.get(), &zero, &inode); error != 0) return failure("read a map", -error);
    // Addresses of the kernel are in the upper half.
    if (static_cast<int64_t>(inode) >= 0)
      return Error{"find the inodes of programs: the kernel's structures are not what its type information says", ""};
    inodes.push_back(inode);
  }
  return inodes;
}

}  // namespace spile::bpf
