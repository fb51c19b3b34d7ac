#pragma once
// --http: what procfs read probes give (prometheus and json_data too), over HTTP on the loopback interface, for those who
// scrape metrics, and where no FUSE may be mounted. GET /NAME runs the probe; GET / lists the names. HTTP/1.0, one request
// a connection (RFC 1945).
//
// One thread: everything happens in serve(), and nothing in it waits. Bounded: 64 connections of a user and 512 in all, where
// newcomers take the place of those that have been silent longest; 4 KiB and 5 s of request, 64 MiB of replies that are not
// read, 5 s without reading.
// Any user of the machine can connect, so files that .umask() takes away from others are not served; requests that name
// another host (a web page's, by a rebound DNS name) are refused.

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "sema/program.h"

namespace spile::session {

class HttpFiles {
 public:
  using Read = std::function<std::string(int probe)>;  // runs it; what $value was set to
  // where: [ADDRESS:]PORT; the address within 127.0.0.0/8, port 0: any that is free.
  // Errors: no such place, the port is in use, no probe has anything to serve.
  static Result<std::unique_ptr<HttpFiles>> listen(const std::string& where, const sema::Program& program, Read read);
  ~HttpFiles();

  std::string url() const;
  int fd() const;  // readable when there is something to serve
  void serve();    // then, and now and then: what is late is dropped

 private:
  struct State;
  explicit HttpFiles(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace spile::session
