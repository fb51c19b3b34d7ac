#include "engine/process/call_restriction.h"

#include <errno.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "abi/watched_calls.h"
#include "engine/process/process_status.h"

namespace spile::engine {
namespace {

constexpr const char* kDispatched = "it lets only some addresses make system calls (PR_SET_SYSCALL_USER_DISPATCH)";
constexpr const char* kRestricts = "a seccomp filter looks at where its system calls come from";
constexpr const char* kPerhapsRestricts =
    "a seccomp filter, which only root can read, may look at where its system calls come from";

constexpr int kGetDispatch = 0x4211;  // PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG, Linux 6.4
struct Dispatch {
  uint64_t mode, selector, offset, length;  // of addresses that may always make calls
};

std::optional<Dispatch> dispatch_of(pid_t tid) {
  Dispatch dispatch{};
  if (ptrace(static_cast<__ptrace_request>(kGetDispatch), tid, sizeof dispatch, &dispatch) != 0 || dispatch.mode == 0) return {};
  return dispatch;
}

bool looks_at_places(std::span<const sock_filter> filter) {
  constexpr uint32_t kBegin = offsetof(seccomp_data, instruction_pointer),
                     kEnd = kBegin + sizeof(seccomp_data::instruction_pointer);
  return std::any_of(filter.begin(), filter.end(), [](const sock_filter& each) {
    return each.code == (BPF_LD | BPF_W | BPF_ABS) && each.k >= kBegin && each.k < kEnd;
  });
}

}  // namespace

bool is_filtered_as_we_are(pid_t tid) {
  std::string filters = process_status(tid, "Seccomp_filters");
  return !filters.empty() && filters == process_status(getpid(), "Seccomp_filters");
}

Error refusal_for_filter(pid_t tid) {
  return Error{fmt::format("thread {} runs under a seccomp filter, which may kill it for a system call made on our behalf", tid),
               "run as root: with CAP_SYS_ADMIN the filter is suspended meanwhile"};
}

Result<void> check_filters(pid_t pid) {
  ProcessStatus own = ProcessStatus::of_self();
  uint64_t capabilities = strtoull(own.field("CapEff").c_str(), nullptr, 16);
  if ((capabilities >> CAP_SYS_ADMIN & 1) && !own.has_seccomp_filter()) return {};
  std::optional<pid_t> filtered;
  for (pid_t tid : threads_of(pid)) {
    std::string mode = process_status(tid, "Seccomp");
    bool is_free = mode.empty() || mode == "0" || (mode == "2" && is_filtered_as_we_are(tid));
    if (is_free && !has_ended(tid)) return {};
    if (!is_free) filtered = tid;
  }
  if (!filtered) return {};
  return refusal_for_filter(*filtered);
}

bool has_dispatch(pid_t tid) { return dispatch_of(tid).has_value(); }

bool is_dispatched(pid_t tid, const TargetMemory& memory, Address call) {
  auto dispatch = dispatch_of(tid);
  if (!dispatch || call.value - dispatch->offset < dispatch->length) return false;
  auto selector = memory.read_value<uint8_t>(Address(dispatch->selector));
  return dispatch->selector == 0 || !selector.ok() || *selector != 0;  // SYSCALL_DISPATCH_FILTER_ALLOW
}

std::string call_restriction(pid_t tid) {
  if (dispatch_of(tid)) return kDispatched;
  if (process_status(tid, "Seccomp") != std::to_string(SECCOMP_MODE_FILTER)) return "";
  for (unsigned long index = 0;; index++) {
    long size = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, index, nullptr);
    if (size < 0 && errno == ENOENT) return "";
    std::vector<sock_filter> filter(static_cast<size_t>(std::clamp(size, 0L, long{BPF_MAXINSNS})));
    bool known = !filter.empty() && ptrace(PTRACE_SECCOMP_GET_FILTER, tid, index, filter.data()) == size;
    if (!known) return is_filtered_as_we_are(tid) ? "" : kPerhapsRestricts;
    if (looks_at_places(filter)) return kRestricts;
  }
}

std::string call_restriction_by(const TargetMemory& memory, const abi::Registers& call) {
  if (abi::sets_user_dispatch(call.site_id, call)) return kDispatched;
  uint64_t at = abi::added_filter(call.site_id, call);
  if (at == 0) return "";
  auto program = memory.read_value<sock_fprog>(Address(at));
  if (!program.ok()) return "";  // the call fails
  std::vector<sock_filter> filter(std::min<size_t>(program->len, BPF_MAXINSNS));
  std::span<uint8_t> bytes(reinterpret_cast<uint8_t*>(filter.data()), filter.size() * sizeof(sock_filter));
  if (!memory.read(Address(reinterpret_cast<uint64_t>(program->filter)), bytes).ok()) return "";
  return looks_at_places(filter) ? kRestricts : "";
}

}  // namespace spile::engine
