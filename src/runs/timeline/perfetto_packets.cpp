#include "runs/timeline/perfetto_packets.h"

#include <time.h>

#include <algorithm>
#include <limits>

#include "runs/text/utf8_text.h"

namespace spile::runs {

namespace perfetto {

namespace {

constexpr uint32_t kSequence = 1;

void add_clock(Builder<ClockSnapshot>& snapshot, BuiltinClock clock, int64_t time_ns) {
  Builder<ClockReading> reading(snapshot, ClockSnapshot::kClocks);
  reading.add_uint32(ClockReading::kClockId, clock);
  reading.add_uint64(ClockReading::kTimestamp, static_cast<uint64_t>(std::max<int64_t>(time_ns, 0)));
}

}  // namespace

Packets::Packets(BuiltinClock clock, const ClockReadings& clocks) {
  Builder<Trace> trace(bytes_);
  Builder<TracePacket> packet(trace, Trace::kPacket);
  packet.add_uint32(TracePacket::kTrustedPacketSequenceId, kSequence);
  packet.add_uint32(TracePacket::kSequenceFlags, kIncrementalStateCleared);
  packet.add_bool(TracePacket::kFirstPacketOnSequence, true);
  {
    Builder<TracePacketDefaults> defaults(packet, TracePacket::kTracePacketDefaults);
    defaults.add_uint32(TracePacketDefaults::kTimestampClockId, clock);
  }
  Builder<ClockSnapshot> snapshot(packet, TracePacket::kClockSnapshot);
  if (clocks.realtime_ns != 0) {
    add_clock(snapshot, kRealtime, clocks.realtime_ns);
    add_clock(snapshot, kMonotonic, clocks.monotonic_ns);
    add_clock(snapshot, kBoottime, clocks.boottime_ns);
  }
  snapshot.add_uint32(ClockSnapshot::kPrimaryTraceClock, clock);
}

void Packets::add_sequence(Builder<TracePacket>& packet) {
  packet.add_uint32(TracePacket::kTrustedPacketSequenceId, kSequence);
  packet.add_uint32(TracePacket::kSequenceFlags, kNeedsIncrementalState);
}

uint64_t Packets::add_process(int64_t id, std::string_view name) {
  return add_track(0, [&](Builder<TrackDescriptor>& track) {
    Builder<ProcessDescriptor> process(track, TrackDescriptor::kProcess);
    process.add_int32(ProcessDescriptor::kPid, number_of(id));
    if (!name.empty()) process.add_string(ProcessDescriptor::kProcessName, valid_utf8(name));
  });
}

uint64_t Packets::add_thread(uint64_t parent, int64_t process, int64_t id, std::string_view name) {
  return add_track(parent, [&](Builder<TrackDescriptor>& track) {
    if (id < 0) {
      track.add_string(TrackDescriptor::kName, valid_utf8(name));
      return;
    }
    Builder<ThreadDescriptor> thread(track, TrackDescriptor::kThread);
    thread.add_int32(ThreadDescriptor::kPid, number_of(process));
    thread.add_int32(ThreadDescriptor::kTid, number_of(id));
    if (!name.empty()) thread.add_string(ThreadDescriptor::kThreadName, valid_utf8(name));
  });
}

int32_t number_of(int64_t id) { return static_cast<int32_t>(std::clamp<int64_t>(id, 0, std::numeric_limits<int32_t>::max())); }

void add_interned(Builder<InternedData>& data, InternedData field, uint64_t iid, std::string_view text) {
  Builder<Interned> entry(data, field);
  entry.add_uint64(Interned::kIid, iid);
  entry.add_string(Interned::kText, valid_utf8(text));
}

}  // namespace perfetto

ClockReadings read_clocks() {
  const auto read = [](clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return time.tv_sec * 1'000'000'000 + time.tv_nsec;
  };
  return {read(CLOCK_REALTIME), read(CLOCK_MONOTONIC), read(CLOCK_BOOTTIME)};
}

}  // namespace spile::runs
