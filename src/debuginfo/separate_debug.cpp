#include "debuginfo/separate_debug.h"

#include <stdlib.h>

namespace spile::debuginfo {
namespace {

std::unique_ptr<ElfImage> open_matching(const ElfImage& image, const std::string& candidate, const uint32_t* crc) {
  auto opened = ElfImage::open(candidate, candidate);
  if (!opened.ok()) return nullptr;
  auto& debug = *opened;
  // A build-id says it all; only without one is the checksum worth reading the whole file for.
  if (!image.build_id().empty() && !debug->build_id().empty())
    return image.build_id() == debug->build_id() ? std::move(debug) : nullptr;
  return crc && debug_link_crc(debug->file()) == *crc ? std::move(debug) : nullptr;
}

}  // namespace

std::unique_ptr<ElfImage> find_separate_debug(const ElfImage& image, const std::string& path,
                                              const OpenOptions& options) {
  std::vector<std::string> candidates;
  auto add = [&](const std::string& candidate) {
    if (!options.root.empty()) candidates.push_back(options.root + candidate);
    candidates.push_back(candidate);
  };
  const std::string& id = image.build_id();
  if (id.size() > 2)
    for (const std::string& directory : options.debug_directories)
      add(directory + "/.build-id/" + id.substr(0, 2) + "/" + id.substr(2) + ".debug");

  const auto link = image.debug_link();
  if (link) {
    std::string real = path;
    if (char* resolved = realpath(path.c_str(), nullptr)) {
      real = resolved;
      free(resolved);
    }
    const std::string directory = real.substr(0, real.rfind('/') + 1);
    if (real != directory + link->file_name) add(directory + link->file_name);
    add(directory + ".debug/" + link->file_name);
    for (const std::string& debug_directory : options.debug_directories)
      add(debug_directory + directory + link->file_name);
  }
  for (const std::string& candidate : candidates)
    if (auto debug = open_matching(image, candidate, link ? &link->crc : nullptr)) return debug;
  return nullptr;
}

}  // namespace spile::debuginfo
