#include "verbs/asking/cache.h"

#include <errno.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "base/print.h"
#include "base/text/number_text.h"
#include "base/visible_text.h"
#include "debuginfo/answers/answer_archive.h"
#include "debuginfo/cache/answer_cache.h"
#include "debuginfo/debuginfo.h"
#include "debuginfo/files/debug_servers.h"
#include "session/open_world.h"
#include "verbs/terms/json_lines.h"

namespace spile::verbs {

namespace {

using Words = std::vector<std::string>;
constexpr char kUsage[] = "spile cache list | add FILE... | rm BUILD-ID|FILE... | prune [MIB] | export OUT [FILE...] | import IN";

Result<std::string> cache_folder() {
  std::string folder = debuginfo::AnswerCache::default_directory();
  if (folder.empty())
    return Error{"there is no cache: --disable-cache is given, or neither XDG_CACHE_HOME nor HOME is an absolute path", ""};
  return folder;
}

std::string size_text(uint64_t bytes) {
  constexpr uint64_t kKilo = 1024, kMega = kKilo * kKilo;
  return bytes < kMega ? fmt::format("{:.1f} KiB", static_cast<double>(bytes) / kKilo)
                       : fmt::format("{:.1f} MiB", static_cast<double>(bytes) / kMega);
}

std::string day_text(int64_t seconds) {
  const time_t when = seconds;
  tm local{};
  return localtime_r(&when, &local) ? fmt::format("{:%Y-%m-%d %H:%M}", local) : "?";
}

void print_json_file(const debuginfo::CachedFile& file) {
  Json object = {{"build_id", file.build_id}, {"path", file.path}, {"bytes", file.bytes}, {"readable", !file.name.empty()}};
  if (!file.name.empty())
    object.update(Json{{"file", file.name}, {"answers", file.answers}, {"imported", file.imported}, {"sections", file.sections}});
  object["used"] = json_time(file.used);
  print_json(object);
}

Result<int> list(const std::string& folder, bool json) {
  std::vector<debuginfo::CachedFile> files = debuginfo::cached_files(folder);
  std::reverse(files.begin(), files.end());  // the last used one first
  if (json) {
    for (const debuginfo::CachedFile& file : files) print_json_file(file);
    return 0;
  }
  if (files.empty()) {
    print_to(stdout, "{}: empty\n", folder);
    return 0;
  }
  constexpr size_t kIdWidth = 40;
  uint64_t total = 0;
  print_to(stdout, "{:<{}}  {:>10}  {:>7}  {:<16}  {}\n", "BUILD-ID", kIdWidth, "SIZE", "ANSWERS", "LAST USED", "FILE");
  for (const debuginfo::CachedFile& file : files) {
    total += file.bytes;
    print_to(stdout, "{:<{}}  {:>10}  {:>7}  {:<16}  {}{}\n", file.build_id, kIdWidth, size_text(file.bytes), file.answers,
             day_text(file.used),
             file.name.empty() ? "(can't be read: another version of spile wrote it, or the machine has started anew)"
                               : visible_text(file.name),
             file.imported   ? " (imported)"
             : file.sections ? " (uncompressed debug information)"
                             : "");
  }
  print_to(stdout, "{} in {}; at most {} are kept\n", size_text(total), folder, size_text(debuginfo::kMostCached));
  return 0;
}

// A program or library by its path or name.
Result<std::shared_ptr<debuginfo::Module>> open_file(probes::World& world, const std::string& name) {
  return world.module_named(name);
}

Result<int> add(probes::World& world, const std::string& folder, const Words& names) {
  if (names.empty()) return Error{"cache add needs the names of programs and libraries", "spile cache add libc.so.6"};
  for (const std::string& name : names) {
    TRY(std::shared_ptr<debuginfo::Module> module, open_file(world, name));
    TRY(size_t functions, module->learn_all());
    if (!module->save_cache())
      return Error{fmt::format("what is known about {} can't be written to {}", module->path(), folder),
                   "make room there; XDG_CACHE_HOME names another folder for the cache"};
    print_to(stdout, "{}: {}\n", visible_text(module->path()), counted(functions, "function"));
  }
  return 0;
}

bool is_build_id(const std::string& text) {
  constexpr size_t kShortest = 8;
  return text.size() >= kShortest && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// The build-ids that words stand for: themselves, or those of files.
Result<Words> build_ids_of(probes::World& world, const Words& words) {
  Words ids;
  for (const std::string& word : words) {
    if (is_build_id(word) && access(word.c_str(), F_OK) != 0) {
      ids.push_back(word);
      continue;
    }
    TRY(std::shared_ptr<debuginfo::Module> module, open_file(world, word));
    if (module->build_id().empty())
      return Error{fmt::format("{} has no build-id", module->path()), "link it with -Wl,--build-id"};
    ids.push_back(module->build_id());
  }
  return ids;
}

Result<int> remove(probes::World& world, const std::string& folder, const Words& words) {
  if (words.empty())
    return Error{"cache rm needs build-ids or names of files", "spile cache list prints them; spile --clean-cache removes all"};
  const std::vector<debuginfo::CachedFile> files = debuginfo::cached_files(folder);
  for (const std::string& word : words) {
    bool found = false;
    Words wanted = {word};
    if (auto ids = build_ids_of(world, {word}); ids.ok()) wanted = *ids;
    for (const debuginfo::CachedFile& file : files) {
      // A file may be gone that answers are about; the beginning of a build-id will do.
      if (file.name != word && (wanted[0].size() < 8 || !file.build_id.starts_with(wanted[0]))) continue;
      if (unlink(file.path.c_str()) != 0 && errno != ENOENT) return Error::from_errno("remove " + file.path, errno);
      found = true;
    }
    if (!found) return Error{fmt::format("nothing is cached about '{}'", word), "spile cache list prints what is"};
  }
  return 0;
}

Result<int> prune(const std::string& folder, const Words& words) {
  uint64_t most = debuginfo::kMostCached;
  if (!words.empty()) {
    uint64_t mebibytes = 0;
    const std::string& text = words[0];
    auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), mebibytes);
    if (failure != std::errc() || end != text.data() + text.size() || mebibytes > (uint64_t{1} << 40) || words.size() > 1)
      return Error{fmt::format("cache prune: '{}' is not a number of MiB", words.size() > 1 ? words[1] : text),
                   "spile cache prune 100"};
    most = mebibytes << 20;
  }
  print_to(stdout, "removed {}\n", size_text(debuginfo::prune_answers(folder, most)));
  return 0;
}

Result<int> carry_out(probes::World& world, const std::string& folder, Words words) {
  if (words.empty()) return Error{"cache export needs the name of a file to write", "spile cache export libc.cache libc.so.6"};
  const std::string file = words[0];
  words.erase(words.begin());
  TRY(Words ids, build_ids_of(world, words));
  TRY(debuginfo::ArchiveCounts counts, debuginfo::export_answers(folder, ids, file));
  print_to(stdout, "{}: {} about {}\n", visible_text(file), counted(counts.answers, "answer"), counted(counts.modules, "file"));
  return 0;
}

Result<int> carry_in(const std::string& folder, const Words& words) {
  if (words.size() != 1) return Error{"cache import needs one file", "spile cache import libc.cache"};
  TRY(debuginfo::ArchiveCounts counts, debuginfo::import_answers(folder, words[0]));
  print_to(stdout, "{}: {} about {}\n", visible_text(words[0]), counted(counts.answers, "answer"),
           counted(counts.modules, "file"));
  return 0;
}

}  // namespace

Result<int> answer_cache(const Words& words, const session::Options& options) {
  if (words.empty()) return Error{"cache needs a word that says what to do", kUsage};
  TRY(const std::string folder, cache_folder());
  const std::string& what = words[0];
  const Words rest(words.begin() + 1, words.end());
  if (what == "list" && rest.empty()) return list(folder, options.verb.json);
  if (options.verb.json) return Error{fmt::format("cache {} has no option --json", what), "spile cache list has"};
  if (what == "prune") return prune(folder, rest);
  if (what == "import") return carry_in(folder, rest);
  TRY(std::unique_ptr<probes::World> world, session::open_world(options.target, true));
  if (what == "add") return add(*world, folder, rest);
  if (what == "rm") return remove(*world, folder, rest);
  if (what == "export") return carry_out(*world, folder, rest);
  return Error{fmt::format("cache: '{}' has no meaning{}", what == "list" ? rest[0] : what, what == "list" ? " behind list" : ""),
               kUsage};
}

}  // namespace spile::verbs
