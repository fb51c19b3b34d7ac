#include "base/result.h"

#include <errno.h>

#include <cstring>

namespace spile {

Error Error::from_errno(std::string what, int errnum, std::string hint) {
  if (errnum == EFBIG && hint.empty()) hint = "a limit of file sizes (ulimit -f) holds for spile: raise it";
  return Error{std::move(what) + ": " + std::strerror(errnum), std::move(hint)};
}

Error Error::within(const std::string& context) && {
  message = context + ": " + message;
  return std::move(*this);
}

}  // namespace spile
