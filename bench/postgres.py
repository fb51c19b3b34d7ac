"""What probes cost a real server: pgbench's throughput on a postgres of its own, un-probed and probed in turn.

The server listens on a Unix socket in a temporary directory only. spile attaches to the postmaster, which forks a backend for
each of pgbench's connections; they run under probes from their birth. Beside transactions per second, which other
programs on the machine change, there is the processor time that the backends used for a transaction, which they change less.
"""
import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import time

CLIENTS = 2
# name, pgbench's options; what is counted, which functions, least share of the un-probed throughput in %
WORKLOADS = [("TPC-B", []), ("select only", ["-S", "-n"])]  # without -n, pgbench first removes what its last run left
PROBED = [("100 functions counted", "100", 97), ("all functions counted", "all", 60)]


class Server:
    def __init__(self, start_failed):
        tools = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
        if not tools:
            raise start_failed("postgresql is not installed")
        self.tools = tools[-1]
        self.as_user = []
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="spile-bench-pg-"))
        if os.geteuid() == 0:
            entry = pwd.getpwnam("postgres")
            os.chown(self.folder, entry.pw_uid, entry.pw_gid)
            self.as_user = ["setpriv", f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups"]
        self.failed = start_failed
        self.tool("initdb", "-D", self.folder / "data", "-A", "trust", "--no-sync")
        self.process = subprocess.Popen(
            [*self.as_user, str(self.tools / "postgres"), "-D", str(self.folder / "data"), "-k", str(self.folder), "-c",
             "listen_addresses=", "-c", "fsync=off", "-c", "autovacuum=off"], cwd=self.folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.pid = self.process.pid
        self.wait_ready()
        self.pgbench("-i", "-q", "-s", "10")  # more branches than clients, which would wait for each other

    def wait_ready(self):
        for _ in range(300):
            asked = subprocess.run([str(self.tools / "pg_isready"), "-q", "-h", str(self.folder)], stdin=subprocess.DEVNULL)
            if asked.returncode == 0:
                return
            time.sleep(0.1)
        raise self.failed("postgres was not ready after 30 s")

    def tool(self, name, *arguments):
        done = subprocess.run([*self.as_user, str(self.tools / name), *map(str, arguments)], capture_output=True, text=True,
                              cwd=self.folder, timeout=120, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise self.failed(f"{name}: {done.stderr.strip()[-300:]}")
        return done.stdout

    def pgbench(self, *arguments):
        return self.tool("pgbench", "-h", self.folder, *arguments, "postgres")

    def backend_seconds(self):
        """Processor time of all children that have ended."""
        fields = pathlib.Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")

    def measure(self, workload, seconds):
        """(transactions per second, processor time of the backends per transaction in us)"""
        before = self.backend_seconds()
        report = self.pgbench("-c", CLIENTS, "-T", seconds, *workload)
        time.sleep(0.3)  # the backends end
        used = self.backend_seconds() - before
        transactions = int(re.search(r"transactions actually processed: (\d+)", report).group(1))
        return float(re.search(r"^tps = ([\d.]+)", report, re.M).group(1)), used * 1e6 / transactions

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def functions_of(spile, server):
    listed = subprocess.run([spile, "-l", f'process("{server.tools}/postgres").function("Exec*")'], capture_output=True,
                            text=True, timeout=60).stdout
    return sorted(set(re.findall(r'function\("(\w+)[@"]', listed)))[:100]


def script_of(spile, server, kind):
    names = ["*"] if kind == "all" else functions_of(spile, server)
    points = ", ".join(f'process.function("{name}")' for name in names)
    return f"global n probe {points} {{ n++ }} probe end {{ println(n) }}"


def measure_probed(spile, server, kind, workload, seconds):
    with tempfile.TemporaryFile("w+") as errors:
        session = subprocess.Popen([spile, "-v", "-w", "-x", str(server.pid), "-e", script_of(spile, server, kind)],
                                   stdout=subprocess.PIPE, stderr=errors, stdin=subprocess.DEVNULL, text=True)
        try:
            for _ in range(600):
                errors.seek(0)
                if "Armed" in errors.read() or session.poll() is not None:
                    break
                time.sleep(0.05)
            errors.seek(0)
            armed = re.search(r"^Armed (\d+) of", errors.read(), re.M)
            measured = server.measure(workload, seconds)
            session.send_signal(signal.SIGINT)
            out, _ = session.communicate(timeout=60)
        finally:
            if session.poll() is None:
                session.kill()
                session.wait()
        errors.seek(0)
        hits = int(out.split()[-1]) if out.split() else 0
        if session.returncode or not armed or hits == 0:
            raise server.failed(f"status {session.returncode}, {hits} hits: {errors.read()[-300:]}")
        return (*measured, int(armed.group(1)), hits)


def run(spile, failed, seconds=2):
    """One repetition: {row: {"share": % of the un-probed throughput just before, "cpu_share": ..., ...}}."""
    server = Server(failed)
    try:
        rows = {}
        for name, workload in WORKLOADS:
            server.measure(workload, 1)  # caches fill
            for what, kind, least in PROBED:
                plain = server.measure(workload, seconds)
                tps, used, sites, hits = measure_probed(spile, server, kind, workload, seconds)
                after = server.measure(workload, seconds)
                rows[f"pgbench {name}, {what}"] = {
                    "functions": sites, "hits_per_transaction": hits / (tps * seconds), "tps": tps,
                    "plain_tps": (plain[0] + after[0]) / 2, "share": 200 * tps / (plain[0] + after[0]),
                    "cpu_share": 50 * (plain[1] + after[1]) / used, "limit": least}
        return rows
    finally:
        server.stop()
