#pragma once
// What a script prints, as JSON objects (runs/text/event_lines.h): lines of a file (--json of a script), or events that are sent
// to Kafka (--kafka). Thread rule: one thread.

#include <string>

#include "codegen/codegen.h"
#include "runs/send/kafka_sender.h"
#include "runs/text/event_lines.h"
#include "runs/text/output_file.h"
#include "sema/terms/program.h"
#include "session/arena/arena_view.h"
#include "session/output/address_names.h"
#include "session/output/record_sink.h"

namespace spile::session {

// Makes an object of each record.
class RecordEvents {
 public:
  // program is not kept; the others must outlive this. arena: whose clock dates records.
  RecordEvents(const sema::Program& program, const codegen::CompiledScript& script, const AddressNames& names,
               const ArenaView& arena);
  // Appends the object. host: where it was; "": the object does not have it.
  void append(std::string& out, const Record& record, std::string_view host);

 private:
  const codegen::CompiledScript& script_;
  const AddressNames& names_;
  const ArenaView& arena_;
  runs::EventLines lines_;
  std::string text_;  // reused
};

class EventSink final : public RecordSink {
 public:
  // file must outlive this.
  EventSink(RecordEvents events, runs::OutputFile& file) : events_(std::move(events)), file_(file) {}
  void take(const Record& record) override;

 private:
  RecordEvents events_;
  runs::OutputFile& file_;
  std::string line_;  // reused
};

// Sends each event with the host and the process as a key: those of one process keep their order.
class KafkaSink final : public RecordSink {
 public:
  // sender must outlive this. host: this machine's name.
  KafkaSink(RecordEvents events, runs::KafkaSender& sender, std::string host)
      : events_(std::move(events)), sender_(sender), host_(std::move(host)) {}
  void take(const Record& record) override;

 private:
  RecordEvents events_;
  runs::KafkaSender& sender_;
  const std::string host_;
  std::string event_;  // reused
};

}  // namespace spile::session
