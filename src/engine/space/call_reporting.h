#pragma once
// Who reports the system calls of an address space to probes on calls: handlers at its system call instructions, or ptrace, which
// stops at each call (calls/call_watch.h). Belongs to the engine's thread.

#include <string>
#include <utility>

namespace spile::engine {

inline constexpr const char* kNotArmed = "it is not armed yet";
inline constexpr const char* kNobodysCalls = "no probe on system calls is for this program";

class CallReporting {
 public:
  // Returns why handlers do not report the calls; empty: they do.
  const std::string& gap() const { return gap_; }
  bool is_by_handlers() const { return gap_.empty(); }
  // Returns whether nobody wants to have the calls reported, so that ptrace does not stop at them either.
  bool is_unwanted() const { return gap_ == kNobodysCalls; }
  void set_gap(std::string gap) { gap_ = std::move(gap); }

  // Returns whether the processes that share the space had different answers of EngineEvents::call_probes when last asked about.
  bool probes_differ() const { return probes_differ_; }
  void set_probes_differ(bool differ) { probes_differ_ = differ; }

  // Returns why no system call instruction may have a site (process/call_restriction.h); empty: they may, as far as is known.
  const std::string& restriction() const { return restriction_; }
  bool is_restricted() const { return !restriction_.empty(); }
  void restrict(std::string why) { restriction_ = std::move(why); }
  // Returns whether the threads have been looked at for a restriction, which need not be done again.
  bool restriction_is_sought() const { return restriction_is_sought_ || is_restricted(); }
  void note_restriction_sought() { restriction_is_sought_ = true; }

  // Returns why a system call instruction has no site; empty: no reason is known.
  const std::string& refusal() const { return refusal_; }
  void note_refusal(std::string why) { refusal_ = std::move(why); }

  // Records that all sites have been taken out.
  void forget_sites() {
    gap_ = kNotArmed;
    refusal_.clear();
  }
  // Takes over what a forked child has of its parent's.
  void inherit(const CallReporting& parent) {
    *this = parent;
    probes_differ_ = false;
  }

 private:
  std::string gap_ = kNotArmed;
  bool probes_differ_ = false;
  std::string restriction_;
  bool restriction_is_sought_ = false;
  std::string refusal_;
};

}  // namespace spile::engine
