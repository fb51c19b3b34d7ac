#pragma once
// The functions of a file by which programs take and free memory: those of malloc(3), of operator new and delete, and of the
// allocators that replace them (jemalloc, tcmalloc, mimalloc ...), which may have a prefix before their names (je_malloc).
//
// Which allocator a process has bound need not be known: the functions are probed in all files that have them, and the one that
// is called is the one that is bound. tapset/heap.stp leaves out the calls that one of them makes of another.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/address.h"
#include "debuginfo/debuginfo.h"

namespace spile::probes {

// What a function does, and in which arguments its sizes are. Bundles have the numbers.
enum class AllocatorRole : uint8_t {
  kMalloc,         // (size, ...)
  kCalloc,         // (count, size, ...)
  kMemalign,       // (alignment or heap, size, ...)
  kPosixMemalign,  // (place of the result, alignment, size)
  kRealloc,        // (block, size, ...)
  kReallocarray,   // (block, count, size, ...)
  kHeapCalloc,     // (heap, count, size, ...)
  kHeapRealloc,    // (heap, block, size, ...)
  kFree,           // (block, ...)
};
inline constexpr size_t kAllocatorRoles = 9;
// Returns the names of the roles, which process.allocator("NAME") takes: "malloc".
std::span<const char* const> allocator_role_names();
// Returns whether functions of the role give memory to the program.
constexpr bool gives_memory(AllocatorRole role) { return role != AllocatorRole::kFree; }

struct AllocatorFunction {
  AllocatorRole role;
  FileAddress address;  // of its first instruction
  uint64_t size;        // in bytes
  std::string name;
};

// Returns the functions of the file, each address once. opened: where the file is found now (debuginfo/elf/mapped_file.h).
std::vector<AllocatorFunction> allocator_functions(debuginfo::Module& module, const std::string& opened);

// Returns the name of an allocator whose messages are in a file, which has no names of its functions: "jemalloc"; "": none.
std::string unnamed_allocator(const std::string& opened);

// A language whose runtime hands out memory of its own, by other functions than those of malloc's kind.
struct OwnHeap {
  const char* language;  // "Java"
  const char* hint;      // who can show it: a clause
};
// Returns that of a file; null: it has none. is_go: as engine::Module has it.
const OwnHeap* own_heap_of(const std::string& path, bool is_go);

}  // namespace spile::probes
