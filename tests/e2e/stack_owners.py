# variants: ocaml overflow haskell guile ruby greenlet
# Programs whose runtimes walk, copy or check their stacks: all functions with entries, then with returns too. Output and
# status are the program's own, entries are exact, and what has no returns is said with the reason.
from spiletest import *

COUNTS = """global e, r
probe process.function("{pattern}").call {{ e[ppfunc()]++ }}
probe process.function("{pattern}").return {{ r[ppfunc()]++ }}
probe end {{ foreach (f+ in e) printf("# %s %d %d\\n", f, e[f], r[f]) }}"""
STRINGS = """global n
probe process.function("{pattern}").call {{ n += strlen(sprintf("%s %d %d", ppfunc(), tid(), u64_arg(1))) }}
probe end {{ println("# ", n > 1000) }}"""


def unharmed(script, *command):
    """Runs it with and without spile; the lines of the script's own, which begin with '#'."""
    own = start(*command)
    output, status = own.communicate()[0].decode(), own.wait()
    result = spile("-DMAXSKIPPED=0", "-e", script, "-c", " ".join(map(str, command)))
    lines = result.out.splitlines(True)
    expect("".join(line for line in lines if not line.startswith("# ")), output, f"the program's output\n{result}")
    expect((result.status, status), (0, 0), f"status\n{result}")
    return result, {line.split()[1]: line.split()[2:] for line in lines if line.startswith("# ")}


def counts_in(output):
    return {line.split()[0]: line.split()[1] for line in output.splitlines() if re.fullmatch(r"[a-z]+ \d+", line)}


def library(name, *places):
    for place in places + ("/usr/lib/x86_64-linux-gnu",):
        for path in sorted(pathlib.Path(place).glob(name)):
            return str(path.resolve())
    skip(f"{name} is not installed")


def script(name, text):
    path = temporary_directory() / name
    path.write_text(text)
    return path


if VARIANT == "ocaml":
    binary = program("ocaml_calls")
    result, counts = unharmed(COUNTS.format(pattern="*"), binary, 30)
    for name, calls in counts_in(result.out).items():
        found = [n for function, n in counts.items() if re.fullmatch(f"camlOcaml_calls__{name}_\\d+", function)]
        if name not in ("total", "failures"):
            expect(found, [[calls, "0"]], f"calls of {name}\n{result}")
    expect_match(r"^WARNING: returns of \d+ functions in .+ \(.*\) can't be probed: OCaml's collector and exceptions find", result.err)
    expect_true(int(counts["caml_alloc_string"][1]) > 0, "C functions of the runtime have returns")
    result = spile("-e", 'probe process.function("camlOcaml_calls__sum_*").return { println("never") }', "-c", f"{binary} 3")
    result.expect(status=1, out="", err_match="OCaml")
elif VARIANT == "overflow":
    # Handlers that take more stack than what is left find that out as the program does, and it catches it.
    binary = program("ocaml_calls")
    unharmed(STRINGS.format(pattern="caml*"), binary, 2)
    unharmed("""global n probe process.function("camlOcaml_calls__deep_*") { n++ } probe end { println("# ", n > 1000) }""", binary, 2)
    unharmed("""global n, s probe process.function("camlOcaml_calls__deep_*") { if (n++ % 50000 == 0) s <<< strlen(sprint_ubacktrace()) }
                probe end { println("# ", @count(s)) }""", binary, 2)
elif VARIANT == "haskell":
    binary = program("haskell_calls")
    result, counts = unharmed(COUNTS.format(pattern="*"), binary)
    expect_match("can't be probed: Haskell code is entered by jumps", result.err)
    expect_true("recursion deeper" not in result.err, str(result))
    # GHC splits a function of an unboxed argument into a worker and a wrapper.
    expect(counts["Main_zdwwork_info"], ["104", "0"], f"work\n{result}")
    expect(counts["Main_zdwrisky_info"], ["1000", "0"], f"risky\n{result}")
    expect_true(sum(int(r) for e, r in counts.values()) > 100, f"C functions of the runtime have returns\n{result}")
elif VARIANT == "guile":
    # A continuation is a copy of the stack, by which a call returns again.
    guile, path = installed("guile"), library("libguile-3.0.so.1")
    os.environ["GUILE_AUTO_COMPILE"] = "0"
    text = """(define k #f) (define n 0)
      (display (sort '(3 2 1) (lambda (a b) (call/cc (lambda (c) (if (not k) (set! k c)) (< a b)))))) (newline)
      (set! n (+ n 1)) (if (< n 5) (k #t)) (display n) (newline)"""
    point = f'process("{path}").function("*")'
    result, counts = unharmed(f'global n, r probe {point}.call {{ n++ }} probe {point}.return {{ r++ }} probe end {{ println("# n ", n > 1000, " ", r) }}',
                              guile, "-s", script("again.scm", text))
    expect(counts, {"n": ["1", "0"]}, str(result))
    expect_match("continuations are copies of the stack", result.err)
elif VARIANT == "ruby":
    # It is known only when the program loads what makes continuations: then all returns are taken out.
    ruby, path = installed("ruby"), library("libruby-*.so.*.*")
    text = """def fib(n) n < 2 ? n : fib(n-1) + fib(n-2) end
      p fib(12)
      require 'continuation'
      $n = 0
      p [3, 1, 2].each_with_index.map { |a, i| callcc { |k| $k = k if i == 1; a } }
      $n += 1
      $k.call($n) if $n < 5
      p 11.times.map { |i| Fiber.new { Fiber.yield i }.resume }"""
    point = f'process("{path}").function("*")'
    result, counts = unharmed(f'global n, r probe {point}.call {{ n++ }} probe {point}.return {{ r++ }} '
                              'probe end { println("# n ", n > 10000, " ", r > 1000 && r < n) }', ruby, "-W0", script("again.rb", text))
    expect(counts, {"n": ["1", "1"]}, str(result))
    expect_match("returns are not probed any more: continuations are copies of the stack", result.err)
else:
    python = "/usr/bin/python3.11"
    if subprocess.run([python, "-c", "import greenlet"], stderr=subprocess.DEVNULL).returncode != 0:
        skip("python3-greenlet is not installed")
    text = """import random, re, json, functools
from greenlet import greenlet
random.seed(5)
main = greenlet.getcurrent()
def step(v):
    main.switch(v)
    return v
class Text(str):
    def __hash__(self): step(0); return str.__hash__(self)
    def __eq__(self, other): step(0); return str.__eq__(self, other)
    def __lt__(self, other): step(0); return str.__lt__(self, other)
    def __repr__(self): step(0); return str(self)
def deeper(n, work):
    return work() if n == 0 else list(map(lambda _: deeper(n - 1, work), [0]))[0]
works = [lambda: sorted([Text("c"), Text("a")])[0], lambda: len({Text("x"): 1, Text("x"): 2}), lambda: repr([Text("p")]),
         lambda: functools.reduce(lambda p, q: step(p + q), [1, 2, 3]), lambda: re.sub("a", lambda m: str(step(1)), "banana"),
         lambda: json.loads('[{"a":1},{"b":2}]', object_hook=lambda d: step(len(d))), lambda: max([Text("m"), Text("n")]),
         lambda: sum(step(i) for i in range(3)), lambda: Text("k") in [Text("j"), Text("k")], lambda: min(1, 2, key=step)]
live = [greenlet(lambda _, work=work, depth=depth: str(deeper(depth, work))) for depth in range(4) for work in works]
out = []
while live:
    each = random.choice(live)
    result = each.switch(0)
    if each.dead:
        live.remove(each)
        out.append(result)
print(len(out), sorted(out))
"""
    point = 'process.function("*")'
    result, counts = unharmed(f'global n, r probe {point}.call {{ n++ }} probe {point}.return {{ r++ }} probe end {{ println("# n ", n > 10000, " ", r > 100) }}',
                              python, script("greenlets.py", text))
    expect(counts, {"n": ["1", "1"]}, str(result))
    expect_match("returns are not probed any more: greenlets are parts of the stack", result.err)
