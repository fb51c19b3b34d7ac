#pragma once
// The frames of a run's file, docs/run-format.md: a head of 16 bytes, then frames that are compressed and checked one by one. A
// file is readable up to its last whole frame.
//
//   "SPILERUN"  u32 version  u32 0
//   then, each:
//   "FRAM"  u32 kind  u32 stored  u32 plain  u64 number  u32 crc of the payload  u32 crc of the 28 bytes before
//           `stored` bytes: the payload, compressed by zstd (RFC 8878)
//
// Thread rule: one thread for each object.

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace spile::runs {

inline constexpr uint32_t kRunVersion = 1;
inline constexpr size_t kMostPlain = 64 << 20;  // bytes of a frame's payload

// ORDER: numbers of docs/run-format.md. Readers leave out frames of kinds that they do not know.
enum class FrameKind : uint32_t {
  kFacts = 1,
  kTexts = 2,
  kEvents = 3,
  kGlobal = 4,
  kTick = 5,
  kModules = 6,
  kEnd = 7,
  kArmed = 8,
  kMessage = 9,
  kStarted = 10,
  kTextsAnew = 11,  // in streams alone
  kProcesses = 12,
  kThreads = 13,
};

// Thread rule: append() and send() from any thread.
class FrameWriter {
 public:
  // Makes the file, or empties it, and writes its head. Errors: it can't be written.
  static Result<std::shared_ptr<FrameWriter>> create(const std::string& path);
  // Writes to a connected socket, and never waits for its reader: what that does not take is kept, and sent later. A reader that
  // takes nothing until kMostKept bytes are kept is an error of append(). Errors: it is not a socket, or its other end is closed.
  static Result<std::shared_ptr<FrameWriter>> stream(UniqueFd socket);
  // Compresses and appends a frame. REQUIRES: at most kMostPlain bytes. Errors: it can't be written; the file then ends within a
  // frame.
  Result<void> append(FrameKind kind, std::string_view payload);
  // Whether this is a stream.
  bool is_stream() const { return is_stream_; }
  // Whether so much is kept for the reader of a stream that events have to be left out.
  bool is_congested() const;
  // Sends what was kept, as far as the reader takes it. Errors: its end is closed.
  Result<void> send();
  // Sends all that was kept. Errors: the reader has closed its end, or has taken nothing for kPatienceMs.
  Result<void> drain();
  // Has the file written to the disk, or the stream to its reader. Errors: the disk failed; those of drain().
  Result<void> sync();
  const std::string& path() const { return path_; }
  uint64_t bytes() const { return bytes_; }  // written so far

 private:
  static constexpr size_t kCongested = 32 << 20, kMostKept = 256 << 20;  // bytes
  static constexpr int kPatienceMs = 20'000;
  FrameWriter() = default;
  Result<void> write(std::string_view bytes);
  Result<void> send_kept();

  mutable std::mutex mutex_;
  std::string path_, packed_;
  UniqueFd fd_;
  bool is_stream_ = false;
  std::string kept_;  // for the reader of a stream
  size_t sent_ = 0;   // of kept_
  uint64_t number_ = 0, bytes_ = 0;
};

struct Frame {
  uint32_t kind;
  std::string payload;
};

// Takes the bytes of a stream as they come, and returns its frames.
class FrameParser {
 public:
  void add(std::string_view bytes);
  // Returns the next frame; null: the rest of it has not come yet. Errors: this is not a stream of this version.
  Result<std::optional<Frame>> next();

 private:
  std::string bytes_;
  size_t at_ = 0;
  bool has_head_ = false;
  uint64_t number_ = 0;
};

// Reads a file that may come from anywhere.
class FrameReader {
 public:
  // Errors: the file can't be read; it is not a run, or one of another version.
  static Result<FrameReader> open(const std::string& path);

  // Returns the next frame; null at the end. Errors: the file is damaged, or can't be read.
  Result<std::optional<Frame>> next();
  // An error that names the file and the place, for a frame whose payload has no meaning.
  Error damaged(const std::string& what) const;
  // Whether the file ends within a frame, as that of a run whose spile or machine died: either the rest is missing, or it is
  // zeros. REQUIRES: next() has returned null.
  bool is_cut() const { return is_cut_; }

 private:
  Result<size_t> read(void* into, size_t size);
  Result<bool> ends_in_zeros(uint64_t begin, uint64_t end);

  std::string path_;
  UniqueFd fd_;
  uint64_t size_ = 0, at_ = 0, number_ = 0;
  bool is_cut_ = false;
};

}  // namespace spile::runs
