"""Reads a .pftrace as Perfetto's trace_processor does, by code that protoc makes of the published schema (schema.proto), and
rejects what the schema's documentation does not allow: unknown fields, interned data that is used before it is given, events of
tracks without a descriptor, slices that end out of turn, times that go back."""
import collections
import importlib.util
import pathlib
import subprocess
import sys
import tempfile

sys.path.append("/usr/lib/python3/dist-packages")  # python3-protobuf of Debian, whichever interpreter runs this

HERE = pathlib.Path(__file__).resolve().parent
Slice = collections.namedtuple("Slice", "name begin end depth parent arguments flows")
Instant = collections.namedtuple("Instant", "name time depth arguments flows")


def compiled_schema():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["protoc", f"--python_out={folder}", f"-I{HERE}", "schema.proto"], check=True)
        spec = importlib.util.spec_from_file_location("schema_pb2", f"{folder}/schema_pb2.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module


def reject_unknown(message):
    assert len(message.UnknownFields(
        )) == 0, f"fields that the schema lacks: {[f.field_number for f in message.UnknownFields()]} in {message.DESCRIPTOR.name}"
    for field, value in message.ListFields():
        if field.message_type:
            for each in value if field.label == field.LABEL_REPEATED else [value]:
                reject_unknown(each)


class Track:
    def __init__(self, descriptor):
        self.descriptor, self.slices, self.instants, self.values, self.open, self.last = descriptor, [], [], [], [], 0


class PerfettoTrace:
    """tracks: by uuid. samples: (time, pid, tid, [(function, file), ...]), the outermost function first."""

    def __init__(self, path):
        self.schema = compiled_schema()
        trace = self.schema.Trace()
        trace.ParseFromString(pathlib.Path(path).read_bytes())
        self.packets = len(trace.packet)
        self.tracks, self.samples, self.interned = {}, [], collections.defaultdict(dict)
        reject_unknown(trace)
        self.cleared = False
        for packet in trace.packet:
            self.take_sequence(packet)
        # As trace_processor sorts them: by time, and at the same time in the file's order.
        events = sorted((p for p in trace.packet if p.HasField("track_event")), key=lambda p: p.timestamp)
        for packet in events:
            self.take_event(packet.timestamp, packet.track_event)
        for track in self.tracks.values():
            assert not track.open, f"{len(track.open)} slices without an end"

    def take_sequence(self, packet):
        assert packet.trusted_packet_sequence_id == 1
        if packet.sequence_flags & 1:
            self.cleared = True
            assert packet.first_packet_on_sequence
            self.clock = packet.trace_packet_defaults.timestamp_clock_id
            assert packet.clock_snapshot.primary_trace_clock == self.clock, "times are of the trace's clock"
            self.clocks = {c.clock_id: c.timestamp for c in packet.clock_snapshot.clocks}
        else:
            assert self.cleared and packet.sequence_flags == 2
        for field, entries in packet.interned_data.ListFields():
            for entry in entries:
                assert entry.iid > 0 and entry.iid not in self.interned[field.name], f"{field.name} {entry.iid} twice"
                self.interned[field.name][entry.iid] = entry
        if packet.HasField("track_descriptor"):
            descriptor = packet.track_descriptor
            assert descriptor.uuid > 0 and descriptor.uuid not in self.tracks
            assert descriptor.parent_uuid == 0 or descriptor.parent_uuid in self.tracks
            self.tracks[descriptor.uuid] = Track(descriptor)
        if packet.HasField("track_event"):
            event = packet.track_event
            assert event.track_uuid in self.tracks, f"track {event.track_uuid} has no descriptor"
            if event.HasField("name_iid"): assert event.name_iid in self.interned["event_names"]
            for annotation in event.debug_annotations: self.annotation(annotation)
        if packet.HasField("perf_sample"):
            sample = packet.perf_sample
            stack = [self.interned["frames"][frame] for frame in self.interned["callstacks"][sample.callstack_iid].frame_ids]
            names = [(self.interned["function_names"][f.function_name_id].str.decode(), self.file_of(f)) for f in stack]
            self.samples.append((packet.timestamp, sample.pid, sample.tid, names))

    def file_of(self, frame):
        mapping = self.interned["mappings"][frame.mapping_id]
        return "/".join(self.interned["mapping_paths"][part].str.decode() for part in mapping.path_string_ids)

    def annotation(self, annotation):
        name = self.interned["debug_annotation_names"][annotation.name_iid].name if annotation.HasField(
            "name_iid") else annotation.name
        kind = annotation.WhichOneof("value")
        value = getattr(annotation, kind)
        return name, self.interned["debug_annotation_string_values"][value].str.decode() if kind == "string_value_iid" else value

    def take_event(self, time, event):
        track = self.tracks[event.track_uuid]
        assert time >= track.last, "times go back"
        track.last = time
        name = self.interned["event_names"][event.name_iid].name if event.HasField("name_iid") else event.name
        arguments = dict(self.annotation(a) for a in event.debug_annotations)
        assert (event.type == 4) == track.descriptor.HasField("counter")
        if event.type == 1:
            track.open.append([name, time, arguments, list(event.flow_ids), len(track.slices)])
            track.slices.append(None)
        elif event.type == 2:
            assert track.open, "an end without a beginning"
            name, begin, arguments, flows, index = track.open.pop()
            track.slices[index] = Slice(name, begin, time, len(track.open), track.open[-1][4] if track.open else None,
                                        arguments, flows)
        elif event.type == 3:
            track.instants.append(Instant(name, time, len(track.open), arguments, list(event.flow_ids)))
        else:
            assert event.type == 4
            track.values.append(
                (time, event.double_counter_value if event.HasField("double_counter_value") else event.counter_value))

    def threads(self):
        """By tid: the tracks of threads."""
        return {t.descriptor.thread.tid: t for t in self.tracks.values() if t.descriptor.HasField("thread")}

    def named(self, name):
        return next(t for t in self.tracks.values() if t.descriptor.name == name)
