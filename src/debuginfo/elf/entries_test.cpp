// Which symbols are functions: of compilers' parts of functions, and of assembly language.
#include <gmock/gmock.h>

#include "debuginfo/test_program.h"

namespace spile::debuginfo {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsSupersetOf;
using testing::Not;

class Entries : public testing::Test {
 protected:
  // Assembly language, beside a main() that calls nothing.
  void assemble(const std::string& text) {
    directory_.write("a.s", ".text\n.p2align 4\n" + text + ".section .note.GNU-stack,\"\",@progbits\n");
    directory_.write("m.c", "int main(void) { return 0; }\n");
    ASSERT_TRUE(directory_.run("gcc -O1 -no-pie -o a m.c a.s"));
    auto module = Module::open(directory_.path("a"), without_cache());
    ASSERT_TRUE(module.ok());
    module_ = *module;
  }
  std::vector<std::string> functions(const std::string& pattern = "*") {
    std::vector<std::string> names;
    const auto found = module_->functions({.name = pattern, .file = {}});
    for (const Function& function : *found) names.push_back(function.linkage_name);
    return names;
  }
  std::vector<std::string> parts() {
    std::vector<std::string> names;
    const std::vector<Function> found = module_->parts();
    for (const Function& part : found) names.push_back(part.linkage_name + " of " + part.part_of);
    return names;
  }
  uint64_t size(const std::string& name) {
    auto found = module_->functions({.name = name, .file = {}});
    return found.ok() && found->size() == 1 ? found->front().size : 0;
  }
  // A symbol with type and size, and call frame information: at its beginning `frame` bytes are on the stack.
  static std::string code(const std::string& name, int frame, const std::string& body = "nop\nret\n") {
    return ".type " + name + ",@function\n" + name + ":\n.cfi_startproc\n.cfi_def_cfa_offset " + std::to_string(frame + 8) +
           "\n" + body + ".cfi_endproc\n.size " + name + ",.-" + name + "\n";
  }

  TestDirectory directory_;
  std::shared_ptr<Module> module_;
};

TEST_F(Entries, AreNotWhatHasAFrameAlready) {
  assemble(code("f", 0) + code("f.warm", 0) + code("f.cold", 0) + code("f.cold.3", 0) + code("f.eh", 32) + code("f.__part.2", 0) +
           code("f.odd", 32) + code("g.warm", 48) + code("frame.isra.0.warm", 0));
  // There is no symbol f.isra.0: nothing says that the last one is a part of it.
  EXPECT_THAT(functions("f*"), ElementsAre("f", "frame.isra.0.warm"));
  EXPECT_THAT(functions("g*"), testing::IsEmpty());
  EXPECT_THAT(parts(), IsSupersetOf({"f.warm of f", "f.cold of f", "f.cold.3 of f", "f.eh of f", "f.__part.2 of f", "f.odd of f",
                                     "g.warm of g"}));
}

TEST_F(Entries, AreWhatOnlyHasTheNameOfAPart) {
  assemble(code("g.warm", 0) + code("f", 0) + code("f.odd", 0) + code("g.odd", 32) + code("f.part.0", 32) + code("f.7", 32));
  EXPECT_THAT(functions(), IsSupersetOf({"g.warm", "f", "f.odd", "g.odd", "f.part.0", "f.7"}));
  EXPECT_THAT(parts(), testing::IsEmpty());
}

TEST_F(Entries, AreEnteredByCallsOrWithMoreOnTheStack) {
  assemble(code("called", 0) + code("resolver", 16) + code("f.part.0", 32) +
           ".type bare,@function\nbare: ret\n.size bare,.-bare\n");
  for (const auto& [name, by_calls] : {std::pair{"called", true}, {"resolver", false}, {"f.part.0", false}, {"bare", true}}) {
    const auto found = module_->functions({.name = name, .file = {}});
    ASSERT_EQ(found->size(), 1u) << name;
    EXPECT_EQ(module_->is_entered_by_calls(found->front().address), by_calls) << name;
  }
}

TEST_F(Entries, AreCalledWhenClangHasTakenThemOut) {
  assemble(code("f", 0, "call f.cold.1\njmp f.cold.2\n") + code("f.cold.1", 0) + code("f.cold.2", 0) +
           code("g", 0, "call g.cold.1\nret\n") + code("g.cold.1", 16));
  EXPECT_THAT(functions("*cold*"), ElementsAre("f.cold.1"));
  EXPECT_THAT(functions("f"), ElementsAre("f"));
  EXPECT_THAT(parts(), ElementsAre("f.cold.2 of f", "g.cold.1 of g"));
  const auto outlined = module_->functions({.name = "f.cold.1", .file = {}});
  EXPECT_EQ(outlined->front().name(), "f.cold.1");
}

TEST_F(Entries, OfPartsAreFoundByAddress) {
  assemble(code("f", 0) + code("f.warm", 24));
  const Function part = module_->parts().at(0);
  EXPECT_EQ(part.name(), "f.warm");
  EXPECT_EQ(part.size, 2u);
  EXPECT_FALSE(module_->function_at(part.address + 1).has_value());
  EXPECT_EQ(module_->part_at(part.address + 1)->linkage_name, "f.warm");
  EXPECT_EQ(module_->code_at(part.address + 1)->linkage_name, "f.warm");
  EXPECT_FALSE(module_->code_at(part.address + 2).has_value());
  EXPECT_EQ(module_->place_at(part.address + 1)->linkage_name, "f");
  EXPECT_EQ(module_->place_at(part.address + 1)->function, module_->functions({.name = "f", .file = {}})->at(0).address);
  ASSERT_TRUE(directory_.run("strip a"));
  auto stripped = *Module::open(directory_.path("a"), without_cache());
  EXPECT_FALSE(stripped->unnamed_function_at(part.address).has_value());
}

TEST_F(Entries, NeedNoTypeAndSize) {
  assemble(
      ".globl described, typed, called, label, unused, typed_label\n"
      "described:\n.cfi_startproc\nnop\nlabel: nop\nret\n.cfi_endproc\n"
      ".type typed,@function\ntyped: nop\nnop\nret\n"
      "called: ret\n"
      "unused: nop\n"
      "local: call called\nret\n" +
      code("sized", 0, "nop\n.type typed_label,@function\ntyped_label: nop\nret\n") + ".long 0\n");
  EXPECT_THAT(functions(), IsSupersetOf({"described", "typed", "called", "sized"}));
  for (const char* name : {"label", "unused", "local", "typed_label", "frame_dummy", "deregister_tm_clones", "_init", "_fini"})
    EXPECT_THAT(functions(), Not(Contains(name)));
  EXPECT_EQ(size("described"), 3u);  // what .eh_frame says
  EXPECT_EQ(size("typed"), 3u);      // up to the next symbol
  EXPECT_EQ(size("called"), 1u);
}

}  // namespace
}  // namespace spile::debuginfo
