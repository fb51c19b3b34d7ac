#include "base/result.h"

#include <errno.h>

#include <cstring>

namespace spile {

namespace {

// Which limit spile itself has met, as far as the number of the error says; "": it does not.
const char* limit_hint(int errnum) {
  switch (errnum) {
    case EFBIG: return "a limit of file sizes (ulimit -f) holds for spile: raise it";
    case EMFILE: return "spile may have no more files open (ulimit -n): raise that limit";
    case ENFILE: return "the machine may have no more files open (sysctl fs.file-max): raise that limit";
    case EAGAIN:
      return "if this user may have no more processes and threads (ulimit -u, pids.max of the cgroup): raise that limit";
    case ENOMEM: return "if a limit of memory holds for spile (ulimit -v, -d, --rlimit-as): raise it";
    default: return "";
  }
}

}  // namespace

Error Error::from_errno(std::string what, int errnum, std::string hint) {
  if (hint.empty()) hint = limit_hint(errnum);
  return Error{std::move(what) + ": " + std::strerror(errnum), std::move(hint)};
}

Error Error::within(const std::string& context) && {
  message = context + ": " + message;
  return std::move(*this);
}

}  // namespace spile
