#pragma once
// Finds the user behind a connection over the loopback interface, where addresses say nothing about who uses them. Thread rule:
// one thread.

#include <netinet/in.h>

#include <cstdint>
#include <optional>

#include "base/unique_fd.h"

namespace spile::session {

class SocketOwners {
 public:
  // Returns the user ID of the socket that is bound to `theirs` and connected to `ours`. Null: no socket is, or the kernel does
  // not say.
  std::optional<uint32_t> owner_of(const sockaddr_in& theirs, const sockaddr_in& ours);

 private:
  UniqueFd kernel_;  // a socket of sock_diag(7)
};

}  // namespace spile::session
