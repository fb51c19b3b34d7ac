#include "base/files/tracefs.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include "base/files/file.h"

namespace spile {
namespace {

constexpr const char* kMountHint = "run as root, or let root do: mount -t tracefs tracefs /sys/kernel/tracing";

// fsopen(2) and its family have no wrappers in glibc before 2.36.
Result<UniqueFd> mount_detached(const char* type, const char* doing, const char* hint) {
  UniqueFd context(static_cast<int>(syscall(SYS_fsopen, type, 1 /* FSOPEN_CLOEXEC */)));
  if (!context) return Error::from_errno(doing, errno, hint);
  if (syscall(SYS_fsconfig, context.get(), 6 /* FSCONFIG_CMD_CREATE */, nullptr, nullptr, 0) != 0)
    return Error::from_errno(doing, errno, hint);
  UniqueFd root(static_cast<int>(syscall(SYS_fsmount, context.get(), 1 /* FSMOUNT_CLOEXEC */, 0)));
  if (!root) return Error::from_errno(doing, errno, hint);
  return root;
}

Result<std::string> read_below(const UniqueFd& root, const std::string& path, const std::string& type) {
  const std::string what = "read " + path + " of " + type;
  UniqueFd file(openat(root.get(), path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return Error::from_errno(what, errno);
  std::string text;
  if (const int failure = read_all(file.get(), text)) return Error::from_errno(what, failure);
  return text;
}

}  // namespace

Result<UniqueFd> open_tracefs() {
  int denied = 0;
  for (const char* path : {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}) {
    UniqueFd root(open(path, O_DIRECTORY | O_PATH | O_CLOEXEC));
    if (!root) continue;
    // The directory exists also where nothing is mounted on it.
    if (faccessat(root.get(), "events", R_OK | X_OK, 0) == 0) return root;
    if (errno == EACCES) denied = EACCES;
  }
  if (denied != 0) return Error::from_errno("read /sys/kernel/tracing", denied, "run as root");
  return mount_detached("tracefs", "open tracefs", kMountHint);
}

Result<std::string> read_tracefs(const std::string& path) {
  TRY(UniqueFd root, open_tracefs());
  return read_below(root, path, "tracefs");
}

Result<std::string> read_debugfs(const std::string& path) {
  UniqueFd root(open("/sys/kernel/debug", O_DIRECTORY | O_PATH | O_CLOEXEC));
  // The directory exists also where nothing is mounted on it.
  if (!root || faccessat(root.get(), "tracing", F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
    TRY(root,
        mount_detached("debugfs", "open debugfs", "run as root, or let root do: mount -t debugfs debugfs /sys/kernel/debug"));
  }
  return read_below(root, path, "debugfs");
}

}  // namespace spile
