#pragma once
// What differs between the points of a probe that share one handler.
//
// The results of pp(), probefunc() and the like, for every probe and every site, are tables of offsets into one text:
//
//   text = blob + offsets[base[probe] + (site_id & mask[probe])]      mask: 0 where the probe has one point

#include <string>
#include <vector>

#include "sema/program.h"

namespace spile::codegen {

struct SiteTexts {
  std::string blob;                // NUL-terminated texts
  std::vector<uint32_t> offsets;
  std::vector<uint32_t> base, mask;  // by probe index
};

// what: "pp", "pn", "probefunc" or "ppfunc". Texts are cut off at `string_size` - 1 bytes.
SiteTexts make_site_texts(const sema::Program& program, const std::string& what, uint32_t string_size);

// sema::Site::callers of all points, by offsets into `words` as above; 0 for points that have none.
struct SiteCallers {
  std::vector<uint64_t> words;
  std::vector<uint32_t> offsets;
  std::vector<uint32_t> base, mask;  // by probe index
};
SiteCallers make_site_callers(const sema::Program& program);

}  // namespace spile::codegen
