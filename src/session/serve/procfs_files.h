#pragma once
// The files of procfs probes, served by libfuse under a folder of this run:
//
//   /run/spile/PID/         for root;  $XDG_RUNTIME_DIR/spile/PID/ or /tmp/spile-UID/PID/ for others (-m NAME: NAME for PID)
//
// A read probe runs when its file is opened for reading: what is read then is what $value was set to, at most .maxsize(N)
// bytes of it. A write probe runs for each write(2), and once more for each part of one that is longer than a string or
// .maxsize(N). Names with '/' are in folders. Thread rule: one thread; everything happens in serve(). The folder is removed at
// the end of the run; the next run removes what a killed one has left (files that say "Transport endpoint is not connected").

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "sema/terms/program.h"

struct fuse_session;

namespace spile::session {

class ProcfsFiles {
 public:
  struct Handlers {
    std::function<std::string(int probe)> read;
    std::function<void(int probe, std::string_view text)> write;
    size_t string_most = SIZE_MAX;  // bytes that one run of a write probe can take
  };
  // Returns whether the script has procfs probes.
  static bool wanted(const sema::Program& program);
  // Makes and mounts the folder. handlers: run the probe of that index and give or take $value. name: of -m; "": the PID. program
  // is not kept. Errors: /dev/fuse can't be opened, the folder can't be made or mounted, two probes have the same file.
  static Result<std::unique_ptr<ProcfsFiles>> mount(const sema::Program& program, const std::string& name, Handlers handlers);
  ~ProcfsFiles();
  ProcfsFiles(const ProcfsFiles&) = delete;
  ProcfsFiles& operator=(const ProcfsFiles&) = delete;

  const std::string& folder() const { return folder_; }
  // Returns a descriptor that is readable when a request waits.
  int fd() const;
  // Answers one request, and runs its probe. Returns at once if none waits. REQUIRES: called when fd() is readable.
  void serve();

  // The functions that libfuse calls use what follows; the session does not.
  struct File {
    std::string name;   // the last part of its path
    size_t folder = 0;  // inode number; 1: the root
    bool is_folder = false;
    int read_probe = -1, write_probe = -1;
    size_t read_most = SIZE_MAX, write_most = SIZE_MAX;
    int mode = 0;
  };
  std::vector<File> files;  // inode numbers are 2 and up
  Handlers handlers;
  size_t open_count = 0, open_bytes = 0;

 private:
  ProcfsFiles() = default;
  Result<void> add(const sema::Probe& probe, const sema::ResolvedPoint& point);
  Result<File*> file_named(const std::string& path);
  std::string folder_;
  fuse_session* session_ = nullptr;
};

}  // namespace spile::session
