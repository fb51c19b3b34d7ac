#include "session/places/kernel_watch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/messages.h"
#include "base/text/number_text.h"

namespace spile::session {

namespace {

constexpr int64_t kSwitchesNs = 1'000'000'000;

std::string verb_of(const bpf::SwitchedOff& off) { return off.what.ends_with('s') ? "were" : "was"; }

std::string points_of(const bpf::SwitchedOff& off) {
  return off.points < 2 ? off.point : fmt::format("{} and {}", off.point, counted(off.points - 1, "other place"));
}

}  // namespace

void KernelWatch::look(int64_t now) {
  look_at_processors();
  if (now - looked_ns_ >= kSwitchesNs) look_at_switches(now);
}

void KernelWatch::finish(int64_t now) {
  look_at_switches(now);
  for (auto& [file, off] : off_) {
    if (off.since_ns != 0) off.all_ns += now - off.since_ns;
    off.since_ns = 0;
  }
}

// What was switched between two looks has been off for up to the time between them.
void KernelWatch::look_at_switches(int64_t now) {
  const std::vector<bpf::SwitchedOff> found = kernel_.switched_off();
  const int64_t before = looked_ns_ ? looked_ns_ : now;
  looked_ns_ = now;
  for (const bpf::SwitchedOff& one : found) {
    Off& off = off_[one.file];
    off.found = one;
    if (off.since_ns != 0) continue;
    off.since_ns = before;
    warn(fmt::format("the kernel's {} {} switched off ({} is 0): handlers of {} don't run until {} on again", one.what,
                     verb_of(one), one.file, points_of(one), one.what.ends_with('s') ? "they are" : "it is"),
         one.remedy);
  }
  for (auto& [file, off] : off_) {
    if (off.since_ns == 0 || std::ranges::find(found, file, &bpf::SwitchedOff::file) != found.end()) continue;
    off.all_ns += now - off.since_ns;
    off.since_ns = 0;
    warn(fmt::format("the kernel's {} {} switched on again ({})", off.found.what, verb_of(off.found), file));
  }
}

void KernelWatch::look_at_processors() {
  Result<std::vector<int>> renewed = kernel_.sample_new_cpus();
  if (!renewed.ok()) {
    if (!cpu_refused_) warn(renewed.error().message, renewed.error().hint);
    cpu_refused_ = true;
    return;
  }
  renewed_.insert(renewed->begin(), renewed->end());
}

std::vector<std::string> KernelWatch::losses() const {
  std::vector<std::string> warnings;
  for (const auto& [file, off] : off_) {
    warnings.push_back(fmt::format("hits of {} are missing: the kernel's {} {} off for up to {} ({})", points_of(off.found),
                                   off.found.what, verb_of(off.found), time_text(off.all_ns), file));
  }
  if (!renewed_.empty()) {
    warnings.push_back(fmt::format("samples of {} {} are missing, of up to a second after {} came online",
                                   plural(renewed_.size(), "processor"), fmt::join(renewed_, ", "),
                                   plural(renewed_.size(), "it", "each")));
  }
  return warnings;
}

}  // namespace spile::session
