#include "sema/targets/point_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sema/fake_target_test.h"

namespace spile::sema {
namespace {

// x of function n is at the CFA plus 8 * n, s a string there; every third function has only x. far needs what no table has.
class FarPlaces : public FakeTarget {
 public:
  Result<Binding> bind(const ResolvedPoint& point, bool at_entry, const syntax::TargetVariable& variable) override {
    if (variable.name == "$return") return Binding{{location::Register{0}}};
    location::Operations ops = {location::CallFrameCfa{}, location::PlusConstant{8 * number(point)}, location::Deref{8, false}};
    if (variable.name == "$x") return Binding{ops};
    if (variable.name == "$s") return Binding{ops, ValueType::kString};
    if (variable.name == "$far")
      return Binding{{location::ThreadPointer{}, location::PlusConstant{number(point)}, location::Deref{8, false}}};
    return Error{"no variable '" + variable.name + "'", ""};
  }
  std::vector<std::string> variables(const ResolvedPoint& point, const std::string& which) override {
    if (which == "$$return") return {"$return"};
    std::vector<std::string> names = {"$x"};
    if (number(point) % 3 != 0) names.insert(names.end(), {"$s", "$gone"});
    if (which == "$$vars" && point.kind == ProbeKind::kFunctionReturn) names.emplace_back("$return");
    return names;
  }

 private:
  static int64_t number(const ResolvedPoint& point) { return std::atoi(point.site.function.c_str() + 1); }
};

Elaborated elaborate_far(const std::string& script, int own = 4, Domain domain = Domain::kTarget, bool guru = false,
                         bool has_arena = false) {
  FarPlaces target;
  target.many = 40;
  target.process_domain = domain;
  Program options;
  options.limits.max_own_handlers = own;
  options.guru = guru;
  options.kernel_has_arena = has_arena ? +[] { return true; } : nullptr;
  return elaborate_scripts({script}, target, std::move(options));
}

std::string probe(const std::string& body, const std::string& suffix = "") {
  return "probe process(\"/bin/fake\").function(\"f[0-9]*\")" + suffix + " { " + body + " }";
}

TEST(PointTables, ServeThePointsBeyondTheLimit) {
  auto made = elaborate_far(probe("println($x)"));
  ASSERT_TRUE(made.ok()) << made.messages();
  ASSERT_EQ(made.program.probes.size(), 5u);
  for (size_t i = 0; i < 4; ++i) EXPECT_TRUE(made.program.probes[i].tables.empty());
  const Probe& shared = made.program.probes[4];
  ASSERT_EQ(shared.points.size(), 36u);
  ASSERT_EQ(shared.tables.size(), 36u);
  EXPECT_EQ(location::to_string(shared.tables[5].at(0).at(0).ops), "cfa +72 deref8");
  EXPECT_TRUE(shared.needs_site_id);
  EXPECT_EQ(shared.bindings.at(0).by_point, Binding::ByPoint::kValue);
}

TEST(PointTables, HaveListsOfAnyLength) {
  auto made = elaborate_far(probe("println($$parms)"), 0);
  ASSERT_TRUE(made.ok()) << made.messages();
  ASSERT_EQ(made.program.probes.size(), 1u);
  const Probe& shared = made.program.probes[0];
  ASSERT_EQ(shared.tables.size(), 40u);
  EXPECT_EQ(shared.tables[3].at(0).size(), 1u);
  const PointSlot& four = shared.tables[4].at(0);
  ASSERT_EQ(four.size(), 3u);
  EXPECT_EQ(four[1].text, " s=");
  EXPECT_EQ(four[1].type, ValueType::kString);
  EXPECT_TRUE(four[2].ops.empty());  // printed as "?"
}

TEST(PointTables, KeepListsOfTheEntryForTheReturn) {
  auto made = elaborate_far(probe("println($$vars)", ".return"), 0);
  ASSERT_TRUE(made.ok()) << made.messages();
  ASSERT_EQ(made.program.probes.size(), 1u);
  ASSERT_EQ(made.program.probes[0].entry_saves.size(), 1u);
  EXPECT_EQ(made.program.probes[0].entry_saves[0]->type, ValueType::kString);
  EXPECT_THAT(syntax::to_source(*made.program.probes[0].body), testing::HasSubstr(" return=%#x"));
}

TEST(PointTables, AreSharedByVariablesOfEqualShapeOnly) {
  // One handler where x and s are used, one where s is missing.
  auto made = elaborate_far(probe("println(@defined($gone) ? 1 : $x)"), 0);
  ASSERT_TRUE(made.ok()) << made.messages();
  EXPECT_EQ(made.program.probes.size(), 1u);
  auto mixed = elaborate_far(probe("if ($x) println($s)"), 0);
  ASSERT_TRUE(mixed.ok()) << mixed.messages();
  ASSERT_EQ(mixed.program.probes.size(), 1u);
  EXPECT_EQ(mixed.program.probes[0].tables[0].size(), 2u);
}

TEST(PointTables, ServeHandlersInTheKernelOverAnArena) {
  auto made = elaborate_far(probe("println($$parms, $x)"), 0, Domain::kKernel, false, true);
  ASSERT_TRUE(made.ok()) << made.messages();
  ASSERT_EQ(made.program.probes.size(), 1u);
  EXPECT_EQ(made.program.probes[0].tables.size(), 40u);
}

TEST(PointTables, AreNotForPlacesOrHandlersThatTheyCannotServe) {
  auto thread_local_places = elaborate_far(probe("println($far)"), 0);
  ASSERT_TRUE(thread_local_places.ok()) << thread_local_places.messages();
  EXPECT_EQ(thread_local_places.program.probes.size(), 40u);
  auto in_kernel = elaborate_far(probe("println($x)"), 0, Domain::kKernel);
  EXPECT_EQ(in_kernel.program.probes.size(), 40u);
  auto writes = elaborate_far(probe("$x = 1"), 0, Domain::kTarget, true);
  ASSERT_TRUE(writes.ok()) << writes.messages();
  EXPECT_EQ(writes.program.probes.size(), 40u);
}

}  // namespace
}  // namespace spile::sema
