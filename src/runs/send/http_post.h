#pragma once
// POST requests by libcurl, which is loaded when it is first needed (docs/decisions/054). Thread rule: any thread, an object in
// one at a time.

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"

namespace spile::runs {

// The parts of an http or https URL.
struct HttpUrl {
  std::string text;  // whole, with port and path
  std::string scheme, host, path;
};
// Errors: it is none, or names a user; libcurl is not there. http_port: where the URL has none; of https it is 443.
Result<HttpUrl> parse_http_url(const std::string& url, const char* http_port, std::string_view path);

struct HttpReply {
  // Why there is none; kNone: there is one, with a status.
  enum class Failure : uint8_t {
    kNone,
    kRefused,   // nobody listens
    kUntrusted,  // the server is not whom its certificate names, or can't do what we need: trying again is in vain
    kSilent,    // the connection was made, and time has run out
    kNotHttp,
    kOther,
  } failure = Failure::kNone;
  std::string why = {};  // of a failure, as a clause: "Connection refused"
  int status = 0;
  std::string body = {};      // its first 64 KiB
  int64_t retry_after_s = 0;  // as the reply says, at most a minute
};

class HttpPost {
 public:
  // headers: "Name: value". Environment: OTEL_EXPORTER_OTLP_HEADERS and OTEL_EXPORTER_OTLP_CERTIFICATE of the specification of
  // OTLP's exporters (https://opentelemetry.io/docs/specs/otel/protocol/exporter). Errors: libcurl is not there, or has no TLS
  // for an https URL; a variable has no meaning.
  static Result<std::unique_ptr<HttpPost>> create(const HttpUrl& url, const std::vector<std::string>& headers);
  ~HttpPost();
  HttpPost(const HttpPost&) = delete;
  HttpPost& operator=(const HttpPost&) = delete;

  // Sends a body and waits for the reply, up to limit_ms or until `stop`. Connections are used again.
  HttpReply send(const std::string& body, int64_t limit_ms, const std::stop_token& stop);

 private:
  struct State;
  explicit HttpPost(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace spile::runs
