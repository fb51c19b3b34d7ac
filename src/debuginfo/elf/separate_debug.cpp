#include "debuginfo/elf/separate_debug.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "debuginfo/files/debug_servers.h"

namespace spile::debuginfo {
namespace {

constexpr size_t kMostReasons = 4;  // in one message

std::string real_path(const std::string& path) {
  char* resolved = realpath(path.c_str(), nullptr);
  if (!resolved) return path;
  std::string real = resolved;
  free(resolved);
  return real;
}

// Looks at files that may be the wanted one, and remembers why they are not.
class Search {
 public:
  explicit Search(const ElfImage& image) : image_(image), link_(image.debug_link()) {}

  const std::optional<ElfImage::DebugLink>& link() const { return link_; }
  // Returns the file if it has the debug information of this build; null: it has not, or is missing. by_link: .gnu_debuglink
  // names it.
  std::unique_ptr<ElfImage> open(const std::string& candidate, bool by_link) {
    if (std::find(looked_at_.begin(), looked_at_.end(), candidate) != looked_at_.end()) return nullptr;
    looked_at_.push_back(candidate);
    auto opened = ElfImage::open(candidate, candidate);
    if (!opened.ok()) {
      if (access(candidate.c_str(), F_OK) == 0) reject(opened.error().message);
      else if (by_link) missing_.push_back(candidate);
      return nullptr;
    }
    auto& debug = *opened;
    // A build-id says it all; only without one is the checksum worth reading the whole file for.
    if (!image_.build_id().empty() && !debug->build_id().empty()) {
      if (image_.build_id() == debug->build_id()) return std::move(debug);
      reject(fmt::format("{} is of another build: its build-id is {} instead of {}", candidate, debug->build_id(),
                         image_.build_id()));
      return nullptr;
    }
    if (!link_) {
      reject(fmt::format("{} has no build-id, which should be {}", candidate, image_.build_id()));
      return nullptr;
    }
    const uint32_t checksum = debug_link_crc(debug->file());
    if (checksum == link_->crc) return std::move(debug);
    reject(fmt::format("{} is of another build: its checksum is {:08x} instead of {:08x}", candidate, checksum, link_->crc));
    return nullptr;
  }
  void reject(const std::string& why) {
    if (rejected_count_++ < kMostReasons) rejected_ += (rejected_.empty() ? "" : "; ") + why;
  }
  const std::string& why() const { return rejected_; }
  std::string missing() const {
    if (!link_ || missing_.empty()) return {};
    std::string places;
    for (const std::string& place : missing_)
      places += (places.empty() ? "" : &place == &missing_.back() ? " or " : ", ") + place;
    return fmt::format("its .gnu_debuglink names {}, and there is no {}", link_->file_name, places);
  }

 private:
  const ElfImage& image_;
  const std::optional<ElfImage::DebugLink> link_;
  std::vector<std::string> looked_at_, missing_;
  std::string rejected_;
  size_t rejected_count_ = 0;
};

}  // namespace

SeparateDebug find_separate_debug(const ElfImage& image, const std::string& path, const OpenOptions& options) {
  Search search(image);
  SeparateDebug found;
  auto look_at = [&](const std::string& candidate, bool by_link) {
    if (!found.image && !options.root.empty()) found.image = search.open(options.root + candidate, by_link);
    if (!found.image) found.image = search.open(candidate, by_link);
  };
  const std::string& id = image.build_id();
  if (id.size() > 2)
    for (const std::string& directory : options.debug_directories)
      look_at(directory + "/.build-id/" + id.substr(0, 2) + "/" + id.substr(2) + ".debug", false);
  if (search.link()) {
    const std::string& name = search.link()->file_name;
    const std::string real = real_path(path);
    const std::string directory = real.substr(0, real.rfind('/') + 1);
    if (real != directory + name) look_at(directory + name, true);
    look_at(directory + ".debug/" + name, true);
    for (const std::string& debug_directory : options.debug_directories) look_at(debug_directory + directory + name, true);
  }
  if (!found.image && options.servers) {
    auto fetched = options.servers->fetch(id, path);
    if (fetched.ok()) found.image = search.open(*fetched, false);
    else if (!fetched.error().message.empty()) search.reject(fetched.error().message);
  }
  if (found.image) return found;
  found.why = search.why();
  found.missing = search.missing();
  return found;
}

}  // namespace spile::debuginfo
