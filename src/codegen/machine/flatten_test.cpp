// Objects made by hand: two sections and a relocation or two are all that it takes to see where things end up.

#include "codegen/machine/flatten.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>

#include "abi/arena.h"

namespace spile::codegen {

namespace {

class ObjectMaker {
 public:
  ObjectMaker() { sections_.push_back({}); }

  // Its index.
  uint16_t section(const std::string& name, uint64_t flags, std::vector<uint8_t> bytes, uint64_t alignment = 1) {
    sections_.push_back({name, SHT_PROGBITS, flags, std::string(bytes.begin(), bytes.end()), 0, 0, alignment});
    return static_cast<uint16_t>(sections_.size() - 1);
  }
  uint32_t symbol(const std::string& name, uint16_t section, uint64_t value) {
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<uint32_t>(names_.size());
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbol.st_shndx = section;
    symbol.st_value = value;
    names_ += name + '\0';
    symbols_.push_back(symbol);
    return static_cast<uint32_t>(symbols_.size());  // the first one is null
  }
  void relocate(uint16_t section, uint64_t offset, uint32_t type, uint32_t symbol, int64_t addend) {
    Elf64_Rela relocation{offset, ELF64_R_INFO(static_cast<uint64_t>(symbol), type), addend};
    std::string bytes(reinterpret_cast<char*>(&relocation), sizeof relocation);
    sections_.push_back({".rela", SHT_RELA, 0, bytes, 0, section, 8});
  }

  std::vector<char> make() {
    std::vector<Section> all = sections_;
    std::string symbols(sizeof(Elf64_Sym), '\0');
    symbols.append(reinterpret_cast<char*>(symbols_.data()), symbols_.size() * sizeof(Elf64_Sym));
    all.push_back({".symtab", SHT_SYMTAB, 0, symbols, static_cast<uint32_t>(all.size() + 1), 0, 8});
    all.push_back({".strtab", SHT_STRTAB, 0, names_, 0, 0, 1});
    std::string section_names(1, '\0');
    std::vector<Elf64_Shdr> headers;
    std::string body(sizeof(Elf64_Ehdr), '\0');
    for (const Section& section : all) {
      Elf64_Shdr header{};
      header.sh_name = static_cast<uint32_t>(section_names.size());
      section_names += section.name + '\0';
      header.sh_type = section.type;
      header.sh_flags = section.flags;
      body.resize((body.size() + 15) / 16 * 16);
      header.sh_offset = body.size();
      header.sh_size = section.bytes.size();
      header.sh_link = section.link;
      header.sh_info = section.info;
      header.sh_addralign = section.alignment;
      body += section.bytes;
      headers.push_back(header);
    }
    Elf64_Shdr names{};
    names.sh_type = SHT_STRTAB;
    names.sh_offset = body.size();
    names.sh_size = section_names.size();
    headers.push_back(names);
    body += section_names;
    body.resize((body.size() + 15) / 16 * 16);
    Elf64_Ehdr elf{};
    std::memcpy(elf.e_ident, ELFMAG, SELFMAG);
    elf.e_ident[EI_CLASS] = ELFCLASS64;
    elf.e_ident[EI_DATA] = ELFDATA2LSB;
    elf.e_machine = EM_X86_64;
    elf.e_shoff = body.size();
    elf.e_shnum = static_cast<uint16_t>(headers.size());
    elf.e_shstrndx = static_cast<uint16_t>(headers.size() - 1);
    std::memcpy(body.data(), &elf, sizeof elf);
    body.append(reinterpret_cast<char*>(headers.data()), headers.size() * sizeof(Elf64_Shdr));
    return {body.begin(), body.end()};
  }

 private:
  struct Section {
    std::string name;
    uint32_t type = SHT_NULL;
    uint64_t flags = 0;
    std::string bytes;
    uint32_t link = 0, info = 0;
    uint64_t alignment = 1;
  };
  std::vector<Section> sections_;
  std::vector<Elf64_Sym> symbols_;
  std::string names_ = std::string(1, '\0');
};

constexpr uint64_t kCode = SHF_ALLOC | SHF_EXECINSTR, kData = SHF_ALLOC;
const std::vector<uint8_t> kLoad = {0x48, 0x8b, 0x05, 0, 0, 0, 0, 0xc3};  // mov x(%rip), %rax; ret

int32_t word_at(const abi::CodeImage& image, uint64_t offset) {
  int32_t word;
  std::memcpy(&word, image.bytes.data() + offset, 4);
  return word;
}

constexpr uint32_t kCells = sizeof(abi::ImageCells);

TEST(Flatten, PutsCellsThenCodeThenDataAndResolvesReferences) {
  ObjectMaker maker;
  uint16_t rodata = maker.section(".rodata", kData, {1, 2, 3, 4, 5, 6, 7, 8}, 8);
  uint16_t text = maker.section(".text", kCode, kLoad, 16);
  uint16_t cells = maker.section(".spile.cells", kData | SHF_WRITE, std::vector<uint8_t>(sizeof(abi::ImageCells)), 8);
  uint32_t number = maker.symbol("number", rodata, 4);
  uint32_t cell = maker.symbol("spile_cells", cells, 0);
  maker.symbol("load", text, 0);
  maker.relocate(text, 3, R_X86_64_PC32, number, -4);
  auto flat = flatten(maker.make());
  ASSERT_TRUE(flat.ok()) << flat.error().message;
  EXPECT_EQ(flat->image.code_begin, kCells);
  EXPECT_EQ(flat->image.code_end, kCells + 8);
  EXPECT_EQ(flat->symbols.at("load"), kCells);
  EXPECT_EQ(word_at(flat->image, kCells + 3), 8 + 4 - 7) << "the distance from the next instruction";
  maker.relocate(text, 3, R_X86_64_PLT32, cell, -4);
  EXPECT_EQ(word_at(flatten(maker.make())->image, kCells + 3), 0 - (int32_t{kCells} + 7));
}

TEST(Flatten, CollectsFixUpsAndLeavesTheirTableOut) {
  ObjectMaker maker;
  uint16_t text = maker.section(".text", kCode, kLoad, 16);
  uint16_t fixups = maker.section(".spile.fixups", kData, std::vector<uint8_t>(8), 4);
  uint32_t load = maker.symbol("load", text, 0);
  maker.relocate(fixups, 0, R_X86_64_PC32, load, 0);
  maker.relocate(fixups, 4, R_X86_64_PC32, load, 7);
  auto flat = flatten(maker.make());
  ASSERT_TRUE(flat.ok()) << flat.error().message;
  ASSERT_EQ(flat->image.fixups.size(), 1u);
  EXPECT_EQ(flat->image.fixups[0].fault_offset, kCells);
  EXPECT_EQ(flat->image.fixups[0].resume_offset, kCells + 7);
  EXPECT_EQ(flat->image.bytes.size(), kCells + 8);
}

TEST(Flatten, RefusesWhatALoaderWouldHaveToFix) {
  ObjectMaker absolute;
  uint16_t text = absolute.section(".text", kCode, kLoad, 16);
  absolute.relocate(text, 0, R_X86_64_64, absolute.symbol("load", text, 0), 0);
  EXPECT_FALSE(flatten(absolute.make()).ok());

  ObjectMaker undefined;
  text = undefined.section(".text", kCode, kLoad, 16);
  undefined.relocate(text, 3, R_X86_64_PLT32, undefined.symbol("malloc", SHN_UNDEF, 0), -4);
  auto flat = flatten(undefined.make());
  ASSERT_FALSE(flat.ok());
  EXPECT_NE(flat.error().message.find("malloc"), std::string::npos);

  ObjectMaker writable;
  writable.section(".data", kData | SHF_WRITE, {1, 2, 3});
  EXPECT_FALSE(flatten(writable.make()).ok());
}

TEST(Flatten, RefusesWhatIsNoObject) {
  EXPECT_FALSE(flatten({}).ok());
  std::vector<char> noise(1000, 'x');
  EXPECT_FALSE(flatten(noise).ok());
}

}  // namespace

}  // namespace spile::codegen
