#include "session/places/followed_programs.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "abi/kernel.h"
#include "base/check.h"
#include "bpf/open_files.h"

namespace spile::session {

Result<FollowedPrograms> FollowedPrograms::open(const std::vector<std::string>& paths, const kernelinfo::Features& features) {
  CHECK(paths.size() <= abi::kMostKernelPrograms);
  if (!features.tasks)
    return Error{"tell processes by their programs: the kernel has no type information",
                 "the kernel must be built with CONFIG_DEBUG_INFO_BTF"};
  const kernelinfo::TaskLayout& layout = *features.tasks;
  FollowedPrograms programs;
  std::vector<int> files;
  for (const std::string& path : paths) {
    UniqueFd file(::open(path.c_str(), O_PATH | O_CLOEXEC));
    if (!file) return Error::from_errno("open " + path, errno);
    files.push_back(file.get());
    programs.files_.push_back(std::move(file));
  }
  TRY(std::vector<uint64_t> inodes,
      bpf::inodes_of(files, {layout.task_files, layout.files_table, layout.table_files, layout.file_inode}));
  abi::KernelPrograms values{};
  values.task_mm = layout.task_mm;
  values.mm_file = layout.mm_exe_file;
  values.file_inode = layout.file_inode;
  values.task_signal = layout.task_signal;
  values.signal_threads = layout.signal_threads;
  values.count = static_cast<uint32_t>(inodes.size());
  std::copy(inodes.begin(), inodes.end(), values.inodes);
  programs.constants_.resize(sizeof values);
  std::memcpy(programs.constants_.data(), &values, sizeof values);
  return programs;
}

Result<void> FollowedPrograms::add_running(bpf::Kernel& kernel) const {
  std::vector<struct stat> known(files_.size());
  for (size_t i = 0; i < files_.size(); ++i) {
    if (fstat(files_[i].get(), &known[i]) != 0) return Error::from_errno("look at a program", errno);
  }
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", failure)) {
    const std::string name = entry.path().filename();
    uint64_t pid = 0;
    struct stat program;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ptr != name.data() + name.size() || pid == 0) continue;
    if (stat((entry.path() / "exe").c_str(), &program) != 0) continue;  // a kernel thread, or it has just ended
    for (size_t i = 0; i < known.size(); ++i) {
      if (known[i].st_dev != program.st_dev || known[i].st_ino != program.st_ino) continue;
      const abi::KernelLife life{static_cast<uint32_t>(i) + 1, 0};
      // What handlers have noted since they were attached is newer.
      TRY_DO(kernel.add(abi::kKernelLivesMap, {reinterpret_cast<const uint8_t*>(&pid), sizeof pid},
                        {reinterpret_cast<const uint8_t*>(&life), sizeof life}));
    }
  }
  if (failure) return Error::from_errno("read /proc", failure.value());
  return {};
}

}  // namespace spile::session
