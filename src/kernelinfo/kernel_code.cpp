#include "kernelinfo/kernel_code.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace spile::kernelinfo {

namespace {

constexpr size_t kMostSegments = 4096;
constexpr const char* kHint =
    "run as root; the kernel must be built with CONFIG_PROC_KCORE and not be locked down (/sys/kernel/security/lockdown)";

}  // namespace

Result<KernelCode> KernelCode::open(const Places& places) {
  const std::string path = places.proc + "/kcore";
  KernelCode code;
  code.file_.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!code.file_) return Error::from_errno("read the kernel's code in " + path, errno, kHint);
  Elf64_Ehdr header;
  if (pread(code.file_.get(), &header, sizeof header, 0) != sizeof header || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > kMostSegments) {
    return Error{"read the kernel's code in " + path + ": it is not an ELF file of 64 bits", kHint};
  }
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  const size_t size = segments.size() * sizeof(Elf64_Phdr);
  if (pread(code.file_.get(), segments.data(), size, static_cast<off_t>(header.e_phoff)) != static_cast<ssize_t>(size))
    return Error{"read the kernel's code in " + path + ": its table of segments can't be read", kHint};
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_LOAD) code.segments_.push_back({segment.p_vaddr, segment.p_memsz, segment.p_offset});
  }
  return code;
}

std::vector<uint8_t> KernelCode::read(uint64_t address, size_t size) const {
  for (const Segment& segment : segments_) {
    if (address < segment.address || address - segment.address >= segment.size) continue;
    const uint64_t within = address - segment.address;
    std::vector<uint8_t> bytes(std::min<uint64_t>(size, segment.size - within));
    const ssize_t got = pread(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(segment.offset + within));
    bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
    if (!bytes.empty()) return bytes;
  }
  return {};
}

}  // namespace spile::kernelinfo
