#include "base/files/elf_identity.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace spile {
namespace {

ReadBytes reader_of(const std::vector<uint8_t>& bytes) {
  return [&bytes](uint64_t at, void* into, uint64_t size) {
    if (at > bytes.size() || size > bytes.size() - at) return false;
    memcpy(into, bytes.data() + at, size);
    return true;
  };
}

// An ELF file of one loaded segment, which is at its start in memory as in the file, and one with notes.
std::vector<uint8_t> file_with_notes(const std::vector<uint8_t>& notes) {
  Elf64_Ehdr file = {};
  memcpy(file.e_ident, ELFMAG, SELFMAG);
  file.e_ident[EI_CLASS] = ELFCLASS64;
  file.e_phoff = sizeof file;
  file.e_phnum = 2;
  file.e_phentsize = sizeof(Elf64_Phdr);
  Elf64_Phdr programs[2] = {};
  uint64_t at = sizeof file + sizeof programs;
  programs[0] = {.p_type = PT_LOAD,
                 .p_flags = PF_R,
                 .p_offset = 0,
                 .p_vaddr = 0,
                 .p_paddr = 0,
                 .p_filesz = at + notes.size(),
                 .p_memsz = at + notes.size(),
                 .p_align = 4096};
  programs[1] = {.p_type = PT_NOTE,
                 .p_flags = PF_R,
                 .p_offset = at,
                 .p_vaddr = at,
                 .p_paddr = 0,
                 .p_filesz = notes.size(),
                 .p_memsz = notes.size(),
                 .p_align = 4};
  std::vector<uint8_t> bytes(at);
  memcpy(bytes.data(), &file, sizeof file);
  memcpy(bytes.data() + sizeof file, programs, sizeof programs);
  bytes.insert(bytes.end(), notes.begin(), notes.end());
  return bytes;
}

std::vector<uint8_t> note(uint32_t name_size, uint32_t size, uint32_t type) {
  std::vector<uint8_t> bytes(sizeof(Elf64_Nhdr));
  Elf64_Nhdr header = {.n_namesz = name_size, .n_descsz = size, .n_type = type};
  memcpy(bytes.data(), &header, sizeof header);
  const uint8_t rest[] = {'G', 'N', 'U', 0, 0xab, 0xcd, 0xef, 0x01};
  bytes.insert(bytes.end(), std::begin(rest), std::end(rest));
  return bytes;
}

TEST(ElfIdentity, IsTheBuildId) {
  auto file = file_with_notes(note(4, 4, NT_GNU_BUILD_ID));
  EXPECT_EQ(elf_identity_in_memory(reader_of(file), 0), "abcdef01");
}

TEST(ElfIdentity, IsTheSameInMemoryAndFile) {
  auto read = [](uint64_t at, void* into, uint64_t size) {
    memcpy(into, reinterpret_cast<const void*>(at), size);
    return true;
  };
  // The program headers follow the ELF header, which is where the file is mapped.
  std::string identity = elf_identity_in_memory(read, getauxval(AT_PHDR) - sizeof(Elf64_Ehdr));
  EXPECT_NE(identity, "");
  EXPECT_EQ(identity, elf_identity_of_file("/proc/self/exe"));
}

TEST(ElfIdentity, HashesHeadersWithoutABuildId) {
  auto one = file_with_notes(note(4, 4, NT_GNU_ABI_TAG)), longer = one;
  longer[offsetof(Elf64_Ehdr, e_entry)] ^= 1;
  std::string identity = elf_identity_in_memory(reader_of(one), 0);
  EXPECT_TRUE(identity.starts_with("headers ")) << identity;
  EXPECT_NE(identity, elf_identity_in_memory(reader_of(longer), 0));
}

TEST(ElfIdentity, OfDamagedNotes) {
  for (uint32_t name_size : {0u, 4u, 0xfffffffcu, 0xffffffffu}) {
    for (uint32_t size : {0u, 4u, 5u, 0xfffffffcu, 0xffffffffu}) {
      auto file = file_with_notes(note(name_size, size, NT_GNU_BUILD_ID));
      EXPECT_NE(elf_identity_in_memory(reader_of(file), 0), "") << name_size << " " << size;
    }
  }
  auto file = file_with_notes(note(4, 4, NT_GNU_BUILD_ID));
  for (size_t length = 0; length < file.size(); ++length) {
    std::vector<uint8_t> cut(file.begin(), file.begin() + static_cast<long>(length));
    std::string identity = elf_identity_in_memory(reader_of(cut), 0);
    EXPECT_NE(identity, "abcdef01");
  }
}

TEST(ElfIdentity, OfWhatIsNoElfFile) {
  EXPECT_EQ(elf_identity_of_file("/etc/passwd"), "");
  EXPECT_EQ(elf_identity_of_file("/nowhere"), "");
  EXPECT_EQ(elf_identity_of_file("/dev/zero"), "");
}

TEST(WithoutDeleted, KeepsAFileThatIsNamedSo) {
  EXPECT_EQ(without_deleted("/no/file (deleted)", 7), "/no/file");
  EXPECT_EQ(without_deleted("/no/file", 7), "/no/file");
}

}  // namespace
}  // namespace spile
