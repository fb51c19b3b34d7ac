#include "probes/terms/allocators.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "debuginfo/test_program.h"

namespace spile::probes {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using Role = AllocatorRole;

std::map<std::string, Role> roles_in(const std::string& path) {
  auto module = debuginfo::Module::open(path, debuginfo::without_cache());
  EXPECT_TRUE(module.ok()) << module.error().message;
  std::map<std::string, Role> roles;
  if (!module.ok()) return roles;
  std::set<uint64_t> addresses;
  for (const AllocatorFunction& function : allocator_functions(**module, path)) {
    EXPECT_TRUE(addresses.insert(function.address.value).second) << function.name << " is at the place of another one";
    EXPECT_GT(function.size, 0u) << function.name;
    roles[function.name] = function.role;
  }
  return roles;
}

// Compiles a library from functions that take their first argument, and asks for its allocator's functions.
class Allocators : public testing::Test {
 protected:
  std::map<std::string, Role> roles_of(const std::vector<std::string>& names, const std::string& library = "library.so") {
    std::string text = "long count;\n";
    for (const std::string& name : names) text += "long " + name + "(long n) { return count += n; }\n";
    return roles_of_text(text, library);
  }
  std::map<std::string, Role> roles_of_text(const std::string& text, const std::string& library = "library.so",
                                            const std::string& options = "") {
    directory_.write("a.c", text);
    EXPECT_TRUE(directory_.run("cc -w -O1 -fno-builtin -fno-ipa-icf -fPIC -shared " + options + " -o '" + library + "' a.c"));
    return roles_in(directory_.path(library));
  }
  debuginfo::TestDirectory directory_;
};

TEST(AllocatorRoles, HaveANameEach) {
  std::set<std::string> names;
  for (const char* name : allocator_role_names()) names.insert(name);
  EXPECT_EQ(names.size(), kAllocatorRoles);
  EXPECT_STREQ(allocator_role_names()[static_cast<size_t>(Role::kPosixMemalign)], "posix_memalign");
  EXPECT_STREQ(allocator_role_names()[static_cast<size_t>(Role::kHeapRealloc)], "heap_realloc");
  EXPECT_STREQ(allocator_role_names()[static_cast<size_t>(Role::kFree)], "free");
  EXPECT_TRUE(gives_memory(Role::kHeapRealloc));
  EXPECT_FALSE(gives_memory(Role::kFree));
}

TEST(AllocatorFunctions, AreThoseOfTheCLibrary) {
  Dl_info info;
  ASSERT_NE(dladdr(reinterpret_cast<void*>(&getpid), &info), 0);
  const std::map<std::string, Role> roles = roles_in(std::filesystem::canonical(info.dli_fname));
  std::map<Role, int> places;
  for (const auto& [name, role] : roles) places[role]++;
  // Each under one of its names, malloc or __libc_malloc.
  EXPECT_GE(places[Role::kMalloc], 3) << "malloc, valloc, pvalloc";
  EXPECT_GE(places[Role::kCalloc], 1);
  EXPECT_GE(places[Role::kMemalign], 1);
  EXPECT_EQ(places[Role::kPosixMemalign], 1);
  EXPECT_GE(places[Role::kRealloc], 1);
  EXPECT_GE(places[Role::kReallocarray], 1);
  EXPECT_GE(places[Role::kFree], 1);
  EXPECT_EQ(places[Role::kHeapCalloc] + places[Role::kHeapRealloc], 0);
}

TEST_F(Allocators, MayHaveAPrefix) {
  EXPECT_THAT(roles_of({"je_malloc", "je_calloc", "je_free", "je_sdallocx"}),
              ElementsAre(Pair("je_calloc", Role::kCalloc), Pair("je_free", Role::kFree), Pair("je_malloc", Role::kMalloc),
                          Pair("je_sdallocx", Role::kFree)));
  EXPECT_THAT(roles_of({"_rjem_mallocx", "_rjem_rallocx"}),
              ElementsAre(Pair("_rjem_mallocx", Role::kMalloc), Pair("_rjem_rallocx", Role::kRealloc)));
  EXPECT_THAT(roles_of({"mi_malloc", "mi_heap_calloc", "mi_heap_realloc", "mi_reallocn"}),
              ElementsAre(Pair("mi_heap_calloc", Role::kHeapCalloc), Pair("mi_heap_realloc", Role::kHeapRealloc),
                          Pair("mi_malloc", Role::kMalloc), Pair("mi_reallocn", Role::kReallocarray)));
}

TEST_F(Allocators, AreNotFunctionsThatHaveTheirNamesByChance) {
  // Such files have no function that is called as malloc is, under this prefix.
  EXPECT_THAT(roles_of({"free", "xxfree", "je_free", "dlfree", "je_realloc"}), IsEmpty());
  EXPECT_THAT(roles_of({"my_malloc", "malloc_stats", "mallocate", "unused_free"}), IsEmpty());
  EXPECT_THAT(roles_of({"je_malloc", "free", "tc_realloc"}), ElementsAre(Pair("je_malloc", Role::kMalloc)))
      << "functions of another prefix";
}

TEST_F(Allocators, AreDefinedInTheFile) {
  EXPECT_THAT(roles_of_text("void* malloc(unsigned long); void free(void*); void f(void) { free(malloc(8)); }"), IsEmpty());
}

TEST_F(Allocators, AreFoundOnceAtEachPlace) {
  const auto roles = roles_of_text(
      "long count; long malloc(long n) { return count += n; }\n"
      "long __libc_malloc(long) __attribute__((alias(\"malloc\")));\n"
      "long valloc(long) __attribute__((alias(\"malloc\")));");
  ASSERT_EQ(roles.size(), 1u);
  EXPECT_EQ(roles.begin()->second, Role::kMalloc);
}

TEST_F(Allocators, AreFoundAmongLocalSymbols) {
  const std::string text =
      "long count; __attribute__((noinline)) static long je_malloc(long n) { return count += n; }\n"
      "__attribute__((noinline)) static long je_free(long n) { return count -= n; }\n"
      "long work(long n) { return je_malloc(n) * je_free(n); }\n";
  const auto roles = roles_of_text(text);
  EXPECT_THAT(roles, ElementsAre(Pair("je_free", Role::kFree), Pair("je_malloc", Role::kMalloc)));
  EXPECT_THAT(roles_of_text(text, "stripped.so", "-s"), IsEmpty());
}

TEST_F(Allocators, IncludeOperatorsExceptThoseThatCallMalloc) {
  const std::vector<std::string> operators = {"_Znwm", "_ZdlPv", "_ZnwmSt11align_val_t", "_ZdlPvSt11align_val_t"};
  EXPECT_EQ(roles_of(operators).size(), 4u);
  for (const char* library : {"libstdc++.so.6", "libc++.so.1", "libc++abi.so.1"})
    EXPECT_THAT(roles_of(operators, library),
                ElementsAre(Pair("_ZdlPvSt11align_val_t", Role::kFree), Pair("_ZnwmSt11align_val_t", Role::kMalloc)))
        << library;
}

TEST_F(Allocators, WithoutNamesAreKnownByTheirMessages) {
  directory_.write("a.c", "#include <stdio.h>\nint main(void) { puts(\"<jemalloc>: Error\"); return 0; }\n");
  directory_.write("b.c", "#include <stdio.h>\nint main(void) { puts(\"jemalloc is fine, mimalloc too\"); return 0; }\n");
  ASSERT_TRUE(directory_.run("cc -s -o a a.c && cc -s -o b b.c"));
  EXPECT_EQ(unnamed_allocator(directory_.path("a")), "jemalloc");
  EXPECT_EQ(unnamed_allocator(directory_.path("b")), "");
  EXPECT_EQ(unnamed_allocator(directory_.path("a.c")), "") << "not an ELF file";
  EXPECT_EQ(unnamed_allocator("/nowhere"), "");
}

TEST(OwnHeaps, AreKnownByTheirFiles) {
  EXPECT_STREQ(own_heap_of("/usr/bin/any", true)->language, "Go");
  EXPECT_STREQ(own_heap_of("/usr/lib/jvm/lib/server/libjvm.so", false)->language, "Java");
  EXPECT_STREQ(own_heap_of("/usr/lib/x86_64-linux-gnu/libnode.so.108", false)->language, "JavaScript");
  EXPECT_STREQ(own_heap_of("/usr/bin/node", false)->language, "JavaScript");
  EXPECT_EQ(own_heap_of("/usr/bin/node-helper", false), nullptr);
  EXPECT_EQ(own_heap_of("/libjvm.so/libc.so.6", false), nullptr) << "the file's name counts, not the folder's";
}

}  // namespace
}  // namespace spile::probes
