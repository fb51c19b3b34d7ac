#include "base/files/replace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files/file.h"
#include "base/unique_fd.h"

namespace spile {

Result<void> replace_file(const std::string& path, std::string_view bytes) {
  const std::string what = "write " + path;
  struct stat info;
  const bool exists = stat(path.c_str(), &info) == 0;
  if (exists && !S_ISREG(info.st_mode)) {
    UniqueFd file(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    if (!file) return Error::from_errno(what, errno);
    const int failure = write_all(file.get(), bytes);
    return failure ? Result<void>(Error::from_errno(what, failure)) : Result<void>();
  }
  std::string place = path;
  char resolved[PATH_MAX];
  if (exists && realpath(path.c_str(), resolved)) place = resolved;
  std::string beside = place + ".XXXXXX";
  UniqueFd file(mkostemp(beside.data(), O_CLOEXEC));
  if (!file) return Error::from_errno(what, errno);
  constexpr mode_t kReadable = 0644;
  int failure = write_all(file.get(), bytes);
  if (!failure && (fchmod(file.get(), kReadable) != 0 || rename(beside.c_str(), place.c_str()) != 0)) failure = errno;
  if (!failure) return {};
  unlink(beside.c_str());
  return Error::from_errno(what, failure);
}

}  // namespace spile
