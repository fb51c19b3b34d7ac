# `spile flame`: the shares of a program whose split of processor time is known, by folded stacks, speedscope's file, the picture
# and the page, which Chromium shows where it is installed; CPython, which we did not write; wrong words.
# long
import html, json, shutil, xml.etree.ElementTree
from spiletest import *

sys.path.append(str(ROOT / "tests/perfetto"))
from reader import PerfettoTrace

folder = temporary_directory()


def shares(folded):
    counts = {}
    for line in folded.splitlines():
        stack, count = line.rsplit(" ", 1)
        for function in set(stack.split(";")):
            counts[function] = counts.get(function, 0) + int(count)
    return counts


# 1.8 s of processor time are 900 samples at 500 Hz; five standard deviations of their shares are 8 in a hundred.
result = spile("flame", "--hz", "500", "-o", folder / "a.folded", "-c", f"exec {program('profiled')} 600").expect(status=0, out="done 40000\n", err="")
folded = (folder / "a.folded").read_text()
counts = shares(folded)
# The shell that executes it may have a sample or two before.
expect_true(all(line.startswith(("profiled;", "sh;")) for line in folded.splitlines()) and counts.get("sh", 0) <= counts["profiled"] / 20, folded)
expect_true(450 <= counts["profiled"] <= 1200, f"1.8 s at 500 Hz: {counts}")
for function, share in [("seventy", 70), ("twenty", 20), ("ten", 10)]:
    expect_true(abs(100 * counts[function] / counts["profiled"] - share) <= 12, f"{share} %: {counts}")
expect_true(re.search(r";spend;seventy;burn \d+$", folded, re.M) is not None, folded)

# pprof itself reads the profile.
go = next((path for path in ["/usr/lib/go-1.19/bin/go", shutil.which("go")] if path and os.path.exists(path)), None)
if go:
    spile("flame", "--hz", "500", "-o", folder / "a.pb.gz", "-c", f"exec {program('profiled')} 600").expect(status=0)
    top = subprocess.run([go, "tool", "pprof", "-top", "-cum", folder / "a.pb.gz"], capture_output=True, text=True, env=dict(os.environ, HOME=str(folder), GOCACHE=str(folder))).stdout
    expect_match(r"^Type: samples$", top)
    cumulative = {name: float(share) for share, name in re.findall(r"([\d.]+)% +(\w+)$", top, re.M)}
    for function, share in [("seventy", 70), ("twenty", 20), ("ten", 10)]:
        expect_true(abs(cumulative[function] - share) <= 12, f"{share} %: {top}")

spile("flame", "-o", folder / "a.speedscope.json", "-c", f"exec {program('profiled')} 200").expect(status=0)
speedscope = json.loads((folder / "a.speedscope.json").read_text())
names = [frame["name"] for frame in speedscope["shared"]["frames"]]
expect_true({"seventy", "burn"} <= set(names), names)
expect_true(sum(len(p["samples"]) for p in speedscope["profiles"]) >= 20, "0.6 s are 60 samples")
for profile in speedscope["profiles"]:
    expect(len(profile["samples"]), len(profile["weights"]))
    expect(profile["endValue"], len(profile["weights"]))
    expect_true(all(0 <= frame < len(names) for stack in profile["samples"] for frame in stack), profile)

spile("flame", "--hz", "500", "-o", folder / "a.pftrace", "-c", f"exec {program('profiled')} 200").expect(status=0)
sampled = PerfettoTrace(folder / "a.pftrace").samples
of = lambda function: sum(function in [name for name, file in stack] for _, _, _, stack in sampled)
expect_true(len(sampled) >= 100 and abs(of("seventy") / len(sampled) - 0.7) < 0.2, f"{of('seventy')} of {len(sampled)} samples")
expect({file for _, _, _, stack in sampled for name, file in stack if name in ("burn", "seventy")}, {"profiled"}, "files of frames")

spile("flame", "-o", folder / "a.svg", "-c", f"exec {program('profiled')} 200").expect(status=0)
titles = [e.text for e in xml.etree.ElementTree.parse(folder / "a.svg").iter("{http://www.w3.org/2000/svg}title")]
expect_true(any(re.match(r"seventy\n\d+ samples, \d+\.\d\d %", title) for title in titles), titles)

# Libraries that are loaded one after the other, each used for 40 ms: no sample is older than what is known of them.
loader = folder / "loader.py"
loader.write_text("""import ctypes, shutil, sys, time
data = bytes(1 << 16)
for k in range(20):
    shutil.copy("/lib/x86_64-linux-gnu/libz.so.1", f"{sys.argv[1]}/z{k}.so")
    crc32 = ctypes.CDLL(f"{sys.argv[1]}/z{k}.so").crc32
    end = time.process_time() + 0.04
    while time.process_time() < end: crc32(0, data, len(data))
""")
folded = spile("flame", "--hz", "1000", "--folded", "-c", f"exec /usr/bin/python3 {loader} {folder}").expect(status=0, err="").out
lines = [line.rsplit(" ", 1) for line in folded.splitlines()]
in_library = sum(int(count) for stack, count in lines if ";crc32" in stack)
expect_true(in_library >= 300 and sum(int(count) for stack, count in lines if "[unknown]" in stack) <= in_library / 50, folded)

# The page: an interpreter that runs already.
target = start("/usr/bin/python3", "-c", "while True: sorted(range(2000), key=lambda x: -x)")
page_file = folder / "a.html"
spile(*compiled("flame", "-x", target.pid, "-T", "2", "-o", page_file)).expect(status=0, err="")
page = page_file.read_text()
data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page)[1])
samples = sum(stack[2] for stack in data["stacks"])
expect(samples, sum(thread[3] for thread in data["threads"]), "samples by stack and by thread")
expect_true(any("_PyEval_EvalFrameDefault" == frame[0] for frame in data["frames"]), data["frames"])
expect_true("probe timer.profile" in data["script"] and f"-x {target.pid}" in data["title"], data["title"])
expect_true(len(page) - len(json.dumps(data)) < 100000, "the page without its data")

chromium = shutil.which("chromium")
if chromium:
    def shown(state):
        return subprocess.run([chromium, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/chromium", "--dump-dom", f"file://{page_file}#{state}"],
                              capture_output=True, text=True, timeout=300).stdout
    dom = html.unescape(shown("search=_PyEval_EvalFrameDefault"))
    expect_match(rf"{samples} samples of 1 thread on ", dom)
    expect_match(r'class="hit"[^>]*title="_PyEval_EvalFrameDefault \[python3', dom)
    within = [0] * len(data["stacks"])
    for i, (caller, frame, own) in enumerate(data["stacks"]):
        within[i] = i > 0 and (within[caller] or data["frames"][frame][0] == "_PyEval_EvalFrameDefault")
    expect_match(rf"found in {sum(s[2] for s, inside in zip(data['stacks'], within) if inside)} samples", dom)
    zoomed = next(i for i, stack in enumerate(data["stacks"]) if i and data["frames"][stack[1]][0] == "_PyEval_EvalFrameDefault")
    expect_match(rf'class="outer" data-stack="{data["stacks"][zoomed][0]}"', shown(f"zoom={zoomed}"))

# Folded stacks on standard output, and wrong words.
expect_match(r"^# spile flame\nprobe timer\.profile \{", spile("--script", "flame", "-x", target.pid).expect(status=0).out)
expect_match(r"^python3[^;\n]*;.*_PyEval_EvalFrameDefault", spile(*compiled("flame", "-x", target.pid, "-T", "1")).expect(status=0).out)
spile("flame", "-x", target.pid, "-o", folder / "a.png").expect(status=1, err_match=r"a\.png: the name's ending.*\n.*\.speedscope\.json")
spile("flame").expect(status=1, err_match="flame needs the processes to look at\n.*-x PID")
spile("flame", "main", "-x", target.pid).expect(status=1, err_match="takes no words, such as 'main'")
spile("flame", "--hz", "0", "-x", target.pid).expect(status=1, err_match="--hz 0: not a number from 1 to 100000")
spile("flame", "--json", "-x", target.pid).expect(status=1, err_match="no option --json")
