// Brokers of librdkafka's mock cluster on loopback, and a consumer: prints "ready BROKERS", then a line "PARTITION KEY VALUE" for each record of the topic "events". Argument: how many ms an answer takes.
// Ends with its standard input.
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

enum { kBrokers = 2, kPartitions = 4 };

static void set(rd_kafka_conf_t* conf, const char* name, const char* value) {
  char why[512];
  if (rd_kafka_conf_set(conf, name, value, why, sizeof why) != RD_KAFKA_CONF_OK) fprintf(stderr, "%s\n", why), exit(1);
}

int main(int argc, char** argv) {
  char why[512];
  rd_kafka_t* owner = rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), why, sizeof why);
  rd_kafka_mock_cluster_t* cluster = rd_kafka_mock_cluster_new(owner, kBrokers);
  if (!cluster || rd_kafka_mock_topic_create(cluster, "events", kPartitions, 1)) return fprintf(stderr, "no mock cluster\n"), 1;
  for (int broker = 1; argc > 1 && broker <= kBrokers; ++broker) rd_kafka_mock_broker_set_rtt(cluster, broker, atoi(argv[1]));

  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  set(conf, "bootstrap.servers", rd_kafka_mock_cluster_bootstraps(cluster));
  set(conf, "group.id", "test");
  rd_kafka_t* consumer = rd_kafka_new(RD_KAFKA_CONSUMER, conf, why, sizeof why);
  if (!consumer) return fprintf(stderr, "%s\n", why), 1;
  rd_kafka_topic_partition_list_t* all = rd_kafka_topic_partition_list_new(kPartitions);
  for (int i = 0; i < kPartitions; ++i) rd_kafka_topic_partition_list_add(all, "events", i)->offset = RD_KAFKA_OFFSET_BEGINNING;
  rd_kafka_assign(consumer, all);
  printf("ready %s\n", rd_kafka_mock_cluster_bootstraps(cluster));
  fflush(stdout);

  struct pollfd input = {0, POLLIN, 0};
  while (poll(&input, 1, 0) == 0) {
    rd_kafka_message_t* record = rd_kafka_consumer_poll(consumer, 50);
    if (!record) continue;
    if (!record->err) printf("%d %.*s %.*s\n", record->partition, (int)record->key_len, (char*)record->key, (int)record->len, (char*)record->payload), fflush(stdout);
    rd_kafka_message_destroy(record);
  }
  _Exit(0);
}
