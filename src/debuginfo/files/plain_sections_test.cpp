// Compressed sections: what is uncompressed has the original's contents; damaged ones are errors that say so.
#include "debuginfo/files/plain_sections.h"

#include <elf.h>
#include <fcntl.h>
#include <gmock/gmock.h>

#include <functional>
#include <memory>
#include <random>

#include "debuginfo/test_program.h"

namespace spile::debuginfo {
namespace {

using testing::HasSubstr;

struct ElfEnd {
  void operator()(Elf* e) const { elf_end(e); }
};
using OpenElf = std::unique_ptr<Elf, ElfEnd>;

OpenElf begin(int fd) {
  elf_version(EV_CURRENT);
  return OpenElf(elf_begin(fd, ELF_C_READ_MMAP_PRIVATE, nullptr));
}

Elf64_Shdr* section(Elf* elf, std::string_view wanted, Elf_Scn** found) {
  size_t names = 0;
  elf_getshdrstrndx(elf, &names);
  for (*found = nullptr; (*found = elf_nextscn(elf, *found));)
    if (Elf64_Shdr* header = elf64_getshdr(*found); wanted == elf_strptr(elf, names, header->sh_name)) return header;
  return nullptr;
}

std::string contents(Elf* elf, std::string_view wanted) {
  Elf_Scn* found = nullptr;
  if (!section(elf, wanted, &found)) return "absent";
  Elf_Data* data = elf_rawdata(found, nullptr);
  return data && data->d_buf ? std::string(static_cast<const char*>(data->d_buf), data->d_size) : "";
}

Result<UniqueFd> plain(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const OpenElf elf = begin(fd.get());
  return with_plain_sections(elf.get(), fd.get(), "it");
}

// With 300 KB of descriptions and names each: several pieces.
std::string large_source() {
  std::string text;
  for (int i = 0; i < 15000; ++i) text += "int variable_of_number_" + std::to_string(i) + ";\n";
  return text + "int main(void) { return 0; }\n";
}

TEST(PlainSections, AreThoseOfTheUncompressedFile) {
  TestDirectory directory;
  directory.write("a.c", large_source());
  ASSERT_TRUE(directory.run(
      "gcc -g a.c -o a && objcopy --compress-debug-sections=zlib a z && objcopy --compress-debug-sections=zstd a s"));
  UniqueFd original(::open(directory.path("a").c_str(), O_RDONLY | O_CLOEXEC));
  const OpenElf as_compiled = begin(original.get());
  EXPECT_FALSE(*plain(directory.path("a")));  // none is compressed
  for (const char* name : {"z", "s"}) {
    auto made = plain(directory.path(name));
    ASSERT_TRUE(made.ok() && *made) << name;
    const OpenElf elf = begin(made->get());
    for (const char* each : {".debug_info", ".debug_abbrev", ".debug_str", ".debug_line", ".debug_line_str", ".debug_aranges"})
      EXPECT_EQ(contents(elf.get(), each), contents(as_compiled.get(), each)) << name << each;
    EXPECT_GT(contents(elf.get(), ".debug_info").size(), size_t{1} << 18);
    EXPECT_EQ(contents(elf.get(), ".text"), "");
  }
}

// Writes a copy of the file whose section .debug_info has been changed. change(header, compressed bytes after the compression
// header).
void change_section(const TestDirectory& directory, const std::string& from,
                    const std::function<void(Elf64_Chdr&, char*, size_t)>& change) {
  std::string bytes = directory.read(from);
  UniqueFd fd(::open(directory.path(from).c_str(), O_RDONLY | O_CLOEXEC));
  const OpenElf elf = begin(fd.get());
  Elf_Scn* found = nullptr;
  const Elf64_Shdr* header = section(elf.get(), ".debug_info", &found);
  ASSERT_TRUE(header && (header->sh_flags & SHF_COMPRESSED));
  char* packed = bytes.data() + header->sh_offset;
  Elf64_Chdr compression;
  memcpy(&compression, packed, sizeof compression);
  change(compression, packed + sizeof compression, header->sh_size - sizeof compression);
  memcpy(packed, &compression, sizeof compression);
  directory.write("changed", bytes);
}

TEST(PlainSections, ThatAreDamagedAreAnError) {
  TestDirectory directory;
  directory.write("a.c", large_source());
  ASSERT_TRUE(directory.run(
      "gcc -g a.c -o a && objcopy --compress-debug-sections=zlib a z && objcopy --compress-debug-sections=zstd a s"));
  auto error = [&] {
    auto made = plain(directory.path("changed"));
    return made.ok() ? "none" : made.error().message;
  };
  for (const char* name : {"z", "s"}) {
    change_section(directory, name, [](Elf64_Chdr& header, char*, size_t) { header.ch_size += 1; });
    EXPECT_THAT(error(), HasSubstr("it: .debug_info is damaged: its compressed contents end too early"));
    change_section(directory, name, [](Elf64_Chdr& header, char*, size_t) { header.ch_size -= 1; });
    EXPECT_THAT(error(), HasSubstr(".debug_info is damaged: it has more contents than it says"));
    change_section(directory, name, [](Elf64_Chdr& header, char*, size_t) { header.ch_size = uint64_t{1} << 62; });
    EXPECT_THAT(error(), HasSubstr("it: its compressed sections can't be as large as they say"));
    change_section(directory, name, [](Elf64_Chdr& header, char*, size_t) { header.ch_type = 77; });
    EXPECT_THAT(error(), HasSubstr("number 77"));
    change_section(directory, name, [](Elf64_Chdr&, char* bytes, size_t size) { memset(bytes + size / 2, 0xff, size / 2); });
    EXPECT_THAT(error(), HasSubstr(".debug_info is damaged"));
    // Any bit. zstd's frames of objcopy have no checksum, so that some give other contents; what reads them expects that.
    std::mt19937 random(7);
    for (int i = 0; i < 60; ++i) {
      change_section(directory, name, [&](Elf64_Chdr&, char* bytes, size_t size) {
        bytes[random() % size] ^= static_cast<char>(1 << random() % 8);
      });
      const std::string found = error();
      if (found != "none" || name[0] == 'z') EXPECT_THAT(found, HasSubstr(".debug_info is damaged"));
    }
  }
}

}  // namespace
}  // namespace spile::debuginfo
