# --compatible: @var in .return probes is what the variable was at the function's entry, up to SystemTap 4.0.
from spiletest import *

source = temporary_directory() / "counted.c"
source.write_text("""struct { int n, others[2]; } state = {1, {2, 3}};
__attribute__((noinline, noclone)) int twice(int x) { state.n = x; state.others[1] = 2 * x; return 2 * x; }
int main() { return twice(20) + twice(30) != 100; }
""")
subprocess.run([installed("gcc"), "-O1", "-g", source, "-o", source.with_suffix("")], check=True)
script = """probe process.function("twice").return {
  println(@var("state@counted.c")->n, " ", @var("state")->others[1], " ", @entry(@var("state")->n), " ", $return) }"""
for version, wanted in {"4.0": "1 3 1 40\n20 40 20 60\n", "2.6": "1 3 1 40\n20 40 20 60\n", "4.1": "20 40 1 40\n30 60 20 60\n",
                        "5.2": "20 40 1 40\n30 60 20 60\n", "": "20 40 1 40\n30 60 20 60\n"}.items():
    compatible = [f"--compatible={version}"] if version else []
    expect((version, spile(*compatible, "-e", script, "-c", source.with_suffix("")).expect(status=0).out), (version, wanted))
# At entries nothing changes, and what is gone at the return can't be written to.
spile("--compatible=4.0", "-e", 'probe process.function("twice") { println(@var("state")->n) }', "-c",
      source.with_suffix("")).expect(status=0, out="1\n20\n")
write = 'probe process.function("twice").return { @var("state")->n = 3 }'
spile("--compatible=4.0", "-g", "-p2", "-e", write, "-c", source.with_suffix("")).expect(
    status=1, err_match="can't be written to: it is gone when the function returns")
spile("-g", "-p2", "-e", write, "-c", source.with_suffix("")).expect(status=0)
