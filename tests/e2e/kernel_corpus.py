# Over 300 scripts with handlers in the kernel (tests/kernel_corpus) are loaded, or rejected in words of the script, each in 0.3
# s; where this kernel was recorded, the verifier follows no more instructions than then.
# long
# processors: 2
from spiletest import *

if os.geteuid() != 0:
    skip("loading eBPF needs root")

folder = ROOT / "tests/kernel_corpus"
work = pathlib.Path(tempfile.mkdtemp())
corpus = subprocess.run([sys.executable, folder / "scripts.py"], capture_output=True, text=True, check=True).stdout
(work / "corpus").write_text(corpus)
environment = dict(os.environ, PATH=f"{SPILE.parent}:{os.environ['PATH']}", CALLS=str(program("calls")))
shares = [subprocess.Popen(["sh", folder / "load.sh", work / "corpus", "2", str(share)], stdout=subprocess.PIPE, text=True, env=environment) for share in (0, 1)]
results = "".join(share.communicate()[0] for share in shares)
(work / "results").write_text(results)
loaded = sum("\tloaded\t" in line for line in results.splitlines())
if loaded == 0:
    skip("this kernel loads none of the scripts: " + results.splitlines()[0])
expect(len(results.splitlines()), corpus.count("=== "), "scripts with a result")
expect(loaded >= 300, True, f"at least 300 scripts are loaded: {loaded}")

kernel = re.match(r"\d+\.\d+", os.uname().release)[0]
record = folder / f"recorded-{kernel}.txt"
compared = subprocess.run(["sh", folder / "compare.sh", record if record.exists() else work / "results", work / "results"], capture_output=True, text=True)
expect(compared.stdout, "", f"what is worse than in {record}")
expect(compared.returncode, 0, "compare.sh")
