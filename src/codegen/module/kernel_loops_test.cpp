#include "codegen/module/kernel_loops.h"

#include <gtest/gtest.h>

#include "abi/kernel.h"

namespace spile::codegen {

namespace {

// A handler with a loop, and what outline_loops() makes of it.
class LoopTest : public testing::Test {
 protected:
  void outline(const std::string& text) {
    llvm::SMDiagnostic complaint;
    module_ = llvm::parseAssemblyString(
        "target datalayout = \"e-m:e-p:64:64-i64:64-i128:128-n32:64-S128\"\ntarget triple = \"bpfel\"\n@turns = external global "
        "i8\n" +
            text,
        complaint, context_);
    ASSERT_TRUE(module_) << complaint.getMessage().str();
    llvm::Function& run = *module_->getFunction("run");
    std::vector<ScriptLoop> loops;
    for (const char* suffix : {".inner", ""}) {
      if (llvm::BasicBlock* head = block(run, std::string("head") + suffix))
        loops.push_back({head, block(run, std::string("done") + suffix), block(run, std::string("exhausted") + suffix),
                         value(run, std::string("exit") + suffix)});
    }
    outline_loops(*module_, loops, module_->getNamedGlobal("turns"));
    EXPECT_FALSE(llvm::verifyModule(*module_, &llvm::errs()));
  }
  static llvm::BasicBlock* block(llvm::Function& function, const std::string& name) {
    for (llvm::BasicBlock& each : function) {
      if (each.getName() == name) return &each;
    }
    return nullptr;
  }
  static llvm::Value* value(llvm::Function& function, const std::string& name) {
    for (llvm::Instruction& each : llvm::instructions(function)) {
      if (each.getName() == name) return &each;
    }
    return nullptr;
  }
  std::string text(const char* function) const {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module_->getFunction(function)->print(stream);
    return text;
  }
  static size_t count(const std::string& all, const std::string& what) {
    size_t n = 0;
    for (size_t at = 0; (at = all.find(what, at)) != std::string::npos; ++at) ++n;
    return n;
  }
  static bool repeats(llvm::Function& function) {
    llvm::SmallVector<std::pair<const llvm::BasicBlock*, const llvm::BasicBlock*>, 4> edges;
    llvm::FindFunctionBackedges(function, edges);
    return !edges.empty();
  }

  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
};

TEST_F(LoopTest, BecomesAFunctionWhoseWaysOutHaveNumbers) {
  outline(R"(
    define i32 @run(ptr %context) {
    entry: %own = alloca i64  %base = alloca ptr  %frame = call ptr @frame()  store ptr %frame, ptr %base
      %exit = getelementptr i8, ptr %frame, i64 8
      br label %head
    head: %at = load ptr, ptr %base  %n = load i64, ptr %at  %more = icmp slt i64 %n, 10  br i1 %more, label %body, label %done
    body: store i64 %n, ptr %own  %r = call i1 @step(ptr %context, ptr %own)  br i1 %r, label %head, label %error
    error: call void @report(i64 %n)  br label %end
    done: br label %end
    exhausted: br label %end
    end: ret i32 0
    }
    declare ptr @frame()
    declare i1 @step(ptr, ptr)
    declare void @report(i64))");
  llvm::Function* loop = module_->getFunction("loop.0");
  ASSERT_TRUE(loop);
  EXPECT_EQ(loop->getSection(), "callback.loop.0");
  EXPECT_FALSE(repeats(*loop));
  EXPECT_FALSE(repeats(*module_->getFunction("run")));
  const std::string inside = text("loop.0"), around = text("run");
  EXPECT_EQ(count(inside, "alloca i64"), 1u);  // the loop's own variable
  EXPECT_EQ(count(around, "alloca i64"), 0u);
  EXPECT_EQ(count(inside, "call void @report"), 1u);  // the way to an error is a part of the loop
  EXPECT_EQ(count(inside, "ret i64 1"), 2u);          // the end, and the error
  EXPECT_EQ(count(inside, "ret i64 0"), 1u);
  EXPECT_EQ(count(around, "inttoptr (i64 164 to ptr)(ptr @turns, ptr @loop.0"), 1u);
  EXPECT_EQ(count(around, "switch i64"), 1u);
  EXPECT_EQ(count(around, "label %exhausted"), 1u);
}

TEST_F(LoopTest, LoopsInLoopsAreFunctionsThatCallEachOther) {
  outline(R"(
    define i32 @run(ptr %context) {
    entry: %exit = call ptr @frame()  br label %head
    head: %a = call i1 @step()  br i1 %a, label %before, label %done
    before: %exit.inner = getelementptr i8, ptr %exit, i64 8  br label %head.inner
    head.inner: %b = call i1 @step()  br i1 %b, label %head.inner, label %more
    more: %c = call i1 @step()  br i1 %c, label %done.inner, label %end
    done.inner: br label %head
    exhausted.inner: br label %end
    done: br label %end
    exhausted: br label %end
    end: ret i32 0
    }
    declare ptr @frame()
    declare i1 @step())");
  EXPECT_EQ(count(text("run"), "@loop.1"), 1u);
  EXPECT_EQ(count(text("run"), "@loop.0"), 0u);
  EXPECT_EQ(count(text("loop.1"), "@loop.0"), 1u);
  for (const char* name : {"run", "loop.0", "loop.1"}) EXPECT_FALSE(repeats(*module_->getFunction(name)));
}

TEST_F(LoopTest, WhatCatchesItsErrorsStaysOutsideAsItsEndMayLeadThereToo) {
  outline(R"(
    define i32 @run(ptr %context) {
    entry: %exit = call ptr @frame()  br label %head
    head: %a = call i1 @step()  br i1 %a, label %body, label %done
    body: %b = call i1 @step()  br i1 %b, label %head, label %catch
    catch: call void @report()  br label %end
    exhausted: br label %catch
    done: br label %end
    end: ret i32 0
    }
    declare ptr @frame()
    declare i1 @step()
    declare void @report())");
  EXPECT_EQ(count(text("run"), "call void @report"), 1u);
  EXPECT_EQ(count(text("loop.0"), "call void @report"), 0u);
}

TEST_F(LoopTest, StatementsThatNeverRunMayLeadIntoIt) {
  outline(R"(
    define i32 @run(ptr %context) {
    entry: %exit = call ptr @frame()  br label %head
    head: %n = call i64 @step()  %a = icmp eq i64 %n, 0  br i1 %a, label %head, label %done
    dead: call void @report(i64 %n)  br label %head
    done: ret i32 0
    exhausted: ret i32 0
    }
    declare ptr @frame()
    declare i64 @step()
    declare void @report(i64))");
  EXPECT_EQ(count(text("run"), "@report"), 0u);
  EXPECT_FALSE(repeats(*module_->getFunction("run")));
}

TEST_F(LoopTest, ALoopThatNeverRunsStays) {
  outline(R"(
    define i32 @run(ptr %context) {
    entry: ret i32 0
    dead: %exit = call ptr @frame()  br label %head
    head: %a = call i1 @step()  br i1 %a, label %head, label %done
    done: ret i32 0
    exhausted: ret i32 0
    }
    declare ptr @frame()
    declare i1 @step())");
  EXPECT_FALSE(module_->getFunction("loop.0"));
}

}  // namespace

}  // namespace spile::codegen
