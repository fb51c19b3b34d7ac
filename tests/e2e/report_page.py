# The page of `spile report --html`, in Chromium where that is installed: tables that a click sorts, a histogram, a heat map, the
# flame graph's search and zoom, events with their text as printf makes it; hostile names are text; under 100 KB without its data.
# long
import html, json
from spiletest import *

folder = temporary_directory()
hostile = '</script><img src=x onerror="document.title=1">'
script = r"""global t, by_name, total, label, width[10]
probe begin { label = "HOSTILE" }
probe timer.ms(20) { for (i = 1; i <= 50; i++) t <<< i * i * i; total++; by_name[sprintf("name %d", total % 7)] += total; width[total % 3] <<< total
  printf("%5d|%-6s|%#x|%c|%08.3d|%p|%s\n", -total, "ab", total * 16, 65, total, total, label) if (total == 30) exit() }
""".replace("HOSTILE", hostile.replace('"', r"\""))
run, samples, page_file = folder / "a.spile-run", folder / "b.spile-run", folder / "a.html"
printed = [line for line in spile("-e", script).expect(status=0).out.splitlines() if "|" in line]
spile("record", "-e", script, "--every", "100ms", "-o", run).expect(status=0, out="", err="")
spile("record", "flame", "--hz", "300", "-o", samples, "-c", f"exec {program('profiled')} 300").expect(status=0)
spile("report", run, samples, "--html", page_file).expect(status=0, out="", err="")
page = page_file.read_text()
text = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1]
data = json.loads(text)
expect_true(len(page) - len(text) < 100_000, "the page without its data")
expect_true("http" not in page.replace(text, "").replace("http-equiv", ""), "asks nothing from elsewhere")
expect(len(data["events"]["times"]), 30)

# How long threads were stopped, as in the text.
of_process = folder / "c.spile-run"
spile("record", "-e", 'probe process.function("foo") { }', "-o", of_process, "-c", f"{program('calls')} 1").expect(status=0)
spile("report", of_process, "--html", folder / "c.html").expect(status=0)
[paused] = re.findall(r"places in processes: .*; paused (.*)", spile("report", of_process).expect(status=0).out)
expect_true(f'"paused":"{paused}"' in (folder / "c.html").read_text(), paused)

# The page of a verb's run, and names of files that say another form than what would be in them.
for verb in "lat", "top":
    for name in "verb.html", "verb.htm":
        made = folder / name
        spile(verb, "foo", "-o", made, "-c", f"{program('calls')} 1000").expect(status=0, err="")
        of_verb = made.read_text()
        expect_true(of_verb.startswith("<!DOCTYPE html>") and f"spile {verb}" in of_verb, f"the page of {verb}")
        expect(len(list(folder.glob("*spile-run*"))), 3, "documents of the commands above")
        made.unlink()
    spile(verb, "foo", "-o", folder / "verb%%.html", "-c", f"{program('calls')} 1000").expect(status=0, err="")
    expect_true((folder / "verb%.html").exists(), "conversions of strftime in the name")
    spile(verb, "nothing_has_this_name", "-o", made, "-c", program("calls")).expect(status=1, err_match="no function")
    expect(made.exists(), False, "a page of a run that never began")
spile("lat", "foo", "-o", "/nowhere/x.html", "-c", program("calls")).expect(
    status=1, err="spile: open output file /nowhere/x.html: No such file or directory\n")
spile("lat", "foo", "-S1", "-o", folder / "x.html", "-c", program("calls")).expect(status=1, err_match="used with -S")
for words in (["syscalls"], ["errno"], ["files"], ["leaks"], ["locks"], ["trace", "foo"], ["snap", "foo"], ["record", "syscalls"],
              ["report", run]):
    spile(*words, "-o", folder / "x.html", *(["-c", program("calls")] if words[0] != "report" else [])).expect(
        status=1, out="", err_match=r"^spile: -o \S*/x.html: spile \w+ writes .* there\n  hint: .*(--html|pftrace)")
    expect((folder / "x.html").exists(), False)
for ending in "csv", "json", "jsonl", "svg", "folded", "pftrace", "pb.gz", "spile-run", "pdf":
    spile("lat", "foo", "-o", folder / f"x.{ending}", "-c", program("calls")).expect(status=1, out="", err_match="hint: ")
spile("lat", "foo", "--json", "-o", folder / "x.json", "-c", f"{program('calls')} 10").expect(status=0)
expect_true(all(json.loads(line) for line in (folder / "x.json").read_text().splitlines()), "JSON Lines")
spile("report", run, "--csv", "-o", folder / "x.csv").expect(status=0, out="", err="")

chromium = shutil.which("chromium")
if not chromium:
    skip("chromium is not installed")


def shown(state, more=""):
    """The page's document after its script, and `more`, has run."""
    file = folder / "shown.html"
    file.write_text(page.replace("</body></html>", f"<script>{more}</script></body></html>"))
    out = subprocess.run([chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
                          "--disable-sync", f"--user-data-dir={folder}/chromium", "--dump-dom", f"file://{file}#{state}"], capture_output=True, text=True, timeout=300).stdout
    return out.split("</head>", 1)[1].replace(text, "")


dom = shown("search=seventy")
expect_match(r'data-ready="\d+"', dom, "the script has run to its end")
expect_match(r"<title>spile report</title>", page)
expect_true("<img" not in dom, "a name became markup")
cells = [html.unescape(c) for c in re.findall(r"<td>([^<]*\|[^<]*)</td>", dom)]
expect(cells, printed, "texts of events are what printf prints")
expect_match(r"<h3>t</h3><div>count 1,500, ", dom)
expect_match(r"found in \d+ samples", dom)
expect_match(r'class="hit" data-stack|class="[^"]*hit', dom)
rows = lambda d: [html.unescape(r) for r in re.findall(r"<td>(name \d)</td>", d)]
down = rows(dom)
expect(len(down), 7)
by_name = shown("", "document.querySelector('#global-by_name th').click()")
expect(rows(by_name), sorted(down), "sorted by a click on the head")
only = shown("events=-17%7C")
expect(len(re.findall(r"<td>[^<]*\|[^<]*</td>", only)), 1, "events that were searched for")
# Samples of a busy machine's first moments end below `spend`, so there may be two places of seventy(): the wider one.
zoomed = max(((int(count), int(stack)) for stack, count in re.findall(r'data-stack="(\d+)" title="seventy [^"\n]*\n(\d+) samples', dom)))[1]
click = f"""document.querySelector('#graph [data-stack="{zoomed}"]').click()"""
expect_match(rf'class="outer" data-stack="{data["samples"]["stacks"][zoomed][0]}"', shown(f"zoom={zoomed}"))

# Clicked and typed by a person.
clicked = shown("", click)
expect_match(rf'class="outer" data-stack="{data["samples"]["stacks"][zoomed][0]}"', clicked)
expect_true('class="outer"' not in shown("", click + "; document.getElementById('reset').click()"), "the whole graph again")
expect_match(r"found in \d+ samples, \d", shown("", "const s = document.getElementById('search'); s.value = 'seventy'; s.dispatchEvent(new Event('input'))"))
typed = shown("", "const f = document.getElementById('filter'); f.value = '-17|'; f.dispatchEvent(new Event('change'))")
expect(len(re.findall(r"<td>[^<]*\|[^<]*</td>", typed)), 1)

# One run has heat maps and lines over time.
spile("report", run, "--html", page_file).expect(status=0)
page = page_file.read_text()
text = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1]
alone = shown("")
expect_match(r'<canvas class="heat"|class="heat"', alone)
expect_match(r'<canvas[^>]* title="from 0 to 30"', alone)
spile("report", run, "--html", "/nowhere/x.html").expect(status=1, err_match="open output file /nowhere/x.html: No such file")
