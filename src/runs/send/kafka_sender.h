#pragma once
// Sends events to Apache Kafka by librdkafka
// (https://docs.confluent.io/platform/current/clients/librdkafka/html/rdkafka_8h.html), which is loaded when it is asked for: it
// needs OpenSSL, SASL, curl and others, which no other run of spile has to load or to have. Its threads send; nobody waits for a
// slow or absent broker. What it has not taken is kept up to kMostEvents and kMostKib, tried again for five minutes, and counted
// where it is given up. Thread rule: one thread.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spile::runs {

class KafkaSender {
 public:
  // where: "HOST[:PORT][,HOST[:PORT]...]/TOPIC[,PROPERTY=VALUE...]"; properties are librdkafka's. Errors: it is malformed;
  // librdkafka is not installed, or rejects a property.
  static Result<std::unique_ptr<KafkaSender>> create(const std::string& where);
  ~KafkaSender();
  KafkaSender(const KafkaSender&) = delete;
  KafkaSender& operator=(const KafkaSender&) = delete;

  // Has a record sent. Records of one key keep their order. A record for which there is no room is given up.
  void send(std::string_view key, std::string_view value);
  // Waits up to `patience_ms` until all is acknowledged, and gives the rest up.
  void finish(int patience_ms);
  // Returns a warning about records that were not acknowledged, if any. REQUIRES: after finish().
  std::vector<std::string> losses() const;

  static constexpr int kMostEvents = 200'000, kMostKib = 64 << 10;

 private:
  struct Client;
  explicit KafkaSender(std::unique_ptr<Client> client);
  std::unique_ptr<Client> client_;
};

}  // namespace spile::runs
