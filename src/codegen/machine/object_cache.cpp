#include "codegen/machine/object_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "base/files/file.h"
#include "base/unique_fd.h"
#include "codegen/terms/llvm.h"

namespace spile::codegen {

namespace {

constexpr std::string_view kFormat = "spile code 1\n";

using Hash = llvm::BLAKE3Result<>;

Hash hash_of(std::string_view bytes) {
  return llvm::BLAKE3::hash<>(llvm::arrayRefFromStringRef(llvm::StringRef(bytes.data(), bytes.size())));
}

bool read_all(int fd, char* bytes, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t got = ::read(fd, bytes + done, size - done);
    if (got <= 0) return false;
    done += static_cast<size_t>(got);
  }
  return true;
}

}  // namespace

// Another user who could write there could have us run code of theirs.
bool ObjectCache::is_ours() const {
  struct stat status;
  return ::stat(directory_.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::optional<std::string> ObjectCache::find(const std::string& key) const {
  if (key.empty() || !is_used() || !is_ours()) return std::nullopt;
  UniqueFd fd(::open((directory_ + "/" + key).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status;
  if (!fd || fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid()) return std::nullopt;
  constexpr size_t kHead = kFormat.size() + sizeof(Hash);
  if (status.st_size < static_cast<off_t>(kHead) || status.st_size > kMostBytes) return std::nullopt;
  char head[kHead];
  std::string object(static_cast<size_t>(status.st_size) - kHead, '\0');
  if (!read_all(fd.get(), head, kHead) || !read_all(fd.get(), object.data(), object.size())) return std::nullopt;
  Hash hash = hash_of(object);
  if (std::string_view(head, kFormat.size()) != kFormat || std::memcmp(head + kFormat.size(), hash.data(), hash.size()) != 0) {
    return std::nullopt;
  }
  futimens(fd.get(), nullptr);  // used now
  return object;
}

void ObjectCache::keep(const std::string& key, std::string_view object) const {
  if (key.empty() || !is_used() || object.size() > static_cast<size_t>(kMostBytes) - kFormat.size() - sizeof(Hash)) return;
  for (size_t slash = directory_.find('/', 1); slash != directory_.npos; slash = directory_.find('/', slash + 1)) {
    ::mkdir(directory_.substr(0, slash).c_str(), 0700);
  }
  ::mkdir(directory_.c_str(), 0700);
  if (!is_ours()) return;
  drop_oldest(static_cast<off_t>(object.size()));
  std::string temporary = directory_ + "/new.XXXXXX";
  UniqueFd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd) return;
  Hash hash = hash_of(object);
  bool written = write_all(fd.get(), kFormat) == 0 &&
                 write_all(fd.get(), {reinterpret_cast<const char*>(hash.data()), hash.size()}) == 0 &&
                 write_all(fd.get(), object) == 0;
  if (!written || ::rename(temporary.c_str(), (directory_ + "/" + key).c_str()) != 0) ::unlink(temporary.c_str());
}

// A quarter of them at once, so that it's rarely done. Files that a killed writer left are among them.
void ObjectCache::drop_oldest(off_t coming) const {
  DIR* folder = ::opendir(directory_.c_str());
  if (!folder) return;
  struct Entry {
    int64_t used;
    std::string name;
    off_t size;
  };
  std::vector<Entry> entries;
  off_t bytes = coming;
  while (const dirent* entry = ::readdir(folder)) {
    struct stat status;
    if (fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode)) continue;
    entries.push_back({status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec, entry->d_name, status.st_size});
    bytes += status.st_size;
  }
  if (entries.size() >= kMostEntries || bytes > kMostBytesOfAll) {
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
    size_t left = entries.size();
    for (const Entry& oldest : entries) {
      if (left <= kMostEntries * 3 / 4 && bytes <= kMostBytesOfAll / 4 * 3) break;
      unlinkat(dirfd(folder), oldest.name.c_str(), 0);
      bytes -= oldest.size;
      --left;
    }
  }
  ::closedir(folder);
}

}  // namespace spile::codegen
