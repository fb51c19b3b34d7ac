#include "session/serve/socket_owner.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <sys/socket.h>

#include <cstring>

namespace spile::session {

std::optional<uint32_t> SocketOwners::owner_of(const sockaddr_in& theirs, const sockaddr_in& ours) {
  if (!kernel_) kernel_ = UniqueFd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG));
  if (!kernel_) return std::nullopt;
  struct {
    nlmsghdr header;
    inet_diag_req_v2 request;
  } question{};
  question.header.nlmsg_len = sizeof question;
  question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.header.nlmsg_flags = NLM_F_REQUEST;
  question.request.sdiag_family = AF_INET;
  question.request.sdiag_protocol = IPPROTO_TCP;
  question.request.idiag_states = ~0U;
  question.request.id.idiag_sport = theirs.sin_port;
  question.request.id.idiag_dport = ours.sin_port;
  question.request.id.idiag_src[0] = theirs.sin_addr.s_addr;
  question.request.id.idiag_dst[0] = ours.sin_addr.s_addr;
  question.request.id.idiag_cookie[0] = question.request.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  if (send(kernel_.get(), &question, sizeof question, 0) < 0) return std::nullopt;
  // The answer is there when send has returned.
  struct {
    nlmsghdr header;
    inet_diag_msg socket;
    char more[512];
  } answer{};
  ssize_t got = recv(kernel_.get(), &answer, sizeof answer, 0);
  bool is_answer =
      got >= static_cast<ssize_t>(offsetof(decltype(answer), more)) && answer.header.nlmsg_type == SOCK_DIAG_BY_FAMILY;
  if (!is_answer) return std::nullopt;
  return answer.socket.idiag_uid;
}

}  // namespace spile::session
