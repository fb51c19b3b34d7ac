// Timelines as Perfetto's track events: https://perfetto.dev/docs/reference/synthetic-track-event

#include <charconv>
#include <cmath>

#include "runs/text/utf8_text.h"
#include "runs/timeline/perfetto_packets.h"

namespace spile::runs {

namespace {

using namespace perfetto;  // NOLINT(google-build-using-namespace)

class TimelineWriter {
 public:
  TimelineWriter(const Timeline& timeline, const ClockReadings& clocks)
      : timeline_(timeline), packets_(timeline.clock() == Timeline::Clock::kMonotonic ? kMonotonic : kRealtime, clocks) {}

  std::string write(const SampleFacts& facts) {
    add_tracks();
    const uint64_t crossed = nested_events(timeline_, [&](uint32_t thread, std::span<const NestedEvent> events) {
      for (const NestedEvent& event : events) add_event(thread, event);
    });
    for (const Timeline::Value& value : timeline_.values()) add_value(value);
    add_facts(facts, crossed);
    return packets_.take();
  }

 private:
  void add_tracks() {
    for (const Timeline::Process& process : timeline_.processes())
      processes_.push_back(packets_.add_process(process.id, process.name));
    for (const Timeline::Thread& thread : timeline_.threads())
      threads_.push_back(
          packets_.add_thread(processes_[thread.process], timeline_.processes()[thread.process].id, thread.id, thread.name));
    for (const Timeline::Counter& counter : timeline_.counters()) {
      counters_.push_back(packets_.add_track(
          counter.process == Timeline::kNoProcess ? 0 : processes_[counter.process], [&](Builder<TrackDescriptor>& track) {
            const int32_t unit = counter.unit == "ns" ? kTimeNs : counter.unit == "bytes" ? kSizeBytes : 0;
            track.add_string(
                TrackDescriptor::kName,
                valid_utf8(unit != 0 || counter.unit.empty() ? counter.name : counter.name + " (" + counter.unit + ")"));
            Builder<CounterDescriptor> descriptor(track, TrackDescriptor::kCounter);
            descriptor.add_enum(CounterDescriptor::kUnit, unit);  // 0 as well: protozero leaves out a message without fields
          }));
    }
  }

  // Texts that a packet is the first to use, and their fields of InternedData.
  struct News {
    std::vector<std::pair<InternedData, uint32_t>> texts;
  };
  // Returns the iid of a text in one of the tables.
  uint64_t iid_of(InternedData field, std::vector<bool>& known, uint32_t text, News& news) {
    if (known.size() <= text) known.resize(text + 1);
    if (!known[text]) news.texts.emplace_back(field, text);
    known[text] = true;
    return uint64_t{text} + 1;
  }

  struct Annotation {
    uint64_t name_iid;
    uint32_t value;
    bool is_number;
    int64_t number;
  };
  Annotation annotation_of(const Timeline::Argument& argument, News& news) {
    Annotation annotation{iid_of(InternedData::kDebugAnnotationNames, argument_names_, argument.name, news), argument.value,
                          false, 0};
    const std::string& text = timeline_.text_at(argument.value);
    const auto read = std::from_chars(text.data(), text.data() + text.size(), annotation.number);
    annotation.is_number = read.ec == std::errc() && read.ptr == text.data() + text.size();
    if (!annotation.is_number) iid_of(InternedData::kDebugAnnotationStringValues, argument_values_, argument.value, news);
    return annotation;
  }

  void add_event(uint32_t thread, const NestedEvent& event) {
    const bool is_instant = event.kind == NestedEvent::Kind::kInstant;
    const Timeline::Slice* slice = is_instant ? nullptr : &timeline_.slices()[event.index];
    News news;
    uint64_t name_iid = 0;
    std::vector<Annotation> annotations;
    uint64_t flow = 0;
    if (event.kind != NestedEvent::Kind::kEnd) {
      name_iid =
          iid_of(InternedData::kEventNames, names_, is_instant ? timeline_.instants()[event.index].name : slice->name, news);
      const auto arguments =
          is_instant ? timeline_.arguments_of(timeline_.instants()[event.index]) : timeline_.arguments_of(*slice);
      for (const Timeline::Argument& argument : arguments) annotations.push_back(annotation_of(argument, news));
      flow = is_instant ? timeline_.instants()[event.index].flow : slice->flow;
    }
    packets_.add(event.time_ns, [&](Builder<TracePacket>& packet) {
      if (!news.texts.empty()) {
        Builder<InternedData> data(packet, TracePacket::kInternedData);
        for (const auto& [field, text] : news.texts) add_interned(data, field, uint64_t{text} + 1, timeline_.text_at(text));
      }
      Builder<TrackEvent> track_event(packet, TracePacket::kTrackEvent);
      track_event.add_uint64(TrackEvent::kTrackUuid, threads_[thread]);
      track_event.add_enum(TrackEvent::kType, is_instant                                ? kInstant
                                              : event.kind == NestedEvent::Kind::kBegin ? kSliceBegin
                                                                                        : kSliceEnd);
      if (name_iid != 0) track_event.add_uint64(TrackEvent::kNameIid, name_iid);
      if (flow != 0) track_event.add_fixed64(TrackEvent::kFlowIds, flow);
      for (const Annotation& each : annotations) {
        Builder<DebugAnnotation> annotation(track_event, TrackEvent::kDebugAnnotations);
        annotation.add_uint64(DebugAnnotation::kNameIid, each.name_iid);
        if (each.is_number) annotation.add_int64(DebugAnnotation::kIntValue, each.number);
        else annotation.add_uint64(DebugAnnotation::kStringValueIid, uint64_t{each.value} + 1);
      }
      if (event.kind == NestedEvent::Kind::kBegin && slice->cut != Timeline::kWhole) {
        static constexpr const char* kCuts[] = {"", "begin", "end", "begin, end"};
        add_text(track_event, "cut", kCuts[slice->cut & 3]);
      }
    });
  }

  void add_text(Builder<TrackEvent>& track_event, const char* name, std::string_view value) {
    Builder<DebugAnnotation> annotation(track_event, TrackEvent::kDebugAnnotations);
    annotation.add_string(DebugAnnotation::kName, name);
    annotation.add_string(DebugAnnotation::kStringValue, valid_utf8(value));
  }

  void add_value(const Timeline::Value& value) {
    packets_.add(value.time_ns, [&](Builder<TracePacket>& packet) {
      Builder<TrackEvent> track_event(packet, TracePacket::kTrackEvent);
      track_event.add_uint64(TrackEvent::kTrackUuid, counters_[value.counter]);
      track_event.add_enum(TrackEvent::kType, kCounterType);
      constexpr double kExact = 9007199254740992.0;  // numbers up to 2^53 are whole
      if (std::trunc(value.value) == value.value && std::abs(value.value) <= kExact)
        track_event.add_int64(TrackEvent::kCounterValue, static_cast<int64_t>(value.value));
      else track_event.add_double(TrackEvent::kDoubleCounterValue, value.value);
    });
  }

  void add_facts(const SampleFacts& facts, uint64_t crossed) {
    const uint64_t track = packets_.add_track(
        0, [](Builder<TrackDescriptor>& descriptor) { descriptor.add_string(TrackDescriptor::kName, "spile"); });
    const int64_t begin = timeline_.range().first;
    const auto add_instant = [&](const std::string& name, auto&& annotate) {
      packets_.add(begin, [&](Builder<TracePacket>& packet) {
        Builder<TrackEvent> track_event(packet, TracePacket::kTrackEvent);
        track_event.add_uint64(TrackEvent::kTrackUuid, track);
        track_event.add_enum(TrackEvent::kType, kInstant);
        track_event.add_string(TrackEvent::kName, valid_utf8(name));
        annotate(track_event);
      });
    };
    add_instant(facts.title, [&](Builder<TrackEvent>& track_event) {
      add_text(track_event, "host", facts.host);
      add_text(track_event, "script", facts.script);
    });
    const auto add_missing = [&](uint64_t count, const std::string& why) {
      if (count > 0) add_instant(std::to_string(count) + " " + why, [](auto&) {});
    };
    for (const auto& [why, count] : timeline_.missing()) add_missing(count, why);
    add_missing(timeline_.lost(), "slices, instants and values are not here: there are too many");
    add_missing(crossed, "slices crossed others, and are cut off");
  }

  const Timeline& timeline_;
  Packets packets_;
  std::vector<uint64_t> processes_, threads_, counters_;        // uuids of tracks
  std::vector<bool> names_, argument_names_, argument_values_;  // texts that have been written
};

}  // namespace

std::string perfetto_trace(const Timeline& timeline, const SampleFacts& facts, const ClockReadings& clocks) {
  return TimelineWriter(timeline, clocks).write(facts);
}

}  // namespace spile::runs
