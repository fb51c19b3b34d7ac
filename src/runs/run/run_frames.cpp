#include "runs/run/run_frames.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/check.h"
#include "base/files/file.h"
#include "base/files/stable_file.h"

namespace spile::runs {

namespace {

// All numbers of the file are little-endian, as this processor's are.
struct FileHead {
  char magic[8];
  uint32_t version, zero;
};
static_assert(sizeof(FileHead) == 16);
struct FrameHead {
  char magic[4];
  uint32_t kind, stored, plain;
  uint64_t number;
  uint32_t payload_crc, head_crc;
};
static_assert(sizeof(FrameHead) == 32 && offsetof(FrameHead, head_crc) == 28);

constexpr char kFileMagic[8] = {'S', 'P', 'I', 'L', 'E', 'R', 'U', 'N'};
constexpr char kFrameMagic[4] = {'F', 'R', 'A', 'M'};
constexpr int kLevel = 3;  // of zstd: some 300 MB/s

uint32_t crc_of(const void* bytes, size_t size) {
  return static_cast<uint32_t>(::crc32_z(0, static_cast<const Bytef*>(bytes), size));
}

Result<void> write_to(int fd, std::string_view bytes, const std::string& path, const char* hint) {
  const int failure = write_all(fd, bytes);
  return failure ? Result<void>(Error::from_errno("write " + path, failure, hint)) : Result<void>();
}

std::string file_head() {
  FileHead head{};
  std::memcpy(head.magic, kFileMagic, sizeof head.magic);
  head.version = kRunVersion;
  return {reinterpret_cast<const char*>(&head), sizeof head};
}

bool is_frame_head(const FrameHead& head) {
  return std::memcmp(head.magic, kFrameMagic, sizeof head.magic) == 0 &&
         head.head_crc == crc_of(&head, offsetof(FrameHead, head_crc));
}

// Returns what is wrong with a head; "": nothing.
std::string wrong_with(const FrameHead& head, uint64_t number) {
  if (!is_frame_head(head)) return "the head of a frame is wrong";
  if (head.number != number) return fmt::format("frame {} stands here", head.number);
  if (head.plain > kMostPlain || head.stored > ZSTD_compressBound(kMostPlain)) return "a frame is too large";
  return {};
}

// Unpacks a payload into `plain`, which has its size. Returns whether it fits.
bool unpack(std::string_view stored, std::string& plain) {
  const size_t size = ZSTD_decompress(plain.data(), plain.size(), stored.data(), stored.size());
  return !ZSTD_isError(size) && size == plain.size();
}

}  // namespace

Result<std::shared_ptr<FrameWriter>> FrameWriter::create(const std::string& path) {
  std::shared_ptr<FrameWriter> writer(new FrameWriter);
  writer->path_ = path;
  writer->fd_.reset(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666));
  if (!writer->fd_) return Error::from_errno("open output file " + path, errno);
  TRY_DO(writer->write(file_head()));
  return writer;
}

Result<std::shared_ptr<FrameWriter>> FrameWriter::stream(UniqueFd socket) {
  std::shared_ptr<FrameWriter> writer(new FrameWriter);
  writer->path_ = fmt::format("descriptor {}", socket.get());
  writer->fd_ = std::move(socket);
  writer->is_stream_ = true;
  TRY_DO(writer->write(file_head()));
  return writer;
}

Result<void> FrameWriter::write(std::string_view bytes) {
  const bool has_facts = bytes_ > sizeof(FileHead);  // the first frame
  bytes_ += bytes.size();
  if (!is_stream_)
    return write_to(
        fd_.get(), bytes, path_,
        has_facts ? "the run is readable up to here" : "nothing was recorded; name a file by -o on another disk, or make room");
  if (kept_.size() - sent_ + bytes.size() > kMostKept)
    return Error{"send the run: the program that has started spile does not read it",
                 "read events, or have the script print less"};
  kept_ += bytes;
  return send_kept();
}

Result<void> FrameWriter::send_kept() {
  while (sent_ < kept_.size()) {
    const ssize_t sent = ::send(fd_.get(), kept_.data() + sent_, kept_.size() - sent_, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (sent < 0)
      return Error::from_errno("send the run", errno, "the program that has started spile has ended, or wants no more");
    sent_ += static_cast<size_t>(sent);
  }
  // What was sent is dropped when it is the greater part, so that each byte is moved a bounded number of times.
  if (sent_ == kept_.size() || sent_ > kept_.size() / 2) {
    kept_.erase(0, sent_);
    sent_ = 0;
  }
  return {};
}

bool FrameWriter::is_congested() const {
  std::scoped_lock lock(mutex_);
  return kept_.size() - sent_ > kCongested;
}

Result<void> FrameWriter::send() {
  std::scoped_lock lock(mutex_);
  return send_kept();
}

Result<void> FrameWriter::drain() {
  std::scoped_lock lock(mutex_);
  while (true) {
    TRY_DO(send_kept());
    if (kept_.empty()) return {};
    pollfd ready{fd_.get(), POLLOUT, 0};
    const int count = ::poll(&ready, 1, kPatienceMs);
    if (count < 0 && errno != EINTR) return Error::from_errno("send the run", errno);
    if (count == 0)
      return Error{fmt::format("send the run: the program that has started spile has read nothing for {} s", kPatienceMs / 1000),
                   {}};
  }
}

// Head and payload are one write(2), so that a kill leaves no head alone where the file system does not split it.
Result<void> FrameWriter::append(FrameKind kind, std::string_view payload) {
  CHECK(payload.size() <= kMostPlain);
  std::scoped_lock lock(mutex_);
  packed_.resize(sizeof(FrameHead) + ZSTD_compressBound(payload.size()));
  const size_t stored = ZSTD_compress(packed_.data() + sizeof(FrameHead), packed_.size() - sizeof(FrameHead), payload.data(),
                                      payload.size(), kLevel);
  if (ZSTD_isError(stored)) return Error{fmt::format("compress a frame of {}: {}", path_, ZSTD_getErrorName(stored)), {}};
  FrameHead head{};
  std::memcpy(head.magic, kFrameMagic, sizeof head.magic);
  head.kind = static_cast<uint32_t>(kind);
  head.stored = static_cast<uint32_t>(stored);
  head.plain = static_cast<uint32_t>(payload.size());
  head.number = number_++;
  head.payload_crc = crc_of(packed_.data() + sizeof head, stored);
  head.head_crc = crc_of(&head, offsetof(FrameHead, head_crc));
  std::memcpy(packed_.data(), &head, sizeof head);
  return write(std::string_view(packed_).substr(0, sizeof head + stored));
}

Result<void> FrameWriter::sync() {
  if (is_stream_) return drain();
  // Pipes and devices have nothing to be synchronized.
  if (::fdatasync(fd_.get()) != 0 && errno != EINVAL && errno != EROFS) return Error::from_errno("write " + path_, errno);
  return {};
}

void FrameParser::add(std::string_view bytes) {
  if (at_ > bytes_.size() / 2) bytes_.erase(0, std::exchange(at_, 0));
  bytes_ += bytes;
}

Result<std::optional<Frame>> FrameParser::next() {
  const std::string_view left = std::string_view(bytes_).substr(at_);
  if (!has_head_) {
    if (left.size() < sizeof(FileHead)) return std::optional<Frame>();
    if (left.substr(0, sizeof(FileHead)) != file_head()) return Error{"it does not speak this version of the stream", {}};
    has_head_ = true;
    at_ += sizeof(FileHead);
    return next();
  }
  FrameHead head{};
  if (left.size() < sizeof head) return std::optional<Frame>();
  std::memcpy(&head, left.data(), sizeof head);
  if (const std::string wrong = wrong_with(head, number_); !wrong.empty()) return Error{wrong, {}};
  if (left.size() < sizeof head + head.stored) return std::optional<Frame>();
  const std::string_view stored = left.substr(sizeof head, head.stored);
  if (crc_of(stored.data(), stored.size()) != head.payload_crc) return Error{"the checksum of a frame is wrong", {}};
  Frame frame{head.kind, std::string(head.plain, '\0')};
  if (!unpack(stored, frame.payload)) return Error{"a frame can't be unpacked", {}};
  at_ += sizeof head + head.stored;
  ++number_;
  return std::optional(std::move(frame));
}

Result<FrameReader> FrameReader::open(const std::string& path) {
  FrameReader reader;
  reader.path_ = path;
  TRY(StableFile file, open_stable(path, path));
  reader.fd_ = std::move(file.fd);
  reader.size_ = file.size;
  FileHead head{};
  TRY(const size_t got, reader.read(&head, sizeof head));
  if (got < sizeof head || std::memcmp(head.magic, kFileMagic, sizeof head.magic) != 0) {
    return Error{fmt::format("{}: not a run of spile record", path), "spile record SCRIPT -x PID -o FILE makes one"};
  }
  if (head.version != kRunVersion) {
    return Error{fmt::format("{}: a run of version {}, but this spile reads version {}", path, head.version, kRunVersion),
                 "use the spile that has recorded it"};
  }
  return reader;
}

Result<size_t> FrameReader::read(void* into, size_t size) {
  size_t done = 0;
  while (done < size) {
    const ssize_t got = ::pread(fd_.get(), static_cast<char*>(into) + done, size - done, static_cast<off_t>(at_));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::from_errno("read " + path_, errno);
    if (got == 0) break;
    done += static_cast<size_t>(got);
    at_ += static_cast<uint64_t>(got);
  }
  return done;
}

Error FrameReader::damaged(const std::string& what) const {
  return {fmt::format("{}: damaged: {} (frame {}, before byte {})", path_, what, number_, at_),
          "the file is not as spile record has written it; copy it again"};
}

// What a file system leaves of a file that was being written when the machine died: its size, and zeros from the beginning of a
// block on. Returns whether such zeros begin from `begin` on and before `end`.
Result<bool> FrameReader::ends_in_zeros(uint64_t begin, uint64_t end) {
  constexpr uint64_t kBlock = 512;  // the least of all
  std::string bytes(1 << 16, '\0');
  uint64_t zeros = begin;  // from here on all is zero
  at_ = begin;
  while (true) {
    const uint64_t at = at_;
    TRY(const size_t got, read(bytes.data(), bytes.size()));
    const size_t last = std::string_view(bytes).substr(0, got).find_last_not_of('\0');
    if (last != std::string_view::npos) zeros = (at + last + 1 + kBlock - 1) / kBlock * kBlock;
    if (got < bytes.size()) return zeros < at_ && zeros < end;
  }
}

Result<std::optional<Frame>> FrameReader::next() {
  const uint64_t begin = at_;
  FrameHead head{};
  TRY(const size_t got, read(&head, sizeof head));
  if (got < sizeof head) {
    is_cut_ = got > 0;
    return std::optional<Frame>();
  }
  if (!is_frame_head(head)) {
    TRY(is_cut_, ends_in_zeros(begin, begin + sizeof head));
    if (is_cut_) return std::optional<Frame>();
    return damaged("the head of a frame is wrong");
  }
  if (const std::string wrong = wrong_with(head, number_); !wrong.empty()) return damaged(wrong);
  // Of what the head announces, only what is there gets memory.
  if (head.stored > size_ && at_ + head.stored > size_) {
    is_cut_ = true;
    return std::optional<Frame>();
  }
  std::string stored(head.stored, '\0');
  const uint64_t payload = at_;
  TRY(const size_t there, read(stored.data(), stored.size()));
  if (there < stored.size()) {
    is_cut_ = true;
    return std::optional<Frame>();
  }
  if (crc_of(stored.data(), stored.size()) != head.payload_crc) {
    TRY(is_cut_, ends_in_zeros(payload, payload + stored.size()));
    if (is_cut_) return std::optional<Frame>();
    return damaged("the checksum of a frame is wrong");
  }
  Frame frame{head.kind, std::string(head.plain, '\0')};
  if (!unpack(stored, frame.payload)) return damaged("a frame can't be unpacked");
  ++number_;
  return std::optional(std::move(frame));
}

}  // namespace spile::runs
