#pragma once
// The identity of an ELF file among others of its name: its build-id or, where it has none, a hash of its headers, by which
// two builds differ in practice (they hold the file's size, the sizes of its segments and the entry point). Read from a file
// or from the memory of a process that has loaded it, with the same answer.

#include <cstdint>
#include <functional>
#include <string>

namespace spile {

// Reads `size` bytes at `at` (a file offset or a run-time address) into memory of the caller's; false where not all can be read.
using ReadBytes = std::function<bool(uint64_t at, void* into, uint64_t size)>;

// Returns the identity: the build-id in lower-case hexadecimal, or "headers " and a hash. "" where it is not a 64-bit ELF file,
// or can't be read.
std::string elf_identity_of_file(const std::string& path);
// Returns the same for a loaded file. start: the run-time address where the first byte of the file is mapped.
std::string elf_identity_in_memory(const ReadBytes& read, uint64_t start);

// Removes the " (deleted)" that /proc appends to the path of an unlinked file; keeps it where it is a part of the
// file's name. inode: the mapped file's, by which the two cases are distinguished.
std::string without_deleted(const std::string& path, uint64_t inode);

}  // namespace spile
