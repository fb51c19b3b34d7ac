#pragma once
// The texts by which the kernel lists its code: /proc/kallsyms, available_filter_functions of tracefs, and the blacklist of
// kprobes. What can't be parsed is left out: a line at a time. Thread rule: any thread, as these don't change.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace spile::kernelinfo {

// A symbol of the kernel or of a loaded module.
struct Symbol {
  std::string_view name;    // lives as long as the Symbols that it is of
  std::string_view module;  // "": vmlinux
  uint64_t address = 0;     // 0 where the kernel hides addresses
  char type = '?';          // as nm(1) prints it: 'T' and 't' are code

  bool is_code() const { return type == 't' || type == 'T' || type == 'w' || type == 'W'; }
};

class Symbols {
 public:
  Symbols() = default;
  // text: of /proc/kallsyms.
  static Symbols parse(std::string text);

  // In the order of the file; those of eBPF programs and of ftrace's trampolines, which are no module's, are left out.
  const std::vector<Symbol>& all() const { return all_; }
  // Whether the kernel shows 0 for every address, as it does to users without CAP_SYSLOG, and with kptr_restrict 2 to all.
  bool addresses_hidden() const { return hidden_; }
  // Returns the symbols of a name. module: "": vmlinux.
  std::vector<Symbol> named(std::string_view name, std::string_view module) const;
  // Returns the code symbol with the greatest address that is not above `address`; null: absent.
  const Symbol* at(uint64_t address) const;

 private:
  std::shared_ptr<const std::string> text_;
  std::vector<Symbol> all_;
  bool hidden_ = true;
};

// A function that ftrace can trace.
struct TraceableFunction {
  std::string name;
  std::string module;    // "": vmlinux
  uint64_t address = 0;  // 0: absent (before Linux 6.5)
};
// text: of available_filter_functions, or with_addresses of available_filter_functions_addrs.
std::vector<TraceableFunction> parse_traceable(std::string_view text, bool with_addresses);

// Code that kprobes refuse.
struct BlacklistedRange {
  uint64_t begin = 0, end = 0;  // both 0 where the kernel hides addresses
  std::string name;
};
// text: of kprobes/blacklist in debugfs.
std::vector<BlacklistedRange> parse_blacklist(std::string_view text);
// Returns whether a range has the function. address: 0: not known, the name decides.
bool is_blacklisted(const std::vector<BlacklistedRange>& blacklist, std::string_view name, uint64_t address);

}  // namespace spile::kernelinfo
