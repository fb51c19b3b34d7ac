#include "kernelinfo/list_cache.h"

#include <errno.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/text/split.h"
#include "kernelinfo/whole_file.h"

namespace spile::kernelinfo {

void ListCache::open() {
  if (is_open_ || places_.cache.empty()) return;
  is_open_ = true;
  stamp_ = stamp();
  if (!stamp_.empty()) kept_.emplace(places_.cache + "/kernel.answers", stamp_, places_.proc + "/kallsyms");
}

// A line of /proc/modules: "loop 40960 2 dm_mod,xyz, Live 0xffffffffc0201000 (E)". How often a module is used, and by which,
// changes without its code.
std::string ListCache::stamp() const {
  const Result<std::string> boot = read_whole<std::string>(places_.proc + "/sys/kernel/random/boot_id");
  Result<std::string> modules = read_whole<std::string>(places_.proc + "/modules");
  // A kernel that is built without modules has no such file.
  if (!modules.ok() && ::access((places_.proc + "/modules").c_str(), F_OK) != 0 && errno == ENOENT) modules = std::string();
  if (!boot.ok() || boot->empty() || !modules.ok()) return {};
  std::string text = *boot;
  for (const std::string_view line : lines_of(*modules)) {
    std::vector<std::string_view> words = words_of(line);
    words.resize(6);
    text += fmt::format("{} {} {} {}\n", words[0], words[1], words[4], words[5]);
  }
  return text;
}

Result<std::string> ListCache::get(const std::string& name, const std::function<Result<std::string>()>& read,
                                   const std::function<bool(const std::string&)>& is_kept) {
  open();
  if (!kept_) return read();
  if (const std::string* kept = kept_->find(name)) return *kept;
  TRY(std::string text, read());
  // Unless a module came or went meanwhile.
  if (is_kept(text) && stamp() == stamp_) {
    kept_->put(name, text);
    kept_->save();
  }
  return text;
}

}  // namespace spile::kernelinfo
