#include "probes/terms/go_programs.h"

namespace spile::probes {

FileAddress goroutine_list_of(const std::string& path, const debuginfo::OpenOptions& options) {
  auto module = debuginfo::Module::open(path, options);
  return module.ok() ? (*module)->data_symbol("runtime.allgs").value_or(FileAddress()) : FileAddress();
}

}  // namespace spile::probes
