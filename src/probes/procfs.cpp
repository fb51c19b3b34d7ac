// procfs("x").read and .write, with .maxsize(N) and .umask(N) before the last: handlers of the controller, run when
// somebody reads or writes the file (session/procfs_files.h). procfs.read without a name is the file "command".

#include <fmt/format.h>

#include "probes/family.h"

namespace spile::probes {

namespace {

bool takes(const syntax::ProbePoint& point) {
  return point.components[0].name == "procfs";
}

std::vector<std::string> components(const syntax::ProbePoint&, size_t) {
  return {"read", "write", "maxsize", "umask"};
}

Result<Points> resolve(TracedWorld&, const syntax::ProbePoint& point) {
  const auto& parts = point.components;
  if (parts[0].number) return unexpected_component(point, 0, {"procfs"});
  sema::ResolvedPoint made;
  made.text = text_of(point);
  made.procfs_name = parts[0].text.value_or("command");
  const std::string& name = made.procfs_name;
  if (name.empty() || name.size() > 255 || name == "." || name == ".." || name.find('/') != std::string::npos) {
    return Error{fmt::format("'{}' is no name of a file for '{}'", name, made.text), "a name without '/'"};
  }
  for (size_t i = 1; i < parts.size(); ++i) {
    bool last = i + 1 == parts.size();
    if (!last && parts[i].name == "umask" && parts[i].number) {
      made.procfs_umask = *parts[i].number & 0777;
    } else if (!last && parts[i].name == "maxsize" && parts[i].number) {
      if (*parts[i].number < 1) return Error{fmt::format("the size in '{}' is out of range", made.text), ""};
    } else if (last && (parts[i].name == "read" || parts[i].name == "write") && !parts[i].number && !parts[i].text) {
      made.kind = parts[i].name == "read" ? sema::ProbeKind::kProcfsRead : sema::ProbeKind::kProcfsWrite;
      return Points{made};
    } else {
      return unexpected_component(point, i, components(point, i));
    }
  }
  return Error{fmt::format("'{}' needs .read or .write at its end", made.text), ""};
}

}  // namespace

const Family procfs_family = {"procfs", takes, resolve, components,
    {"procfs.read", "procfs.write", "procfs.umask(number).read", "procfs.umask(number).write",
     "procfs.maxsize(number).read", "procfs.maxsize(number).write",
     "procfs.maxsize(number).umask(number).read", "procfs.maxsize(number).umask(number).write",
     "procfs(string).read", "procfs(string).write", "procfs(string).umask(number).read",
     "procfs(string).umask(number).write", "procfs(string).maxsize(number).read",
     "procfs(string).maxsize(number).write", "procfs(string).maxsize(number).umask(number).read",
     "procfs(string).maxsize(number).umask(number).write"}};

}  // namespace spile::probes
