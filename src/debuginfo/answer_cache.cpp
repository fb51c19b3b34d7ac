#include "debuginfo/answer_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <optional>

#include "base/unique_fd.h"

namespace spile::debuginfo {
namespace {

constexpr std::string_view kFormat = "spile answers 13\n";
constexpr off_t kMostBytes = 256 << 20;

// FNV-1a: against accidents (a full disk, a bad block), not against malice: the directory is the user's own.
uint64_t checksum(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char c : bytes) hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

void append_text(std::string& bytes, std::string_view text) {
  const auto length = static_cast<uint32_t>(text.size());
  bytes.append(reinterpret_cast<const char*>(&length), sizeof length);
  bytes.append(text);
}

std::optional<std::string_view> take_text(std::string_view& bytes) {
  uint32_t length;
  if (bytes.size() < sizeof length) return std::nullopt;
  memcpy(&length, bytes.data(), sizeof length);
  bytes.remove_prefix(sizeof length);
  if (bytes.size() < length) return std::nullopt;
  std::string_view text = bytes.substr(0, length);
  bytes.remove_prefix(length);
  return text;
}

std::string read_whole(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status;
  if (!fd || fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size > kMostBytes ||
      status.st_uid != geteuid())
    return {};
  std::string bytes(static_cast<size_t>(status.st_size), '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(fd.get(), bytes.data() + done, bytes.size() - done);
    if (got <= 0) return {};
    done += static_cast<size_t>(got);
  }
  return bytes;
}

bool write_whole(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

// Makes the directories of the path. False where the last one is not our own.
bool make_directories(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != path.npos; slash = path.find('/', slash + 1))
    ::mkdir(path.substr(0, slash).c_str(), 0700);
  struct stat status;
  return ::stat(path.substr(0, path.rfind('/')).c_str(), &status) == 0 && status.st_uid == geteuid();
}

}  // namespace

std::string AnswerCache::default_directory() {
  if (getenv("SPILE_NO_CACHE")) return {};  // --disable-cache
  if (const char* cache = getenv("XDG_CACHE_HOME"); cache && cache[0] == '/') return std::string(cache) + "/spile";
  if (const char* home = getenv("HOME"); home && home[0] == '/') return std::string(home) + "/.cache/spile";
  return {};
}

AnswerCache::Answers AnswerCache::read_file() const {
  Answers answers;
  if (path_.empty()) return answers;
  const std::string file = read_whole(path_);
  std::string_view bytes = file;
  uint64_t sum;
  if (bytes.substr(0, kFormat.size()) != kFormat || bytes.size() < kFormat.size() + sizeof sum) return answers;
  memcpy(&sum, bytes.data() + kFormat.size(), sizeof sum);
  bytes.remove_prefix(kFormat.size() + sizeof sum);
  if (checksum(bytes) != sum) return answers;
  if (auto stamp = take_text(bytes); !stamp || *stamp != stamp_) return answers;
  while (!bytes.empty()) {
    auto key = take_text(bytes);
    auto answer = key ? take_text(bytes) : std::nullopt;
    if (!answer) return {};
    answers.emplace(*key, *answer);
  }
  return answers;
}

void AnswerCache::load() {
  if (loaded_) return;
  loaded_ = true;
  answers_ = read_file();
}

const std::string* AnswerCache::find(const std::string& key) {
  load();
  auto found = answers_.find(key);
  return found == answers_.end() ? nullptr : &found->second;
}

void AnswerCache::put(const std::string& key, std::string answer) {
  load();
  answers_.insert_or_assign(key, std::move(answer));
  changed_ = true;
}

void AnswerCache::save() {
  if (!changed_ || path_.empty()) return;
  changed_ = false;
  // Another spile may have learnt other things meanwhile.
  answers_.merge(read_file());
  std::string body;
  append_text(body, stamp_);
  for (const auto& [key, answer] : answers_) {
    append_text(body, key);
    append_text(body, answer);
  }
  if (body.size() > static_cast<size_t>(kMostBytes)) return;
  const uint64_t sum = checksum(body);
  if (!make_directories(path_)) return;
  std::string temporary = path_ + ".XXXXXX";
  UniqueFd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd) return;
  const bool written = write_whole(fd.get(), kFormat) &&
                       write_whole(fd.get(), {reinterpret_cast<const char*>(&sum), sizeof sum}) &&
                       write_whole(fd.get(), body);
  if (!written || ::rename(temporary.c_str(), path_.c_str()) != 0) ::unlink(temporary.c_str());
}

void ByteWriter::number(uint64_t value) {
  while (value >= 0x80) {
    bytes_ += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  bytes_ += static_cast<char>(value);
}

void ByteWriter::text(std::string_view text) {
  number(text.size());
  bytes_ += text;
}

uint64_t ByteReader::number() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (bytes_.empty()) break;
    const auto byte = static_cast<unsigned char>(bytes_.front());
    bytes_.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (!(byte & 0x80)) return value;
  }
  refuse();
  return 0;
}

uint64_t ByteReader::number_up_to(uint64_t most) {
  const uint64_t value = number();
  if (value <= most) return value;
  refuse();
  return 0;
}

int64_t ByteReader::signed_number() {
  const uint64_t value = number();
  return static_cast<int64_t>(value >> 1 ^ (0 - (value & 1)));
}

std::string ByteReader::text() {
  const uint64_t length = number();
  if (length > bytes_.size()) {
    refuse();
    return {};
  }
  std::string text(bytes_.substr(0, length));
  bytes_.remove_prefix(length);
  return text;
}

}  // namespace spile::debuginfo
