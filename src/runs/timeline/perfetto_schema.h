#pragma once
// Numbers of the fields that spile writes, of the messages that Perfetto publishes (github.com/google/perfetto,
// protos/perfetto/trace: trace.proto, trace_packet.proto, clock_snapshot.proto, track_event/*.proto,
// interned_data/interned_data.proto, profiling/*.proto). Numbers of fields never change there.

#include <protozero/types.hpp>

namespace spile::runs::perfetto {

enum class Trace : protozero::pbf_tag_type { kPacket = 1 };
enum class TracePacket : protozero::pbf_tag_type {
  kClockSnapshot = 6,
  kTimestamp = 8,
  kTrustedPacketSequenceId = 10,
  kTrackEvent = 11,
  kInternedData = 12,
  kSequenceFlags = 13,
  kTracePacketDefaults = 59,
  kTrackDescriptor = 60,
  kPerfSample = 66,
  kFirstPacketOnSequence = 87,
};
enum class TracePacketDefaults : protozero::pbf_tag_type { kTimestampClockId = 58 };
enum SequenceFlags : uint32_t { kIncrementalStateCleared = 1, kNeedsIncrementalState = 2 };

enum class ClockSnapshot : protozero::pbf_tag_type { kClocks = 1, kPrimaryTraceClock = 2 };
enum class ClockReading : protozero::pbf_tag_type { kClockId = 1, kTimestamp = 2 };
enum BuiltinClock : uint32_t { kRealtime = 1, kMonotonic = 3, kBoottime = 6 };

enum class TrackDescriptor : protozero::pbf_tag_type {
  kUuid = 1,
  kName = 2,
  kProcess = 3,
  kThread = 4,
  kParentUuid = 5,
  kCounter = 8
};
enum class ProcessDescriptor : protozero::pbf_tag_type { kPid = 1, kProcessName = 6 };
enum class ThreadDescriptor : protozero::pbf_tag_type { kPid = 1, kTid = 2, kThreadName = 5 };
enum class CounterDescriptor : protozero::pbf_tag_type { kUnit = 3 };
enum CounterUnit : int32_t { kTimeNs = 1, kSizeBytes = 3 };

enum class TrackEvent : protozero::pbf_tag_type {
  kDebugAnnotations = 4,
  kType = 9,
  kNameIid = 10,
  kTrackUuid = 11,
  kName = 23,
  kCounterValue = 30,
  kDoubleCounterValue = 44,
  kFlowIds = 47,
};
enum EventType : int32_t { kSliceBegin = 1, kSliceEnd = 2, kInstant = 3, kCounterType = 4 };
enum class DebugAnnotation : protozero::pbf_tag_type {
  kNameIid = 1,
  kIntValue = 4,
  kStringValue = 6,
  kName = 10,
  kStringValueIid = 17
};

enum class InternedData : protozero::pbf_tag_type {
  kEventNames = 2,
  kDebugAnnotationNames = 3,
  kFunctionNames = 5,
  kFrames = 6,
  kCallstacks = 7,
  kMappingPaths = 17,
  kMappings = 19,
  kDebugAnnotationStringValues = 29,
};
enum class Interned : protozero::pbf_tag_type { kIid = 1, kText = 2 };  // EventName, DebugAnnotationName, InternedString
enum class Mapping : protozero::pbf_tag_type { kIid = 1, kPathStringIds = 7 };
enum class Frame : protozero::pbf_tag_type { kIid = 1, kFunctionNameId = 2, kMappingId = 3, kRelPc = 4 };
enum class Callstack : protozero::pbf_tag_type { kIid = 1, kFrameIds = 2 };
enum class PerfSample : protozero::pbf_tag_type { kPid = 2, kTid = 3, kCallstackIid = 4, kCpuMode = 5 };
enum CpuMode : int32_t { kModeUser = 2 };

}  // namespace spile::runs::perfetto
