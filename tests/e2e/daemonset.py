# examples/fleet/daemonset.yaml: its command, with its capabilities and no others, in a read-only file system, sends the numbers of a redis-server of another user to the collector; with one capability less it
# says what it can't do.
import json
from otlptest import *

if os.geteuid() != 0:
    skip("giving capabilities away needs root")
text = (ROOT / "examples/fleet/daemonset.yaml").read_text()
words = json.loads(re.search(r"^ +command: (\[.*\])$", text, re.M)[1])
capabilities = json.loads(re.search(r"^ +add: (\[.*\])$", text, re.M)[1])
try:
    import yaml
    documents = list(yaml.safe_load_all(text))
    container = documents[1]["spec"]["template"]["spec"]["containers"][0]
    expect((documents[0]["kind"], documents[1]["kind"], container["command"], container["securityContext"]["capabilities"]), ("ConfigMap", "DaemonSet", words, {"drop": ["ALL"], "add": capabilities}))
except ImportError:
    pass
folder = temporary_directory()
folder.chmod(0o755)
script = folder / "commands.stp"
script.write_text(re.sub(r"^    ", "", re.search(r"^  commands.stp: \|\n((?:    .*\n)+)", text, re.M)[1], flags=re.M))

# A server in a folder that only its user may enter. A link gives it a name that no other process has.
private = temporary_directory("nobody")
binary = f"redis{os.getpid()}"
shutil.copy(os.path.realpath(installed("redis-server")), private / binary)
shutil.chown(private / binary, "nobody")
redis = Redis(private / binary)
port = free_port()
server_of_test = serve(port)
expect(words[0], "spile")
words = [str(SPILE), *(word.replace("redis-server", binary).replace("http://127.0.0.1:4318", f"http://127.0.0.1:{port},0.2").replace("/etc/spile/commands.stp", str(script)) for word in words[1:])]
cache = temporary_directory()
READ_ONLY = 'mount -o remount,bind,ro / && mount -t tmpfs none "$XDG_CACHE_HOME" && exec "$@"'


def begin(names):
    granted = ",".join(["-all"] + ["+" + name.lower() for name in names])
    return start("unshare", "-m", "sh", "-c", READ_ONLY, "sh", "setpriv", f"--bounding-set={granted}", f"--inh-caps={granted}", "--no-new-privs", *words, env={**os.environ, "XDG_CACHE_HOME": str(cache)})


def commands():
    for message in reversed(list(Collector.taken)):
        resource, found = metrics(message)
        if "spile.global.commands" in found:
            return resource["host.name"], signed(fields(fields(found["spile.global.commands"][5][0])[1][0])[6][0])
    return "", 0


session = begin(capabilities)
wait_until(lambda: session.poll() is not None or (redis.command("PING") and commands()[1] >= 5), 60, "commands at the collector", lambda: str(commands()))
expect_true(session.poll() is None, session.poll() is not None and session.stdout.read())
expect(commands()[0], os.uname().nodename, "the host")
expect_match(r"\Acommands=\d+$", finish(session))
expect(session.returncode, 0)
for missing in capabilities:
    session = begin([name for name in capabilities if name != missing])
    output = session.communicate(timeout=60)[0].decode()
    expect((session.returncode, f"CAP_{missing}" in output), (1, True), f"without {missing}: {output}")
