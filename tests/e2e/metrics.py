# --http serves a script's globals at /metrics: numbers, labels from keys of arrays, histograms, hits of probes; Debian's promtool
# accepts it, and Debian's prometheus scrapes it, both where they are installed. Keys that are no UTF-8, or have quotes, are
# labels too.
import http.client, json, urllib.parse, urllib.request
from spiletest import *

SCRIPT = r"""
global calls, by_key, times, of_key, width, note, odd
probe begin {
  for (i = 1; i <= 1000; i++) { times <<< i; of_key[i % 2, "x"] <<< i; width <<< i }
  by_key["a \"b\"\n", -3] = 7; by_key[sprintf("%c", 255), 4] = 8; note = "say \"hi\""; calls = -5
}
probe timer.ms(50) { odd++ }
probe end { print(@hist_linear(width, 0, 900, 100)) }
"""
session = Session("-v", "--http=0", "-e", SCRIPT)
session.wait_message("files are at")
port = int(re.search(r"at http://127\.0\.0\.1:(\d+)/", session.read(session.err))[1])


def get(accept=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    connection.request("GET", "/metrics", headers={"Accept": accept} if accept else {})
    reply = connection.getresponse()
    return reply.read().decode(), reply.getheader("Content-Type")


wait_until(lambda: "spile_global_odd 0" not in get()[0], 60, "the timer")
text, kind = get()
expect(kind, "text/plain; version=0.0.4; charset=utf-8")
lines = text.splitlines()
for line in ["# TYPE spile_global_calls gauge", "spile_global_calls -5", r'spile_global_by_key{key1="a \"b\"\n",key2="-3"} 7',
             r'spile_global_by_key{key1="\\xff",key2="4"} 8',
             r'spile_global_note_info{value="say \"hi\""} 1', "# TYPE spile_global_times histogram",
             'spile_global_times_bucket{le="1.0"} 1', 'spile_global_times_bucket{le="511.0"} 511',
             'spile_global_times_bucket{le="+Inf"} 1000', "spile_global_times_sum 500500", "spile_global_times_count 1000",
             'spile_global_of_key_bucket{key1="0",key2="x",le="255.0"} 127',
             'spile_global_of_key_count{key1="1",key2="x"} 500', 'spile_global_width_bucket{le="99.0"} 99',
             'spile_global_width_bucket{le="999.0"} 999', "spile_skipped_hits_total 0",
             "spile_globals_not_whole 0"]:
    expect_true(line in lines, f"{line}\nis not in\n{text}")
expect_match(r'^spile_probe_hits_total\{probe="timer\.ms\(50\)",source="<input>:\d+:\d+"\} [1-9]', text)
open_text, open_kind = get("application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
expect((open_kind, open_text.splitlines()[-1]), ("application/openmetrics-text; version=1.0.0; charset=utf-8", "# EOF"))
expect_true("# TYPE spile_probe_hits counter" in open_text.splitlines(), open_text)

if shutil.which("promtool"):
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=300)
    expect((checked.returncode, checked.stdout + checked.stderr), (0, ""), "promtool")
if shutil.which("prometheus"):
    folder = temporary_directory()
    own = free_port()
    (folder / "p.yml").write_text(f"scrape_configs:\n- job_name: s\n  scrape_interval: 300ms\n  scrape_timeout: 300ms\n  "
                                  f"static_configs:\n  - targets: ['127.0.0.1:{port}']\n")
    start("sh", "-c", f"exec prometheus --config.file={folder}/p.yml --storage.tsdb.path={folder}/data "
                      f"--web.listen-address=127.0.0.1:{own} >{folder}/log 2>&1")

    def query(text):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{own}/api/v1/query?query={urllib.parse.quote(text)}",
                                        timeout=10) as reply:
                return [float(r["value"][1]) for r in json.load(reply)["data"]["result"]]
        except OSError:
            return []

    wait_until(lambda: query("up") == [1.0], 60, "prometheus to scrape")
    expect(query("spile_global_calls"), [-5.0])
    expect(query('spile_global_by_key{key2="-3"}'), [7.0])
    expect(query('spile_global_times_bucket{le="511.0"}'), [511.0])
    expect(400 <= query("histogram_quantile(0.5, spile_global_times_bucket)")[0] <= 600, True, "a quantile of the histogram")
session.stop().expect(status=0)
