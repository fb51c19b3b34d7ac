#pragma once
// Asks debuginfod servers (https://sourceware.org/elfutils/Debuginfod.html) for files by their build-id, with libdebuginfod,
// which is loaded when the first file is asked for. $DEBUGINFOD_URLS names the servers; the files are kept in that library's
// cache. While a request takes longer than 300 ms and standard error is a terminal, a line there says what is asked for and how
// much has come.
//
// A server is somebody else's machine: it may send slowly, nothing, or without end. So a request has limits of time and of size
// (DownloadLimits), and what exceeds one is a warning. A server that can't be reached, or has exceeded a limit, is not asked
// again in this run. Thread rule: one thread.

#include <chrono>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace spile::debuginfo {

struct DownloadOptions {
  enum class When : uint8_t {
    kIfServers,  // if $DEBUGINFOD_URLS names any
    kNever,
    kAlways,  // $DEBUGINFOD_URLS, else the servers that are configured in /etc/debuginfod/*.urls
    kAsk,     // as kAlways, after a question at the terminal; never without one
  };
  When when = When::kIfServers;
  int64_t seconds = 0;  // that one file may take; 0: $DEBUGINFOD_MAXTIME, else 300 s for all files of the run together
};

// Of one request.
struct DownloadLimits {
  int64_t seconds = 0;
  int64_t silent_seconds = 0;  // in which nothing comes
  int64_t bytes = 0;           // of the file, uncompressed
};

class DebugServers {
 public:
  explicit DebugServers(const DownloadOptions& options) : options_(options) {}

  // Returns the path of the file with the debug information of a build, which the caller must check: servers may send anything.
  // build_id: hexadecimal. path: of the file that has it, for messages. Errors, whose messages are for a sentence in brackets: ""
  // if nobody was to be asked, else which servers don't have it, can't be reached, or took too long.
  Result<std::string> fetch(const std::string& build_id, const std::string& path);
  // Whether servers are asked, or were and failed.
  bool enabled();

 private:
  enum class Consent : uint8_t { kNotAsked, kGiven, kRefused };
  bool find_servers(const std::string& path);
  DownloadLimits limits() const;

  DownloadOptions options_;
  Consent consent_ = Consent::kNotAsked;
  std::string servers_;                          // what $DEBUGINFOD_URLS has; "": not looked for, or none
  std::chrono::steady_clock::duration spent_{};  // by all requests
  int64_t received_ = 0;                         // bytes, by all requests
  Error failure_;                                // that ends all asking; the message is "" while there is none
};

}  // namespace spile::debuginfo
