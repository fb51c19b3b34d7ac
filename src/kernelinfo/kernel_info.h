#pragma once
// Facts about the running kernel, all read from files, each once and when first asked for: types and prototypes (BTF), symbols,
// which functions can be probed, and which mechanisms there are. Thread rule: one thread at a time.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kernelinfo/btf.h"
#include "kernelinfo/list_cache.h"
#include "kernelinfo/mechanisms.h"
#include "kernelinfo/module_image.h"
#include "kernelinfo/places.h"
#include "kernelinfo/symbols.h"

namespace spile::kernelinfo {

class KernelInfo {
 public:
  explicit KernelInfo(Places places = {}) : places_(std::move(places)), lists_(places_) {}

  // Returns the types of vmlinux ("") or of a loaded module. Errors: the kernel does not offer them, or they are damaged.
  Result<std::shared_ptr<Btf>> types(const std::string& module);
  // Returns the symbols. Error: the file can't be read.
  Result<const Symbols*> symbols();
  // Returns the functions that ftrace can trace, with addresses where either list of the kernel shows them. Error: tracefs can't
  // be read, or has no such list; the hint says what to do.
  Result<const std::vector<TraceableFunction>*> traceable();
  // Returns the code that kprobes refuse; empty: absent, or it can't be read.
  const std::vector<BlacklistedRange>& blacklist();
  // Returns why no probe can be at a function ("is on the kernel's blacklist of kprobes"), as a phrase behind its name; "":
  // nothing that is known here is against it.
  std::string refusal(const Symbol& symbol);
  // Returns the mechanisms that this kernel has.
  const Features& features();
  // Returns whether a module is loaded, or built in with parameters of its own.
  bool has_module(const std::string& module) const;
  // Returns whether the running kernel's modules on disk have it (modules.dep), though it may not be loaded.
  bool knows_module(const std::string& module) const;
  // Returns the path of the file with the kernel's debug information. Errors: see find_debug_image().
  Result<std::string> debug_image();
  // Returns the debug information of a loaded module, opened at each call. Errors: see open_module_image().
  Result<ModuleImage> module_image(const std::string& module) const;
  // Returns whether any such file is there, of vmlinux ("") or of a loaded module, perhaps of another build.
  bool has_debug_image(const std::string& module) const;
  // Returns the value of the sysctl kernel.kptr_restrict; -1: not known.
  int kptr_restrict() const;

 private:
  Places places_;
  ListCache lists_;
  std::map<std::string, Result<std::shared_ptr<Btf>>> types_;
  std::optional<Result<Symbols>> symbols_;
  std::optional<Result<std::vector<TraceableFunction>>> traceable_;
  std::optional<std::vector<BlacklistedRange>> blacklist_;
  std::optional<std::pair<uint64_t, uint64_t>> init_text_;  // where the code was that ran while the kernel started
  std::optional<Features> features_;
  std::optional<Result<std::string>> debug_image_;
};

}  // namespace spile::kernelinfo
