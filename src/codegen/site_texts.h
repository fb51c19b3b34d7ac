#pragma once
// Tables of the data in which points differ that belong to one probe, and so share its handler.
//
// The results of pp(), probefunc() and the like, for every probe and every site, are offsets in bytes into one text:
//
//   text = blob + offsets[base[probe] + (site_id & mask[probe])]      mask: ~0, or 0: one entry for all sites, of the first point

#include <string>
#include <vector>

#include "sema/program.h"

namespace spile::codegen {

struct SiteTexts {
  std::string blob;                // NUL-terminated texts
  std::vector<uint32_t> offsets;
  std::vector<uint32_t> base, mask;  // by probe index
};

// Returns what pp(), pn(), probefunc() and ppfunc() return at a point. what: the function's name.
std::string text_of(const sema::ResolvedPoint& point, const std::string& what);

// Makes the tables of what = "pp", "pn", "probefunc" or "ppfunc". Texts are cut off at `string_size` - 1 bytes.
SiteTexts make_site_texts(const sema::Program& program, const std::string& what, uint32_t string_size);

// sema::Site::callers of all points, by offsets (in words) into `words` as above. The offset of a point without callers is 0, which may
// also be another point's: it must not be read.
struct SiteCallers {
  std::vector<uint64_t> words;
  std::vector<uint32_t> offsets;
  std::vector<uint32_t> base, mask;  // by probe index
};
SiteCallers make_site_callers(const sema::Program& program);

}  // namespace spile::codegen
