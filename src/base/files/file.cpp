#include "base/files/file.h"

#include <fcntl.h>
#include <limits.h>

#include "base/unique_fd.h"

namespace spile {
namespace {

UniqueFd open_to_read(const std::string& path) { return UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)); }

}  // namespace

Result<std::string> read_file(const std::string& path, const std::string& what) {
  const std::string& named = what.empty() ? path : what;
  const UniqueFd file = open_to_read(path);
  if (!file) return Error::from_errno("open " + named, errno);
  std::string bytes;
  if (const int failure = read_all(file.get(), bytes)) return Error::from_errno("read " + named, failure);
  return bytes;
}

std::string read_start(const std::string& path, size_t most) {
  const UniqueFd file = open_to_read(path);
  std::string bytes;
  if (file) (void)read_all(file.get(), bytes, most);
  return bytes;
}

std::string first_line(const std::string& path) {
  const UniqueFd file = open_to_read(path);
  std::string line;
  char part[256];
  for (ssize_t got; file && (got = ::read(file.get(), part, sizeof part)) != 0;) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    const std::string_view more(part, static_cast<size_t>(got));
    line += more.substr(0, more.find('\n'));
    if (more.find('\n') != more.npos) break;
  }
  return line;
}

std::string read_link(const std::string& path) {
  char text[PATH_MAX];
  const ssize_t length = ::readlink(path.c_str(), text, sizeof text);
  return length > 0 ? std::string(text, static_cast<size_t>(length)) : std::string();
}

int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : EIO;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

}  // namespace spile
