#include "codegen/ebpf/loadable.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "abi/kernel.h"

namespace spile::codegen {

namespace {

// A module, given as LLVM's assembly, before and after the steps of make_loadable().
class Module {
 public:
  explicit Module(const std::string& text) {
    llvm::SMDiagnostic complaint;
    module_ = llvm::parseAssemblyString(
        "target datalayout = \"e-m:e-p:64:64-i64:64-i128:128-n32:64-S128\"\ntarget triple = \"bpfel\"\n" + text, complaint,
        context_);
    EXPECT_TRUE(module_) << complaint.getMessage().str();
  }
  llvm::Module& operator*() { return *module_; }
  llvm::Module* operator->() { return module_.get(); }
  std::string text() const {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module_->print(stream, nullptr);
    EXPECT_FALSE(llvm::verifyModule(*module_, &llvm::errs()));
    return text;
  }
  size_t count(const std::string& what) const {
    std::string all = text();
    size_t n = 0;
    for (size_t at = 0; (at = all.find(what, at)) != std::string::npos; ++at) ++n;
    return n;
  }

 private:
  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
};

TEST(Signatures, BecomeNumbersInAndOneOut) {
  Module module(R"(
    define internal zeroext i1 @f(i32 %a, i8 %b) { %c = trunc i32 %a to i8  %d = icmp eq i8 %b, %c  ret i1 %d }
    define i64 @g(i32 %x) { %r = call zeroext i1 @f(i32 %x, i8 7)  %z = zext i1 %r to i64  ret i64 %z })");
  simplify_signatures(*module);
  for (llvm::Function& function : *module) {
    EXPECT_TRUE(function.getReturnType()->isIntegerTy(64));
    for (llvm::Argument& argument : function.args()) EXPECT_TRUE(argument.getType()->isIntegerTy(64));
  }
  EXPECT_EQ(module.count("call i64 @f"), 1u);
}

TEST(Signatures, PassTheSixthArgumentByMemory) {
  Module module(R"(
    define internal i64 @f(i64 %a, i64 %b, i64 %c, i64 %d, i64 %e, i64 %g) { %s = add i64 %e, %g  ret i64 %s }
    define i64 @h() { %r = call i64 @f(i64 1, i64 2, i64 3, i64 4, i64 5, i64 6)  ret i64 %r })");
  simplify_signatures(*module);
  EXPECT_EQ(module->getFunction("f")->arg_size(), 5u);
  EXPECT_EQ(module.count("alloca [2 x i64]"), 1u);
}

TEST(Signatures, OfFunctionsWithStructuresGo) {
  Module module(R"(
    define internal i64 @takes([2 x i64] %pair) noinline { %a = extractvalue [2 x i64] %pair, 0  %b = extractvalue [2 x i64] %pair, 1  %s = shl i64 %a, %b  ret i64 %s }
    define internal i64 @copy(ptr byval(i64) %own) noinline { store volatile i64 1, ptr %own  %v = load i64, ptr %own  ret i64 %v }
    define internal { i64, i64 } @returns(i64 %x) noinline { %p = insertvalue { i64, i64 } zeroinitializer, i64 %x, 1  ret { i64, i64 } %p }
    define i64 @f(i64 %x, ptr %y) {
      %p = insertvalue [2 x i64] [i64 3, i64 0], i64 %x, 1
      %a = call i64 @takes([2 x i64] %p)
      %b = call i64 @copy(ptr byval(i64) %y)
      %q = call { i64, i64 } @returns(i64 %x)
      %c = extractvalue { i64, i64 } %q, 1
      %d = add i64 %a, %b
      %e = add i64 %d, %c
      ret i64 %e
    })");
  inline_what_must_be(*module);
  EXPECT_EQ(module.count("define"), 1u);
  EXPECT_EQ(module.count("call i64"), 0u);
  EXPECT_EQ(module.count("shl i64 3, %x"), 1u);
}

TEST(Memory, CopiesOfKnownSizeAreWordsAndAtomicLoadsAreVolatile) {
  Module module(R"(
    declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
    define i64 @f(ptr %to, ptr %from) {
      call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 14, i1 false)
      %v = load atomic i64, ptr %from acquire, align 8
      fence seq_cst
      ret i64 %v
    })");
  expand_memory(*module);
  EXPECT_EQ(module.count("call void"), 0u);
  EXPECT_EQ(module.count("store i64"), 1u);
  EXPECT_EQ(module.count("store i32"), 1u);
  EXPECT_EQ(module.count("store i16"), 1u);
  EXPECT_EQ(module.count("load volatile i64"), 1u);
  EXPECT_EQ(module.count("fence"), 0u);
}

// A large body keeps values in memory, but for addresses in the program's own argument, which are not the arena's.
TEST(Frames, AddressesInTheProgramsArgumentStayThere) {
  std::string text =
      "define void @body(ptr %context, ptr %program_context) \"spile-body\" {\nentry:\n %field = getelementptr i8, ptr "
      "%program_context, i64 24\n"
      " %first = load i32, ptr %field\n br label %b0\n";
  constexpr int kBlocks = 100;
  for (int i = 0; i < kBlocks; ++i)
    text += "b" + std::to_string(i) + ":\n store volatile i32 %first, ptr %context\n br label %b" + std::to_string(i + 1) + "\n";
  text += "b" + std::to_string(kBlocks) +
          ":\n %second = load i32, ptr %field\n store volatile i32 %second, ptr %context\n ret void\n}";
  Module module(text);
  ASSERT_TRUE(move_frames(*module).ok());
  EXPECT_EQ(module.count("getelementptr i8, ptr %program_context, i64 24"), 2u);
  EXPECT_EQ(module.count("store ptr"), 0u);
  EXPECT_EQ(module.count("load ptr"), 0u);
}

TEST(Frames, FunctionsThatNeedTheContextGetIt) {
  Module module(R"(
    define i64 @digits(i64 %n) {
      %v = alloca [16 x i8]
      store volatile i64 %n, ptr %v
      ret i64 %n
    }
    define i64 @between(i64 %n) {
      %r = call i64 @digits(i64 %n)
      ret i64 %r
    }
    define i64 @plain(i64 %n) { ret i64 %n }
    define i64 @body(ptr %context, ptr %program) #0 {
      %r = call i64 @between(i64 7)
      %s = call i64 @digits(i64 %r)
      %t = call i64 @plain(i64 %s)
      ret i64 %t
    }
    define i64 @outside(i64 %n) #1 {
      %r = call i64 @apart(i64 %n)
      ret i64 %r
    }
    define i64 @apart(i64 %n) {
      %v = alloca i64
      store volatile i64 %n, ptr %v
      ret i64 %n
    }
    attributes #0 = { "spile-body" }
    attributes #1 = { "spile-program" })");
  pass_contexts(*module);
  EXPECT_EQ(module.count("call i64 @between(ptr %context, i64 7)"), 1u);
  EXPECT_EQ(module.count("@digits(ptr %0, i64 %1)"), 2u) << "its definition, and the call between both";
  EXPECT_EQ(module.count("@digits(ptr %context, i64 %"), 1u);
  EXPECT_EQ(module.count("call i64 @plain(i64 %"), 1u);
  EXPECT_EQ(module.count("@apart(i64 %n)"), 2u) << "a program has none";
}

TEST(Frames, VariablesMoveToTheContextsFrameEachToItsOwnPlace) {
  Module module(R"(
    declare void @use(ptr)
    define i64 @leaf(ptr %context, i64 %n) {
      %v = alloca [16 x i8]
      store i64 %n, ptr %v
      %r = load volatile i64, ptr %v
      ret i64 %r
    }
    define i64 @body(ptr %context, ptr %program) #0 {
      %v = alloca i64
      store volatile i64 1, ptr %v
      %r = call i64 @leaf(ptr %context, i64 5)
      %s = call i64 @other(ptr %context, i64 %r)
      ret i64 %s
    }
    define i64 @other(ptr %context, i64 %n) {
      %v = alloca [16 x i8]
      store i64 %n, ptr %v
      %r = load volatile i64, ptr %v
      ret i64 %r
    }
    attributes #0 = { "spile-body" })");
  ASSERT_TRUE(move_frames(*module).ok());
  EXPECT_EQ(module.count("alloca"), 0u);
  EXPECT_EQ(module.count("ptr %context, i64 " + std::to_string(abi::kKernelVariablesOffset)), 1u);
  EXPECT_EQ(module.count("ptr %context, i64 " + std::to_string(abi::kKernelVariablesOffset + 8)), 2u + 2u)
      << "each use has its own; both leaves are behind the body";
}

TEST(Calls, OfLongChainsBecomePartsOfTheirCallersTheSmallestFirst) {
  // program > body > f0 > f1 > ... > f9; f3 is the largest.
  std::string text = "define i64 @f9(i64 %x) noinline { ret i64 %x }\n";
  for (int i = 8; i >= 0; --i) {
    text += fmt::format("define i64 @f{}(i64 %x) noinline {{\n", i);
    for (int k = 0; k < (i == 3 ? 50 : 1); ++k) text += "  store volatile i64 0, ptr null\n";
    text += fmt::format("  %r = call i64 @f{}(i64 %x)\n  ret i64 %r\n}}\n", i + 1);
  }
  Module module(text + R"(
    define void @body(ptr %context, ptr %argument) noinline "spile-body" { %r = call i64 @f0(i64 7)  ret void }
    define i32 @program(ptr %argument) "spile-program" { call void @body(ptr null, ptr %argument)  ret i32 0 })");
  shorten_calls(*module, 12);
  EXPECT_EQ(module.count("define"), 12u);
  shorten_calls(*module, 8);
  EXPECT_EQ(module.count("define"), 8u);
  for (const char* name : {"program", "body", "f3"}) EXPECT_TRUE(module->getFunction(name)) << name;
  EXPECT_EQ(module.count("store volatile"), 58u);
}

TEST(Recursion, BecomesOneFunctionWithAStack) {
  Module module(R"(
    define internal i64 @even(ptr %context, i64 %n) {
      %zero = icmp eq i64 %n, 0
      br i1 %zero, label %end, label %more
    more:
      %m = sub i64 %n, 1
      %r = call i64 @odd(ptr %context, i64 %m)
      %s = add i64 %r, %n
      br label %end
    end:
      %v = phi i64 [ 1, %0 ], [ %s, %more ]
      ret i64 %v
    }
    define internal i64 @odd(ptr %context, i64 %n) { %r = call i64 @even(ptr %context, i64 %n)  ret i64 %r }
    define internal i64 @other(ptr %context, i64 %n) { ret i64 %n }
    define i64 @body(ptr %context, ptr %program) #0 {
      %a = call i64 @even(ptr %context, i64 5)
      %b = call i64 @odd(ptr %context, i64 %a)
      %c = call i64 @other(ptr %context, i64 %b)
      ret i64 %c
    }
    attributes #0 = { "spile-body" })");
  unroll_recursion(*module, 11);
  EXPECT_EQ(module.count("define"), 3u);  // the body, the one that is not recursive, and the two in one
  EXPECT_EQ(module.count("switch i64"), 1u);
  EXPECT_EQ(module.count("phi"), 0u);
  EXPECT_EQ(module.count("call i64"), 3u) << "those of the body";
  ASSERT_TRUE(move_frames(*module).ok());
  EXPECT_EQ(module.count(" = alloca"), 0u);
}

// Values that pass from block to block of a large body lie in memory, which would make numbers of the arena of them.
TEST(Frames, PlacesInTheProgramsArgumentStayThere) {
  std::string blocks;
  for (int i = 0; i < 100; ++i) blocks += "b" + std::to_string(i) + ":\n  br label %b" + std::to_string(i + 1) + "\n";
  Module module(R"(
    define i64 @body(ptr %context, ptr %program) #0 {
      %place = getelementptr i8, ptr %program, i64 96
      %later = getelementptr i8, ptr %place, i64 8
      %first = load i64, ptr %place
      br label %b0
    )" + blocks +
                R"(
    b100:
      %second = load i64, ptr %later
      %sum = add i64 %first, %second
      ret i64 %sum
    }
    attributes #0 = { "spile-body" })");
  ASSERT_TRUE(move_frames(*module).ok());
  EXPECT_EQ(module.count("load i64, ptr %later"), 0u);
  EXPECT_EQ(module.count("ptr %program, i64 96"), 1u);
  EXPECT_EQ(module.count("ptr %program, i64 104"), 1u);
  EXPECT_EQ(module.count("store ptr"), 0u);
}

TEST(Frames, AFunctionWithoutTheContextBecomesPartOfItsCallers) {
  Module module(R"(
    define internal i64 @leaf(i64 %n) {
      %v = alloca i64
      store volatile i64 %n, ptr %v
      %r = load volatile i64, ptr %v
      ret i64 %r
    }
    define i64 @body(ptr %context, ptr %program) #0 { %r = call i64 @leaf(i64 5)  ret i64 %r }
    attributes #0 = { "spile-body" })");
  ASSERT_TRUE(move_frames(*module).ok());
  EXPECT_EQ(module->getFunction("leaf"), nullptr);
  EXPECT_EQ(module.count("alloca"), 0u);
}

// An address in the program's argument that was read back from the arena would be one of the arena.
TEST(Frames, ALargeBodyKeepsValuesThereButNoAddressesOfOtherMemory) {
  std::string chain;
  constexpr int kBlocks = 80;
  for (int i = 0; i < kBlocks; ++i)
    chain += "b" + std::to_string(i) + ":\n br i1 %q, label %b" + std::to_string(i + 1) + ", label %end\n";
  Module module(
      "define void @body(ptr %context, ptr %program) \"spile-body\" {\n"
      " %array = getelementptr i8, ptr %program, i64 8\n %address = getelementptr i8, ptr %array, i64 8\n"
      " %first = load i64, ptr %address\n %q = icmp eq i64 %first, 7\n br label %b0\n" +
      chain + "b" + std::to_string(kBlocks) +
      ":\n %second = load i64, ptr %address\n %sum = add i64 %first, %second\n"
      " store i64 %sum, ptr %context\n br label %end\nend:\n ret void\n}\n");
  ASSERT_TRUE(move_frames(*module).ok());
  EXPECT_EQ(module.count("store ptr"), 0u);
  EXPECT_EQ(module.count("ptr %program, i64 16"), 2u);
  ASSERT_TRUE(cast_pointers(*module, false).ok());
  size_t plain = 0;
  for (llvm::Instruction& instruction : llvm::instructions(*module->getFunction("body"))) {
    auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    plain += load && is_program_context(llvm::getUnderlyingObject(load->getPointerOperand(), 0));
  }
  EXPECT_EQ(plain, 2u);
}

TEST(Frames, HelpersWriteToOnePlaceOneAfterTheOther) {
  Module module(R"(
    define i64 @f(ptr %c, i1 %b) {
      %x = alloca i64
      %y = alloca i64
      %z = alloca i64
      %both = alloca i64
      %helper = inttoptr i64 183 to ptr
      store i64 0, ptr %x
      %1 = call i64 %helper(ptr %c, i32 0, ptr %x)
      %v = load i64, ptr %x
      store i64 0, ptr %both
      %2 = call i64 %helper(ptr %c, i32 1, ptr %both)
      store i64 0, ptr %y
      %3 = call i64 %helper(ptr %c, i32 1, ptr %y)
      %w = load i64, ptr %y
      %u = load i64, ptr %both
      br i1 %b, label %more, label %end
    more:
      store i64 0, ptr %z
      %4 = call i64 %helper(ptr %c, i32 2, ptr %z)
      %t = load i64, ptr %z
      br label %end
    end:
      %p = phi i64 [ %t, %more ], [ 0, %0 ]
      %s1 = add i64 %v, %w
      %s2 = add i64 %s1, %u
      %s3 = add i64 %s2, %p
      ret i64 %s3
    })");
  share_helper_buffers(*module);
  // Two are in use at once.
  EXPECT_EQ(module.count("alloca"), 2u);
  EXPECT_EQ(module.count("call i64"), 4u);
  EXPECT_EQ(module.count("ptr %x"), 9u) << module.text();
}

// As of execname(): written in one block, filled and read in another one; of pid(): a part is read.
TEST(Frames, BuffersOfAllSizesAreSharedAcrossBlocks) {
  std::string text =
      "define i64 @f(ptr %c, i1 %b) {\nentry:\n %helper = inttoptr i64 16 to ptr\n %numbers = inttoptr i64 120 to ptr\n";
  constexpr int kUses = 30;
  for (int i = 0; i < kUses; ++i) text += fmt::format(" %name{0} = alloca [2 x i64]\n %pair{0} = alloca {{ i32, i32 }}\n", i);
  text += " br label %b0\n";
  for (int i = 0; i < kUses; ++i) {
    text += fmt::format(R"(
      b{0}:
        %t{0} = phi i64 [ {2}, %{3} ]
        store i64 0, ptr %name{0}
        %second{0} = getelementptr i8, ptr %name{0}, i64 8
        store i64 0, ptr %second{0}
        br i1 %b, label %call{0}, label %done{0}
      call{0}:
        %r{0} = call i64 %helper(ptr %name{0}, i32 16)
        br label %done{0}
      done{0}:
        store i64 0, ptr %pair{0}
        %n{0} = call i64 %numbers(ptr %pair{0}, i32 8)
        %place{0} = getelementptr i8, ptr %pair{0}, i64 4
        %v{0} = load i32, ptr %place{0}
        %w{0} = load i64, ptr %second{0}
        %x{0} = zext i32 %v{0} to i64
        %y{0} = add i64 %x{0}, %w{0}
        %sum{0} = add i64 %t{0}, %y{0}
        br label %b{1})",
                        i, i + 1, i == 0 ? "0" : fmt::format("%sum{}", i - 1), i == 0 ? "entry" : fmt::format("done{}", i - 1));
  }
  text += fmt::format("\nb{0}:\n ret i64 %sum{1}\n}}", kUses, kUses - 1);
  Module module(text);
  share_helper_buffers(*module);
  EXPECT_EQ(module.count("alloca"), 2u);  // the name is read after the pair
  EXPECT_EQ(module.count("call i64"), 2u * kUses);
}

TEST(Frames, ABufferThatIsReadElsewhereIsItsOwn) {
  Module module(R"(
    define i64 @f(ptr %c) {
      %x = alloca i64
      %y = alloca i64
      %helper = inttoptr i64 183 to ptr
      store i64 0, ptr %x
      %1 = call i64 %helper(ptr %c, i32 0, ptr %x)
      store i64 0, ptr %y
      %2 = call i64 %helper(ptr %c, i32 1, ptr %y)
      br label %end
    end:
      %v = load i64, ptr %x
      %w = load i64, ptr %y
      %s = add i64 %v, %w
      ret i64 %s
    })");
  share_helper_buffers(*module);
  EXPECT_EQ(module.count("alloca"), 2u);
}

TEST(Constants, GoToTheArena) {
  Module module(R"(
    @text = private constant [3 x i8] c"ab\00"
    @table = private constant { i32, i64 } { i32 7, i64 -1 }
    define i8 @f() { %v = load volatile i8, ptr @text  ret i8 %v }
    define i64 @g() { %v = load volatile i64, ptr getelementptr (i8, ptr @table, i64 8)  ret i64 %v })");
  move_constants(*module, 4096);
  llvm::GlobalVariable* bytes = module->getNamedGlobal("spile_arena_constants");
  ASSERT_TRUE(bytes);
  EXPECT_EQ(bytes->getSection(), abi::kKernelConstantsSection);
  auto* content = llvm::cast<llvm::ConstantDataArray>(bytes->getInitializer());
  EXPECT_EQ(content->getRawDataValues().substr(0, 3).str(), std::string("ab\0", 3));
  EXPECT_EQ(content->getRawDataValues().substr(16, 1).str(), "\x07");
  EXPECT_EQ(content->getRawDataValues().substr(24, 8).str(), std::string(8, '\xff'));
  EXPECT_EQ(module.count(std::to_string(abi::kKernelArenaBase + 4096)), 1u);
}

TEST(Loops, EachTurnPassesMayGoto) {
  Module module(R"(
    define i64 @f(i64 %n) {
    entry:
      br label %loop
    loop:
      %i = phi i64 [ 0, %entry ], [ %next, %loop ]
      %next = add i64 %i, 1
      %more = icmp ult i64 %next, %n
      br i1 %more, label %loop, label %out
    out:
      ret i64 %next
    })");
  bound_loops(*module);
  EXPECT_EQ(module.count("may_goto"), 1u);
  EXPECT_EQ(module.count("$0 += $2"), 1u) << "the variable is hidden";
}

TEST(Values, ThatAreLeftOpenBecomeZero) {
  Module module(R"(
    define i64 @g(i64 %unused, ptr %p) { ret i64 1 }
    define i64 @f(i1 %which) {
    entry:
      br i1 %which, label %one, label %two
    one:
      %a = call i64 @g(i64 poison, ptr undef)
      br label %two
    two:
      %b = phi i64 [ undef, %entry ], [ %a, %one ]
      ret i64 %b
    })");
  define_values(*module);
  EXPECT_EQ(module.count("@g(i64 0, ptr null)"), 1u);
  EXPECT_EQ(module.count("phi i64 [ 0, %entry ]"), 1u);
  EXPECT_EQ(module.count("poison") + module.count("undef"), 0u);
}

TEST(Pointers, AccessesAreCastAndThoseOfTheStackAreNot) {
  Module module(R"(
    define i64 @f(ptr %p) {
      %v = alloca i64
      call void inttoptr (i64 4 to ptr)(ptr %v)
      %a = load i64, ptr %v
      %q = getelementptr i8, ptr %p, i64 16
      %b = load i64, ptr %q
      %c = load i64, ptr %p
      %s = add i64 %a, %b
      %t = add i64 %s, %c
      ret i64 %t
    })");
  ASSERT_TRUE(cast_pointers(*module, false).ok());
  EXPECT_EQ(module.count("addrspacecast"), 1u) << "one for both accesses of the block";
  EXPECT_EQ(module.count("load i64, ptr %v"), 1u);
}

TEST(Pointers, NoLoadExtendsTheSign) {
  Module module(R"(
    define i64 @f(ptr %p) { %a = load i32, ptr %p  %b = sext i32 %a to i64  ret i64 %b })");
  ASSERT_TRUE(cast_pointers(*module, false).ok());
  EXPECT_EQ(module.count("asm \"\", \"=r,0\""), 1u);
  Module compares(R"(
    define i1 @f(ptr %p) { %a = load i8, ptr %p  %b = icmp slt i8 %a, 0  ret i1 %b })");
  ASSERT_TRUE(cast_pointers(*compares, false).ok());
  EXPECT_EQ(compares.count("asm \"\", \"=r,0\""), 1u);
}

// What the runtime has for globals that processes share (runtime/kernel/shared.cpp), as declarations with bodies.
constexpr const char* kSharedAccesses = R"(
    define i64 @spile_rt_shared_load_64(i64 %a) { ret i64 %a }
    define i64 @spile_rt_shared_load_8(i64 %a) { ret i64 %a }
    define i64 @spile_rt_shared_store_64(i64 %a, i64 %v) { ret i64 0 }
    define i64 @spile_rt_shared_swap_32(i64 %a, i64 %e, i64 %v) { ret i64 %e }
    define i64 @spile_rt_shared_add_64(i64 %a, i64 %v) { ret i64 %v })";

TEST(Pointers, AnAddressThatMayBeSharedGoesToTheRuntime) {
  Module module(kSharedAccesses + std::string(R"(
    define i64 @f(i64 %n) {
      %p = inttoptr i64 %n to ptr
      %a = load i64, ptr %p
      %b = load i8, ptr %p
      store i64 %a, ptr %p
      %pair = cmpxchg ptr %p, i32 0, i32 7 seq_cst seq_cst
      %taken = extractvalue { i32, i1 } %pair, 1
      %old = atomicrmw add ptr %p, i64 1 seq_cst
      %wide = zext i1 %taken to i64
      %sum = add i64 %old, %wide
      ret i64 %sum
    })"));
  ASSERT_TRUE(cast_pointers(*module, true).ok());
  EXPECT_EQ(module.count("addrspacecast"), 0u);
  for (const char* what : {"load_64(i64 %", "load_8(i64 %", "store_64(i64 %", "swap_32(i64 %", "add_64(i64 %"}) {
    EXPECT_EQ(module.count(std::string("call i64 @spile_rt_shared_") + what), 1u) << what;
  }
}

TEST(Pointers, AnAddressThatIsKnownIsAccessedWhereItIs) {
  const std::string shared = std::to_string(abi::kKernelSharedBase + 64);
  Module module(kSharedAccesses + (R"(
    define void @f(ptr %context, ptr %program) "spile-body" {
      %a = load i64, ptr inttoptr (i64 65600 to ptr)
      store i64 %a, ptr inttoptr (i64 )" +
                                   shared + R"( to ptr)
      %field = getelementptr i8, ptr %context, i64 8
      store i64 %a, ptr %field
      ret void
    })"));
  ASSERT_TRUE(cast_pointers(*module, true).ok());
  EXPECT_EQ(module.count("call i64"), 0u);
  EXPECT_EQ(module.count("getelementptr (i8, ptr @spile_map_shared, i64 64)"), 1u);
  EXPECT_EQ(module.count("addrspacecast"), 2u) << "of the arena's word and of the context";
}

TEST(Pointers, AChangeThatTheRuntimeDoesNotHaveIsAnError) {
  Module module(R"(define i64 @f(ptr %p) { %old = atomicrmw xor ptr %p, i64 1 seq_cst  ret i64 %old })");
  EXPECT_FALSE(cast_pointers(*module, true).ok());
}

TEST(Pointers, MemoryOfTwoKindsAtOneInstructionIsAnError) {
  Module module(R"(
    define i64 @f(ptr %p, i1 %c) {
      %v = alloca i64
      call void inttoptr (i64 4 to ptr)(ptr %v)
      %either = select i1 %c, ptr %v, ptr %p
      %a = load i64, ptr %either
      ret i64 %a
    })");
  EXPECT_FALSE(cast_pointers(*module, false).ok());
}

}  // namespace

}  // namespace spile::codegen
