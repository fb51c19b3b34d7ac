#pragma once
// For tests of probe points in the kernel: a folder stands for /proc, /sys, the tracing folder, the modules' folder and the root
// of debug files.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernelinfo/test_btf.h"
#include "probes/terms/probes.h"
#include "sema/terms/program.h"
#include "syntax/parser.h"

namespace spile::probes {

struct Elaborated {
  SourceFiles files;
  Diagnostics diagnostics;
  sema::Program program;
  std::unique_ptr<World> world;

  std::vector<sema::ResolvedPoint> points() const {
    std::vector<sema::ResolvedPoint> all;
    for (const sema::Probe& probe : program.probes) all.insert(all.end(), probe.points.begin(), probe.points.end());
    return all;
  }
  // The probe points as they are printed.
  std::vector<std::string> texts() const {
    std::vector<std::string> all;
    for (const sema::ResolvedPoint& point : points()) all.push_back(point.text);
    return all;
  }
  // How all variables are found, in the order of the script.
  std::string bindings() const {
    std::string all;
    for (const sema::Probe& probe : program.probes) {
      for (const sema::Binding& binding : probe.bindings) all += location::to_string(binding.ops) + "; ";
    }
    return all;
  }
};

class KernelTreeTest : public testing::Test {
 protected:
  static constexpr std::string_view kRelease = "6.12.0-test";

  KernelTreeTest() {
    std::string name = testing::TempDir() + "/kernel.XXXXXX";
    folder_ = mkdtemp(name.data());
    setenv("SPILE_NO_CACHE", "1", 1);
    const std::vector<uint8_t> btf = kernelinfo::SampleBtf().maker.bytes();
    write("sys/kernel/btf/vmlinux", std::string(btf.begin(), btf.end()));
  }
  ~KernelTreeTest() override {
    unsetenv("SPILE_NO_CACHE");
    std::filesystem::remove_all(folder_);
  }

  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder_ + "/" + path).parent_path());
    std::ofstream(folder_ + "/" + path, std::ios::binary) << text;
  }
  WorldOptions options() const {
    WorldOptions made;
    made.kernel = {folder_ + "/proc", folder_ + "/sys", folder_ + "/tracing", folder_ + "/modules", folder_ + "/debug"};
    return made;
  }

  std::unique_ptr<Elaborated> elaborate(const std::string& script) { return elaborate(script, options()); }
  std::unique_ptr<Elaborated> elaborate(const std::string& script, const WorldOptions& options) {
    auto made = std::make_unique<Elaborated>();
    made->world = World::open(options).value();
    made->program.scripts.push_back(syntax::parse(made->files.add("<input>", script), {}, made->diagnostics));
    made->world->choose_runtime_for(made->program.scripts);
    sema::elaborate(made->program, *made->world, made->diagnostics);
    return made;
  }
  // As above, where the script must be right.
  std::unique_ptr<Elaborated> elaborate_well(const std::string& script) {
    auto made = elaborate(script);
    EXPECT_FALSE(made->diagnostics.has_errors()) << made->diagnostics.render();
    return made;
  }
  // The points that a probe point stands for.
  std::vector<sema::ResolvedPoint> points(const std::string& point) {
    return elaborate_well("probe " + point + " { next }")->points();
  }
  std::vector<std::string> texts(const std::string& point) { return elaborate_well("probe " + point + " { next }")->texts(); }
  // How the variables of a script are found, all of which are in the kernel's memory.
  std::string bindings(const std::string& script) {
    auto made = elaborate_well(script);
    for (const sema::Probe& probe : made->program.probes) {
      for (const sema::Binding& binding : probe.bindings) EXPECT_TRUE(binding.reads_kernel_memory);
    }
    return made->bindings();
  }
  std::string error(const std::string& script) {
    auto made = elaborate(script);
    EXPECT_TRUE(made->diagnostics.has_errors()) << script;
    return made->diagnostics.render();
  }

  std::string folder_;
};

}  // namespace spile::probes
