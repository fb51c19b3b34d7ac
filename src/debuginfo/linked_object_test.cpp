#include "debuginfo/linked_object.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "debuginfo/test_program.h"

namespace spile::debuginfo {
namespace {

using testing::Contains;
using testing::HasSubstr;

// Two functions in sections of their own, so that addresses within a section alone would be ambiguous; a variable of the file; an
// inlined call.
constexpr const char* kSource = R"(
static int counted = 7;
int taken;
extern int elsewhere(int);
__attribute__((section(".second"))) int second(int a) {
  int sum = a * 3 + counted;
  counted = sum;
  return elsewhere(sum) + taken;
}
static inline __attribute__((always_inline)) int doubled(int value) { taken++; return value * 2; }
int first(int b, char* text) {
  int local = doubled(b) + text[0];
  return second(local);
}
)";

LinkedObject linked(const TestDirectory& directory, const std::string& flags) {
  directory.write("m.c", kSource);
  EXPECT_TRUE(directory.run("gcc -O2 -g -fno-pic -mcmodel=kernel -fcf-protection=none " + flags + " -c m.c -o m.o"));
  Result<LinkedObject> object = open_linked(directory.path("m.o"), without_cache());
  EXPECT_TRUE(object.ok()) << (object.ok() ? "" : object.error().message);
  return object.ok() ? std::move(*object) : LinkedObject{};
}

FileAddress begin_of(const LinkedObject& object, const std::string& name) {
  for (const PlacedSection& section : object.sections) {
    if (section.name == name) return section.address;
  }
  return FileAddress(0);
}

std::optional<FileAddress> address_of(const Place& place) {
  for (const location::Operation& operation : place.operations) {
    if (const auto* address = std::get_if<location::Address>(&operation)) return address->address;
  }
  return std::nullopt;
}

class LinkedObjectTest : public testing::TestWithParam<const char*> {};

TEST_P(LinkedObjectTest, HasItsFunctionsInSectionsThatDoNotOverlap) {
  TestDirectory directory;
  LinkedObject object = linked(directory, GetParam());
  ASSERT_TRUE(object.module);
  const std::vector<Function> all = object.module->all_functions();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(object.module->functions({"second", ""})->at(0).address, begin_of(object, ".second"));
  EXPECT_EQ(object.module->functions({"first", "m.c"})->at(0).declared.line, 11);
  uint64_t end = kFirstLinked.value;
  for (const PlacedSection& section : object.sections) {
    EXPECT_GE(section.address.value, end) << section.name;
    end = section.address.value + section.size;
  }
}

TEST_P(LinkedObjectTest, AppliesTheRelocationsOfDebugInformation) {
  TestDirectory directory;
  LinkedObject object = linked(directory, GetParam());
  ASSERT_TRUE(object.module);
  Module& module = *object.module;
  const FileAddress first = module.functions({"first", ""})->at(0).address, second = begin_of(object, ".second");
  auto place = module.global_variable("counted");
  ASSERT_TRUE(place.ok());
  EXPECT_EQ(address_of(place->place), module.data_symbol("counted"));
  EXPECT_EQ(address_of(place->place), begin_of(object, ".data"));
  EXPECT_EQ(address_of(module.global_variable("taken")->place), begin_of(object, ".bss"));

  EXPECT_TRUE(module.variable(first, first, "text")->place.available());
  EXPECT_EQ(module.variable(second, second, "a")->place.type.name(), "int");
  EXPECT_EQ(module.source_line(second)->line, 5);
  EXPECT_EQ(module.source_line(first)->line, 11);
  std::vector<int> lines;
  const CodePlaces statements = *module.statements("m.c");
  for (const CodePlace& statement : statements) {
    if (statement.function == second) lines.push_back(statement.source.line);
  }
  EXPECT_THAT(lines, Contains(8));
  const CodePlaces inlined = *module.inlined_calls({"doubled", ""});
  ASSERT_EQ(inlined.size(), 1u);
  EXPECT_EQ(inlined[0].function, first);
}

INSTANTIATE_TEST_SUITE_P(Forms, LinkedObjectTest, testing::Values("", "-gz=zlib", "-gdwarf-4", "-gdwarf-4 -gz=zlib"));

TEST(LinkedObject, RefusesOtherFiles) {
  TestDirectory directory;
  directory.write("m.c", "int main() { return 0; }");
  ASSERT_TRUE(directory.run("gcc m.c -o program"));
  EXPECT_THAT(open_linked(directory.path("program")).error().message, HasSubstr("not a relocatable object"));
  directory.write("text", "hello");
  EXPECT_THAT(open_linked(directory.path("text")).error().message, HasSubstr("not an ELF file"));
  EXPECT_THAT(open_linked(directory.path("none")).error().message, HasSubstr("No such file"));
  // A probe on a process is refused on an object, as before.
  ASSERT_TRUE(directory.run("gcc -c m.c -o m.o"));
  EXPECT_THAT(Module::open(directory.path("m.o")).error().message, HasSubstr("neither an executable nor a shared library"));
}

// Whatever byte is changed: an error or other answers, never a read or write outside (under ASan), nor a wait.
TEST(LinkedObject, SurvivesDamage) {
  TestDirectory directory;
  directory.write("m.c", kSource);
  ASSERT_TRUE(directory.run("gcc -O2 -g -c m.c -o m.o && gcc -O2 -g -gz=zlib -c m.c -o z.o"));
  for (const char* name : {"m.o", "z.o"}) {
    const std::string whole = directory.read(name);
    uint64_t state = 12345;
    auto next = [&] { return state = state * 6364136223846793005u + 1442695040888963407u, state >> 33; };
    for (int turn = 0; turn < 400; ++turn) {
      std::string bytes = whole;
      // The headers of the file and of its sections decide where is read: they are hit more often.
      uint64_t headers;
      std::memcpy(&headers, whole.data() + 40, sizeof headers);
      const bool in_headers = turn % 2 == 0;
      for (int i = 0; i < 3; ++i) {
        const size_t at =
            in_headers ? (next() % 4 == 0 ? next() % 64 : headers + next() % (whole.size() - headers)) : next() % whole.size();
        bytes[at] = static_cast<char>(turn % 3 == 0 ? 0xff : next());
      }
      if (turn % 16 == 0) bytes.resize(next() % bytes.size());
      Result<LinkedObject> object = open_linked(directory.write("damaged.o", bytes), without_cache());
      if (!object.ok()) continue;
      for (const Function& function : object->module->all_functions())
        (void)object->module->variables(function.address, function.address);
      (void)object->module->statements("m.c");
      (void)object->module->inlined_calls({"doubled", ""});
    }
  }
}

}  // namespace
}  // namespace spile::debuginfo
