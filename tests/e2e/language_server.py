# An editor's session: what is wrong is shown where it is, names are completed, explained and found; nonsense is refused.
import json
import subprocess

from spiletest import SPILE, expect, expect_true

server = subprocess.Popen([SPILE, "--language-server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
URI = "file:///tmp/my%20script.stp"


def write(text):
    server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(text) + text)
    server.stdin.flush()


def read():
    length = 0
    while line := server.stdout.readline().strip():
        name, value = line.split(b":")
        length = int(value) if name == b"Content-Length" else length
    return json.loads(server.stdout.read(length))


def send(method, **params):
    write(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())


def ask(method, **params):
    write(json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).encode())
    answer = read()
    expect(answer["id"], 7)
    return answer


def at(text, mark):
    """Position of `mark` in the text, in UTF-16 units."""
    before = text[:text.index(mark)]
    line = before.rpartition("\n")[2]
    return {"line": before.count("\n"), "character": len(line.encode("utf-16-le")) // 2}


def change(text, version=2):
    send("textDocument/didChange", textDocument={"uri": URI, "version": version}, contentChanges=[{"text": text}])
    return read()["params"]["diagnostics"]


def labels(text, mark):
    change(text.replace(mark, ""))
    answer = ask("textDocument/completion", textDocument={"uri": URI}, position=at(text, mark))
    return [item["label"] for item in answer["result"]["items"]]


document = {"textDocument": {"uri": URI}}
expect(ask("textDocument/hover", **document, position={"line": 0, "character": 0})["error"]["code"], -32002, "too early")
capabilities = ask("initialize", processId=None, rootUri=None, capabilities={})["result"]["capabilities"]
expect_true(capabilities["hoverProvider"] and capabilities["definitionProvider"], "capabilities")
send("initialized")
expect(ask("no/such")["error"]["code"], -32601)
expect(ask("textDocument/hover", **document, position={"line": 0, "character": 0})["error"]["code"], -32602, "not opened")

# Errors of pass 1 and 2, at their places; characters count UTF-16 units.
send("textDocument/didOpen", textDocument={"uri": URI, "languageId": "stp", "version": 1, "text": "probe begin { x = }\n"})
[error] = read()["params"]["diagnostics"]
expect(error["range"]["start"], {"line": 0, "character": 18})
expect(error["severity"], 1)
[error] = change('probe begin { print("\U0001f600é") prnt(1) }\n')
expect(error["range"]["start"], {"line": 0, "character": 27})
expect_true("prnt" in error["message"] and "print" in error["message"], "did-you-mean in " + error["message"])
expect(change("probe begin { println(1) }\n"), [])

# Completion: functions, keywords, operators, probe points, variables; not in comments.
script = "global counts\n# doc of foo\nfunction zfoo:long (a:string) { return 1 }\nprobe begin { zf| }\n"
expect(labels(script, "|"), ["zfoo"])
expect(labels(script.replace("zf|", "forea|"), "|"), ["foreach"])
expect_true("counts" in labels(script.replace("zf|", "coun|"), "|"), "a global")
expect(labels("probe begin { @hist|(a) }", "|"), ["@hist_linear", "@hist_log"])
expect_true("timer.ms" in labels("probe timer.| { }", "|"), "timer.")
expect_true("begin" in labels("probe end, b| { }", "|"), "second probe point")
expect_true("probe" in labels("pr| ", "|"), "a declaration")
expect(labels("probe begin { # pri| ", "|"), [])
expect_true("$return" in labels('probe process("/bin/true").function("main").return { $r| }', "|"), "$return")

# Hovering and definition.
script = "# doc of foo\nfunction foo:long (a:string) { return 1 }\nprobe begin { println(foo(\"\")) }\n"
change(script)
hover = ask("textDocument/hover", **document, position=at(script, "oo(\"\""))["result"]
expect_true("foo:long (a:string)" in hover["contents"]["value"] and "doc of foo" in hover["contents"]["value"], str(hover))
[place] = ask("textDocument/definition", **document, position=at(script, "oo(\"\""))["result"]
expect(place["uri"], URI)
expect(place["range"]["start"], {"line": 1, "character": 9})
expect(ask("textDocument/hover", **document, position={"line": 99, "character": 99})["result"], None)

# The outline.
change("global first, second\nfunction third() { return 1 }\nprobe fourth = begin { first = third() }\n")
outline = ask("textDocument/documentSymbol", **document)["result"]
expect([(s["name"], s["kind"], s["range"]["start"]["line"]) for s in outline],
       [("first", 13, 0), ("second", 13, 0), ("third", 12, 1), ("fourth", 24, 2)])
change("")
expect(ask("textDocument/documentSymbol", **document)["result"], [])

# Bytes that are not a message do not end it; shutdown and exit do.
write(b"{ not json")
expect(read()["error"]["code"], -32700)
write(b"[1, 2]")
expect(read()["error"]["code"], -32600)
expect("error" in ask("textDocument/completion", textDocument=5), True)
change("\x00\x01" * 100)
expect(ask("shutdown")["result"], None)
send("exit")
expect(server.wait(10), 0)
