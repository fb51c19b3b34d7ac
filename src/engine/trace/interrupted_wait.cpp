#include "engine/trace/interrupted_wait.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "abi/system_calls.h"
#include "abi/trampoline.h"
#include "base/unique_fd.h"
#include "engine/arch/architecture.h"
#include "engine/process/process_status.h"

namespace spile::engine {
namespace {

// Results of calls that the kernel is going to make again (include/linux/errno.h); 516 by restart_syscall(2).
constexpr int64_t kFirstRestart = 512, kRestartBlock = 516;
constexpr std::chrono::seconds kEndless(1'000'000'000);

// A call that the thread stands in or behind.
struct Call {
  uint64_t number = 0;
  std::array<uint64_t, 6> arguments{};
  uint64_t stack_pointer = 0;
  int64_t result = 0;

  bool is_interrupted() const { return result == -EINTR || (result <= -kFirstRestart && result >= -kRestartBlock); }
  bool is_that_of(const InterruptedWait& wait) const {
    return number == wait.number && arguments == wait.arguments && stack_pointer == wait.stack_pointer;
  }
};

// Calls of 32-bit code have their own ways to wait, and are left alone: as in no call.
Call call_in(pid_t tid, const ThreadRegisters& registers) {
  abi::Registers words = native_architecture().call_registers(tid, registers);
  const bool foreign = words.flags & abi::kForeignCallFlag;
  Call call{.number = foreign ? ~uint64_t{0} : words.site_id,
            .stack_pointer = abi::stack_pointer(words),
            .result = native_architecture().system_call_result(registers)};
  for (size_t i = 0; i < call.arguments.size(); i++) call.arguments[i] = abi::system_call_argument(words, i);
  return call;
}

using Duration = std::optional<std::chrono::nanoseconds>;  // empty: without end, or unknown

template <typename T>
std::optional<T> read_word(pid_t tid, uint64_t address) {
  T value;
  iovec here{&value, sizeof value}, there{reinterpret_cast<void*>(address), sizeof value};
  if (address == 0 || process_vm_readv(tid, &here, 1, &there, 1, 0) != sizeof value) return {};
  return value;
}

Duration duration(int64_t seconds, int64_t nanoseconds) {
  if (seconds < 0 || seconds >= kEndless.count()) return {};
  return std::chrono::seconds(seconds) + std::chrono::nanoseconds(nanoseconds);
}

Duration time_at(pid_t tid, uint64_t address) {
  auto time = read_word<timespec>(tid, address);
  return time ? duration(time->tv_sec, time->tv_nsec) : Duration();
}

Duration microtime_at(pid_t tid, uint64_t address) {
  auto time = read_word<timeval>(tid, address);
  return time ? duration(time->tv_sec, time->tv_usec * 1000) : Duration();
}

Duration milliseconds(uint64_t argument) {
  int value = static_cast<int>(argument);
  return value < 0 ? Duration() : std::chrono::milliseconds(value);
}

// A descriptor of the thread's, as one of ours.
UniqueFd descriptor_of(pid_t tid, uint64_t number) {
  constexpr unsigned kThread = O_EXCL;  // PIDFD_THREAD, Linux 6.9; before, threads that are not the first have none
  UniqueFd thread(static_cast<int>(syscall(SYS_pidfd_open, tid, kThread)));
  if (!thread) {
    pid_t pid = atoi(process_status(tid, "Tgid").c_str());
    thread = UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  }
  return UniqueFd(thread ? static_cast<int>(syscall(SYS_pidfd_getfd, thread.get(), static_cast<int>(number), 0)) : -1);
}

// option: SO_RCVTIMEO or SO_SNDTIMEO.
Duration socket_time(const UniqueFd& socket, int option) {
  timeval time{};
  socklen_t size = sizeof time;
  bool has_time = socket && getsockopt(socket.get(), SOL_SOCKET, option, &time, &size) == 0 && (time.tv_sec || time.tv_usec);
  return has_time ? duration(time.tv_sec, time.tv_usec * 1000) : Duration();
}

int domain_of(const UniqueFd& socket) {
  int domain = -1;
  socklen_t size = sizeof domain;
  if (!socket || getsockopt(socket.get(), SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0) return -1;
  return domain;
}

bool has_filter(pid_t tid) { return ProcessStatus::read(tid).has_seccomp_filter(); }

// What is to become of an interrupted call.
struct Repetition {
  bool is_ours = false;   // the kernel would end it with EINTR, or by restart_syscall
  Duration time;          // of the whole call
  int64_t when_over = 0;  // its result then
  bool is_rest = false;   // `time` is what is left
};

// A call on a socket takes the time that the socket has for its direction.
Repetition on_socket(pid_t tid, uint64_t fd, int option) { return {true, socket_time(descriptor_of(tid, fd), option), -EAGAIN}; }

// A connect of another family may not be made twice. One over TCP goes on in the kernel meanwhile, and the second one waits for
// it; but says EALREADY when its own time is over.
Repetition connection(pid_t tid, uint64_t fd) {
  UniqueFd socket = descriptor_of(tid, fd);
  int domain = domain_of(socket);
  if (domain == AF_UNIX) return {true, socket_time(socket, SO_SNDTIMEO), -EAGAIN};
  if (domain == AF_INET || domain == AF_INET6) return {true, socket_time(socket, SO_SNDTIMEO), -EINPROGRESS};
  return {};
}

Repetition of_rings(pid_t tid, const Call& call) {
  constexpr uint64_t kAbsolute = 1 << 5, kRegistered = 1 << 6;  // IORING_ENTER_ABS_TIMER, IORING_ENTER_EXT_ARG_REG: Linux 6.12
  uint64_t flags = call.arguments[3];
  if (!(flags & IORING_ENTER_EXT_ARG) || (flags & (kAbsolute | kRegistered))) return {true, {}, 0};
  auto more = read_word<io_uring_getevents_arg>(tid, call.arguments[4]);
  return {true, more ? time_at(tid, more->ts) : Duration(), -ETIME};
}

// Calls that the kernel ends with EINTR although no handler of a signal runs.
Repetition of_interrupted(pid_t tid, const Call& call) {
  const auto& [first, second, third, fourth, fifth, sixth] = call.arguments;
  switch (call.number) {
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
    case SYS_epoll_pwait: return {true, milliseconds(fourth), 0};
    case SYS_epoll_pwait2: return {true, time_at(tid, fourth), 0};
    case SYS_semop: return {true, {}, 0};
    case SYS_semtimedop: return {true, time_at(tid, fourth), -EAGAIN};
    case SYS_rt_sigtimedwait: return {true, time_at(tid, third), -EAGAIN};
    case SYS_io_getevents: return {true, time_at(tid, fifth), 0};
    case SYS_io_uring_enter: return of_rings(tid, call);
    // Where the kernel can't write the time that is left.
    case SYS_ppoll: return {true, time_at(tid, third), 0};
    case SYS_pselect6: return {true, time_at(tid, fifth), 0};
#ifdef SYS_select
    case SYS_select: return {true, microtime_at(tid, fifth), 0};
#endif
    case SYS_read:
    case SYS_readv:
    case SYS_preadv2:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_accept:
    case SYS_accept4: return on_socket(tid, first, SO_RCVTIMEO);
    case SYS_write:
    case SYS_writev:
    case SYS_pwritev2:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
    case SYS_sendfile: return on_socket(tid, first, SO_SNDTIMEO);
    case SYS_connect: return connection(tid, first);
    default: return {};
  }
}

// Calls that the kernel makes again by restart_syscall.
Repetition of_restarted(pid_t tid, const Call& call) {
  const auto& [first, second, third, fourth, fifth, sixth] = call.arguments;
  switch (call.number) {
    case SYS_nanosleep: return {true, time_at(tid, first), 0};
    case SYS_clock_nanosleep: {
      int clock = static_cast<int>(first);
      bool passes_always = clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC || clock == CLOCK_BOOTTIME || clock == CLOCK_TAI;
      return {true, passes_always ? time_at(tid, third) : Duration(), 0};
    }
#ifdef SYS_poll
    case SYS_poll: return {true, milliseconds(third), 0};
#endif
    case SYS_futex: {
      bool is_relative = (second & FUTEX_CMD_MASK) == FUTEX_WAIT;
      return {true, is_relative ? time_at(tid, fourth) : Duration(), -ETIMEDOUT};
    }
    default: return {true, {}, 0};
  }
}

// Calls that the kernel makes again, with all of their time, or with what was left before the stop: it has written that.
Repetition of_repeated(pid_t tid, const Call& call) {
  const auto& [first, second, third, fourth, fifth, sixth] = call.arguments;
  switch (call.number) {
    case SYS_io_pgetevents: return {false, time_at(tid, fifth), 0};
    case SYS_ppoll: return {false, time_at(tid, third), 0, true};
    case SYS_pselect6: return {false, time_at(tid, fifth), 0, true};
#ifdef SYS_select
    case SYS_select: return {false, microtime_at(tid, fifth), 0, true};
#endif
    default: return {};
  }
}

Repetition repetition_of(pid_t tid, const Call& call) {
  if (call.result == -EINTR) return of_interrupted(tid, call);
  if (call.result == -kRestartBlock && has_filter(tid)) return of_restarted(tid, call);
  return of_repeated(tid, call);
}

// The beginning of a thread's file in /proc.
std::string file_of(pid_t tid, const char* name) {
  std::array<char, 4096> bytes;
  UniqueFd file(open(fmt::format("/proc/{}/task/{}/{}", tid, tid, name).c_str(), O_RDONLY | O_CLOEXEC));
  const ssize_t size = file ? ::read(file.get(), bytes.data(), bytes.size()) : -1;
  return {bytes.data(), static_cast<size_t>(std::max<ssize_t>(size, 0))};
}

// Empty: the kernel does not say.
std::optional<SleepMark> read_switches(pid_t tid) {
  const std::string whole = file_of(tid, "sched");
  std::string_view text = whole;
  text.remove_prefix(std::min(text.find("\n---"), text.size()));  // the name of the thread
  auto value = [&](std::string_view name) -> std::optional<std::string> {
    size_t at = text.find(name);
    size_t colon = at == text.npos ? at : text.find(':', at);
    if (colon == text.npos) return {};
    return std::string(text.substr(colon + 1, 40));
  };
  auto switched_out = value("\nse.exec_start"), migrations = value("\nse.nr_migrations"),
       voluntary = value("\nnr_voluntary_switches");
  if (!switched_out || !migrations || !voluntary) return {};
  long milliseconds = 0, rest = 0;  // ns, six digits
  if (sscanf(switched_out->c_str(), "%ld.%6ld", &milliseconds, &rest) != 2) return {};
  // The kernel sets it to 0 where a thread that sleeps goes to another processor's queue (migrate_task_rq_fair).
  if (milliseconds == 0 && rest == 0) return {};
  return SleepMark{milliseconds * 1'000'000 + rest, atoll(migrations->c_str()), atoll(voluntary->c_str())};
}

// When the thread went to sleep, before it was woken for this stop. Never earlier than the call began.
WaitClock::time_point begin_of_sleep(pid_t tid, const Call& call, const std::optional<SleepMark>& mark) {
  auto now = WaitClock::now();
  const bool slept_in_it =
      mark && mark->call == call.number && mark->arguments == call.arguments && mark->stack_pointer == call.stack_pointer;
  auto stopped = slept_in_it ? read_switches(tid) : std::nullopt;
  // Now it sleeps in its stop. If it has slept elsewhere in between, or its processor's clock is another one, nothing is known.
  if (!stopped || stopped->migrations != mark->migrations || stopped->voluntary != mark->voluntary + 1) return now;
  return now - std::chrono::nanoseconds(std::max<int64_t>(stopped->switched_out - mark->switched_out, 0));
}

// What a call writes when its time is over, as nothing has happened.
void empty_sets(pid_t tid, const InterruptedWait& wait) {
  bool has_sets = wait.number == SYS_pselect6;
#ifdef SYS_select
  has_sets |= wait.number == SYS_select;
#endif
  constexpr uint64_t kWord = 64, kMost = 1 << 20;  // descriptors
  if (!has_sets || wait.arguments[0] > kMost) return;
  std::vector<uint64_t> zeros((wait.arguments[0] + kWord - 1) / kWord);
  for (size_t set = 1; set <= 3; set++) {
    iovec here{zeros.data(), zeros.size() * sizeof zeros[0]}, there{reinterpret_cast<void*>(wait.arguments[set]), here.iov_len};
    if (wait.arguments[set] != 0) (void)!process_vm_writev(tid, &here, 1, &there, 1, 0);
  }
}

// Changes the registers of the thread in it.
void end_call(pid_t tid, ThreadRegisters& registers, std::optional<InterruptedWait>& wait) {
  native_architecture().set_system_call_result(registers, wait->when_over);
  empty_sets(tid, *wait);
  wait.reset();
}

// Returns whether the registers have changed.
bool repeat_call(pid_t tid, ThreadRegisters& registers, const Call& call, std::optional<InterruptedWait>& wait,
                 const std::optional<SleepMark>& mark) {
  bool is_known = wait && call.is_that_of(*wait);
  if (!is_known) wait.reset();
  Repetition repetition = repetition_of(tid, call);
  if (!is_known && repetition.time) {
    wait = InterruptedWait{.number = call.number,
                           .arguments = call.arguments,
                           .stack_pointer = call.stack_pointer,
                           .until = (repetition.is_rest ? WaitClock::now() : begin_of_sleep(tid, call, mark)) + *repetition.time,
                           .when_over = repetition.when_over};
  }
  if (repetition.is_ours) native_architecture().repeat_system_call(registers);
  return repetition.is_ours;
}

}  // namespace

std::optional<SleepMark> SleepMark::read(pid_t tid) {
  std::optional<SleepMark> mark = read_switches(tid);
  if (!mark) return {};
  // "running", or "-1" and no arguments outside of calls.
  const std::string text = file_of(tid, "syscall");
  auto& all = mark->arguments;
  const int words = sscanf(text.c_str(), "%lu %lx %lx %lx %lx %lx %lx %lx", &mark->call, &all[0], &all[1], &all[2], &all[3],
                           &all[4], &all[5], &mark->stack_pointer);
  return words == 8 ? mark : std::nullopt;
}

void repeat_interrupted_call(pid_t tid, std::optional<InterruptedWait>& wait, const std::optional<SleepMark>& mark) {
  ThreadRegisters registers;
  if (!native_architecture().read_registers(tid, registers).ok()) return;
  Call call = call_in(tid, registers);
  bool in_call = static_cast<int64_t>(call.number) >= 0 && call.is_interrupted();
  if (!in_call) return wait.reset();
  if (repeat_call(tid, registers, call, wait, mark)) (void)native_architecture().write_registers(tid, registers);
}

void meet_system_call(pid_t tid, std::optional<InterruptedWait>& wait, const std::optional<SleepMark>& mark) {
  const Architecture& machine = native_architecture();
  ThreadRegisters registers;
  if (!machine.read_registers(tid, registers).ok()) return wait.reset();
  Call call = call_in(tid, registers);
  if (!call.is_interrupted()) {
    // The entry of the repeated call, or the end of one.
    bool goes_on = wait && machine.enters_system_call(tid) && call.is_that_of(*wait);
    if (!goes_on) wait.reset();
    return;
  }
  bool is_ours = repeat_call(tid, registers, call, wait, mark);
  bool is_over = wait && wait->is_over();
  if (is_over) {
    end_call(tid, registers, wait);
  } else if (is_ours) {
    // This stop has taken back the one that was asked for. The kernel looks at the result only on its way to a stop or signal.
    ptrace(PTRACE_INTERRUPT, tid, 0, 0);
  }
  if (is_ours || is_over) (void)machine.write_registers(tid, registers);
}

void end_wait_if_over(pid_t tid, std::optional<InterruptedWait>& wait) {
  if (!wait->is_over()) return;
  const Architecture& machine = native_architecture();
  ThreadRegisters registers;
  if (!machine.read_registers(tid, registers).ok()) return;
  Call call = call_in(tid, registers);
  if (!call.is_that_of(*wait) || !call.is_interrupted()) return;
  end_call(tid, registers, wait);
  (void)machine.write_registers(tid, registers);
}

}  // namespace spile::engine
