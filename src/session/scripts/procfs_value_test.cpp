#include "session/scripts/procfs_value.h"

#include <gtest/gtest.h>

#include "base/diagnostics.h"
#include "syntax/parser.h"

namespace spile::session {
namespace {

class ProcfsGlobals : public testing::Test {
 protected:
  void declare(const std::string& text) {
    Diagnostics diagnostics;
    scripts_.push_back(syntax::parse(files_.add("x", text), {}, diagnostics));
    ASSERT_FALSE(diagnostics.has_errors()) << diagnostics.render(false);
    declare_procfs_value(scripts_, 128, files_);
  }
  std::vector<std::string> globals() const {
    std::vector<std::string> names;
    if (scripts_.size() < 2) return names;
    for (const auto& global : scripts_.back().globals) names.push_back(global->name);
    return names;
  }

  SourceFiles files_;
  std::vector<syntax::Script> scripts_;
};

TEST_F(ProcfsGlobals, AreDeclaredOnlyForScriptsWithProcfsProbes) {
  declare("probe begin { exit() }");
  EXPECT_EQ(scripts_.size(), 1u);
}

TEST_F(ProcfsGlobals, StandForTheValueInProcfsProbesAlone) {
  declare("probe procfs(\"f\").read { $value = \"x\" } probe process(\"p\").function(\"f\") { println($value) }");
  EXPECT_EQ(globals(), std::vector<std::string>{kProcfsValue});
  EXPECT_NE(syntax::to_source(*scripts_[0].probes[0]->body).find(kProcfsValue), std::string::npos);
  EXPECT_NE(syntax::to_source(*scripts_[0].probes[1]->body).find("$value"), std::string::npos) << "a variable of the program";
}

TEST_F(ProcfsGlobals, HavePartsWhereSomethingIsAppended) {
  declare("probe procfs.read { $value .= \"x\" }");
  EXPECT_EQ(globals(), (std::vector<std::string>{kProcfsValue, kProcfsParts, kProcfsCount}));
  EXPECT_NE(syntax::to_source(*scripts_[0].probes[0]->body).find(">= 128"), std::string::npos)
      << "a part is full at MAXSTRINGLEN";
}

TEST_F(ProcfsGlobals, AreSeenThroughAliasesOfAliases) {
  declare("probe outer = inner { } probe inner = procfs { } probe outer.read { $value = \"x\" }");
  EXPECT_EQ(globals(), std::vector<std::string>{kProcfsValue});
}

}  // namespace
}  // namespace spile::session
