#pragma once
// What all files for Perfetto have in common: their beginning, and what each packet has beside its data. protozero stays in these
// files.

#include <protozero/pbf_builder.hpp>
#include <string>

#include "runs/timeline/perfetto_file.h"
#include "runs/timeline/perfetto_schema.h"

namespace spile::runs::perfetto {

template <typename Message>
using Builder = protozero::pbf_builder<Message>;

class Packets {
 public:
  // Writes the first packet, with the clocks. clock: that of all times.
  Packets(BuiltinClock clock, const ClockReadings& clocks);

  // Adds a packet; fill(Builder<TracePacket>&) writes its data. time_ns: below 0 becomes 0.
  template <typename Fill>
  void add(int64_t time_ns, Fill&& fill) {
    Builder<Trace> trace(bytes_);
    Builder<TracePacket> packet(trace, Trace::kPacket);
    packet.add_uint64(TracePacket::kTimestamp, time_ns < 0 ? 0 : static_cast<uint64_t>(time_ns));
    add_sequence(packet);
    fill(packet);
  }
  // Adds the descriptor of a track; fill(Builder<TrackDescriptor>&) writes what is known of it. Returns its uuid. parent: the
  // uuid of another one, or 0.
  template <typename Fill>
  uint64_t add_track(uint64_t parent, Fill&& fill) {
    const uint64_t uuid = ++last_uuid_;
    Builder<Trace> trace(bytes_);
    Builder<TracePacket> packet(trace, Trace::kPacket);
    add_sequence(packet);
    Builder<TrackDescriptor> track(packet, TracePacket::kTrackDescriptor);
    track.add_uint64(TrackDescriptor::kUuid, uuid);
    if (parent != 0) track.add_uint64(TrackDescriptor::kParentUuid, parent);
    fill(track);
    return uuid;
  }
  uint64_t add_process(int64_t id, std::string_view name);
  // parent: the uuid of the process.
  uint64_t add_thread(uint64_t parent, int64_t process, int64_t id, std::string_view name);

  std::string take() { return std::move(bytes_); }

 private:
  static void add_sequence(Builder<TracePacket>& packet);

  std::string bytes_;
  uint64_t last_uuid_ = 0;
};

// Process and thread numbers of the schema have 32 bits.
int32_t number_of(int64_t id);
// Writes an entry of interned data.
void add_interned(Builder<InternedData>& data, InternedData field, uint64_t iid, std::string_view text);

}  // namespace spile::runs::perfetto
