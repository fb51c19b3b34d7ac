#pragma once
// The lists of the kernel's code, kept in DIRECTORY/kernel.answers (debuginfo/cache/answer_cache.h): the kernel takes 50 ms to
// print its symbols, and as long for the functions that can be traced. They hold for one start of the kernel
// (/proc/sys/kernel/random/boot_id) with the modules that are loaded at the time (/proc/modules: names, sizes, states,
// addresses). Symbols of eBPF programs change at any time, and are not used. Thread rule: one thread at a time.

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "debuginfo/cache/answer_cache.h"
#include "kernelinfo/places.h"

namespace spile::kernelinfo {

class ListCache {
 public:
  explicit ListCache(const Places& places) : places_(places) {}

  // Returns the list of that name: as it was kept, or as `read` has it now. What `is_kept` is true for is kept: a user from whom
  // the kernel hides addresses has a list that is not worth it. Error: that of `read`.
  Result<std::string> get(const std::string& name, const std::function<Result<std::string>()>& read,
                          const std::function<bool(const std::string&)>& is_kept);

 private:
  // Looks for what is kept, once: most scripts ask for none of it.
  void open();
  // "": the kernel does not say of which start it is, or which modules it has.
  std::string stamp() const;

  Places places_;
  bool is_open_ = false;
  std::string stamp_;
  std::optional<debuginfo::AnswerCache> kept_;  // absent: nothing is kept
};

}  // namespace spile::kernelinfo
