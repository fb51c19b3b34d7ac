#pragma once
// --http: serves the files of procfs read probes (prometheus and json_data, too) over HTTP on the loopback interface, for
// programs that scrape metrics, and for machines where no FUSE may be mounted; and as /metrics the globals of a script without
// such probes. GET /NAME runs the probe; GET / lists the names. HTTP/1.0, one request for each connection (RFC 1945).
//
// Thread rule: one thread; everything happens in serve(), and nothing in it waits. Its work is bounded: 64 connections of one
// user and 512 in all, where a new connection replaces the one that has been silent longest; 4 KiB and 5 s for a request, 64 MiB
// of replies that are not read, 5 s without reading.
// Any user of the machine can connect, so files that .umask() takes away from others are not served; requests that name
// another host (a web page's, by a rebound DNS name) are rejected.

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "sema/terms/program.h"

namespace spile::session {

class HttpFiles {
 public:
  // runs the probe, and returns $value; probe: index into sema::Program::probes
  using Read = std::function<std::string(int probe)>;
  using Metrics = std::function<std::string(bool is_open_metrics)>;  // runs/run/run_metrics.h
  // Opens the port. where: [ADDRESS:]PORT; the address is within 127.0.0.0/8, port 0 is any free one.
  // metrics: of /metrics, where no probe has that name; may be empty.
  // Errors: `where` is malformed, the port is in use, there is nothing to serve. program is not kept.
  static Result<std::unique_ptr<HttpFiles>> listen(const std::string& where, const sema::Program& program, Read read,
                                                   Metrics metrics);
  ~HttpFiles();

  // Returns "http://127.0.0.1:9090/", with the port that was opened.
  std::string url() const;
  // Returns a descriptor, owned by this, that is readable when serve() has something to do.
  int fd() const;
  // Answers requests that wait, and drops connections that are too slow. REQUIRES: called when fd() is readable, and every second
  // or so.
  void serve();

 private:
  struct State;
  explicit HttpFiles(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace spile::session
