#include "debuginfo/cache/answer_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "base/files/file.h"
#include "debuginfo/cache/cache_folder.h"
#include "debuginfo/cache/kept_sections.h"

namespace spile::debuginfo {
namespace {

constexpr char kFormat[24] = "spile answers 27\n";
constexpr uint64_t kMostBytes = 256 << 20;
constexpr std::string_view kAnswersEnding = ".answers", kImportedEnding = ".imported";

// As the file begins.
struct Head {
  char format[sizeof kFormat];
  uint64_t checksum;
  uint32_t stamp_bytes, name_bytes, count, padding;
};
static_assert(sizeof(Head) == 48);

// FNV-1a, eight bytes at a time: against accidents (a full disk, a bad block), not against malice: the directory is the user's
// own.
uint64_t checksum(std::string_view bytes, uint64_t hash = 0xcbf29ce484222325) {
  const auto add = [&](uint64_t word) {
    hash = (hash ^ word) * 0x100000001b3;
    hash ^= hash >> 32;  // a product's upper bits reach the lower ones
  };
  for (; bytes.size() >= sizeof(uint64_t); bytes.remove_prefix(sizeof(uint64_t))) {
    uint64_t word;
    memcpy(&word, bytes.data(), sizeof word);
    add(word);
  }
  for (unsigned char c : bytes) add(c);
  return hash;
}

std::string_view counts_of(const Head& head) {
  return {reinterpret_cast<const char*>(&head.stamp_bytes), sizeof head - offsetof(Head, stamp_bytes)};
}

}  // namespace

std::string AnswerCache::default_directory() {
  if (getenv("SPILE_NO_CACHE")) return {};  // --disable-cache
  if (const char* cache = getenv("XDG_CACHE_HOME"); cache && cache[0] == '/') return std::string(cache) + "/spile";
  if (const char* home = getenv("HOME"); home && home[0] == '/') return std::string(home) + "/.cache/spile";
  return {};
}

bool AnswerCache::read_head(int fd, uint64_t size) {
  Head head;
  if (::pread(fd, &head, sizeof head, 0) != sizeof head || memcmp(head.format, kFormat, sizeof kFormat) != 0) return false;
  const uint64_t texts = uint64_t{head.stamp_bytes} + head.name_bytes, rest = texts + uint64_t{head.count} * sizeof(Place);
  if (rest > size - sizeof head) return false;
  std::string bytes(rest, '\0');
  if (::pread(fd, bytes.data(), rest, sizeof head) != static_cast<ssize_t>(rest)) return false;
  if (head.checksum != checksum(bytes, checksum(counts_of(head)))) return false;
  if (!any_stamp_ && bytes.compare(0, head.stamp_bytes, stamp_) != 0) return false;
  places_.resize(head.count);
  memcpy(places_.data(), bytes.data() + texts, head.count * sizeof(Place));
  return true;
}

void AnswerCache::open() {
  if (opened_) return;
  opened_ = true;
  if (path_.empty()) return;
  uint64_t size = 0;
  file_ = open_own(path_, sizeof(Head), kMostBytes, &size);
  if (!file_ || !read_head(file_.get(), size)) {
    file_.reset();
    places_.clear();
    return;
  }
  note_use(file_.get());
}

bool AnswerCache::has_file() {
  open();
  return static_cast<bool>(file_);
}

std::optional<std::pair<std::string, std::string>> AnswerCache::read_entry(const Place& place) const {
  const uint64_t both = uint64_t{place.key_bytes} + place.answer_bytes;
  uint64_t sum;
  if (both > kMostBytes) return std::nullopt;
  std::string key(place.key_bytes, '\0'), answer(place.answer_bytes, '\0');
  const iovec parts[] = {{key.data(), key.size()}, {answer.data(), answer.size()}, {&sum, sizeof sum}};
  if (::preadv(file_.get(), parts, std::size(parts), static_cast<off_t>(place.offset)) != static_cast<ssize_t>(both + sizeof sum))
    return std::nullopt;
  if (checksum(answer, checksum(key)) != sum) return std::nullopt;
  return std::pair(std::move(key), std::move(answer));
}

const std::string* AnswerCache::find(const std::string& key) {
  if (auto known = answers_.find(key); known != answers_.end()) return &known->second;
  open();
  const uint64_t hash = checksum(key);
  auto place = std::lower_bound(places_.begin(), places_.end(), hash, [](const Place& p, uint64_t h) { return p.hash < h; });
  for (; place != places_.end() && place->hash == hash; ++place) {
    if (place->key_bytes != key.size()) continue;
    auto entry = read_entry(*place);
    if (entry && entry->first == key) return &answers_.insert_or_assign(key, std::move(entry->second)).first->second;
  }
  return nullptr;
}

void AnswerCache::put(const std::string& key, std::string answer) {
  answers_.insert_or_assign(key, std::move(answer));
  changed_ = true;
}

Answers AnswerCache::read_all() {
  open();
  Answers all;
  for (const Place& place : places_)
    if (auto entry = read_entry(place)) all.insert(std::move(*entry));
  return all;
}

bool AnswerCache::save() {
  if (!changed_ || path_.empty()) return true;
  changed_ = false;
  // Another spile may have learnt other things meanwhile.
  Answers all = answers_;
  all.merge(AnswerCache(path_, stamp_, name_).read_all());
  Head head{};
  memcpy(head.format, kFormat, sizeof kFormat);
  head.stamp_bytes = static_cast<uint32_t>(stamp_.size());
  head.name_bytes = static_cast<uint32_t>(name_.size());
  head.count = static_cast<uint32_t>(all.size());
  std::vector<Place> places;
  std::string entries;
  uint64_t begin = sizeof head + stamp_.size() + name_.size() + all.size() * sizeof(Place);
  for (const auto& [key, answer] : all) {
    places.push_back(
        {checksum(key), begin + entries.size(), static_cast<uint32_t>(key.size()), static_cast<uint32_t>(answer.size())});
    const uint64_t sum = checksum(answer, checksum(key));
    entries += key;
    entries += answer;
    entries.append(reinterpret_cast<const char*>(&sum), sizeof sum);
    if (begin + entries.size() > kMostBytes) return false;
  }
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.hash < b.hash; });
  std::string rest = stamp_ + name_;
  rest.append(reinterpret_cast<const char*>(places.data()), places.size() * sizeof(Place));
  head.checksum = checksum(rest, checksum(counts_of(head)));
  if (!make_folders(path_)) return false;
  std::string temporary = path_ + ".XXXXXX";
  UniqueFd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd) return false;
  const bool written = write_all(fd.get(), {reinterpret_cast<const char*>(&head), sizeof head}) == 0 &&
                       write_all(fd.get(), rest) == 0 && write_all(fd.get(), entries) == 0;
  if (!written || ::rename(temporary.c_str(), path_.c_str()) != 0) {
    ::unlink(temporary.c_str());
    return false;
  }
  prune_answers(path_.substr(0, path_.rfind('/')), kMostCached);
  return true;
}

std::vector<CachedFile> cached_files(const std::string& directory) {
  std::vector<CachedFile> files;
  DIR* opened = directory.empty() ? nullptr : ::opendir(directory.c_str());
  if (!opened) return files;
  for (dirent* entry; (entry = ::readdir(opened));) {
    const std::string name = entry->d_name;
    CachedFile file;
    file.imported = name.ends_with(kImportedEnding);
    file.sections = name.ends_with(kSectionsEnding);
    if (!file.imported && !file.sections && !name.ends_with(kAnswersEnding)) continue;
    file.path = directory + "/" + name;
    file.build_id = name.substr(0, name.rfind('.'));
    UniqueFd fd = open_own(file.path, 0, UINT64_MAX, &file.bytes);
    struct stat status;
    if (!fd || ::fstat(fd.get(), &status) != 0) continue;
    file.used = status.st_mtim.tv_sec;
    Head head;
    if (file.sections) {
      file.name = kept_name(fd.get(), file.bytes);
    } else if (::pread(fd.get(), &head, sizeof head, 0) == sizeof head && memcmp(head.format, kFormat, sizeof kFormat) == 0 &&
               uint64_t{head.stamp_bytes} + head.name_bytes <= file.bytes) {
      file.name.resize(head.name_bytes);
      if (::pread(fd.get(), file.name.data(), head.name_bytes, static_cast<off_t>(sizeof head + head.stamp_bytes)) !=
          static_cast<ssize_t>(head.name_bytes))
        file.name.clear();
      file.answers = head.count;
    }
    files.push_back(std::move(file));
  }
  ::closedir(opened);
  std::sort(files.begin(), files.end(),
            [](const CachedFile& a, const CachedFile& b) { return a.used != b.used ? a.used < b.used : a.path < b.path; });
  return files;
}

Answers all_answers(const std::string& path) { return AnswerCache(path).read_all(); }

std::string imported_path(const std::string& directory, const std::string& build_id) {
  return fmt::format("{}/{}{}", directory, build_id, kImportedEnding);
}

namespace {

// Files that a spile was writing when it was killed: "ID.answers.XXXXXX" and "ID.sections.PID", if they are not of today.
void remove_unfinished(const std::string& directory) {
  constexpr time_t kOld = 24 * 3600;
  DIR* opened = ::opendir(directory.c_str());
  if (!opened) return;
  const time_t now = ::time(nullptr);
  for (dirent* entry; (entry = ::readdir(opened));) {
    const std::string_view name = entry->d_name;
    const std::string_view whole = name.substr(0, name.rfind('.'));
    if (!whole.ends_with(kAnswersEnding) && !whole.ends_with(kImportedEnding) && !whole.ends_with(kSectionsEnding)) continue;
    struct stat status;
    const std::string path = directory + "/" + entry->d_name;
    if (::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && now - status.st_mtim.tv_sec > kOld)
      ::unlink(path.c_str());
  }
  ::closedir(opened);
}

}  // namespace

uint64_t prune_answers(const std::string& directory, uint64_t most_bytes) {
  remove_unfinished(directory);
  std::vector<CachedFile> files = cached_files(directory);
  // Sections first: they are large, and only time is lost with them.
  std::ranges::stable_partition(files, &CachedFile::sections);
  uint64_t total = 0, removed = 0;
  for (const CachedFile& file : files) total += file.bytes;
  for (const CachedFile& file : files) {
    if (total - removed <= most_bytes) break;
    if (::unlink(file.path.c_str()) == 0) removed += file.bytes;
  }
  return removed;
}

}  // namespace spile::debuginfo
