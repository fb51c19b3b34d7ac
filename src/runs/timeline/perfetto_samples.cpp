// Samples of stacks as Perfetto's PerfSample packets: https://perfetto.dev/docs/reference/trace-packet-proto#PerfSample

#include <map>

#include "runs/timeline/perfetto_packets.h"

namespace spile::runs {

namespace {

using namespace perfetto;  // NOLINT(google-build-using-namespace)

// Frames, their names and their files, by their indexes in the model: an iid is the index plus 1.
void add_frames(Builder<InternedData>& data, const Samples& samples) {
  std::map<std::string, uint64_t> modules;
  uint64_t iid = 0;
  for (const Samples::Frame& frame : samples.frames()) {
    ++iid;
    const auto [module, added] = modules.try_emplace(frame.module.empty() ? "[unknown]" : frame.module, modules.size() + 1);
    if (added) {
      add_interned(data, InternedData::kMappingPaths, module->second, module->first);
      Builder<Mapping> mapping(data, InternedData::kMappings);
      mapping.add_uint64(Mapping::kIid, module->second);
      mapping.add_uint64(Mapping::kPathStringIds, module->second);
    }
    add_interned(data, InternedData::kFunctionNames, iid, text_of(frame));
    Builder<Frame> interned(data, InternedData::kFrames);
    interned.add_uint64(Frame::kIid, iid);
    interned.add_uint64(Frame::kFunctionNameId, iid);
    interned.add_uint64(Frame::kMappingId, module->second);
    interned.add_uint64(Frame::kRelPc, 0);  // functions are what the model has, not addresses
  }
}

void add_callstack(Builder<InternedData>& data, const Samples& samples, uint32_t stack) {
  std::vector<uint32_t> frames;
  for (uint32_t at = stack; at != 0; at = samples.stacks()[at].caller) frames.push_back(samples.stacks()[at].frame);
  Builder<Callstack> callstack(data, InternedData::kCallstacks);
  callstack.add_uint64(Callstack::kIid, stack);
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame)
    callstack.add_uint64(Callstack::kFrameIds, uint64_t{*frame} + 1);
}

}  // namespace

std::string perfetto_samples(const Samples& samples, const ClockReadings& clocks) {
  Packets packets(kRealtime, clocks);
  std::map<int64_t, uint64_t> processes;
  for (const Samples::Thread& thread : samples.threads()) {
    const auto [process, added] = processes.try_emplace(thread.process, 0);
    if (added) process->second = packets.add_process(thread.process, thread.name);
    packets.add_thread(process->second, thread.process, thread.thread, thread.name);
  }
  std::vector<bool> written(samples.stacks().size());
  bool frames_written = false;
  for (const Samples::Sample& sample : samples.samples()) {
    const Samples::Thread& thread = samples.threads()[sample.thread];
    packets.add(sample.time_ns, [&](Builder<TracePacket>& packet) {
      if (!written[sample.stack]) {
        Builder<InternedData> data(packet, TracePacket::kInternedData);
        if (!frames_written) add_frames(data, samples);
        add_callstack(data, samples, sample.stack);
        frames_written = written[sample.stack] = true;
      }
      Builder<PerfSample> event(packet, TracePacket::kPerfSample);
      event.add_uint32(PerfSample::kPid, static_cast<uint32_t>(number_of(thread.process)));
      event.add_uint32(PerfSample::kTid, static_cast<uint32_t>(number_of(thread.thread)));
      event.add_uint64(PerfSample::kCallstackIid, sample.stack);
      event.add_enum(PerfSample::kCpuMode, kModeUser);
    });
  }
  return packets.take();
}

}  // namespace spile::runs
