// BTF that is put together record by record, and the same with damage.
#include "kernelinfo/btf.h"

#include <gmock/gmock.h>

#include <cstring>
#include <random>

#include "kernelinfo/test_btf.h"

namespace spile::kernelinfo {
namespace {

using debuginfo::Type;
using debuginfo::TypeKind;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Btf, HasPrototypesOfFunctions) {
  auto btf = SampleBtf().read();
  auto function = btf->function("vfs_read");
  ASSERT_TRUE(function);
  EXPECT_EQ(function->returned.name(), "long int");
  ASSERT_EQ(function->parameters.size(), 3u);
  EXPECT_EQ(function->parameters[0].name, "file");
  EXPECT_EQ(function->parameters[0].type.name(), "struct file*");
  EXPECT_TRUE(function->parameters[1].type.is_string());
  EXPECT_EQ(function->parameters[2].type.size(), 8u);
  EXPECT_FALSE(function->variadic);
  EXPECT_FALSE(btf->function("vfs_rea"));
}

TEST(Btf, NotesVariadicFunctions) {
  auto function = SampleBtf().read()->function("printk");
  ASSERT_TRUE(function);
  EXPECT_TRUE(function->variadic);
  EXPECT_EQ(function->parameters.size(), 1u);
}

TEST(Btf, FindsFunctionsByScanAndByIndex) {
  auto btf = SampleBtf().read();
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(btf->function("printk")) << i;
    EXPECT_FALSE(btf->function("file")) << i;
  }
}

TEST(Btf, HasMembersWithOffsetsAndBits) {
  auto btf = SampleBtf().read();
  auto file = btf->type_named("struct file");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->size(), 48u);
  auto mode = file->member("mode");
  ASSERT_TRUE(mode);
  EXPECT_EQ(mode->offset, 0u);
  EXPECT_EQ(mode->bit_offset, 3u);
  EXPECT_EQ(mode->bit_size, 5u);
  EXPECT_EQ(file->member("pos")->offset, 8u);
  auto name = file->member("name");
  EXPECT_EQ(name->type.name(), "char[8]");
  EXPECT_TRUE(name->type.is_string());
  EXPECT_EQ(file->member("next")->type.target().member("next")->offset, 24u);
  EXPECT_EQ(file->member("ops")->type.name(), "const void*");
}

TEST(Btf, FindsTypesAsCNamesThem) {
  auto btf = SampleBtf().read();
  EXPECT_EQ(btf->type_named("file")->size(), 48u);
  EXPECT_EQ(btf->type_named("unsigned long")->size(), 8u);
  EXPECT_EQ(btf->type_named("enum color")->kind(), TypeKind::kEnum);
  EXPECT_EQ(btf->type_named("struct hidden")->kind(), TypeKind::kStruct);
  EXPECT_FALSE(btf->type_named("union file"));
  EXPECT_FALSE(btf->type_named("struct "));
  EXPECT_THAT(btf->type_names(), ElementsAre("struct file", "enum color", "enum mask"));
}

TEST(Btf, HasConstantsOfEnums) {
  auto btf = SampleBtf().read();
  auto color = btf->enum_with("BLUE");
  ASSERT_TRUE(color);
  EXPECT_EQ(color->enumerators()[1].value, -2);
  EXPECT_EQ(btf->enum_with("HIGH")->enumerators()[0].value, int64_t{1} << 32);
  EXPECT_FALSE(btf->enum_with("GREEN"));
}

TEST(Btf, HasTypesOfVariables) {
  auto btf = SampleBtf().read();
  EXPECT_EQ(btf->variable("runqueues")->name(), "struct file");
  EXPECT_FALSE(btf->variable("jiffies"));
}

TEST(Btf, DeclarationsLeadToTheirDefinitions) {
  auto btf = SampleBtf().read();
  const auto forward = static_cast<uint64_t>(SampleBtf().maker.next() - 3 + 1);  // "file", declared; debuginfo's ids are one more
  EXPECT_EQ(btf->type_with_id(forward).size(), 48u);
  EXPECT_EQ(btf->type_with_id(forward + 1).size(), 0u);
}

TEST(Btf, ModulesContinueTheBase) {
  SampleBtf base;
  BtfMaker maker(base.maker.next(), base.maker.strings());
  const uint32_t disk = maker.add(4, "disk", 8, {maker.string("file"), base.file, 0}, 1);
  maker.function("lo_open", 0, {{"disk", maker.pointer(disk)}, {"on", base.file}});
  auto module = Btf::read(maker.bytes(), "loop", base.read()).value();
  auto function = module->function("lo_open");
  ASSERT_TRUE(function);
  EXPECT_EQ(function->parameters[0].type.target().member("file")->type.name(), "struct file");
  EXPECT_EQ(function->parameters[1].type.member("pos")->offset, 8u);
  EXPECT_EQ(module->type_named("struct file")->size(), 48u);
  EXPECT_FALSE(module->function("vfs_read"));
}

TEST(Btf, UnknownIdsAreUnknownTypes) {
  auto btf = SampleBtf().read();
  EXPECT_EQ(btf->type_with_id(0).kind(), TypeKind::kUnknown);
  EXPECT_EQ(btf->type_with_id(1).kind(), TypeKind::kVoid);
  EXPECT_EQ(btf->type_with_id(100000).kind(), TypeKind::kUnknown);
  EXPECT_EQ(btf->type_with_id(~uint64_t{0}).kind(), TypeKind::kUnknown);
}

std::string error_of(std::vector<uint8_t> bytes) {
  auto read = Btf::read(std::move(bytes), "vmlinux");
  return read.ok() ? "" : read.error().message;
}

TEST(Btf, RefusesWhatIsNotBtf) {
  EXPECT_THAT(error_of({}), HasSubstr("shorter than its header"));
  EXPECT_THAT(error_of(std::vector<uint8_t>(100)), HasSubstr("not type information"));
}

TEST(Btf, RefusesSectionsThatLeaveTheFile) {
  for (size_t field : {4, 8, 12, 16, 20}) {
    std::vector<uint8_t> bytes = SampleBtf().maker.bytes();
    std::memset(bytes.data() + field, 0xff, 4);
    EXPECT_THAT(error_of(bytes), HasSubstr("a section leaves the file")) << field;
  }
}

TEST(Btf, RefusesUnknownKindsAndLongRecords) {
  BtfMaker unknown;
  unknown.add(25, "x", 0);
  EXPECT_THAT(error_of(unknown.bytes()), HasSubstr("unknown kind 25"));
  BtfMaker lengthy;
  lengthy.add(4, "x", 8, {}, 9);
  EXPECT_THAT(error_of(lengthy.bytes()), HasSubstr("a record leaves its section"));
}

TEST(Btf, RefusesStringsThatDoNotEnd) {
  std::vector<uint8_t> bytes = SampleBtf().maker.bytes();
  bytes.back() = 'x';
  EXPECT_THAT(error_of(bytes), HasSubstr("the strings don't end"));
}

// Asks everything that the rest of spile asks.
void question(Btf& btf) {
  for (const char* name : {"vfs_read", "printk"}) {
    auto function = btf.function(name);
    if (!function) continue;
    for (const Btf::Parameter& parameter : function->parameters) {
      parameter.type.name();
      parameter.type.target().member_names();
      parameter.type.target().size();
    }
  }
  btf.type_named("struct file");
  btf.variable("runqueues");
  btf.enum_with("BLUE");
  for (uint64_t id = 0; id < 40; ++id) btf.type_with_id(id).name();
}

TEST(Btf, SurvivesDamagedBytes) {
  const std::vector<uint8_t> whole = SampleBtf().maker.bytes();
  std::mt19937 random(1);
  size_t read = 0;
  for (int i = 0; i < 20000; ++i) {
    std::vector<uint8_t> bytes = whole;
    for (int changes = 0; changes <= i % 4; ++changes) bytes[8 + random() % (bytes.size() - 8)] = static_cast<uint8_t>(random());
    if (i % 16 == 0) bytes.resize(random() % bytes.size());
    auto btf = Btf::read(bytes, "vmlinux");
    if (!btf.ok()) continue;
    ++read;
    question(**btf);
  }
  EXPECT_GT(read, 1000u);  // much of the damage is of the kind that only questions meet
}

}  // namespace
}  // namespace spile::kernelinfo
