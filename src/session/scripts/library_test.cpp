#include "session/scripts/library.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sema/terms/intrinsics.h"
#include "session/scripts/session_script.h"

namespace spile::session {
namespace {

std::string source_tapset() { return SPILE_SOURCE_TREE "/tapset"; }

struct Loaded {
  SourceFiles files;
  Diagnostics diagnostics;
  std::vector<syntax::Script> scripts;

  Loaded() {
    ScriptOptions options;
    options.library_folders = {source_tapset()};
    auto library = Library::open(options, Runtime::kAuto, {}, files);
    if (library.ok()) scripts = library->parse_all(diagnostics);
  }
};

TEST(Library, ParsesWhole) {
  Loaded library;
  EXPECT_GT(library.scripts.size(), 20u);
  EXPECT_FALSE(library.diagnostics.has_errors()) << library.diagnostics.render(true);
}

// What the tapset says about functions that the runtime has is what sema believes.
TEST(Library, DeclarationsOfIntrinsicsAgreeWithTheTable) {
  Loaded library;
  std::set<int> declared;
  std::string made_here = session_script({});
  for (const syntax::Script& script : library.scripts) {
    for (const auto& function : script.functions) {
      if (!is_intrinsic_declaration(*function)) continue;
      int index = sema::find_intrinsic(function->name, function->parameters.size());
      if (index < 0) {
        EXPECT_NE(made_here.find("function " + function->name + ":"), std::string::npos) << function->name;
        continue;
      }
      const sema::Intrinsic& row = sema::intrinsics()[static_cast<size_t>(index)];
      declared.insert(index);
      EXPECT_EQ(function->declared_type, row.result) << function->name;
      ASSERT_EQ(function->parameters.size(), row.parameters.size()) << function->name;
      for (size_t i = 0; i < row.parameters.size(); ++i) {
        EXPECT_EQ(function->parameters[i]->type, row.parameters[i]) << function->name << " " << i;
      }
    }
  }
  for (size_t i = 0; i < sema::intrinsics().size(); ++i) {
    std::string name(sema::intrinsics()[i].name);
    if (name.starts_with("__")) continue;
    EXPECT_TRUE(declared.count(static_cast<int>(i))) << name << " is not declared and documented in tapset/";
  }
}

TEST(Library, NothingOfItIsParsedForAScriptThatNeedsNothing) {
  SourceFiles files;
  Diagnostics diagnostics;
  ScriptOptions options;
  options.library_folders = {source_tapset()};
  auto library = Library::open(options, Runtime::kAuto, {}, files);
  ASSERT_TRUE(library.ok());
  std::vector<syntax::Script> scripts;
  scripts.push_back(syntax::parse(files.add("x", "probe begin { println(strlen(\"x\")) exit() }"), {}, diagnostics));
  library->complete(scripts, diagnostics);
  EXPECT_EQ(library->parsed_count(), 0u);
  scripts.clear();
  scripts.push_back(syntax::parse(files.add("y", "probe begin { println(thread_indent(1)) }"), {}, diagnostics));
  library->complete(scripts, diagnostics);
  EXPECT_EQ(library->parsed_count(), 1u);
}

}  // namespace
}  // namespace spile::session
