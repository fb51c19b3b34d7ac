#include "session/live/kept_folder.h"

#include <errno.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <fstream>

#include "base/messages.h"

namespace spile::session {

Result<std::string> make_kept_folder(const PassOptions& options) {
  if (!options.keep) return std::string();
  std::string folder = options.folder;
  if (folder.empty()) {
    const char* temporary = getenv("TMPDIR");
    folder = std::string(temporary && *temporary ? temporary : "/tmp") + "/spileXXXXXX";
    if (!mkdtemp(folder.data())) return Error::from_errno("make a temporary folder " + folder, errno);
  } else if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) {
    return Error::from_errno("make folder " + folder, errno);
  }
  note(fmt::format("Keeping temporary directory \"{}\"", folder));
  return folder;
}

Result<void> keep_tree(const std::string& folder, const syntax::Script& script) {
  return folder.empty() ? Result<void>() : keep_text(folder, "1-tree.stp", syntax::to_source(script));
}

Result<void> keep_program(const std::string& folder, const sema::Program& program) {
  return folder.empty() ? Result<void>() : keep_text(folder, "2-program.txt", sema::to_text(program));
}

Result<void> keep_text(const std::string& folder, const std::string& name, std::string_view text) {
  if (folder.empty()) return {};
  std::string path = folder + "/" + name;
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file) return Error::from_errno("write " + path, errno);
  return {};
}

Result<void> keep_code(const std::string& folder, const std::string& module_name, const codegen::CompiledScript& script) {
  if (folder.empty()) return {};
  std::string name = module_name.empty() ? "spile" : module_name;
  auto bytes = [](const auto& vector) { return std::string_view(reinterpret_cast<const char*>(vector.data()), vector.size()); };
  TRY_DO(keep_text(folder, name + "-controller.bin", bytes(script.controller.image.bytes)));
  if (!script.target.image.bytes.empty()) TRY_DO(keep_text(folder, name + "-target.bin", bytes(script.target.image.bytes)));
  if (!script.kernel.object.empty()) TRY_DO(keep_text(folder, name + "-kernel.o", bytes(script.kernel.object)));
  return {};
}

}  // namespace spile::session
