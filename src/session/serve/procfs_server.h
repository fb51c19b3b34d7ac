#pragma once
// Serves the procfs probes of a run: as files (procfs_files.h), over HTTP with --http (http_files.h), and those of the standard
// input (standard_input.h). Between a request and the probe's handler it fills and reads the globals that stand for $value
// (procfs_value.h). Thread rule: one thread.

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "sema/terms/program.h"
#include "session/arena/controller.h"
#include "session/serve/http_files.h"
#include "session/serve/procfs_files.h"
#include "session/serve/standard_input.h"
#include "session/terms/options.h"

namespace spile::session {

class ProcfsServer {
 public:
  using RunProbe = std::function<void(int probe)>;  // runs the handler of a probe; index into Program::probes

  // Begins to serve; does nothing for a script without procfs probes if `http` is empty. controller must outlive this. name: of
  // -m. http: of --http; "": no HTTP. metrics: what HttpFiles serves, too. Errors: HTTP was asked for and can't be served;
  // without HTTP, files can't be (with HTTP, that is a warning).
  Result<void> open(const sema::Program& program, Controller& controller, const std::string& name, const std::string& http,
                    const MessageOptions& messages, RunProbe run, HttpFiles::Metrics metrics);
  // Removes the files, closes the port, and gives the terminal back its settings.
  void close();

  // files_fd() and http_fd() are readable when serve_files() and serve_http() have something to do; -1: nothing is served there.
  int files_fd() const { return files_ ? files_->fd() : -1; }
  void serve_files() {
    if (files_) files_->serve();
  }
  int input_fd() const { return input_ ? input_->fd() : -1; }  // the same for serve_input()
  void serve_input() { input_->serve(); }
  int http_fd() const { return http_ ? http_->fd() : -1; }
  // REQUIRES: called every second or so, too, so that slow connections are dropped.
  void serve_http() {
    if (http_) http_->serve();
  }

 private:
  std::unique_ptr<ProcfsFiles> files_;
  std::unique_ptr<StandardInput> input_;
  std::unique_ptr<HttpFiles> http_;
};

}  // namespace spile::session
