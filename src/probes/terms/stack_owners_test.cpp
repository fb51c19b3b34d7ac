#include "probes/terms/stack_owners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "debuginfo/test_program.h"

namespace spile::probes {
namespace {

using testing::HasSubstr;

// Compiles a file and asks who owns the stack of its functions.
class StackOwners : public testing::Test {
 protected:
  FileOwners owners_of(const std::string& name, const std::string& text) {
    directory_.write("a.c", text);
    EXPECT_TRUE(directory_.run("cc -O1 -o '" + name + "' a.c"));
    return FileOwners(directory_.path(name));
  }
  std::string reason(const FileOwners& owners, std::string_view function) {
    const StackOwner* owner = owners.of(function);
    return owner ? owner->reason : "";
  }
  debuginfo::TestDirectory directory_;
};

TEST_F(StackOwners, KnowOcamlByItsFrametable) {
  FileOwners owners = owners_of("a", "int caml_frametable[2]; int main(void) { return caml_frametable[0]; }");
  EXPECT_THAT(reason(owners, "camlStdlib__List__map_123"), HasSubstr("OCaml"));
  EXPECT_THAT(reason(owners, "caml_call_gc"), HasSubstr("OCaml"));
  EXPECT_TRUE(owners.of("camlStdlib__List__map_123")->judges_faults);
  EXPECT_FALSE(owners.of("camlStdlib__List__map_123")->refuses_entries);
  EXPECT_EQ(reason(owners, "caml_alloc_string"), "");
  EXPECT_EQ(reason(owners, "camlinternal"), "");
  EXPECT_EQ(reason(owners, "main"), "");
  EXPECT_TRUE(
      owners_of("b",
                "int caml_frametable[2]; void caml_call_realloc_stack(void) {} int main(void) { return caml_frametable[0]; }")
          .of("camlMain__f_1")
          ->refuses_entries);
}

TEST_F(StackOwners, KnowHaskellByItsRuntime) {
  FileOwners owners = owners_of("a", "void stg_upd_frame_info(void) {} int main(void) { return 0; }");
  EXPECT_THAT(reason(owners, "Main_main1_info"), HasSubstr("Haskell"));
  EXPECT_THAT(reason(owners, "stg_ap_pp_fast"), HasSubstr("Haskell"));
  EXPECT_EQ(reason(owners, "hs_main"), "");
}

TEST_F(StackOwners, AreNotFoundInOrdinaryPrograms) {
  FileOwners owners =
      owners_of("a", "extern int caml_frametable __attribute__((weak)); int main(void) { return &caml_frametable != 0; }");
  for (const char* name : {"main", "get_info", "camlMain__f_1", "lj_vm_call", "stg_x"})
    EXPECT_EQ(owners.of(name), nullptr) << name;
  EXPECT_THAT(reason(owners, "v8::Isolate::New"), HasSubstr("V8"));
}

TEST_F(StackOwners, KnowMoarAndHhvm) {
  FileOwners owners = owners_of("libmoar.so", "int main(void) { return 0; }");
  EXPECT_THAT(reason(owners, "MVM_exception_throw_adhoc"), HasSubstr("MoarVM"));
  EXPECT_FALSE(owners.of("MVM_exception_throw_adhoc")->refuses_entries);
  EXPECT_THAT(reason(owners_of("a", "void MVM_vm_create_instance(void) {} int main(void) { return 0; }"), "main"),
              HasSubstr("MoarVM"));
  EXPECT_THAT(reason(owners_of("b", "int main(void) { return 0; }"), "HPHP::jit::f"), HasSubstr("HHVM"));
}

TEST_F(StackOwners, OwnWholeProcessesByFileOrSymbol) {
  owners_of("a", "void scm_boot_guile(void) {} int main(void) { return 0; }");
  EXPECT_STREQ(process_owner(directory_.path("a"), true)->runtime, "Guile");
  EXPECT_EQ(process_owner(directory_.path("a"), false), nullptr);
  EXPECT_STREQ(process_owner("/usr/lib/libguile-3.0.so.1", false)->runtime, "Guile");
  owners_of("b", "void aco_share_stack_new(void) {} int main(void) { return 0; }");
  EXPECT_STREQ(process_owner(directory_.path("b"), true)->runtime, "libaco");
  EXPECT_STREQ(process_owner("/usr/lib/libracket3m-7.9.so", false)->runtime, "Racket BC");
  EXPECT_STREQ(process_owner("/site/greenlet/_greenlet.cpython-311-x86_64-linux-gnu.so", false)->runtime, "greenlet");
  EXPECT_EQ(process_owner("/usr/lib/libjvm.so", false), nullptr);
  EXPECT_EQ(process_owner("/no/such/file", true), nullptr);
}

TEST(StackOwnerTable, HasAReasonAndAMarkInEachRow) {
  for (const StackOwner& owner : stack_owners()) {
    EXPECT_GT(std::string_view(owner.reason).size(), 20u) << owner.runtime;
    EXPECT_NE(owner.reason[std::string_view(owner.reason).size() - 1], '.') << owner.runtime;
    EXPECT_EQ(owner.owns != nullptr, owner.part == OwnedPart::kFunctions) << owner.runtime;
    EXPECT_TRUE(!owner.file.empty() || !owner.symbol.empty() || owner.owns) << owner.runtime;
  }
}

}  // namespace
}  // namespace spile::probes
