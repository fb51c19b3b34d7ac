#include "session/output/stream_files.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "runs/text/stream_file.h"

namespace spile::session {

namespace {

Result<void> write_all(int fd, std::span<const char> bytes, const char* what) {
  while (!bytes.empty()) {
    ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return Error::from_errno(what, errno);
    if (written > 0) bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

}  // namespace

StreamFiles::StreamFiles(std::string base, const codegen::CompiledScript& script)
    : base_(std::move(base)), json_(runs::formats_as_json(script.formats).dump()) {}

Result<int> StreamFiles::file_of(ArenaView& arena, uint32_t stream) {
  UniqueFd& fd = files_[stream];
  if (fd) return fd.get();
  std::string path = fmt::format("{}_{}", base_, stream);
  fd.reset(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_APPEND, 0666));
  if (!fd) return Error::from_errno("open output file " + path, errno);
  const ArenaView::Clock& clock = arena.clock();
  runs::StreamHeader header{{'S', 'P', 'I', 'L', 'E', 'S', 'T', 'R'},
                            runs::kStreamVersion,
                            stream,
                            clock.base_tsc,
                            clock.base_ns,
                            clock.mult,
                            clock.shift,
                            static_cast<uint32_t>(json_.size())};
  TRY_DO(write_all(fd.get(), {reinterpret_cast<const char*>(&header), sizeof header}, "write output"));
  TRY_DO(write_all(fd.get(), json_, "write output"));
  return fd.get();
}

Result<void> StreamFiles::append(ArenaView& arena, uint32_t stream, std::span<const char> records) {
  TRY(int fd, file_of(arena, stream));
  return write_all(fd, records, "write output");
}

Result<void> StreamFiles::append_lost(ArenaView& arena, uint32_t stream, uint64_t lost) {
  struct {
    abi::OwnedHeader header;
    uint64_t lost;
  } record{{{sizeof record, runs::kStreamLost, 0, 0, 0, ~0ULL}}, lost};
  return append(arena, stream, {reinterpret_cast<const char*>(&record), sizeof record});
}

}  // namespace spile::session
