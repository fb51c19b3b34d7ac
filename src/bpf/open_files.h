#pragma once
// Finds out by which inode the kernel knows an open file: a program that is run once, in this process, follows the kernel's own
// structures. stat(2) would not do: for some file systems (btrfs, overlayfs) it shows other numbers than the kernel's structures
// have.

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace spile::bpf {

// Offsets of members in bytes: of the files in task_struct, the table in files_struct, the array in fdtable, the inode in file.
struct OpenFilesLayout {
  uint32_t task_files, files_table, table_files, file_inode;
};

// Returns the address of the inode of each file, which the kernel keeps there as long as the file is open. files: descriptors of
// this process. Errors: no privilege; the structures are others than the offsets say.
Result<std::vector<uint64_t>> inodes_of(std::span<const int> files, const OpenFilesLayout& layout);

}  // namespace spile::bpf
