#pragma once
// Whose a connection over the loopback interface is: addresses there say nothing about who uses them.

#include <netinet/in.h>

#include <cstdint>
#include <optional>

#include "base/unique_fd.h"

namespace spile::session {

class SocketOwners {
 public:
  // The user whose socket is bound to `theirs` and connected to `ours`. Null: the kernel does not say.
  std::optional<uint32_t> owner_of(const sockaddr_in& theirs, const sockaddr_in& ours);

 private:
  UniqueFd kernel_;  // a socket of sock_diag(7)
};

}  // namespace spile::session
