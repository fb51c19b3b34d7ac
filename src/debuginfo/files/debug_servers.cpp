#include "debuginfo/files/debug_servers.h"

#include <dlfcn.h>
#include <errno.h>
#include <fmt/format.h>
#include <glob.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <thread>

#include "base/files/file.h"
#include "base/messages.h"
#include "base/print.h"
#include "base/processes/threads.h"
#include "base/text/split.h"
#include "base/text/terminal_control.h"
#include "base/text/terminal_text.h"

namespace spile::debuginfo {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kSilence = std::chrono::milliseconds(300);
constexpr auto kBetweenLines = std::chrono::milliseconds(200);

// libdebuginfod's opaque type.
struct debuginfod_client;

// The functions of libdebuginfod: debuginfod_find_debuginfo(3). It needs libcurl and two dozen libraries more, so only a request
// loads it.
struct Library {
  debuginfod_client* (*begin)() = nullptr;
  void (*end)(debuginfod_client*) = nullptr;
  int (*find)(debuginfod_client*, const unsigned char* build_id, int length, char** path) = nullptr;
  void (*set_progress)(debuginfod_client*, int (*)(debuginfod_client*, long, long)) = nullptr;
  void (*set_data)(debuginfod_client*, void*) = nullptr;
  void* (*get_data)(debuginfod_client*) = nullptr;
  std::string failure;  // ""; why it can't be used
};

const Library& library() {
  static const Library loaded = [] {
    Library found;
    void* handle = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      const char* why = dlerror();
      found.failure = why ? why : "libdebuginfod.so.1 can't be loaded";
      return found;
    }
    auto load = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
      if (!function) found.failure = fmt::format("libdebuginfod.so.1 has no {}", name);
    };
    load(found.begin, "debuginfod_begin");
    load(found.end, "debuginfod_end");
    load(found.find, "debuginfod_find_debuginfo");
    load(found.set_progress, "debuginfod_set_progressfn");
    load(found.set_data, "debuginfod_set_user_data");
    load(found.get_data, "debuginfod_get_user_data");
    return found;
  }();
  return loaded;
}

// One request: when it must end, and what has come so far. The library's thread is ours; another one prints.
struct Request {
  enum class End : uint8_t { kNone, kTime, kSilence, kSize, kDiskFull };
  Clock::time_point begin = Clock::now(), last_data = begin;
  DownloadLimits limits;
  std::string build_id;
  int64_t size = 0;  // of the file so far
  std::atomic<long> bytes = 0, all = 0;
  std::string folder;  // where the library puts files, or one around it
  End end = End::kNone;
};

// debuginfod_find_debuginfo(3), "CACHE": the first of these folders that is named or exists.
std::string folder_of_files() {
  for (const char* name : {"DEBUGINFOD_CACHE_PATH", "XDG_CACHE_HOME", "HOME"}) {
    const char* value = getenv(name);
    std::string folder = value ? value : "";
    // It may not be there yet.
    while (!folder.empty() && access(folder.c_str(), F_OK) != 0) folder.erase(std::min(folder.rfind('/'), folder.size()));
    if (!folder.empty()) return folder;
  }
  return "/";
}

// A server that sends without end must not fill the disk.
bool is_nearly_full(const std::string& folder) {
  constexpr uint64_t kLeastRoom = uint64_t{512} << 20;
  struct statvfs disk;
  return statvfs(folder.c_str(), &disk) == 0 && uint64_t{disk.f_bavail} * disk.f_frsize < kLeastRoom;
}

// Returns the size of the file that the library is writing, in a folder that the build-id names. The number of bytes that it
// gives is that of the wire, where a compressed file may be a thousandth of what is written.
int64_t size_of_file(const std::string& build_id) {
  int64_t size = 0;
  const std::string infix = "/" + build_id + "/";
  std::error_code error;
  for (std::filesystem::directory_iterator at("/proc/self/fd", error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;
    const std::string file = std::filesystem::read_symlink(at->path(), gone).string();
    struct stat status;
    if (!gone && file.find(infix) != std::string::npos && stat(at->path().c_str(), &status) == 0)
      size = std::max<int64_t>(size, status.st_size);
  }
  return size;
}

Request::End end_of(const Request& request) {
  using std::chrono::seconds;
  constexpr int64_t kLarge = 64 << 20;  // small files are nobody's fault
  const Clock::time_point now = Clock::now();
  if (now - request.begin >= seconds(request.limits.seconds)) return Request::End::kTime;
  if (now - request.last_data >= seconds(request.limits.silent_seconds)) return Request::End::kSilence;
  if (request.size > request.limits.bytes) return Request::End::kSize;
  if (request.size > kLarge && is_nearly_full(request.folder)) return Request::End::kDiskFull;
  return Request::End::kNone;
}

// Called by libdebuginfod about once in a second. Anything but 0 ends the request.
int on_progress(debuginfod_client* client, long bytes, long all) {
  Request& request = *static_cast<Request*>(library().get_data(client));
  request.bytes = bytes;
  request.all = all;
  const int64_t size = size_of_file(request.build_id);
  if (size != request.size) request.last_data = Clock::now();
  request.size = size;
  request.end = end_of(request);
  return request.end != Request::End::kNone ? 1 : 0;
}

// Writes to the terminal past TerminalGuard, which would show the control characters of a line that is overwritten.
void write_to_terminal(const std::string& text) {
  if (write(STDERR_FILENO, text.data(), text.size()) < 0) return;
}

// Messages quote $DEBUGINFOD_URLS and paths.
std::string printable(const std::string& text) {
  std::string shown;
  TerminalText escaped;
  escaped.append(shown, text);
  escaped.finish(shown);
  return shown;
}

// Prints a line at the terminal from the moment on at which a request has taken a while, and removes it at the end.
class ProgressLine {
 public:
  ProgressLine(const Request& request, std::string what) : request_(request), what_(std::move(what)) {
    if (obeys_control_sequences(STDERR_FILENO)) (void)try_to_start(thread_, [this] { run(); });
  }
  ~ProgressLine() {
    {
      std::lock_guard lock(mutex_);
      ended_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
    if (printed_) write_to_terminal("\r\033[K");
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    if (wake_.wait_for(lock, kSilence, [this] { return ended_; })) return;
    while (!ended_) {
      const long bytes = request_.bytes, all = request_.all;
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - request_.begin).count();
      constexpr double kMega = 1 << 20;
      // Until the server has answered, libdebuginfod gives the number of its turns of waiting in place of bytes.
      constexpr long kMostTurns = 1 << 16;
      const bool waits = bytes <= 0 || (all <= 0 && bytes < kMostTurns);
      std::string how_far =
          waits     ? fmt::format("{} s", seconds)
          : all > 0 ? fmt::format("{:.1f} of {:.1f} MiB", static_cast<double>(bytes) / kMega, static_cast<double>(all) / kMega)
                    : fmt::format("{:.1f} MiB", static_cast<double>(bytes) / kMega);
      write_to_terminal(fmt::format("\r\033[K{} ({}; Ctrl-C ends spile)", what_, how_far));
      printed_ = true;
      wake_.wait_for(lock, kBetweenLines, [this] { return ended_; });
    }
  }

  const Request& request_;
  std::string what_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ended_ = false, printed_ = false;
  std::thread thread_;
};

// What a shell's profile does: the first word lists of all files there, in a row.
std::string configured_servers() {
  std::string all;
  glob_t found{};
  if (glob("/etc/debuginfod/*.urls", 0, nullptr, &found) == 0) {
    for (size_t i = 0; i < found.gl_pathc; ++i) {
      const Result<std::string> text = read_file(found.gl_pathv[i]);
      if (!text.ok()) continue;
      for (const std::string_view word : words_of(*text)) all.append(all.empty() ? "" : " ").append(word);
    }
  }
  globfree(&found);
  return all;
}

std::string environment(const char* name) {
  const char* value = getenv(name);
  return value ? value : "";
}

// What $DEBUGINFOD_TIMEOUT and its kin have; 0: nothing, or not a number above 0.
int64_t number_of(const char* name) {
  const std::string text = environment(name);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number > 0 ? number : 0;
}

// A run's files together, without an option or a variable that sets the limits of one file.
constexpr int64_t kSecondsOfRun = 300;
constexpr int64_t kBytesOfRun = int64_t{4} << 30;
constexpr int64_t kSilentSeconds = 90;  // libdebuginfod's own, which waits three times so long

bool user_agrees(const std::string& servers, const std::string& path) {
  if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) return false;
  print_to(stderr, "Ask {} for the debug information of {} and of other files without it? [y/N] ", servers, path);
  char answer[16] = {};
  const ssize_t length = read(STDIN_FILENO, answer, sizeof answer);
  return length > 0 && (answer[0] == 'y' || answer[0] == 'Y');
}

}  // namespace

bool DebugServers::find_servers(const std::string& path) {
  using When = DownloadOptions::When;
  if (!failure_.message.empty() || consent_ == Consent::kRefused || options_.when == When::kNever) return false;
  if (servers_.empty()) {
    servers_ = environment("DEBUGINFOD_URLS");
    const bool none = servers_.find_first_not_of(" \t\n") == std::string::npos;
    if (none && options_.when == When::kIfServers) {
      servers_.clear();
      return false;
    }
    if (none) servers_ = configured_servers();
    if (servers_.empty()) {
      failure_ = {"--download-debuginfo asks the servers that $DEBUGINFOD_URLS names, and it names none", ""};
      return false;
    }
    setenv("DEBUGINFOD_URLS", servers_.c_str(), 1);  // where libdebuginfod reads it
  }
  if (options_.when == When::kAsk && consent_ == Consent::kNotAsked)
    consent_ = user_agrees(servers_, path) ? Consent::kGiven : Consent::kRefused;
  return consent_ != Consent::kRefused;
}

Result<std::string> DebugServers::fetch(const std::string& build_id, const std::string& path) {
  if (build_id.empty() || !find_servers(path)) return failure_;
  const Library& functions = library();
  if (!functions.failure.empty()) {
    failure_ = {fmt::format("no debuginfod server could be asked: {}", functions.failure), "install libdebuginfod1"};
    return failure_;
  }
  std::unique_ptr<debuginfod_client, void (*)(debuginfod_client*)> client(functions.begin(), functions.end);
  if (!client) return Error{"no debuginfod server could be asked: libdebuginfod has no memory", ""};
  Request request;
  request.limits = limits();
  request.build_id = build_id;
  request.folder = folder_of_files();
  functions.set_data(client.get(), &request);
  functions.set_progress(client.get(), on_progress);
  char* file = nullptr;
  int result;
  {
    ProgressLine line(request, fmt::format("spile: asking {} for the debug information of {}", printable(servers_), path));
    // A length of 0 says that the build-id is text.
    result = functions.find(client.get(), reinterpret_cast<const unsigned char*>(build_id.c_str()), 0, &file);
  }
  const Clock::duration duration = Clock::now() - request.begin;
  spent_ += duration;
  received_ += request.size;
  std::unique_ptr<char, decltype(&free)> kept(file, free);
  if (result >= 0) {
    close(result);
    if (file) return std::string(file);
    result = -ENOENT;
  }
  const std::string who = printable(servers_);
  const int64_t seconds = std::chrono::duration_cast<std::chrono::seconds>(duration).count();
  constexpr const char* kSetTime = "--download-debuginfo=SECONDS sets the time that one file may take, =no asks nobody";
  switch (request.end) {
    case Request::End::kTime:
      failure_ = {fmt::format("{} did not send the debug information in time ({} s)", who, seconds), kSetTime};
      break;
    case Request::End::kSilence:
      failure_ = {fmt::format("{} did not send the debug information in time (nothing came for {} s)", who,
                              request.limits.silent_seconds),
                  "DEBUGINFOD_TIMEOUT=SECONDS sets how long nothing may come, --download-debuginfo=no asks nobody"};
      break;
    case Request::End::kSize:
      failure_ = {fmt::format("{} sent {} MB, more than the debug information of a run may take", who, request.size / 1'000'000),
                  "DEBUGINFOD_MAXSIZE=BYTES sets the size that one file may have, --download-debuginfo=no asks nobody"};
      break;
    case Request::End::kDiskFull:
      failure_ = {fmt::format("{} sent {} MB until the disk of {} was nearly full", who, request.size / 1'000'000,
                              printable(request.folder)),
                  "DEBUGINFOD_CACHE_PATH=FOLDER has files put on another disk"};
      break;
    case Request::End::kNone:
      // A file of a size that the user has limited; the next one may be smaller.
      if (result == -EFBIG) {
        const Error large(fmt::format("the debug information that {} has is larger than $DEBUGINFOD_MAXSIZE", who), "");
        warn(large.message);
        return large;
      }
      // The library does not say which of the two it is.
      if (result == -ENOENT)
        return Error{fmt::format("{} has no debug information of build-id {}, or failed to send it", who, build_id), ""};
      if (result != -ETIME) {
        failure_ = {fmt::format("{} can't be reached: {}", who, strerror(-result)),
                    "correct $DEBUGINFOD_URLS, or use --download-debuginfo=no"};
        return failure_;
      }
      failure_ = {fmt::format("{} did not send the debug information in time ({} s)", who, seconds), kSetTime};
      break;
  }
  // The script may not need what is missing, but somebody has waited for it.
  warn(failure_.message + "; it is not asked again", failure_.hint);
  return failure_;
}

DownloadLimits DebugServers::limits() const {
  DownloadLimits found;
  const int64_t seconds = options_.seconds > 0 ? options_.seconds : number_of("DEBUGINFOD_MAXTIME");
  const int64_t spent = std::chrono::duration_cast<std::chrono::seconds>(spent_).count();
  found.seconds = seconds > 0 ? seconds : std::max<int64_t>(kSecondsOfRun - spent, 1);
  const int64_t silent = number_of("DEBUGINFOD_TIMEOUT"), bytes = number_of("DEBUGINFOD_MAXSIZE");
  found.silent_seconds = silent > 0 ? silent : kSilentSeconds;
  found.bytes = bytes > 0 ? bytes : std::max<int64_t>(kBytesOfRun - received_, 0);
  return found;
}

bool DebugServers::enabled() {
  return options_.when != DownloadOptions::When::kNever &&
         (options_.when != DownloadOptions::When::kIfServers || !environment("DEBUGINFOD_URLS").empty());
}

}  // namespace spile::debuginfo
