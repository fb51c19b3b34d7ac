#include "engine/process/target_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace spile::engine {

Result<TargetMemory> TargetMemory::open(pid_t pid) {
  TargetMemory memory;
  std::string path = fmt::format("/proc/{}/mem", pid);
  memory.fd_ = UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  memory.pid_ = pid;
  if (!memory.fd_)
    return Error::from_errno("open " + path, errno,
                             errno == EACCES && ::geteuid() == 0
                                 ? "for processes of other users root needs CAP_DAC_OVERRIDE, which a container may lack"
                                 : "");
  return memory;
}

// Reading an unmapped address fails with EIO while the memory exists, and returns end of file when it is gone.
bool TargetMemory::has_gone() const {
  char byte;
  return is_open() && pread64(fd_.get(), &byte, 1, 0) == 0;
}

size_t TargetMemory::read_some(Address from, std::span<uint8_t> into) const {
  size_t done = 0;
  while (done < into.size()) {
    ssize_t n = pread64(fd_.get(), into.data() + done, into.size() - done, static_cast<off64_t>(from.value + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  return done;
}

Result<void> TargetMemory::read(Address from, std::span<uint8_t> into) const {
  errno = 0;
  if (read_some(from, into) == into.size()) return {};
  return Error::from_errno(fmt::format("read {} bytes at {:#x} of process {}", into.size(), from.value, pid_),
                           errno ? errno : EIO);
}

Result<void> TargetMemory::write(Address to, std::span<const uint8_t> bytes) const {
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t n = pwrite64(fd_.get(), bytes.data() + done, bytes.size() - done, static_cast<off64_t>(to.value + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      return Error::from_errno(fmt::format("write {} bytes at {:#x} of process {}", bytes.size(), to.value, pid_),
                               n < 0 ? errno : EIO);
    }
    done += static_cast<size_t>(n);
  }
  return {};
}

}  // namespace spile::engine
