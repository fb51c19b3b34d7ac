"""Runs spile's probe scripts: what handlers print as events, globals as dicts, errors as exceptions (docs/library-api.md).

    import spile

    with spile.run('global n  probe process.function("f") { n[$i]++  printf("%d\\n", $i) }', command="./program") as session:
        for event in session:
            print(event.values)
        print(session.globals["n"])

Over libspile.so.0 by ctypes: any Python from 3.7 on, nothing to compile. A session is used by one thread at a time, but stop() by any; while it waits, other threads run.
Texts are str; bytes that are not UTF-8 are in them as surrogates (PEP 383), so text.encode(errors="surrogateescape") has the bytes.
"""
import ctypes as _c
import os as _os
import pathlib as _pathlib
import time as _time

__all__ = ["run", "Session", "Event", "Statistics", "Snapshot", "Probe", "Message", "Error", "ScriptError", "HandlerError", "version"]

_OK, _TIMEOUT, _END = 0, 1, 2
_WARNING = 11
_ERROR_MEMORY, _ERROR_SCRIPT, _ERROR_HANDLER = -3, -5, -7
_NUMBER, _TEXT, _STATISTICS = 1, 2, 3


# ---- spile.h ----

class _Message(_c.Structure):
    _fields_ = [("code", _c.c_int32), ("line", _c.c_uint32), ("column", _c.c_uint32), ("end_line", _c.c_uint32), ("end_column", _c.c_uint32), ("reserved", _c.c_uint32),
                ("text", _c.c_char_p), ("hint", _c.c_char_p), ("file", _c.c_char_p), ("excerpt", _c.c_char_p)]


class _Value(_c.Structure):
    _fields_ = [("type", _c.c_int32), ("reserved", _c.c_uint32), ("number", _c.c_int64), ("text", _c.c_void_p), ("size", _c.c_size_t)]


class _Event(_c.Structure):
    _fields_ = [("time_ns", _c.c_int64), ("probe", _c.c_char_p), ("text", _c.c_void_p), ("text_size", _c.c_size_t), ("values", _c.POINTER(_Value)), ("value_count", _c.c_size_t),
                ("cpu", _c.c_uint32), ("process", _c.c_int32), ("thread", _c.c_int64)]


class _Statistics(_c.Structure):
    _fields_ = [("count", _c.c_uint64), ("sum", _c.c_int64), ("min", _c.c_int64), ("max", _c.c_int64), ("average", _c.c_double)]


class _Element(_c.Structure):
    _fields_ = [("keys", _c.POINTER(_Value)), ("key_count", _c.c_size_t), ("value", _Value), ("statistics", _Statistics), ("sketch", _c.c_void_p)]


class _Global(_c.Structure):
    _fields_ = [("name", _c.c_char_p), ("type", _c.c_int32), ("key_count", _c.c_uint32), ("elements", _c.POINTER(_Element)), ("element_count", _c.c_size_t),
                ("left_out", _c.c_uint64), ("is_known", _c.c_int32), ("reserved", _c.c_int32)]


class _Probe(_c.Structure):
    _fields_ = [("point", _c.c_char_p), ("place", _c.c_char_p), ("places", _c.c_uint64), ("hits", _c.c_uint64), ("is_counted", _c.c_int32), ("reserved", _c.c_int32)]


class _Snapshot(_c.Structure):
    _fields_ = [("time_ns", _c.c_int64), ("globals", _c.POINTER(_Global)), ("global_count", _c.c_size_t), ("probes", _c.POINTER(_Probe)), ("probe_count", _c.c_size_t),
                ("skipped", _c.c_uint64), ("lost_records", _c.c_uint64), ("lost_elements", _c.c_uint64), ("dropped_events", _c.c_uint64), ("is_final", _c.c_int32),
                ("reserved", _c.c_int32)]


_FUNCTIONS = {
    "spile_version": (_c.c_char_p,), "spile_new": (_c.c_void_p,), "spile_free": (None, _c.c_void_p),
    "spile_set_script": (_c.c_int, _c.c_void_p, _c.c_char_p), "spile_set_script_file": (_c.c_int, _c.c_void_p, _c.c_char_p),
    "spile_set_verb": (_c.c_int, _c.c_void_p, _c.c_char_p),
    "spile_add_argument": (_c.c_int, _c.c_void_p, _c.c_char_p), "spile_add_process": (_c.c_int, _c.c_void_p, _c.c_int),
    "spile_set_command": (_c.c_int, _c.c_void_p, _c.c_char_p), "spile_add_option": (_c.c_int, _c.c_void_p, _c.c_char_p), "spile_start": (_c.c_int, _c.c_void_p),
    "spile_next_event": (_c.c_int, _c.c_void_p, _c.c_int, _c.POINTER(_c.POINTER(_Event))), "spile_descriptor": (_c.c_int, _c.c_void_p),
    "spile_read": (_c.c_int, _c.c_void_p, _c.c_int, _c.POINTER(_c.POINTER(_Snapshot))),
    "spile_percentile": (_c.c_int, _c.POINTER(_Element), _c.c_double, _c.POINTER(_c.c_int64)), "spile_stop": (_c.c_int, _c.c_void_p),
    "spile_last_error": (_c.POINTER(_Message), _c.c_void_p), "spile_messages": (_c.POINTER(_Message), _c.c_void_p, _c.POINTER(_c.c_size_t)),
}


def _load():
    """The library of the prefix that this module is in, else the system's."""
    folder = _pathlib.Path(__file__).resolve().parents[2]  # PREFIX/lib/python3/dist-packages/spile.py
    beside = [path for pattern in ("libspile.so.0", "*/libspile.so.0") for path in sorted(folder.glob(pattern))]
    library = _c.CDLL(str(beside[0]) if beside else "libspile.so.0")
    for name, (result, *arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


_library = _load()
version = _library.spile_version().decode()


def _text(value):
    return value.decode(errors="surrogateescape") if value else ""


def _bytes(value):
    """Text or a path for C, which would end at a NUL."""
    value = _os.fsencode(value)
    if b"\0" in value:
        raise ValueError("the text has a NUL")
    return value


def _value(value):
    return _text(_c.string_at(value.text, value.size)) if value.type == _TEXT else value.number


# ---- what is returned ----

class _Record:
    """Fields by name, equal where all are."""

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__slots__)})"

    def __eq__(self, other):
        return type(self) is type(other) and all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None


class Event(_Record):
    """What one printf of a handler printed: time_ns since 1970 (UTC), probe (its point), cpu, process (0: not
    known, as of handlers in the kernel and in spile), thread (None: not known), text, and values: what was printed,
    in order (int or str): arguments but constants, which are part of the format; of a histogram or a stack its text."""
    __slots__ = ("time_ns", "probe", "cpu", "process", "thread", "text", "values")

    def __init__(self, event):
        self.time_ns, self.probe, self.cpu, self.process = event.time_ns, _text(event.probe), event.cpu, event.process
        self.thread = event.thread if event.thread >= 0 else None
        self.text = _text(_c.string_at(event.text, event.text_size))
        self.values = tuple(_value(event.values[i]) for i in range(event.value_count))

    def __str__(self):
        return self.text


class Statistics(_Record):
    """What was added with <<<: count, sum, min, max, average; p50, p90, p99, p999 within 1/128, or None where they are not known."""
    __slots__ = ("count", "sum", "min", "max", "average", "p50", "p90", "p99", "p999")

    def __init__(self, element):
        for name in ("count", "sum", "min", "max", "average"):
            setattr(self, name, getattr(element.statistics, name))
        for name, percent in (("p50", 50), ("p90", 90), ("p99", 99), ("p999", 99.9)):
            value = _c.c_int64()
            found = _library.spile_percentile(_c.byref(element), percent, _c.byref(value)) == _OK
            setattr(self, name, value.value if found else None)


class Probe(_Record):
    """A probe: point (resolved), place in the script, places where it is armed, hits (None: not counted for its kind)."""
    __slots__ = ("point", "place", "places", "hits")

    def __init__(self, probe):
        self.point, self.place, self.places = _text(probe.point), _text(probe.place), probe.places
        self.hits = probe.hits if probe.is_counted else None


class Snapshot(_Record):
    """What a run has at a moment. globals: a dict from name to int, str or Statistics; of an array to a dict from key to those (several keys: a tuple).

    incomplete: the names of globals with elements that are not here (more than 100,000, or handlers held their lock). skipped: hits whose handler could not run;
    lost_records: events that were lost; lost_elements: those that arrays had no room for; dropped_events: those that nobody took in time.
    """
    __slots__ = ("time_ns", "globals", "incomplete", "probes", "skipped", "lost_records", "lost_elements", "dropped_events", "is_final")

    def __init__(self, snapshot):
        for name in ("time_ns", "skipped", "lost_records", "lost_elements", "dropped_events"):
            setattr(self, name, getattr(snapshot, name))
        self.is_final = bool(snapshot.is_final)
        self.probes = [Probe(snapshot.probes[i]) for i in range(snapshot.probe_count)]
        self.globals, self.incomplete = {}, []
        for i in range(snapshot.global_count):
            found = snapshot.globals[i]
            name, elements = _text(found.name), [found.elements[j] for j in range(found.element_count)]
            make = Statistics if found.type == _STATISTICS else lambda element: _value(element.value)
            if found.left_out or not found.is_known:
                self.incomplete.append(name)
            if found.key_count:
                keys = [tuple(_value(e.keys[k]) for k in range(e.key_count)) for e in elements]
                self.globals[name] = {key if len(key) > 1 else key[0]: make(e) for key, e in zip(keys, elements)}
            elif elements:
                self.globals[name] = make(elements[0])


class Message(_Record):
    """What spile says: is_warning, is_error, text, hint, file, line and column (from 1, in bytes; 0: about no place), end_line, end_column, excerpt."""
    __slots__ = ("code", "text", "hint", "file", "line", "column", "end_line", "end_column", "excerpt")

    def __init__(self, message):
        for name in ("code", "line", "column", "end_line", "end_column"):
            setattr(self, name, getattr(message, name))
        for name in ("text", "hint", "file", "excerpt"):
            setattr(self, name, _text(getattr(message, name)))

    is_error = property(lambda self: self.code < 0)
    is_warning = property(lambda self: self.code == _WARNING)

    def __str__(self):
        place = f"{self.file}:{self.line}:{self.column}"
        lines = [f"{place}: {self.text}" if self.file and place not in self.text else self.text]
        if self.excerpt:
            lines.append(self.excerpt.rstrip("\n"))
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)


class Error(Exception):
    """A run could not begin, or has ended by an error. message has code, text, hint and the range in the script, which are attributes here as well."""

    def __init__(self, message):
        super().__init__(str(message))
        self.message = message

    def __getattr__(self, name):
        if name in Message.__slots__:
            return getattr(self.message, name)
        raise AttributeError(name)


class ScriptError(Error):
    """The script is wrong."""


class HandlerError(Error):
    """A handler raised an error while the script ran."""


# ---- running ----

_WAIT_MS = 100  # Python looks at signals so often


class Session:
    """One run of one script; made by run(). Iterate over it for its events; a context manager, whose end stops the run."""

    def __init__(self):
        self._session = _library.spile_new()
        if not self._session:
            raise MemoryError()

    def _check(self, result):
        if result >= 0:
            return result
        error = _library.spile_last_error(self._session)
        if result == _ERROR_MEMORY or not error:
            raise MemoryError()
        raise {_ERROR_SCRIPT: ScriptError, _ERROR_HANDLER: HandlerError}.get(result, Error)(Message(error.contents))

    def _pointer(self):
        if not self._session:
            raise ValueError("the session is closed")
        return self._session

    def __iter__(self):
        return self

    def __next__(self):
        while True:
            event = self.next()
            if event is not None:
                return event
            if self.has_ended:
                raise StopIteration

    has_ended = False

    def next(self, timeout=None):
        """Returns the next event; None: nothing came within so many seconds (None: it waits for as long as it takes), or the run has ended (has_ended)."""
        event = _c.POINTER(_Event)()
        until = None if timeout is None else _time.monotonic() + timeout
        while True:
            wait_ms = _WAIT_MS if until is None else int(max(0, min(_WAIT_MS, (until - _time.monotonic()) * 1000 + 0.999)))
            result = self._check(_library.spile_next_event(self._pointer(), wait_ms, _c.byref(event)))
            self.has_ended = result == _END
            if result != _TIMEOUT or (until is not None and _time.monotonic() >= until):
                return Event(event.contents) if result == _OK else None

    def read(self):
        """Returns a Snapshot: all globals and counts, those of now or of the end."""
        snapshot = _c.POINTER(_Snapshot)()
        while self._check(_library.spile_read(self._pointer(), _WAIT_MS, _c.byref(snapshot))) == _TIMEOUT:
            pass
        if not snapshot:
            raise ValueError("the run was stopped before it began")
        return Snapshot(snapshot.contents)

    @property
    def globals(self):
        """The globals of now, or of the end: read().globals."""
        return self.read().globals

    @property
    def messages(self):
        """What spile has said so far."""
        count = _c.c_size_t()
        messages = _library.spile_messages(self._pointer(), _c.byref(count))
        return [Message(messages[i]) for i in range(count.value)]

    def fileno(self):
        """For select and poll: readable when next(0) is to be called until it returns None."""
        return _library.spile_descriptor(self._pointer())

    def stop(self):
        """Has the run end; the events that are left come before the end. Any thread."""
        _library.spile_stop(self._pointer())

    def close(self):
        """Ends the run, waits until the traced processes are as they were, and frees everything."""
        session, self._session = self._session, None
        if session:
            _library.spile_free(session)

    def __del__(self, _free=_library.spile_free):  # the module may be gone by then
        session, self._session = getattr(self, "_session", None), None
        if session:
            _free(session)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


def run(script=None, *, file=None, verb=None, pid=None, command=None, arguments=(), options=()):
    """Starts a script and returns its Session, when the probes are armed.

    script: its text; or file: its path; or verb: one of spile(1) that traces, such as "top", with its words and options in arguments. pid: a process to trace, or several; or command:
    one to start, as a shell takes it. arguments: of the script. options: others of spile(1), each one word. Raises ScriptError with the range in the script, or Error.
    """
    session = Session()
    try:
        pointer = session._pointer()
        if script is not None:
            session._check(_library.spile_set_script(pointer, _bytes(script)))
        if file is not None:
            session._check(_library.spile_set_script_file(pointer, _bytes(file)))
        if verb is not None:
            session._check(_library.spile_set_verb(pointer, _bytes(verb)))
        for process in [] if pid is None else [pid] if isinstance(pid, int) else pid:
            session._check(_library.spile_add_process(pointer, process))
        if command is not None:
            session._check(_library.spile_set_command(pointer, _bytes(command)))
        for function, words in (("spile_add_argument", arguments), ("spile_add_option", options)):
            for word in words:
                session._check(getattr(_library, function)(pointer, _bytes(str(word))))
        session._check(_library.spile_start(pointer))
    except BaseException:
        session.close()
        raise
    return session
