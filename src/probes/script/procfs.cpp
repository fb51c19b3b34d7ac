// procfs("x").read and .write, with .umask(N) before that and .maxsize(N) before or behind it: handlers of the controller, run
// when somebody reads or writes the file (session/serve/procfs_files.h). procfs.read without a name is the file "command".

#include <fmt/format.h>

#include <algorithm>

#include "probes/terms/family.h"

namespace spile::probes {

namespace {

bool takes(const syntax::ProbePoint& point) { return point.components[0].name == "procfs"; }

std::vector<std::string> components(const syntax::ProbePoint&, size_t) { return {"read", "write", "maxsize", "umask"}; }

// A path of plain names, below the run's folder.
bool is_file_name(const std::string& path) {
  for (size_t begin = 0; begin <= path.size();) {
    size_t end = std::min(path.find('/', begin), path.size());
    std::string name = path.substr(begin, end - begin);
    if (name.empty() || name.size() > 255 || name == "." || name == "..") return false;
    begin = end + 1;
  }
  return true;
}

Result<Points> resolve(TracedWorld&, const syntax::ProbePoint& point) {
  const auto& parts = point.components;
  if (parts[0].number) return unexpected_component(point, 0, {"procfs"});
  sema::ResolvedPoint made;
  made.text = text_of(point);
  made.procfs_name = parts[0].text.value_or("command");
  if (!is_file_name(made.procfs_name)) {
    return Error{fmt::format("'{}' is not a valid file name for '{}'", made.procfs_name, made.text),
                 "use names separated by '/'"};
  }
  bool has_kind = false;
  for (size_t i = 1; i < parts.size(); ++i) {
    const syntax::PointComponent& part = parts[i];
    if (!has_kind && part.name == "umask" && part.number) {
      made.procfs_umask = *part.number & 0777;
    } else if (part.name == "maxsize" && part.number && made.procfs_maxsize == 0) {
      if (*part.number < 1) return Error{fmt::format("the size in '{}' is out of range", made.text), ""};
      made.procfs_maxsize = *part.number;
    } else if (!has_kind && (part.name == "read" || part.name == "write") && !part.number && !part.text) {
      has_kind = true;
      made.kind = part.name == "read" ? sema::ProbeKind::kProcfsRead : sema::ProbeKind::kProcfsWrite;
    } else {
      return unexpected_component(point, i, components(point, i));
    }
  }
  if (made.procfs_name == "__stdin" && made.kind == sema::ProbeKind::kProcfsRead)
    return Error{fmt::format("'{}': the standard input can't be read from as a file", made.text),
                 "input.line and input.char are what is written to it"};
  if (!has_kind) return Error{fmt::format("'{}' needs .read or .write at its end", made.text), ""};
  return Points{made};
}

}  // namespace

extern const Family procfs_family = {"procfs",
                                     takes,
                                     resolve,
                                     components,
                                     {"procfs.read",
                                      "procfs.maxsize(number).read",
                                      "procfs.read.maxsize(number)",
                                      "procfs.write",
                                      "procfs.maxsize(number).write",
                                      "procfs.write.maxsize(number)",
                                      "procfs.umask(number).read",
                                      "procfs.umask(number).maxsize(number).read",
                                      "procfs.umask(number).read.maxsize(number)",
                                      "procfs.umask(number).write",
                                      "procfs.umask(number).maxsize(number).write",
                                      "procfs.umask(number).write.maxsize(number)",
                                      "procfs(string).read",
                                      "procfs(string).maxsize(number).read",
                                      "procfs(string).read.maxsize(number)",
                                      "procfs(string).write",
                                      "procfs(string).maxsize(number).write",
                                      "procfs(string).write.maxsize(number)",
                                      "procfs(string).umask(number).read",
                                      "procfs(string).umask(number).maxsize(number).read",
                                      "procfs(string).umask(number).read.maxsize(number)",
                                      "procfs(string).umask(number).write",
                                      "procfs(string).umask(number).maxsize(number).write",
                                      "procfs(string).umask(number).write.maxsize(number)"}};

}  // namespace spile::probes
