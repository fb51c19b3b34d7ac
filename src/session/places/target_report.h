#pragma once
// What the user learns of arming: which places can't be probed, and why; with -v, how each was armed. Thread rule: one thread.

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "engine/engine.h"
#include "sema/terms/program.h"
#include "session/places/kept_entries.h"

namespace spile::session {

class TargetReport {
 public:
  // program must outlive this. verbosity: of pass 5.
  TargetReport(const sema::Program& program, int verbosity) : program_(program), verbosity_(verbosity) {}

  // Prints refusals as warnings, kMostRefusals of them and all with -vv, and with -v how sites were armed. initial: the report is
  // of the start; else, of code that processes have loaded since.
  void print(const engine::ArmReport& report, bool initial);
  // Prints the functions without a site, for -v.
  void print_unclear_entries(const KeptEntries& kept) const;
  // Returns how many places were armed by each mechanism until now ("jump", "int3", "refused" ...), in all processes.
  const std::map<std::string, uint64_t>& places_by_mechanism() const { return places_by_mechanism_; }

 private:
  static constexpr uint64_t kMostRefusals = 10;

  void print_kept(const engine::SiteOutcome& outcome) const;
  void warn_of_returns(const engine::ArmReport& report) const;
  void print_sum(const engine::ArmReport& report, size_t sites, const std::map<std::string, size_t>& by_mechanism,
                 bool initial) const;

  const sema::Program& program_;
  const int verbosity_;
  uint64_t refusals_printed_ = 0;
  std::map<std::string, uint64_t> places_by_mechanism_;
};

// Fails for a function that the script names (rather than a pattern that it fits) and of which no probe is left, since its
// returns can't be probed.
Result<void> require_named_returns(const sema::Program& program, const engine::ArmReport& report);
// Fails where all places that the script has are refused. wanted: how many these are. Sites in libraries that are not loaded yet
// have no outcome so far; if there were outcomes and all are refusals, nothing would ever be hit.
Result<void> require_some_place(const sema::Program& program, const engine::ArmReport& report, size_t wanted);

}  // namespace spile::session
