#include "runs/send/kafka_sender.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <cctype>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace spile::runs {

namespace {

constexpr int64_t kReportsNs = 50'000'000;
constexpr int kPurgeMs = 1'000;  // for the reports about records that were given up; they come at once

// The functions of librdkafka that are used here, by their types in its header.
struct Library {
#define SPILE_RD_KAFKA_FUNCTIONS(X)                                                                                          \
  X(conf_new)                                                                                                                \
  X(conf_destroy)                                                                                                            \
  X(conf_set) X(conf_set_opaque) X(conf_set_dr_msg_cb) X(conf_set_error_cb) X(conf_set_log_cb) X(topic_new) X(topic_destroy) \
      X(new) X(destroy) X(produce) X(poll) X(flush) X(purge) X(last_error) X(err2str)
#define SPILE_FUNCTION(name) decltype(&rd_kafka_##name) name##_ = nullptr;
  SPILE_RD_KAFKA_FUNCTIONS(SPILE_FUNCTION)
#undef SPILE_FUNCTION
  std::string failure;  // ""; why it can't be used
};

const Library& library() {
  static const Library loaded = [] {
    Library found;
    void* handle = ::dlopen("librdkafka.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      const char* why = ::dlerror();
      found.failure = why ? why : "librdkafka.so.1 can't be loaded";
      return found;
    }
    const auto load = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
      if (!function) found.failure = fmt::format("librdkafka.so.1 has no {}", name);
    };
#define SPILE_FUNCTION(name) load(found.name##_, "rd_kafka_" #name);
    SPILE_RD_KAFKA_FUNCTIONS(SPILE_FUNCTION)
#undef SPILE_FUNCTION
    return found;
  }();
  return loaded;
}

// The words of "a,b,c".
std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// A name of a topic (org.apache.kafka.common.internals.Topic).
bool is_topic(std::string_view name) {
  constexpr size_t kLongest = 249;
  const auto is_legal = [](unsigned char c) { return std::isalnum(c) || c == '.' || c == '_' || c == '-'; };
  return !name.empty() && name.size() <= kLongest && name != "." && name != ".." && std::ranges::all_of(name, is_legal);
}

}  // namespace

struct KafkaSender::Client {
  std::string where;  // BROKERS/TOPIC
  rd_kafka_t* handle = nullptr;
  rd_kafka_topic_t* topic = nullptr;
  uint64_t sent = 0, acknowledged = 0;
  int since_reports = 0;       // records since reports were taken
  int64_t reports_at = 0;      // when that was
  std::string broker_failure;  // the last one of a connection
  std::string record_failure;  // the last one of a record

  ~Client() {
    if (topic) library().topic_destroy_(topic);
    if (handle) library().destroy_(handle);
  }
};

Result<std::unique_ptr<KafkaSender>> KafkaSender::create(const std::string& where) {
  const size_t slash = where.find('/');
  const std::string brokers = where.substr(0, slash);
  const std::vector<std::string> rest = parts_of(slash == std::string::npos ? "" : std::string_view(where).substr(slash + 1));
  const auto is_odd = [](unsigned char c) { return c <= ' ' || c == 0x7f; };
  if (brokers.empty() || std::ranges::any_of(parts_of(brokers), &std::string::empty) || std::ranges::any_of(brokers, is_odd) ||
      !is_topic(rest.front())) {
    return Error{fmt::format("--kafka {}: not brokers and a topic", where),
                 "--kafka HOST:9092,HOST:9092/TOPIC; a topic has letters, digits, '.', '_' and '-'"};
  }
  const Library& kafka = library();
  if (!kafka.failure.empty()) return Error{fmt::format("--kafka needs librdkafka: {}", kafka.failure), "apt install librdkafka1"};
  std::vector<std::pair<std::string, std::string>> properties = {
      {"bootstrap.servers", brokers},
      {"client.id", "spile"},
      {"linger.ms", "100"},            // many events in a message
      {"enable.idempotence", "true"},  // a record that is sent again is stored once, and in order
      {"queue.buffering.max.messages", std::to_string(kMostEvents)},
      {"queue.buffering.max.kbytes", std::to_string(kMostKib)},
  };
  for (const std::string& setting : std::vector(rest.begin() + 1, rest.end())) {
    const size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0)
      return Error{fmt::format("--kafka {}: '{}' is not a property", where, setting),
                   "PROPERTY=VALUE, as in security.protocol=SSL"};
    properties.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
  }
  auto client = std::make_unique<Client>();
  client->where = fmt::format("{}/{}", brokers, rest.front());
  char why[512] = "";
  rd_kafka_conf_t* conf = kafka.conf_new_();
  for (const auto& [name, value] : properties) {
    if (kafka.conf_set_(conf, name.c_str(), value.c_str(), why, sizeof why) == RD_KAFKA_CONF_OK) continue;
    kafka.conf_destroy_(conf);
    return Error{fmt::format("--kafka {}: {}", where, why), "see the properties of producers in librdkafka's CONFIGURATION.md"};
  }
  kafka.conf_set_opaque_(conf, client.get());
  // Called from within poll() and flush(), so by the thread of this object.
  kafka.conf_set_dr_msg_cb_(conf, [](rd_kafka_t*, const rd_kafka_message_t* message, void* opaque) {
    auto* to = static_cast<Client*>(opaque);
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) ++to->acknowledged;
    else to->record_failure = library().err2str_(message->err);
  });
  kafka.conf_set_error_cb_(conf, [](rd_kafka_t*, int error, const char* reason, void* opaque) {
    if (error != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) static_cast<Client*>(opaque)->broker_failure = reason;
  });
  // By librdkafka's threads. What matters comes by the other two.
  kafka.conf_set_log_cb_(conf, [](const rd_kafka_t*, int, const char*, const char*) {});
  // Blocks all signals in the threads that it makes.
  client->handle = kafka.new_(RD_KAFKA_PRODUCER, conf, why, sizeof why);
  if (!client->handle) {
    kafka.conf_destroy_(conf);
    return Error{fmt::format("--kafka {}: {}", where, why), "see the properties of producers in librdkafka's CONFIGURATION.md"};
  }
  client->topic = kafka.topic_new_(client->handle, rest.front().c_str(), nullptr);
  if (!client->topic) return Error{fmt::format("--kafka {}: {}", where, kafka.err2str_(kafka.last_error_())), {}};
  return std::unique_ptr<KafkaSender>(new KafkaSender(std::move(client)));
}

KafkaSender::KafkaSender(std::unique_ptr<Client> client) : client_(std::move(client)) {}

KafkaSender::~KafkaSender() = default;

void KafkaSender::send(std::string_view key, std::string_view value) {
  const Library& kafka = library();
  ++client_->sent;
  const int failed = kafka.produce_(client_->topic, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY, const_cast<char*>(value.data()),
                                    value.size(), key.data(), key.size(), nullptr);
  if (failed) client_->record_failure = kafka.err2str_(kafka.last_error_());
  // A record counts as waiting until its report is taken. Looking for reports costs system calls even where there are none.
  constexpr int kOften = 1'000;
  if (!failed && ++client_->since_reports < kOften && monotonic_ns() - client_->reports_at < kReportsNs) return;
  client_->since_reports = 0;
  client_->reports_at = monotonic_ns();
  kafka.poll_(client_->handle, 0);
}

void KafkaSender::finish(int patience_ms) {
  const Library& kafka = library();
  if (kafka.flush_(client_->handle, patience_ms) == RD_KAFKA_RESP_ERR_NO_ERROR) return;
  const std::string before = client_->record_failure;
  kafka.purge_(client_->handle, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
  kafka.flush_(client_->handle, kPurgeMs);
  client_->record_failure = before.empty() ? "the run has ended" : before;
}

std::vector<std::string> KafkaSender::losses() const {
  const uint64_t lost = client_->sent - client_->acknowledged;
  if (lost == 0) return {};
  std::vector<std::string> warnings;
  warnings.push_back(fmt::format("events not delivered to Kafka at {}: {} of {} ({})", client_->where, lost, client_->sent,
                                 client_->broker_failure.empty() ? client_->record_failure : client_->broker_failure));
  return warnings;
}

}  // namespace spile::runs
