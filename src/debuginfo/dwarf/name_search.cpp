#include "debuginfo/dwarf/name_search.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <numeric>
#include <unordered_set>

#include "debuginfo/dwarf/sought_name.h"
#include "debuginfo/dwarf/unit_scan.h"
#include "debuginfo/files/side_threads.h"
#include "debuginfo/terms/section_bytes.h"

namespace spile::debuginfo {
namespace {

// A unit to be read, and where its bytes are.
struct Job {
  const SectionBytes* section;
  ScannedSections others;
  const SoughtName* name;
  uint64_t begin, size;
  DieKey file;  // kInAlternate or 0
};

ScannedUnit run(const Job& job, SectionBytes::Buffer& buffer) {
  const std::string_view unit = job.section->read(job.begin, job.size, buffer);
  if (job.size > 0 && unit.size() == job.size) return scan_unit(job.file | job.begin, unit, job.others, *job.name);
  ScannedUnit unread;
  unread.unsure = true;
  return unread;
}

std::vector<ScannedUnit> run_all(const std::vector<Job>& jobs) {
  constexpr uint64_t kWorthAThread = 4 << 20;  // bytes
  uint64_t bytes = 0;
  for (const Job& job : jobs) bytes += job.size;
  // The largest first, so that no thread is left with one of them at the end.
  std::vector<size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return jobs[i].size; });
  std::vector<ScannedUnit> found(jobs.size());
  std::atomic<size_t> next = 0;
  auto work = [&] {
    SectionBytes::Buffer buffer;
    for (size_t i; (i = next++) < jobs.size();) found[order[i]] = run(jobs[order[i]], buffer);
  };
  work_together(std::min<size_t>(count_processors(), bytes / kWorthAThread + 1), work);
  return found;
}

SoughtName sought_name(const std::optional<SectionBytes>& strings, const std::string& text) {
  constexpr uint64_t kPart = uint64_t{1} << 20;
  SoughtName name(text);
  SectionBytes::Buffer buffer;
  for (uint64_t at = 0; strings && at < strings->size(); at += kPart)
    name.look_at(at, strings->read(at, std::min(kPart + name.overlap(), strings->size() - at), buffer));
  return name;
}

// A unit ends where the next one begins, so that none need be read to find where they are.
void add_jobs(DwarfFile& file, Dwarf* dwarf, const std::vector<DwarfFile::Unit>& units, const SectionBytes& info,
              const SoughtName& name, DieKey key, std::vector<Job>& jobs) {
  const ScannedSections others{file.section(dwarf, ".debug_abbrev"), file.section(dwarf, ".debug_str_offsets")};
  std::vector<std::optional<uint64_t>> begins;
  for (DwarfFile::Unit unit : units) begins.push_back(file.begin_of(unit));
  std::vector<uint64_t> ends{info.size()};
  for (const auto& begin : begins)
    if (begin) ends.push_back(*begin);
  std::ranges::sort(ends);
  for (const auto& begin : begins) {
    const auto end = std::ranges::upper_bound(ends, begin.value_or(UINT64_MAX));
    const uint64_t size = begin && end != ends.end() ? *end - *begin : 0;  // 0 reads as unsure
    jobs.push_back({&info, others, &name, begin.value_or(0), size, key});
  }
}

}  // namespace

std::vector<NamingUnit> units_naming(DwarfFile& file, const std::string& name) {
  const std::vector<DwarfFile::Unit>& all = file.units();
  const std::vector<DwarfFile::Unit> common = file.alternate_units();
  std::vector<Job> jobs;
  Dwarf* main = file.dwarf();
  Dwarf* alternate = file.alternate();
  const auto info = file.bytes_of(main, ".debug_info"), common_info = file.bytes_of(alternate, ".debug_info");
  const SoughtName in_main = sought_name(file.bytes_of(main, ".debug_str"), name),
                   in_common = sought_name(file.bytes_of(alternate, ".debug_str"), name);
  const SectionBytes nothing;
  add_jobs(file, main, all, info ? *info : nothing, in_main, 0, jobs);
  add_jobs(file, alternate, common, common_info ? *common_info : nothing, in_common, kInAlternate, jobs);
  const std::vector<ScannedUnit> found = run_all(jobs);
  const bool any_unsure = std::ranges::any_of(found, &ScannedUnit::unsure);
  const std::unordered_set<DieKey> functions = named_functions(found);
  std::vector<NamingUnit> naming;
  for (size_t i = 0; i < all.size(); ++i) {
    const ScannedUnit& scanned = found[i];
    const bool unsure = scanned.unsure || (any_unsure && scanned.refers_elsewhere);
    NamingUnit unit{all[i], {}, unsure, scanned.has_variable, scanned.has_type};
    for (const ScannedUnit::Call& call : scanned.calls)
      if (!unsure && functions.contains(call.origin)) unit.calls.push_back({call.die, call.function});
    if (unsure || !unit.calls.empty() || unit.has_variable || unit.has_type) naming.push_back(std::move(unit));
  }
  return naming;
}

}  // namespace spile::debuginfo
