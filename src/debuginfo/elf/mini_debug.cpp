#include "debuginfo/elf/mini_debug.h"

#include <fmt/format.h>
#include <lzma.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vector>

namespace spile::debuginfo {
namespace {

constexpr uint64_t kMostBytes = 256 << 20, kMostMemory = 128 << 20;
constexpr size_t kBlock = 1 << 16;

// Writes the decompressed bytes to `fd`. False: damaged, or too many.
bool decompress(std::string_view compressed, int fd) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, kMostMemory, 0) != LZMA_OK) return false;
  stream.next_in = reinterpret_cast<const uint8_t*>(compressed.data());
  stream.avail_in = compressed.size();
  std::vector<uint8_t> block(kBlock);
  lzma_ret state = LZMA_OK;
  bool written = true;
  while (state == LZMA_OK && written && stream.total_out <= kMostBytes) {
    stream.next_out = block.data();
    stream.avail_out = block.size();
    state = lzma_code(&stream, LZMA_FINISH);
    const size_t size = block.size() - stream.avail_out;
    written = write(fd, block.data(), size) == static_cast<ssize_t>(size);
  }
  const bool whole = state == LZMA_STREAM_END && written && stream.total_out <= kMostBytes;
  lzma_end(&stream);
  return whole;
}

}  // namespace

std::unique_ptr<ElfImage> read_mini_debug(const ElfImage& image) {
  const ElfImage::Section* section = image.section(".gnu_debugdata");
  if (!section || image.contents(*section).empty()) return nullptr;
  UniqueFd memory(memfd_create("spile-debugdata", MFD_CLOEXEC));
  if (!memory || !decompress(image.contents(*section), memory.get())) return nullptr;
  const std::string path = fmt::format("/proc/self/fd/{}", memory.get());
  auto opened = ElfImage::open(path, path);
  if (!opened.ok()) return nullptr;
  if (!(*opened)->build_id().empty() && !image.build_id().empty() && (*opened)->build_id() != image.build_id()) return nullptr;
  return std::move(*opened);
}

}  // namespace spile::debuginfo
