# Every command of docs/fleet.md, run as it stands there: machines are names of this one, to which ssh leads; brokers are
# librdkafka's mock cluster; the collector and Prometheus are on loopback, at other ports. What other tests run is named here with
# the test.
# long
import json, urllib.request
from sshtest import *
from otlptest import *

text = (ROOT / "docs/fleet.md").read_text()
work = temporary_directory()
work.chmod(0o755)
blocks = [re.sub(r"^    ", "", block, flags=re.M) for block in re.findall(r"(?:^\n)((?:^    .*\n)+)", text, re.M)]
commands = {line for block in blocks for line in block.splitlines() if re.match(r"(sudo |spile|for |ssh|scp|kubectl|promtool)", line)}
ELSEWHERE = {"sudo systemctl enable --now spile@commands": "systemd_unit.py", "kubectl apply -f examples/fleet/daemonset.yaml": "daemonset.py"}
for command, test in ELSEWHERE.items():
    expect_true(command in commands and (ROOT / "tests/e2e" / test).exists(), command)
left = commands - set(ELSEWHERE)
for name in ("commands.stp", "prometheus.yml"):
    [block] = [block for block in blocks if block.startswith(f"# {name}")]
    (work / name).write_text(block)

# A redis-server whose name no other process has.
binary = f"redis{os.getpid()}"
(work / binary).symlink_to(os.path.realpath(installed("redis-server")))
redis = Redis(work / binary)
LOAD = ("-t", "set,get", "-n", 100000000, "-c", 2)
load = redis.benchmark(*LOAD)
binaries = work / "bin"
binaries.mkdir()
for tool in ("ssh", "scp"):
    (binaries / tool).write_text(f'#!/bin/sh\nexec {installed(tool)} -F {folder}/ssh_config "$@"\n')
    (binaries / tool).chmod(0o755)
environment = {**os.environ, "PATH": f"{binaries}:{SPILE.parent}:{os.environ['PATH']}"}
script = (work / "commands.stp").read_text().replace("/usr/bin/redis-server", os.path.realpath(installed("redis-server")))
(work / "commands.stp").write_text(script)


def run(beginning, *changes, until=None):
    """Runs the one command that begins so, with parts replaced; with `until` in the background, until that holds, then ends it by Ctrl-C. Returns its output."""
    [command] = [command for command in left if command.startswith(beginning)]
    left.discard(command)
    for old, new in ((r"-x redis-server", f"-x {binary}"), (r"-T \d+", "-T 10"), *changes):
        command = re.sub(old, new, command)
    if not until:
        done = subprocess.run(["bash", "-c", command], cwd=work, env=environment, capture_output=True, text=True, timeout=300)
        expect(done.returncode, 0, f"{command}\n{done.stdout}{done.stderr}")
        return done.stdout
    session = start("bash", "-c", f"exec {command}", cwd=work, env=environment)
    wait_until(lambda: session.poll() is not None or until(), 60, command)
    expect_true(session.poll() is None, f"{command} has ended: {session.poll() is not None and session.stdout.read()}")
    session.send_signal(signal.SIGINT)
    return session.communicate(timeout=300)[0].decode()


# Compiled code is kept, so that -T is not over before it is there.
spile("-p4", "-o", work / "x.spile", "-c", os.path.realpath(installed("redis-server")), work / "commands.stp").expect(status=0)
out = run("spile --remote=web1", ("=web", "=root@web"))
expect(len(re.findall(r"^root@web[12]: [1-9]\d* commands, p99 [1-9]\d* ns$", out, re.M)), 2, out)

run("for host in web1 web2")
run("scp root@web1")
run("spile report web1.spile-run web2.spile-run --html")
summary = run("spile report web1.spile-run web2.spile-run")
counts = {}
for name in ("web1", "web2"):
    one = spile("report", work / f"{name}.spile-run", "--json").expect(status=0).out
    [counts[name]] = [row["value"] for row in map(json.loads, one.splitlines()) if row["kind"] == "element" and row["global"] == "commands"]
    os.unlink(f"/tmp/{name}.spile-run")
expect_match(rf"^commands = {sum(counts.values())}$", summary, "counts of both are added")
expect_match(r"^times = n=[\d,.]+\w* .*p99=", summary)
expect_true("spile" in (work / "commands.html").read_text()[:2000], "the page")

port_of_collector = free_port()
server_of_test = serve(port_of_collector)
run("spile --otlp", (r"http://127.0.0.1:4318", f"http://127.0.0.1:{port_of_collector},0.2"),
    until=lambda: any("spile.global.times" in metrics(message)[1] and metrics(message)[0]["host.name"] == socket.gethostname() for message in list(Collector.taken)))
server_of_test.shutdown()

brokers = start(program("kafka_broker"), stdin=subprocess.PIPE)
address = next(line for line in brokers.stdout if line.startswith(b"ready")).decode().split()[1]
# The mock cluster keeps 5 MiB of each partition, which redis-benchmark would fill in a fraction of a second.
load.terminate()
load.wait()
seen = []
threading.Thread(target=lambda: [seen.append(line) for line in brokers.stdout], daemon=True).start()
run("spile --kafka", ("broker1:9092,broker2:9092/spile-events", f"{address}/events"), until=lambda: redis.command("PING") and len(seen) >= 10)
redis.benchmark(*LOAD)

# Prometheus takes the configuration, scrapes spile, and gives the host's label to what it forwards.
if shutil.which("prometheus") and shutil.which("promtool"):
    port, own = free_port(), free_port()
    (work / "prometheus.yml").write_text((work / "prometheus.yml").read_text().replace("9100", str(port)).replace("http://metrics.example.com", f"http://127.0.0.1:{free_port()}").replace("global:\n", "global:\n  scrape_interval: 200ms\n"))
    run("promtool check config")
    session = start(SPILE, "--http", port, "-x", binary, work / "commands.stp")
    start(installed("prometheus"), "--config.file", work / "prometheus.yml", "--storage.tsdb.path", work / "data", "--web.listen-address", f"127.0.0.1:{own}")

    def federated():
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{own}/federate?match[]=spile_global_commands", timeout=10) as reply:
                return reply.read().decode()
        except OSError:
            return ""

    wait_until(lambda: re.search(r'^spile_global_commands\{[^}]*host="web1"[^}]*\} [1-9]', federated(), re.M), 60, "the label of the host", federated)
else:
    left.discard("promtool check config prometheus.yml")
expect(sorted(left), [], "commands of docs/fleet.md that nothing runs")
