#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <fstream>
#include <random>

#include "abi/arena.h"
#include "session/bundle/bundle_check.h"
#include "session/bundle/bundle_file.h"

namespace spile::session {
namespace {

using testing::HasSubstr;

// A program as small as pass 5 accepts: one probe on one place, with a handler in processes and one of spile.
struct Made {
  Made() {
    sema::Probe& probe = program.probes.emplace_back();
    probe.index = 0;
    probe.kind = sema::ProbeKind::kFunctionEntry;
    probe.domain = sema::Domain::kTarget;
    probe.range = {&files.add("a.stp", "probe process.function(\"f\") {}"), 6, 27};
    sema::ResolvedPoint& point = probe.points.emplace_back();
    point.kind = probe.kind;
    point.domain = probe.domain;
    point.site.module = "/bin/shop";
    point.site.address = FileAddress(0x1139);
    point.site.callers = std::make_shared<const std::vector<uint64_t>>(std::vector<uint64_t>{1, 0});
    syntax::Script& script_tree = program.scripts.emplace_back();
    script_tree.globals.push_back(std::make_unique<syntax::Global>());
    script_tree.globals.back()->name = "n";
    script_tree.globals.back()->type = ValueType::kLong;
    program.globals.push_back(script_tree.globals.back().get());
    program.site_groups.push_back({.entry_probes = {0}, .return_probes = {}});
    program.sites.add({point.site, 0, {0}});
    std::vector<uint8_t> code(sizeof(abi::ImageCells));
    code.resize(192, 0xc3);
    script.target.image = {code, 128, 192, {{129, 132}}, false, false};
    script.target.groups = {{136, 0, 0, 0}};
    script.controller.image = {code, 128, 192, {}, false, false};
    script.controller.init = 128;
    codegen::ArenaLayout& layout = script.layout;
    layout.globals_offset = layout.private_offset = layout.exchange_offset = abi::kPageSize;
    layout.exchange_size = abi::kPageSize;
    layout.slots_offset = 128 << 10;
    layout.slot_count = 16;
    layout.ring_offset = layout.ring_size = abi::kPageSize;
    layout.slot_stride = 2 * abi::kPageSize;
    layout.size = 1 << 20;
    script.controller.probes = {0};
    script.controller.conditions = {0};
    script.hit_counters = {0};
    script.formats.push_back(syntax::printf_format({{}}, {ValueType::kLong, ValueType::kString}, {true, false}));
    script.literals = {"a", "b"};
    modules["/bin/shop"] = {{}, "abcd"};
  }
  std::string write(const std::string& path) const {
    auto outcome = write_bundle(path, {program, script, modules, {}, name, false}, source, {}, {});
    EXPECT_TRUE(outcome.ok());
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  SourceFiles files;
  sema::Program program;
  codegen::CompiledScript script;
  probes::ModuleFiles modules;
  std::string name;
  ScriptOptions source{.text = "probe process.function(\"f\") {}"};
};

class BundleTest : public testing::Test {
 protected:
  BundleTest() {
    char name[] = "/tmp/spile-bundle-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~BundleTest() override { (void)system(("rm -rf " + folder_).c_str()); }
  std::string path() const { return folder_ + "/a.spile"; }
  std::string folder_;
};

TEST_F(BundleTest, HasWhatWasWritten) {
  Made made;
  made.write(path());
  EXPECT_TRUE(is_bundle(path()));
  auto bundle = read_bundle(path());
  ASSERT_TRUE(bundle.ok()) << bundle.error().message;
  const sema::Program& program = (*bundle)->program;
  ASSERT_EQ(program.probes.size(), 1u);
  EXPECT_EQ(program.probes[0].range.to_string(), "a.stp:1:7");
  EXPECT_EQ(program.probes[0].points[0].site.address, FileAddress(0x1139));
  EXPECT_EQ(*program.probes[0].points[0].site.callers, (std::vector<uint64_t>{1, 0}));
  EXPECT_EQ(program.globals[0]->name, "n");
  EXPECT_EQ((*bundle)->script.target.image.bytes, made.script.target.image.bytes);
  EXPECT_EQ((*bundle)->script.formats[0].own, (std::vector<bool>{true, false}));
  EXPECT_EQ((*bundle)->modules[0].identity, "abcd");
  EXPECT_EQ((*bundle)->source.text, made.source.text);
}

TEST_F(BundleTest, IsRejectedWhenDamaged) {
  const std::string bytes = Made().write(path());
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    EXPECT_FALSE(parse_bundle("a.spile", damaged).ok()) << "byte " << i;
    EXPECT_FALSE(parse_bundle("a.spile", std::string_view(bytes).substr(0, i)).ok()) << "first " << i;
  }
}

// Somebody who can compute checksums gets no further than to an error.
TEST_F(BundleTest, IsRejectedOrConsistentWhateverItsFieldsAre) {
  auto fields = unpack_bundle("a.spile", Made().write(path()));
  ASSERT_TRUE(fields.ok());
  std::mt19937_64 random(20261125);
  size_t accepted = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string hostile = *fields;
    const size_t changes = 1 + random() % 3;
    for (size_t change = 0; change < changes; ++change) {
      const size_t at = random() % hostile.size();
      switch (random() % 4) {
        case 0: hostile[at] = static_cast<char>(random()); break;
        case 1: hostile[at] = '\xff'; break;
        case 2: hostile.erase(at, 1 + random() % 16); break;
        default: hostile.insert(at, 8, static_cast<char>(random() % 3)); break;
      }
      if (hostile.empty()) break;
    }
    auto packed = pack_bundle(hostile);
    ASSERT_TRUE(packed.ok());
    auto bundle = parse_bundle("a.spile", *packed);
    if (!bundle.ok()) continue;
    ++accepted;
    EXPECT_TRUE(check_bundle(**bundle).ok());
  }
  EXPECT_LT(accepted, 20'000u);
}

TEST_F(BundleTest, IsRejectedWhenItsMemoryForBothPlacesIsNotAsTheCompilerMakesIt) {
  auto is_accepted = [&](auto change) {
    Made made;
    made.script.kernel.object = {1};
    made.script.kernel.over_arena = true;
    made.script.kernel.arena.size = 1 << 20;
    made.script.layout.kernel_offset = (uint64_t{1} << 32) + abi::kKernelArenaBase;
    made.script.layout.shared_size = 2 * abi::kPageSize;
    made.script.layout.processes_offset = made.script.layout.kernel_offset + 4096;
    change(made.script);
    made.write(path());
    return read_bundle(path()).ok();
  };
  EXPECT_TRUE(is_accepted([](codegen::CompiledScript&) {})) << "user stacks in the kernel are beyond the arena of processes";
  EXPECT_FALSE(is_accepted([](auto& script) { script.layout.kernel_offset = 0; })) << "shares with nobody";
  EXPECT_FALSE(is_accepted([](auto& script) { script.layout.kernel_offset += 4096; }));
  EXPECT_FALSE(is_accepted([](auto& script) { script.layout.kernel_offset = ~uint64_t{0}; }));
  EXPECT_FALSE(is_accepted([](auto& script) { script.kernel.over_arena = false; }));
  EXPECT_FALSE(is_accepted([](auto& script) { script.layout.shared_size = 100; }));
  EXPECT_FALSE(is_accepted([](auto& script) { script.layout.processes_offset += 1 << 20; }));
  EXPECT_FALSE(is_accepted([](auto& script) { script.kernel.arena.size = uint64_t{1} << 41; }));
}

TEST_F(BundleTest, IsRejectedWhenItsCodeOrMemoryCantBePlaced) {
  auto is_accepted = [&](auto change) {
    Made made;
    change(made.script);
    made.write(path());
    return read_bundle(path()).ok();
  };
  EXPECT_TRUE(is_accepted([](codegen::CompiledScript&) {}));
  EXPECT_FALSE(is_accepted([](auto& script) { script.target.image.bytes[0] = 1; }))
      << "whoever places the code fills in its cells";
  EXPECT_FALSE(is_accepted([](auto& script) { script.controller.image.code_begin = 8; }));
  EXPECT_FALSE(is_accepted([](auto& script) { script.target.groups[0].enter = 192; }));
  EXPECT_FALSE(is_accepted([](auto& script) { script.layout.private_offset += 8; }));
  EXPECT_FALSE(is_accepted([](auto& script) { script.layout.slots_offset = 16 << 10; })) << "no room for a copied stack";
  EXPECT_FALSE(is_accepted([](auto& script) { script.layout.slot_stride += 1; }));
  EXPECT_FALSE(is_accepted([](auto& script) { script.layout.slot_count = 1; }));
  EXPECT_FALSE(is_accepted([](auto& script) { script.layout.ring_size = 0; }));
  EXPECT_TRUE(is_accepted([](auto& script) { script.layout.record_owner_size = sizeof(abi::RecordOwner); }));
  EXPECT_FALSE(is_accepted([](auto& script) { script.layout.record_owner_size = 16; }));
}

TEST_F(BundleTest, IsRejectedWhenAHistogramHasNoWidth) {
  auto is_accepted = [&](int64_t low, int64_t high, int64_t width) {
    Made made;
    made.script.formats.push_back({.kind = syntax::OutputFormat::Kind::kHistogram,
                                   .parts = {},
                                   .arguments = {},
                                   .low = low,
                                   .high = high,
                                   .width = width,
                                   .own = {}});
    made.write(path());
    return read_bundle(path()).ok();
  };
  EXPECT_TRUE(is_accepted(0, 100, 10));
  EXPECT_FALSE(is_accepted(0, 100, 0));
  EXPECT_FALSE(is_accepted(0, 100, -1));
  EXPECT_FALSE(is_accepted(100, 0, 10));
}

TEST_F(BundleTest, IsRejectedIfOthersMayWriteIt) {
  Made().write(path());
  ASSERT_EQ(chmod(path().c_str(), 0666), 0);
  auto bundle = read_bundle(path());
  ASSERT_FALSE(bundle.ok());
  EXPECT_THAT(bundle.error().message, HasSubstr("anybody may write"));
  ASSERT_EQ(chmod(path().c_str(), 0664), 0);
  bundle = read_bundle(path());
  ASSERT_FALSE(bundle.ok());
  EXPECT_THAT(bundle.error().message, testing::ContainsRegex("group [0-9]+ may write"));
}

TEST_F(BundleTest, ReplacesAFileAsAWhole) {
  Made().write(path());
  Made made;
  EXPECT_FALSE(write_bundle(folder_ + "/missing/a.spile", {made.program, made.script, made.modules, {}, made.name, false},
                            made.source, {}, {})
                   .ok());
  EXPECT_TRUE(is_bundle(path()));
  EXPECT_FALSE(is_bundle(folder_));
}

}  // namespace
}  // namespace spile::session
