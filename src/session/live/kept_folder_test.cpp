#include "session/live/kept_folder.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace spile::session {
namespace {

namespace fs = std::filesystem;

class KeptFolder : public testing::Test {
 protected:
  void SetUp() override {
    std::string made = (fs::temp_directory_path() / "kept_folder_test_XXXXXX").string();
    ASSERT_NE(mkdtemp(made.data()), nullptr);
    above_ = made;
  }
  void TearDown() override { fs::remove_all(above_); }

  static std::string text_of(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  std::string made(const PassOptions& options) {
    testing::internal::CaptureStderr();
    auto folder = make_kept_folder(options);
    printed_ = testing::internal::GetCapturedStderr();
    return folder.ok() ? *folder : "error: " + folder.error().message;
  }

  fs::path above_;
  std::string printed_;
};

TEST_F(KeptFolder, IsMadeOnlyIfAskedFor) {
  EXPECT_EQ(made({.folder = above_ / "not"}), "");
  EXPECT_FALSE(fs::exists(above_ / "not"));
  EXPECT_EQ(printed_, "");
}

TEST_F(KeptFolder, IsTheNamedOneThereOrNot) {
  const std::string folder = above_ / "mine";
  EXPECT_EQ(made({.keep = true, .folder = folder}), folder);
  EXPECT_TRUE(fs::is_directory(folder));
  EXPECT_EQ(printed_, "Keeping temporary directory \"" + folder + "\"\n");
  EXPECT_EQ(made({.keep = true, .folder = folder}), folder);
}

TEST_F(KeptFolder, ThatCannotBeMadeIsAnError) {
  EXPECT_TRUE(made({.keep = true, .folder = above_ / "no" / "such"}).starts_with("error: make folder "));
}

TEST_F(KeptFolder, HasTheCodeUnderTheModulesName) {
  codegen::CompiledScript script;
  script.controller.image.bytes = {1, 2, 3};
  script.kernel.object = {4};
  ASSERT_TRUE(keep_code(above_, "mine", script).ok());
  EXPECT_EQ(text_of(above_ / "mine-controller.bin"), "\1\2\3");
  EXPECT_EQ(text_of(above_ / "mine-kernel.o"), "\4");
  EXPECT_FALSE(fs::exists(above_ / "mine-target.bin")) << "the script has no code for processes";
  ASSERT_TRUE(keep_code(above_, "", script).ok());
  EXPECT_TRUE(fs::exists(above_ / "spile-controller.bin"));
}

TEST_F(KeptFolder, GetsNothingWithoutAFolder) {
  EXPECT_TRUE(keep_text("", "x", "text").ok());
  EXPECT_TRUE(keep_code("", "x", {}).ok());
  EXPECT_FALSE(fs::exists("x-controller.bin"));
}

TEST_F(KeptFolder, ReportsAFileThatCannotBeWritten) {
  auto written = keep_text(above_ / "gone", "x", "text");
  ASSERT_FALSE(written.ok());
  EXPECT_TRUE(written.error().message.starts_with("write ")) << written.error().message;
}

}  // namespace
}  // namespace spile::session
