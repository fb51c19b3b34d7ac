#include "base/result.h"

#include <cstring>

namespace spile {

Error Error::from_errno(std::string what, int errnum, std::string hint) {
  return Error{std::move(what) + ": " + std::strerror(errnum), std::move(hint)};
}

Error Error::within(const std::string& context) && {
  message = context + ": " + message;
  return std::move(*this);
}

}  // namespace spile
