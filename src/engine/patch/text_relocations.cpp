#include "engine/patch/text_relocations.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "abi/native_elf.h"
#include "base/unique_fd.h"

namespace spile::engine {
namespace {

constexpr uint64_t kMostEntries = 4096;              // of a dynamic section
constexpr uint64_t kMostBytes = uint64_t{64} << 20;  // of relocations

struct Dynamic {
  bool writes_text = false;
  uint64_t relocations = 0, size = 0;
  uint64_t debug = 0;  // a struct r_debug (<link.h>), once the dynamic linker has begun
};

std::vector<Elf64_Phdr> program_headers(const TargetMemory& memory, const Module& module) {
  std::vector<Elf64_Phdr> found;
  auto header = memory.read_value<Elf64_Ehdr>(module.lowest);
  for (int i = 0; header.ok() && i < header->e_phnum; i++) {
    auto program = memory.read_value<Elf64_Phdr>(
        module.lowest + static_cast<int64_t>(header->e_phoff + static_cast<uint64_t>(i) * sizeof(Elf64_Phdr)));
    if (program.ok()) found.push_back(*program);
  }
  return found;
}

Dynamic read_dynamic(const TargetMemory& memory, const Module& module, const std::vector<Elf64_Phdr>& programs) {
  Dynamic dynamic;
  for (const Elf64_Phdr& program : programs) {
    if (program.p_type != PT_DYNAMIC) continue;
    for (uint64_t i = 0; i < std::min(program.p_memsz / sizeof(Elf64_Dyn), kMostEntries); i++) {
      auto entry = memory.read_value<Elf64_Dyn>(Address(program.p_vaddr + module.bias + i * sizeof(Elf64_Dyn)));
      if (!entry.ok() || entry->d_tag == DT_NULL) break;
      uint64_t value = entry->d_un.d_val;
      if (entry->d_tag == DT_TEXTREL || (entry->d_tag == DT_FLAGS && (value & DF_TEXTREL))) dynamic.writes_text = true;
      // glibc adds the bias in place.
      if (entry->d_tag == DT_DEBUG) dynamic.debug = value;
      if (entry->d_tag == DT_RELA) dynamic.relocations = value < module.lowest.value ? value + module.bias : value;
      if (entry->d_tag == DT_RELASZ) dynamic.size = std::min(value, kMostBytes);
    }
  }
  return dynamic;
}

// Reads the bytes at a place of the module from its file.
class File {
 public:
  File(pid_t pid, const Module& module, const std::vector<Elf64_Phdr>& programs)
      : fd_(::open(fmt::format("/proc/{}/root{}", pid, module.path).c_str(), O_RDONLY | O_CLOEXEC)), programs_(programs) {}

  bool read(uint64_t file_address, std::span<uint8_t> into) const {
    for (const Elf64_Phdr& program : programs_) {
      if (program.p_type != PT_LOAD || file_address < program.p_vaddr || file_address - program.p_vaddr >= program.p_filesz)
        continue;
      off_t at = static_cast<off_t>(program.p_offset + (file_address - program.p_vaddr));
      return fd_ && pread(fd_.get(), into.data(), into.size(), at) == static_cast<ssize_t>(into.size());
    }
    return false;
  }

 private:
  UniqueFd fd_;
  const std::vector<Elf64_Phdr>& programs_;
};

}  // namespace

bool awaits_text_relocations(pid_t pid, const TargetMemory& memory, const Module& module) {
  std::vector<Elf64_Phdr> programs = program_headers(memory, module);
  Dynamic dynamic = read_dynamic(memory, module, programs);
  if (!dynamic.writes_text) return false;
  if (module.main_executable && dynamic.debug != 0) {
    auto debug = memory.read_value<r_debug>(Address(dynamic.debug));
    if (debug.ok() && debug->r_state == r_debug::RT_CONSISTENT) return false;
  }
  std::vector<Elf64_Rela> all(dynamic.size / sizeof(Elf64_Rela));
  if (!memory.read(Address(dynamic.relocations), {reinterpret_cast<uint8_t*>(all.data()), all.size() * sizeof(Elf64_Rela)}).ok())
    return true;
  File file(pid, module, programs);
  bool any_as_in_file = false;
  for (const Elf64_Rela& each : all) {
    Address at(each.r_offset + module.bias);
    auto in_text = [&](const Module::Range& range) { return at >= range.begin && at < range.end; };
    if (std::none_of(module.text.begin(), module.text.end(), in_text)) continue;
    uint64_t present = 0, original = 0;
    bool whole = ELF64_R_TYPE(each.r_info) == abi::kElf.relative || ELF64_R_TYPE(each.r_info) == abi::kElf.absolute;
    size_t size = whole ? sizeof present : sizeof present / 2;
    std::span<uint8_t> bytes(reinterpret_cast<uint8_t*>(&present), size), before(reinterpret_cast<uint8_t*>(&original), size);
    if (!memory.read(at, bytes).ok()) return true;
    if (ELF64_R_TYPE(each.r_info) == abi::kElf.relative) {
      if (present != module.bias + static_cast<uint64_t>(each.r_addend)) return true;
      if (module.bias != 0) return false;
      continue;
    }
    if (!file.read(each.r_offset, before) || present != original) return false;
    any_as_in_file = true;  // perhaps a weak symbol's that nobody defines; other words decide
  }
  return any_as_in_file;
}

}  // namespace spile::engine
