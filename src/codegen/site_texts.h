#pragma once
// What pp(), probefunc() and the like say, for every probe and every site, as tables of offsets into one text:
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

}  // namespace spile::codegen
