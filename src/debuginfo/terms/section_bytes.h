#pragma once
// A section of a file, read piece by piece: what is read from a mapping stays in memory, which matters for sections of hundreds
// of MB. Any thread.

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>

namespace spile::debuginfo {

class SectionBytes {
 public:
  // Memory to read into. It grows, and its contents are of no interest between two reads.
  struct Buffer {
    std::unique_ptr<char[]> bytes;
    uint64_t size = 0;
  };

  SectionBytes() = default;  // empty
  // In memory, as when it had been compressed. Neither is copied nor owned.
  explicit SectionBytes(std::string_view memory) : memory_(memory), size_(memory.size()) {}
  // At an offset of an open file, which the caller keeps open.
  SectionBytes(int fd, uint64_t offset, uint64_t size) : fd_(fd), offset_(offset), size_(size) {}
  uint64_t size() const { return size_; }

  // Returns bytes [begin, begin + count), valid until the next read into `buffer`. Shorter, perhaps empty: the section or the
  // file ends before that.
  std::string_view read(uint64_t begin, uint64_t count, Buffer& buffer) const {
    if (begin >= size_) return {};
    count = std::min(count, size_ - begin);
    if (fd_ < 0) return memory_.substr(begin, count);
    if (buffer.size < count) {
      buffer.bytes.reset();
      buffer.bytes = std::make_unique_for_overwrite<char[]>(count);
      buffer.size = count;
    }
    uint64_t filled = 0;
    while (filled < count) {
      const ssize_t got = pread(fd_, buffer.bytes.get() + filled, count - filled, static_cast<off_t>(offset_ + begin + filled));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      filled += static_cast<uint64_t>(got);
    }
    return {buffer.bytes.get(), filled};
  }

 private:
  int fd_ = -1;
  std::string_view memory_;
  uint64_t offset_ = 0, size_ = 0;
};

}  // namespace spile::debuginfo
