#include "debuginfo/files/inflate.h"

#include <dlfcn.h>
#include <errno.h>
#include <fmt/format.h>
#include <isa-l/igzip_lib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <memory>
#include <string_view>

namespace spile::debuginfo {
namespace {

constexpr size_t kPiece = 256 << 10;  // bytes: stays in the second cache of a processor

constexpr char kDamaged[] = "is damaged: its compressed contents make no sense";
constexpr char kCut[] = "is damaged: its compressed contents end too early";
constexpr char kNoMemory[] = "can't be uncompressed: out of memory";
constexpr char kTooLong[] = "is damaged: it has more contents than it says";

// Reads the compressed bytes in order.
class Source {
 public:
  explicit Source(const Packed& packed) : packed_(packed), bytes_(std::make_unique_for_overwrite<char[]>(kPiece)) {}
  bool at_end() const { return done_ >= packed_.size; }
  // Returns the next bytes, valid until the next call; empty: there are no more, or the file is shorter than it says.
  std::string_view next() {
    const size_t wanted = std::min<uint64_t>(kPiece, packed_.size - done_);
    ssize_t got;
    do got = pread(packed_.fd, bytes_.get(), wanted, static_cast<off_t>(packed_.offset + done_));
    while (got < 0 && errno == EINTR);
    if (got <= 0) return {};
    done_ += static_cast<uint64_t>(got);
    return {bytes_.get(), static_cast<size_t>(got)};
  }

 private:
  const Packed& packed_;
  std::unique_ptr<char[]> bytes_;
  uint64_t done_ = 0;
};

// Writes the plain bytes in order.
class Sink {
 public:
  Sink(int fd, uint64_t at, uint64_t size)
      : fd_(fd), at_(at), left_(size), bytes_(std::make_unique_for_overwrite<char[]>(kPiece)) {}
  char* bytes() { return bytes_.get(); }  // kPiece of them, to be filled
  bool full() const { return left_ == 0; }
  // Writes the first of bytes(). Returns what has failed, or "".
  std::string write(size_t count) { return write({bytes_.get(), count}); }
  std::string write(std::string_view rest) {
    if (rest.size() > left_) return kTooLong;
    left_ -= rest.size();
    while (!rest.empty()) {
      const ssize_t written = pwrite(fd_, rest.data(), rest.size(), static_cast<off_t>(at_));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return fmt::format("can't be written uncompressed: {}", strerror(errno));
      rest.remove_prefix(static_cast<size_t>(written));
      at_ += static_cast<uint64_t>(written);
    }
    return {};
  }

 private:
  int fd_;
  uint64_t at_, left_;
  std::unique_ptr<char[]> bytes_;
};

std::string copy(Source& source, Sink& sink) {
  while (!source.at_end()) {
    const std::string_view piece = source.next();
    if (piece.empty()) return kCut;
    if (std::string failed = sink.write(piece); !failed.empty()) return failed;
  }
  return sink.full() ? "" : kCut;
}

// ISA-L's inflate, which is more than twice as fast as zlib's. Loaded at its first use, for a machine may lack it, and most runs
// have no need of it: decision 044.
struct IsaL {
  decltype(&isal_inflate_init) init = nullptr;
  decltype(&isal_inflate) inflate = nullptr;
};

// Null: it is not installed.
const IsaL* isa_l() {
  static const IsaL library = [] {
    IsaL found;
    void* handle = dlopen("libisal.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!handle) return found;
    found.init = reinterpret_cast<decltype(found.init)>(dlsym(handle, "isal_inflate_init"));
    found.inflate = reinterpret_cast<decltype(found.inflate)>(dlsym(handle, "isal_inflate"));
    return found;
  }();
  return library.init && library.inflate ? &library : nullptr;
}

std::string inflate_by_isa_l(const IsaL& library, Source& source, Sink& sink) {
  auto state = std::make_unique<inflate_state>();
  library.init(state.get());
  state->crc_flag = ISAL_ZLIB;
  bool has_more = false;  // output that had no room
  while (state->block_state != ISAL_BLOCK_FINISH) {
    if (state->avail_in == 0 && !has_more) {
      const std::string_view piece = source.next();
      if (piece.empty()) return kCut;
      state->next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(piece.data()));
      state->avail_in = static_cast<uint32_t>(piece.size());
    }
    state->next_out = reinterpret_cast<uint8_t*>(sink.bytes());
    state->avail_out = kPiece;
    const uint32_t before = state->avail_in;
    if (library.inflate(state.get()) != ISAL_DECOMP_OK) return kDamaged;
    has_more = state->avail_out == 0;
    if (state->avail_in > 0 && state->avail_in == before && state->avail_out == kPiece) return kDamaged;  // it stands still
    if (std::string failed = sink.write(kPiece - state->avail_out); !failed.empty()) return failed;
  }
  return sink.full() ? "" : kCut;
}

std::string inflate_by_zlib(Source& source, Sink& sink) {
  struct Ended : z_stream {
    ~Ended() { inflateEnd(this); }
  } stream{};
  if (inflateInit(&stream) != Z_OK) return kNoMemory;
  bool has_more = false;  // output that had no room
  for (int state = Z_OK; state != Z_STREAM_END;) {
    if (stream.avail_in == 0 && !has_more) {
      const std::string_view piece = source.next();
      if (piece.empty()) return kCut;
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
      stream.avail_in = static_cast<uInt>(piece.size());
    }
    stream.next_out = reinterpret_cast<Bytef*>(sink.bytes());
    stream.avail_out = kPiece;
    state = ::inflate(&stream, Z_NO_FLUSH);
    const bool waits = state == Z_BUF_ERROR && stream.avail_in == 0;  // for more input
    if (state != Z_OK && state != Z_STREAM_END && !waits) return kDamaged;
    has_more = stream.avail_out == 0;
    if (std::string failed = sink.write(kPiece - stream.avail_out); !failed.empty()) return failed;
  }
  return sink.full() ? "" : kCut;
}

std::string inflate_zstd(Source& source, Sink& sink) {
  const std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream(ZSTD_createDStream(), ZSTD_freeDStream);
  if (!stream) return kNoMemory;
  size_t left = 1;  // 0: a frame has ended
  while (!source.at_end()) {
    const std::string_view piece = source.next();
    if (piece.empty()) return kCut;
    ZSTD_inBuffer in{piece.data(), piece.size(), 0};
    bool has_more = false;
    while (in.pos < in.size || has_more) {
      ZSTD_outBuffer out{sink.bytes(), kPiece, 0};
      left = ZSTD_decompressStream(stream.get(), &out, &in);
      if (ZSTD_isError(left)) return kDamaged;
      if (std::string failed = sink.write(out.pos); !failed.empty()) return failed;
      has_more = out.pos == out.size && left != 0;
    }
  }
  return left == 0 && sink.full() ? "" : kCut;
}

}  // namespace

std::string inflate(const Packed& packed, int to, uint64_t at, bool by_zlib) {
  Source source(packed);
  Sink sink(to, at, packed.plain_size);
  switch (packed.compression) {
    case Compression::kNone: return copy(source, sink);
    case Compression::kZlib:
      return by_zlib || !isa_l() ? inflate_by_zlib(source, sink) : inflate_by_isa_l(*isa_l(), source, sink);
    case Compression::kZstd: return inflate_zstd(source, sink);
  }
  return fmt::format("is compressed in a way that spile does not know: number {}", static_cast<uint32_t>(packed.compression));
}

}  // namespace spile::debuginfo
