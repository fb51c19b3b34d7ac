#include "runs/send/http_post.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/text/terminal_text.h"

namespace spile::runs {

namespace {

constexpr size_t kMostReply = 64 << 10;  // bytes of a reply that are kept
constexpr long kMostPauseS = 60;

// The functions of libcurl that are used here, by their types in its header.
struct Library {
#define SPILE_CURL_FUNCTIONS(X)                                                                                         \
  X(global_init)                                                                                                        \
  X(easy_init) X(easy_setopt) X(easy_perform) X(easy_getinfo) X(easy_cleanup) X(easy_strerror) X(easy_unescape) X(free) \
      X(slist_append) X(slist_free_all) X(url) X(url_cleanup) X(url_set) X(url_get) X(version_info)
#define SPILE_FUNCTION(name) decltype(&curl_##name) name##_ = nullptr;
  SPILE_CURL_FUNCTIONS(SPILE_FUNCTION)
#undef SPILE_FUNCTION
  std::string failure;  // ""; why it can't be used
};

const Library& library() {
  static const Library loaded = [] {
    Library found;
    void* handle = nullptr;
    for (const char* name : {"libcurl.so.4", "libcurl-gnutls.so.4"}) {
      if (!handle) handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (!handle && found.failure.empty()) found.failure = ::dlerror();
    }
    if (!handle) return found;
    found.failure.clear();
    const auto load = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
      if (!function) found.failure = fmt::format("libcurl has no {}", name);
    };
#define SPILE_FUNCTION(name) load(found.name##_, "curl_" #name);
    SPILE_CURL_FUNCTIONS(SPILE_FUNCTION)
#undef SPILE_FUNCTION
    if (found.failure.empty() && found.global_init_(CURL_GLOBAL_DEFAULT) != CURLE_OK) found.failure = "libcurl can't be set up";
    return found;
  }();
  return loaded;
}

Error not_there() { return Error{fmt::format("--otlp needs libcurl: {}", library().failure), "apt install libcurl4"}; }

// A part of a URL, or "".
std::string part_of(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (library().url_get_(url, part, &text, flags) != CURLUE_OK) return {};
  std::string copy = text;
  library().free_(text);
  return copy;
}

// "key=value,key=value", with %XX in values, as headers.
Result<std::vector<std::string>> headers_of(const char* variable) {
  std::vector<std::string> headers;
  const char* given = ::getenv(variable);
  std::string_view rest = given ? given : "";
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(','), rest.size());
    const std::string pair(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const size_t equals = pair.find('=');
    const size_t begin = pair.find_first_not_of(' ');
    const auto is_odd = [](unsigned char c) { return c < ' ' || c == 0x7f; };
    int size = 0;
    char* value = equals == std::string::npos ? nullptr
                                              : library().easy_unescape_(nullptr, pair.c_str() + equals + 1,
                                                                         static_cast<int>(pair.size() - equals - 1), &size);
    std::string header =
        value ? fmt::format("{}: {}", pair.substr(begin, equals - begin), std::string_view(value, static_cast<size_t>(size)))
              : "";
    library().free_(value);
    if (header.empty() || equals <= begin || std::ranges::any_of(header, is_odd))
      return Error{fmt::format("{}: '{}' is not KEY=VALUE", variable, one_line(pair, 40)), "as in Authorization=Bearer%20SECRET"};
    headers.push_back(std::move(header));
  }
  return headers;
}

}  // namespace

Result<HttpUrl> parse_http_url(const std::string& url, const char* http_port, std::string_view path) {
  const Library& curl = library();
  if (!curl.failure.empty()) return not_there();
  const std::unique_ptr<CURLU, void (*)(CURLU*)> parts(curl.url_(), [](CURLU* all) { library().url_cleanup_(all); });
  const Error malformed{fmt::format("--otlp {}: not a URL of a collector", url),
                        "as in --otlp http://127.0.0.1:4318 and --otlp https://otlp.example.com"};
  const auto is_odd = [](unsigned char c) { return c <= ' ' || c == 0x7f; };
  if (std::ranges::any_of(url, is_odd) || curl.url_set_(parts.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK)
    return malformed;
  HttpUrl parsed;
  parsed.scheme = part_of(parts.get(), CURLUPART_SCHEME);
  parsed.host = part_of(parts.get(), CURLUPART_HOST);
  const std::string port = part_of(parts.get(), CURLUPART_PORT);
  const bool is_plain = parsed.scheme == "http";
  if ((!is_plain && parsed.scheme != "https") || parsed.host.empty() || port == "0" ||
      !part_of(parts.get(), CURLUPART_USER).empty())
    return malformed;
  if (port.empty()) curl.url_set_(parts.get(), CURLUPART_PORT, is_plain ? http_port : "443", 0);
  if (part_of(parts.get(), CURLUPART_PATH) == "/") curl.url_set_(parts.get(), CURLUPART_PATH, std::string(path).c_str(), 0);
  parsed.path = part_of(parts.get(), CURLUPART_PATH);
  parsed.text = part_of(parts.get(), CURLUPART_URL);
  return parsed;
}

struct HttpPost::State {
  CURL* handle = nullptr;
  curl_slist* headers = nullptr;
  const std::stop_token* stop = nullptr;
  std::string retry_after, body;
  char failure[CURL_ERROR_SIZE] = "";

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (handle) library().easy_cleanup_(handle);
    if (headers) library().slist_free_all_(headers);
  }
  template <typename Value>
  void set(CURLoption option, Value value) {
    library().easy_setopt_(handle, option, value);
  }
  template <typename Value>
  Value get(CURLINFO info) {
    Value value{};
    library().easy_getinfo_(handle, info, &value);
    return value;
  }

  static size_t take_body(char* bytes, size_t, size_t size, void* self) {
    std::string& body = static_cast<State*>(self)->body;
    body.append(bytes, std::min(size, kMostReply - body.size()));
    return size;
  }
  static size_t take_header(char* bytes, size_t, size_t size, void* self) {
    constexpr std::string_view kName = "retry-after:";
    if (size > kName.size() && ::strncasecmp(bytes, kName.data(), kName.size()) == 0)
      static_cast<State*>(self)->retry_after.assign(bytes + kName.size(), size - kName.size());
    return size;
  }
  static int is_stopped(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    return static_cast<State*>(self)->stop->stop_requested() ? 1 : 0;
  }
};

HttpPost::HttpPost(std::unique_ptr<State> state) : state_(std::move(state)) {}
HttpPost::~HttpPost() = default;

Result<std::unique_ptr<HttpPost>> HttpPost::create(const HttpUrl& url, const std::vector<std::string>& headers) {
  const Library& curl = library();
  if (!curl.failure.empty()) return not_there();
  if (url.scheme == "https" && !(curl.version_info_(CURLVERSION_NOW)->features & CURL_VERSION_SSL))
    return Error{"--otlp: this libcurl has no TLS", "apt install libcurl4"};
  TRY(std::vector<std::string> all, headers_of("OTEL_EXPORTER_OTLP_HEADERS"));
  all.insert(all.begin(), headers.begin(), headers.end());
  all.emplace_back("Expect:");  // without it, curl asks before it sends much
  auto state = std::make_unique<State>();
  state->handle = curl.easy_init_();
  if (!state->handle) return Error{"--otlp: libcurl can't be set up", {}};
  for (const std::string& header : all) state->headers = curl.slist_append_(state->headers, header.c_str());
  state->set(CURLOPT_URL, url.text.c_str());
  state->set(CURLOPT_HTTPHEADER, state->headers);
  state->set(CURLOPT_USERAGENT, "spile");
  state->set(CURLOPT_PROTOCOLS_STR, "http,https");
  state->set(CURLOPT_NOSIGNAL, 1L);
  state->set(CURLOPT_POST, 1L);
  state->set(CURLOPT_ERRORBUFFER, state->failure);
  state->set(CURLOPT_WRITEFUNCTION, &State::take_body);
  state->set(CURLOPT_WRITEDATA, state.get());
  state->set(CURLOPT_HEADERFUNCTION, &State::take_header);
  state->set(CURLOPT_HEADERDATA, state.get());
  state->set(CURLOPT_XFERINFOFUNCTION, &State::is_stopped);
  state->set(CURLOPT_XFERINFODATA, state.get());
  state->set(CURLOPT_NOPROGRESS, 0L);
  if (const char* authorities = ::getenv("OTEL_EXPORTER_OTLP_CERTIFICATE"); authorities && *authorities)
    state->set(CURLOPT_CAINFO, authorities);
  return std::unique_ptr<HttpPost>(new HttpPost(std::move(state)));
}

HttpReply HttpPost::send(const std::string& body, int64_t limit_ms, const std::stop_token& stop) {
  using Failure = HttpReply::Failure;
  State& state = *state_;
  state.stop = &stop;
  state.body.clear();
  state.retry_after.clear();
  state.failure[0] = '\0';
  state.set(CURLOPT_POSTFIELDS, body.data());
  state.set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  state.set(CURLOPT_TIMEOUT_MS, static_cast<long>(limit_ms));
  const CURLcode code = library().easy_perform_(state.handle);
  const long status = state.get<long>(CURLINFO_RESPONSE_CODE);
  HttpReply reply;
  reply.status = static_cast<int>(status);
  reply.body = std::move(state.body);
  reply.retry_after_s = std::clamp(std::strtol(state.retry_after.c_str(), nullptr, 10), 0L, kMostPauseS);
  // What is missing of a body says only what was left out.
  const bool was_cut = code == CURLE_PARTIAL_FILE || code == CURLE_RECV_ERROR || code == CURLE_OPERATION_TIMEDOUT;
  if (code == CURLE_OK || (status >= 100 && was_cut)) {
    if (code != CURLE_OK) reply.body.clear();
    return reply;
  }
  const long error = state.get<long>(CURLINFO_OS_ERRNO);
  const bool was_connected = state.get<curl_off_t>(CURLINFO_CONNECT_TIME_T) > 0;
  switch (code) {
    case CURLE_COULDNT_CONNECT:
      reply.failure = error == ECONNREFUSED ? Failure::kRefused : Failure::kOther;
      reply.why = error != 0 ? std::strerror(static_cast<int>(error)) : "no connection could be made";
      break;
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_ABORTED_BY_CALLBACK:
      reply.failure = was_connected ? Failure::kSilent : Failure::kOther;
      reply.why = was_connected ? "it does not answer" : std::strerror(ETIMEDOUT);
      break;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
      reply.failure = Failure::kNotHttp;
      reply.why = "its answer is not HTTP";
      break;
    case CURLE_GOT_NOTHING:
      reply.failure = Failure::kOther;
      reply.why = "it ended the connection without a whole answer";
      break;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CACERT_BADFILE: reply.failure = Failure::kUntrusted; [[fallthrough]];
    default:
      if (reply.failure == Failure::kNone) reply.failure = Failure::kOther;
      reply.why = one_line(state.failure[0] ? state.failure : library().easy_strerror_(code), 200);
  }
  return reply;
}

}  // namespace spile::runs
