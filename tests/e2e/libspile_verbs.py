# libspile runs the verbs that trace: their events and globals are those of the script that the verb stands for.
# long
from libspile_install import *

os.environ.update(ENVIRONMENT)
sys.path.insert(0, ENVIRONMENT["PYTHONPATH"])
import spile as library  # spiletest has a function spile

calls = command_line(program("calls"))


def events(verb, *words, command=f"{calls} 3", **others):
    with library.run(verb=verb, arguments=words, command=command, **others) as session:
        found = list(session)
        return found, session.globals


found, values = events("top", "foo")
(row,) = [e for e in found if e.text.startswith("row ")]
expect((row.values[0], row.values[1], values["calls"]["foo"].count), ("foo", 3, 3))
found, values = events("lat", "foo")
expect((values["times"].count, [e.values[0] for e in found if e.text.startswith("sum ")]), (3, [3]))
found, values = events("lat", "foo", "--by", "$arg")
expect(sorted((e.values[0], e.values[1]) for e in found if e.text.startswith("row ")), [("0", 1), ("1", 1), ("2", 1)])
expect_true(len(events("trace", "foo")[0]) >= 3, "calls of trace")
for verb in "errno", "files", "syscalls", "locks", "leaks", "flame":
    found, values = events(verb)
    expect_true(values is not None, verb)
with library.run(verb="syscalls", command="head -c 5 /dev/zero >/dev/null") as session:
    names = {e.values[0]: e.values[1] for e in session if e.text.startswith("row ")}
expect((names["read"] >= 1, names["write"]), (True, 1))

# --every is the verb's: tables come while the program runs, and each has the calls of its interval.
target = server()
with library.run(verb="top", arguments=["work", "--every=100ms"], pid=target.pid) as session:
    tables = 0
    while tables < 3:
        event = session.next(60)
        expect_true(event is not None, "tables while it runs")
        tables += event.text.startswith("done ")
expect_untouched(target.pid)

# Errors are the program's, with what to do.
for verb, words, said in [("tops", [], "tops"), ("top", ["no_such_function"], "no_such_function"),
                          ("top", ["foo", "--sort=size"], "size"), ("top", ["foo", "--nothing"], "nothing"),
                          ("funcs", [calls], "record"),
                          ("record", ["top", "foo"], "record"), ("-x", ["1"], "a verb is one word"),
                          ("", [], "a verb is one word"), ("top f", [], "a verb is one word")]:
    try:
        events(verb, *words)
        fail(f"{verb} {words} has run")
    except library.Error as error:
        expect_true(said in str(error), str(error))
# The last one of script and verb holds.
session = library.Session()
for function, text in [("spile_set_verb", b"top"), ("spile_set_script", b"probe begin { println(5) exit() }")]:
    session._check(getattr(library._library, function)(session._pointer(), text))
session._check(library._library.spile_start(session._pointer()))
expect([e.text for e in session], ["5\n"])
session.close()
