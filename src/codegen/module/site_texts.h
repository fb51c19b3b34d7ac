#pragma once
// Tables of the data in which points differ that belong to one probe, and so share its handler.
//
// The results of pp(), probefunc() and the like, for every probe and every site, are offsets in bytes into one text:
//
//   text = blob + offsets[base[probe] + (site_id & mask[probe])]      mask: ~0, or 0: one entry for all sites, of the first point

#include <functional>
#include <string>
#include <vector>

#include "sema/terms/program.h"

namespace spile::codegen {

struct SiteTexts {
  // for each text: abi::KeyTextHead, then the text, packed as a key; aligned to 8 bytes. In the kernel: NUL-terminated texts
  std::string blob;
  std::vector<uint32_t> offsets;
  std::vector<uint32_t> base, mask;  // by probe index
};

// Returns what pp(), pn(), probefunc() and ppfunc() return at a point. what: the function's name.
std::string text_of(const sema::ResolvedPoint& point, const std::string& what);

// Makes the tables of what = "pp", "pn", "probefunc", "ppfunc" or "__tracepoint". Texts are cut off at `string_size` - 1 bytes.
// in_kernel: handlers there read them; the tables of others leave out the points of the kernel's probes, which may be tens of
// thousands.
SiteTexts make_site_texts(const sema::Program& program, const std::string& what, uint32_t string_size, bool in_kernel);

// sema::Site::callers of all points, by offsets (in words) into `words` as above. The offset of a point without callers is 0,
// which may also be another point's: it must not be read.
struct SiteCallers {
  std::vector<uint64_t> words;
  std::vector<uint32_t> offsets;
  std::vector<uint32_t> base, mask;  // by probe index
};
SiteCallers make_site_callers(const sema::Program& program);

// sema::Probe::tables of all probes, as abi/point_tables.h describes them. `offsets` (by the formula above) are those of a
// point's first slot in `slots`. A place's registers are numbers of values: kCfaValue, kBiasValue, then `registers` (DWARF's
// numbers) in their order.
struct PointTables {
  std::string texts;
  std::vector<uint64_t> places;
  std::vector<uint32_t> lists, slots;
  std::vector<uint32_t> offsets;
  std::vector<uint32_t> base, mask;  // by probe index
  std::vector<int64_t> registers;
};
inline constexpr uint32_t kCfaValue = 0, kBiasValue = 1, kFirstRegisterValue = 2;

// Makes them for handlers in the kernel, or for all others. string_size: as of make_site_texts. entry_id: returns the site id of
// the entry of a kept function.
using EntryIdOf = std::function<uint32_t(const std::string& module, FileAddress function)>;
PointTables make_point_tables(const sema::Program& program, uint32_t string_size, bool in_kernel, const EntryIdOf& entry_id);

}  // namespace spile::codegen
