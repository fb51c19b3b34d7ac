#include "probes/terms/unwinders.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <filesystem>

namespace spile::probes {
namespace {

using Role = UnwinderFunction::Role;

std::string file_of(void* function) {
  Dl_info info;
  return dladdr(function, &info) ? std::filesystem::canonical(info.dli_fname) : "";
}

TEST(Unwinders, AreLookedForInFilesThatLookUpFrames) {
  const std::string gcc = file_of(reinterpret_cast<void*>(&_Unwind_RaiseException));
  const std::string c = file_of(reinterpret_cast<void*>(&getpid));
  EXPECT_TRUE(may_have_unwinder("/opt/plugin.so", gcc)) << "whatever its name";
  EXPECT_TRUE(may_have_unwinder("/opt/libc++abi.so.1", "/nowhere"));
  EXPECT_FALSE(may_have_unwinder("/opt/libc++abi/libz.so", c)) << "the file's name counts, not the folder's";
  EXPECT_EQ(unnamed_unwinder(gcc), "");
  EXPECT_EQ(unnamed_unwinder(c), "");
  EXPECT_EQ(unnamed_unwinder("/nowhere"), "");
}

// The library that has _Unwind_RaiseException in this process, and the function's address in it.
TEST(Unwinders, AreFoundWithTheirRolesAndAddresses) {
  Dl_info info;
  ASSERT_NE(dladdr(reinterpret_cast<void*>(&_Unwind_RaiseException), &info), 0);
  std::string path = std::filesystem::canonical(info.dli_fname);
  if (path.find("libgcc_s") == path.npos) GTEST_SKIP() << "the unwinder is linked into the test";
  auto module = debuginfo::Module::open(path, {});
  ASSERT_TRUE(module.ok()) << module.error().message;
  std::vector<UnwinderFunction> functions = unwinder_functions(**module);
  const uint64_t raise = reinterpret_cast<uint64_t>(&_Unwind_RaiseException) - reinterpret_cast<uint64_t>(info.dli_fbase);
  auto found = std::ranges::find(functions, FileAddress(raise), &UnwinderFunction::address);
  ASSERT_NE(found, functions.end());
  EXPECT_EQ(found->role, Role::kWalk);
  EXPECT_GT(found->size, 0u);
  EXPECT_TRUE(std::ranges::none_of(functions, [](const UnwinderFunction& function) { return function.role == Role::kCaught; }))
      << "__cxa_begin_catch is in the C++ library";
}

}  // namespace
}  // namespace spile::probes
