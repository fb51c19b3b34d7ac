#include "debuginfo/answers/answer_archive.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>

#include "base/files/bytes.h"
#include "base/files/replace_file.h"
#include "base/files/stable_file.h"
#include "base/text/split.h"
#include "debuginfo/answers/records.h"
#include "debuginfo/cache/answer_cache.h"

namespace spile::debuginfo {
namespace {

constexpr char kFormat[24] = "spile cache 1\n";
constexpr size_t kHead = sizeof kFormat + sizeof(uint64_t);
constexpr size_t kShortestId = 8, kLongestId = 128, kLongestName = 4096;  // characters

uint64_t checksum(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char c : bytes) hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

// It becomes the name of a file.
bool is_build_id(const std::string& text) {
  return text.size() >= kShortestId && text.size() <= kLongestId && text.size() % 2 == 0 &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

struct ModuleAnswers {
  std::string build_id, name;
  Answers answers;
};

Result<std::vector<ModuleAnswers>> parse(const std::string& path, std::string_view bytes) {
  auto damaged = [&](const std::string& what) {
    return Error{fmt::format("{}: {}", path, what), "export it again: spile cache export FILE"};
  };
  constexpr std::string_view kAnyVersion = "spile cache ";
  if (!bytes.starts_with(kAnyVersion)) return Error{fmt::format("{}: not a file of 'spile cache export'", path), {}};
  if (bytes.size() < kHead || memcmp(bytes.data(), kFormat, sizeof kFormat) != 0)
    return damaged("written by another version of spile");
  uint64_t sum;
  memcpy(&sum, bytes.data() + sizeof kFormat, sizeof sum);
  bytes.remove_prefix(kHead);
  if (checksum(bytes) != sum) return damaged("damaged: its checksum is wrong");
  ByteReader in(bytes);
  std::vector<ModuleAnswers> modules;
  for (uint64_t n = in.number(); n > 0 && in.ok(); --n) {
    ModuleAnswers module;
    module.build_id = in.text();
    module.name = in.text();
    if (in.ok() && !is_build_id(module.build_id)) return damaged("damaged: a build-id is not one");
    if (module.name.size() > kLongestName) return damaged("damaged: a path is too long");
    for (uint64_t answers = in.number(); answers > 0 && in.ok(); --answers) {
      std::string key = in.text(), answer = in.text();
      if (in.ok() && !is_answer(key, answer)) return damaged("damaged: an answer can't be read");
      module.answers.insert_or_assign(std::move(key), std::move(answer));
    }
    modules.push_back(std::move(module));
  }
  if (!in.ok()) return damaged("damaged: it ends too early");
  return modules;
}

}  // namespace

bool is_answer(const std::string& key, const std::string& answer) {
  const std::string kind = key.substr(0, key.find(' '));
  if (kind == "declaration" || kind == "line") return place_from_bytes(answer).has_value();
  if (kind == "type" || kind == "definition" || kind == "type-named") return type_from_bytes(answer).has_value();
  if (kind == "unit-variable" || kind == "global-variable") return variable_from_bytes(answer).has_value();
  if (kind == "functions") return functions_from_bytes(answer).has_value();
  if (kind == "code-ranges") return ranges_from_bytes(answer).has_value();
  if (kind == "function") {
    const std::vector<std::string_view> words = split(key, ' ');
    uint64_t address = 0;
    if (words.size() < 3) return false;
    auto [end, failure] = std::from_chars(words[1].data(), words[1].data() + words[1].size(), address, 16);
    return failure == std::errc() && end == words[1].data() + words[1].size() &&
           function_from_bytes(answer, FileAddress(address)).has_value();
  }
  for (const char* places : {"inlined", "inlined-like", "inlined-in", "labels", "statements", "place", "calls"})
    if (kind == places) return places_from_bytes(answer).has_value();
  return false;
}

Result<ArchiveCounts> export_answers(const std::string& directory, const std::vector<std::string>& build_ids,
                                     const std::string& file) {
  std::vector<CachedFile> chosen;
  for (CachedFile& cached : cached_files(directory)) {
    const bool wanted = build_ids.empty() || std::find(build_ids.begin(), build_ids.end(), cached.build_id) != build_ids.end();
    if (!wanted || cached.answers == 0 || !is_build_id(cached.build_id)) continue;
    // Answers of this machine rather than imported ones.
    auto same =
        std::find_if(chosen.begin(), chosen.end(), [&](const CachedFile& other) { return other.build_id == cached.build_id; });
    if (same == chosen.end()) chosen.push_back(std::move(cached));
    else if (same->imported) *same = std::move(cached);
  }
  for (const std::string& id : build_ids)
    if (std::none_of(chosen.begin(), chosen.end(), [&](const CachedFile& cached) { return cached.build_id == id; }))
      return Error{fmt::format("nothing is cached about build-id {}", id),
                   "spile cache add FILE adds what is known about a file"};
  if (chosen.empty()) return Error{"the cache is empty", "spile cache add FILE adds what is known about a file"};
  ArchiveCounts counts;
  ByteWriter out;
  out.number(chosen.size());
  for (const CachedFile& cached : chosen) {
    const Answers answers = all_answers(cached.path);
    out.text(cached.build_id);
    out.text(cached.name);
    out.number(answers.size());
    for (const auto& [key, answer] : answers) {
      out.text(key);
      out.text(answer);
    }
    counts.answers += answers.size();
    ++counts.modules;
  }
  const std::string body = out.take();
  const uint64_t sum = checksum(body);
  std::string bytes(kFormat, sizeof kFormat);
  bytes.append(reinterpret_cast<const char*>(&sum), sizeof sum);
  bytes += body;
  if (bytes.size() > kLargestArchive)
    return Error{fmt::format("{}: would be larger than {} MiB", file, kLargestArchive >> 20),
                 "name the files whose answers are wanted"};
  TRY_DO(replace_file(file, bytes));
  return counts;
}

Result<ArchiveCounts> import_answers(const std::string& directory, const std::string& file) {
  TRY(const std::string bytes, read_stable(file, file, kLargestArchive));
  TRY(std::vector<ModuleAnswers> modules, parse(file, bytes));
  ArchiveCounts counts;
  for (ModuleAnswers& module : modules) {
    AnswerCache cache(imported_path(directory, module.build_id), kImportedStamp, module.name);
    for (auto& [key, answer] : module.answers) cache.put(key, std::move(answer));
    if (!cache.save())
      return Error{fmt::format("can't write to {}", directory), "XDG_CACHE_HOME names another folder for the cache"};
    counts.answers += module.answers.size();
    ++counts.modules;
  }
  return counts;
}

}  // namespace spile::debuginfo
