#include "runs/text/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/messages.h"
#include "base/print.h"

namespace spile::runs {

namespace {
constexpr size_t kBuffered = 1 << 18;
}

std::string expand_path(const std::string& path) {
  if (path.find('%') == std::string::npos) return path;
  time_t now = time(nullptr);
  tm local;
  localtime_r(&now, &local);
  char expanded[4096];
  size_t length = strftime(expanded, sizeof expanded, path.c_str(), &local);
  return length > 0 ? std::string(expanded, length) : path;
}

Result<std::unique_ptr<OutputFile>> OutputFile::open(const std::string& path, uint64_t rotate_bytes, uint32_t rotate_files) {
  std::unique_ptr<OutputFile> file(new OutputFile(expand_path(path), rotate_bytes, rotate_files));
  if (!path.empty()) TRY_DO(file->open_file(true));
  file->is_terminal_ = isatty(file->fd_) == 1;
  return file;
}

std::unique_ptr<OutputFile> OutputFile::in_memory(size_t bytes) {
  std::unique_ptr<OutputFile> file(new OutputFile({}, 0, 0));
  file->memory_limit_ = bytes;
  return file;
}

std::string_view OutputFile::held() const { return std::string_view(memory_).substr(memory_begin_); }

void OutputFile::keep(std::string_view text) {
  memory_ += text;
  record_sizes_.push_back(text.size());
  while (memory_.size() - memory_begin_ > memory_limit_ && record_sizes_.size() > 1) {
    memory_begin_ += record_sizes_.front();
    record_sizes_.pop_front();
  }
  if (memory_begin_ < memory_limit_) return;
  memory_.erase(0, memory_begin_);
  memory_begin_ = 0;
}

OutputFile::~OutputFile() { flush(); }

std::string OutputFile::current_path() const { return rotate_bytes_ > 0 ? fmt::format("{}.{}", path_, number_) : path_; }

Result<void> OutputFile::open_file(bool truncate) {
  std::string path = current_path();
  // The user has named the one file, whatever it is; names of a row are ours, and a user who may write to the folder can guess
  // the next one.
  bool in_row = rotate_bytes_ > 0;
  int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND | (in_row ? O_NOFOLLOW | O_NONBLOCK : truncate ? O_TRUNC : 0);
  owned_.reset(::open(path.c_str(), flags, 0666));
  if (!owned_) return Error::from_errno("open output file " + path, errno);
  struct stat status{};
  if (in_row && (fstat(owned_.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink != 1)) {
    return Error{fmt::format("open output file {}: not a regular file, or it has other hard links", path),
                 "remove it, or choose another name for -o"};
  }
  if (in_row && truncate && ftruncate(owned_.get(), 0) != 0) return Error::from_errno("open output file " + path, errno);
  fd_ = owned_.get();
  written_ = 0;
  return {};
}

void OutputFile::write(std::string_view text) {
  if (text.empty() || !usable_) return;
  if (memory_limit_ > 0) return keep(text);
  // A new file begins with a new record. Only a file of one huge record exceeds the limit.
  if (rotate_bytes_ > 0 && written_ > 0 && written_ + text.size() > rotate_bytes_) next_file();
  buffer_ += text;
  written_ += text.size();
  if (buffer_.size() >= kBuffered) flush();
}

void OutputFile::flush() {
  size_t at = 0;
  while (at < buffer_.size() && usable_) {
    ssize_t written = ::write(fd_, buffer_.data() + at, buffer_.size() - at);
    if (written > 0) {
      at += static_cast<size_t>(written);
    } else if (errno == EAGAIN) {
      pollfd writable{fd_, POLLOUT, 0};  // another process may have made the pipe or terminal non-blocking
      poll(&writable, 1, -1);
    } else if (errno != EINTR) {
      give_up(errno);
    }
  }
  buffer_.clear();
}

void OutputFile::give_up(int error) {
  usable_ = false;
  reader_gone_ = error == EPIPE;
  if (!reader_gone_) fail(write_error(path_.empty() ? "write output" : "write output file " + current_path(), error));
}

void OutputFile::next_file() {
  flush();
  if (path_.empty()) return;
  if (rotate_bytes_ > 0) ++number_;
  if (Result<void> opened = open_file(rotate_bytes_ > 0); !opened.ok()) {
    fail(opened.error().message);
    usable_ = false;
    return;
  }
  if (rotate_bytes_ > 0 && rotate_files_ > 0 && number_ >= rotate_files_) {
    unlink(fmt::format("{}.{}", path_, number_ - rotate_files_).c_str());
  }
}

}  // namespace spile::runs
