#include "debuginfo/cache/cache_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

namespace spile::debuginfo {

UniqueFd open_own(const std::string& path, uint64_t least, uint64_t most, uint64_t* size) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  struct stat status;
  if (!fd || fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid()) return {};
  *size = static_cast<uint64_t>(status.st_size);
  return *size >= least && *size <= most ? std::move(fd) : UniqueFd();
}

void note_use(int fd) {
  constexpr time_t kDay = 24 * 60 * 60;
  struct stat status;
  if (fstat(fd, &status) == 0 && time(nullptr) - status.st_mtim.tv_sec > kDay) futimens(fd, nullptr);
}

bool make_folders(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != path.npos; slash = path.find('/', slash + 1))
    ::mkdir(path.substr(0, slash).c_str(), 0700);
  struct stat status;
  return ::stat(path.substr(0, path.rfind('/')).c_str(), &status) == 0 && status.st_uid == geteuid();
}

}  // namespace spile::debuginfo
