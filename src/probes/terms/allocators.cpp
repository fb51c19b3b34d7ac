#include "probes/terms/allocators.h"

#include <string.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "debuginfo/elf/defined_symbols.h"
#include "debuginfo/elf/elf_image.h"

namespace spile::probes {

namespace {

using Role = AllocatorRole;

struct KnownName {
  std::string_view name;
  Role role;
};

// ORDER AllocatorRole
constexpr const char* kRoleNames[] = {"malloc",      "calloc",       "memalign", "posix_memalign", "realloc", "reallocarray",
                                      "heap_calloc", "heap_realloc", "free"};
static_assert(std::size(kRoleNames) == kAllocatorRoles);

// A file has an allocator with one of these prefixes if it defines malloc or mallocx with it. Names: of the C library, jemalloc
// (--with-jemalloc-prefix: redis, Rust's crates), gperftools, mimalloc, rpmalloc, Doug Lea's, snmalloc, Hoard, jemalloc's tests.
constexpr std::string_view kPrefixes[] = {"",    "__libc_", "je_", "_rjem_", "_rjem_je_", "jemalloc_", "jet_",
                                          "tc_", "mi_",     "rp",  "dl",     "sn_",       "xx"};

// malloc(3), posix_memalign(3), C23; jemalloc(3); reallocf(3) of the BSDs.
constexpr KnownName kNames[] = {
    {"malloc", Role::kMalloc},
    {"valloc", Role::kMalloc},
    {"pvalloc", Role::kMalloc},
    {"mallocx", Role::kMalloc},
    {"calloc", Role::kCalloc},
    {"memalign", Role::kMemalign},
    {"aligned_alloc", Role::kMemalign},
    {"posix_memalign", Role::kPosixMemalign},
    {"realloc", Role::kRealloc},
    {"rallocx", Role::kRealloc},
    {"reallocf", Role::kRealloc},
    {"reallocarray", Role::kReallocarray},
    {"free", Role::kFree},
    {"cfree", Role::kFree},
    {"dallocx", Role::kFree},
    {"sdallocx", Role::kFree},
    {"free_sized", Role::kFree},
    {"free_aligned_sized", Role::kFree},
};

// mimalloc.h; gperftools/tcmalloc.h.
constexpr KnownName kWholeNames[] = {
    {"mi_zalloc", Role::kMalloc},
    {"mi_malloc_small", Role::kMalloc},
    {"mi_zalloc_small", Role::kMalloc},
    {"mi_malloc_aligned", Role::kMalloc},
    {"mi_zalloc_aligned", Role::kMalloc},
    {"mi_malloc_aligned_at", Role::kMalloc},
    {"mi_zalloc_aligned_at", Role::kMalloc},
    {"mi_new", Role::kMalloc},
    {"mi_new_nothrow", Role::kMalloc},
    {"mi_new_aligned", Role::kMalloc},
    {"mi_new_aligned_nothrow", Role::kMalloc},
    {"mi_mallocn", Role::kCalloc},
    {"mi_new_n", Role::kCalloc},
    {"mi_calloc_aligned", Role::kCalloc},
    {"mi_calloc_aligned_at", Role::kCalloc},
    {"mi_realloc_aligned", Role::kRealloc},
    {"mi_realloc_aligned_at", Role::kRealloc},
    {"mi_rezalloc", Role::kRealloc},
    {"mi_rezalloc_aligned", Role::kRealloc},
    {"mi_rezalloc_aligned_at", Role::kRealloc},
    {"mi_new_realloc", Role::kRealloc},
    {"mi_reallocn", Role::kReallocarray},
    {"mi_recalloc", Role::kReallocarray},
    {"mi_recalloc_aligned", Role::kReallocarray},
    {"mi_new_reallocn", Role::kReallocarray},
    {"mi_heap_malloc", Role::kMemalign},
    {"mi_heap_zalloc", Role::kMemalign},
    {"mi_heap_malloc_small", Role::kMemalign},
    {"mi_heap_malloc_aligned", Role::kMemalign},
    {"mi_heap_zalloc_aligned", Role::kMemalign},
    {"mi_heap_malloc_aligned_at", Role::kMemalign},
    {"mi_heap_zalloc_aligned_at", Role::kMemalign},
    {"mi_heap_alloc_new", Role::kMemalign},
    {"mi_heap_calloc", Role::kHeapCalloc},
    {"mi_heap_mallocn", Role::kHeapCalloc},
    {"mi_heap_calloc_aligned", Role::kHeapCalloc},
    {"mi_heap_alloc_new_n", Role::kHeapCalloc},
    {"mi_heap_realloc", Role::kHeapRealloc},
    {"mi_heap_reallocf", Role::kHeapRealloc},
    {"mi_heap_rezalloc", Role::kHeapRealloc},
    {"mi_heap_realloc_aligned", Role::kHeapRealloc},
    {"mi_free_size", Role::kFree},
    {"mi_free_aligned", Role::kFree},
    {"mi_free_size_aligned", Role::kFree},
    {"tc_malloc_skip_new_handler", Role::kMalloc},
    {"tc_new", Role::kMalloc},
    {"tc_newarray", Role::kMalloc},
    {"tc_new_nothrow", Role::kMalloc},
    {"tc_newarray_nothrow", Role::kMalloc},
    {"tc_new_aligned", Role::kMalloc},
    {"tc_newarray_aligned", Role::kMalloc},
    {"tc_new_aligned_nothrow", Role::kMalloc},
    {"tc_newarray_aligned_nothrow", Role::kMalloc},
    {"tc_delete", Role::kFree},
    {"tc_deletearray", Role::kFree},
    {"tc_delete_sized", Role::kFree},
    {"tc_deletearray_sized", Role::kFree},
};

// [new.delete] of the C++ standard, as the Itanium ABI mangles it. libstdc++'s and libc++'s call malloc with the same size, and
// need no probe, but for those with an alignment, by which they round it up.
constexpr KnownName kOperators[] = {
    {"_Znwm", Role::kMalloc},
    {"_Znam", Role::kMalloc},
    {"_ZnwmRKSt9nothrow_t", Role::kMalloc},
    {"_ZnamRKSt9nothrow_t", Role::kMalloc},
    {"_ZnwmSt11align_val_t", Role::kMalloc},
    {"_ZnamSt11align_val_t", Role::kMalloc},
    {"_ZnwmSt11align_val_tRKSt9nothrow_t", Role::kMalloc},
    {"_ZnamSt11align_val_tRKSt9nothrow_t", Role::kMalloc},
    {"_ZdlPv", Role::kFree},
    {"_ZdaPv", Role::kFree},
    {"_ZdlPvm", Role::kFree},
    {"_ZdaPvm", Role::kFree},
    {"_ZdlPvRKSt9nothrow_t", Role::kFree},
    {"_ZdaPvRKSt9nothrow_t", Role::kFree},
    {"_ZdlPvSt11align_val_t", Role::kFree},
    {"_ZdaPvSt11align_val_t", Role::kFree},
    {"_ZdlPvmSt11align_val_t", Role::kFree},
    {"_ZdaPvmSt11align_val_t", Role::kFree},
    {"_ZdlPvSt11align_val_tRKSt9nothrow_t", Role::kFree},
    {"_ZdaPvSt11align_val_tRKSt9nothrow_t", Role::kFree},
};

bool is_cpp_library(std::string_view name) { return name.starts_with("libstdc++") || name.starts_with("libc++"); }

struct NameTable {
  std::map<std::string, Role, std::less<>> roles;
  std::map<std::string, std::string_view, std::less<>> prefixes;  // of the names that have one
  std::set<std::string_view> names;
};

const NameTable& name_table() {
  static const NameTable table = [] {
    NameTable made;
    for (const std::string_view prefix : kPrefixes) {
      for (const KnownName& known : kNames) {
        const std::string name = std::string(prefix) + std::string(known.name);
        made.roles.emplace(name, known.role);
        made.prefixes.emplace(name, prefix);
      }
    }
    for (const auto& list : {std::span<const KnownName>(kWholeNames), std::span<const KnownName>(kOperators)}) {
      for (const KnownName& known : list) made.roles.emplace(known.name, known.role);
    }
    for (const auto& [name, role] : made.roles) made.names.insert(name);
    return made;
  }();
  return table;
}

}  // namespace

std::span<const char* const> allocator_role_names() { return kRoleNames; }

std::vector<AllocatorFunction> allocator_functions(debuginfo::Module& module, const std::string& opened) {
  const NameTable& table = name_table();
  const std::set<std::string_view> defined = debuginfo::defined_symbols(opened, table.names);
  const std::string& path = module.path();
  const bool skips_operators = is_cpp_library(path.substr(path.rfind('/') + 1));
  std::set<std::string_view> prefixes;
  for (const std::string_view prefix : kPrefixes) {
    const std::string own(prefix);
    if (defined.contains(own + "malloc") || defined.contains(own + "mallocx")) prefixes.insert(prefix);
  }
  std::vector<AllocatorFunction> found;
  std::set<uint64_t> known;
  for (const std::string_view name : defined) {
    const Role role = table.roles.find(name)->second;
    const auto prefix = table.prefixes.find(name);
    if (prefix != table.prefixes.end() && !prefixes.contains(prefix->second)) continue;
    if (skips_operators && name.starts_with("_Z") && name.find("align_val_t") == name.npos) continue;
    auto functions = module.functions({.name = std::string(name), .file = {}});
    if (!functions.ok()) continue;
    for (const debuginfo::Function& function : *functions) {
      if (!function.is_ifunc && known.insert(function.address.value).second)
        found.push_back({role, function.address, function.size, std::string(name)});
    }
  }
  return found;
}

std::string unnamed_allocator(const std::string& opened) {
  // What begins their messages.
  constexpr std::pair<const char*, std::string_view> kTraces[] = {
      {"jemalloc", "<jemalloc>: "}, {"mimalloc", "mimalloc: warning: "}, {"tcmalloc", "tcmalloc: large alloc "}};
  auto image = debuginfo::ElfImage::open(opened, opened);
  if (!image.ok()) return {};
  const std::string_view file = (*image)->file();
  for (const auto& [name, text] : kTraces) {
    if (memmem(file.data(), file.size(), text.data(), text.size())) return name;
  }
  return {};
}

const OwnHeap* own_heap_of(const std::string& path, bool is_go) {
  static constexpr OwnHeap kGo{"Go", "its own profiler shows them (runtime/pprof, net/http/pprof)"};
  static constexpr struct {
    std::string_view file;  // the beginning of its name
    OwnHeap heap;
  } kFiles[] = {
      {"libjvm.so", {"Java", "jcmd PID GC.class_histogram and Java's Flight Recorder show them"}},
      {"libcoreclr.so", {".NET", "dotnet-gcdump shows them"}},
      {"libmonosgen-", {"Mono", "mono --profile shows them"}},
      {"libnode.so", {"JavaScript", "node --heap-prof shows them"}},
      {"libv8.so", {"JavaScript", "the heap profiler of V8 shows them"}},
  };
  if (is_go) return &kGo;
  const std::string name = path.substr(path.rfind('/') + 1);
  for (const auto& [file, heap] : kFiles) {
    if (name.starts_with(file)) return &heap;
  }
  // The program itself, with V8 inside.
  if (name == "node" || name == "nodejs") return own_heap_of("libnode.so", false);
  return nullptr;
}

}  // namespace spile::probes
