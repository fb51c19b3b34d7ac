# Values of the standard library's types are printed as the program itself prints them, whichever compiler and library made it.
# variants: gcc_O0 gcc_O2 clang_O0 clang_O2 clang_simple libcxx_O2
from spiletest import *

PATH = program("standard_types_" + VARIANT)
out = spile("-D", "MAXSTRINGLEN=4096", "-e", 'probe process.function("probed") { println($e$$) println($$parms$$) println($e$) }',
            "-c", PATH, "-o",
            "/dev/stderr").expect(status=0)
whole, parameters, top = out.err.splitlines()
own = [line for line in out.out.splitlines() if "=" in line]
expect_true(len(own) > 70, "too little was printed")
for line in own:
    expect_true(f".{line}, " in whole or whole.endswith(f".{line}}}"), f"{line} is not in {whole}")
# A lambda is named after the function that it is in.
expect_match(r"\.lambda=[^,]*(lambda|\$_|'lambda)", whole)
expect_true(parameters.endswith(' by_value="by value" by_reference=[1, -2, 3] by_words="by words"'), parameters)
# One level: containers are brackets, and texts are whole.
for part in ('.text="short", ', ".numbers=[...], ", ".map={...}, ", ".pair=(...), ", ".some=5, ", ".tree={...}}",
             ".color=kBlue, ", ".duration=1500ms, "):
    expect_true(part in top, f"{part} is not in {top}")
# Limits.
SHORT = ["-D", "MAXPRETTYELEMENTS=2", "-D", "MAXPRETTYSTRING=3", "-D", "MAXPRETTYDEPTH=1"]
spile(*SHORT, "-e", 'probe process.function("probed") { println($e->numbers$, $e->longer$, $e->tree$$) exit() }', "-c", PATH,
      "-o", "/dev/stderr").expect(
    status=0, err='[1, -2, ...]"a t"...{.name="roo"..., .children=[{.name="lef"..., .children=[...]}, {.name="rig"..., '
                  '.children=[...]}]}\n')
# Types by their names, with or without spaces and the arguments that are usually left out.
sizes = {"std::vector<int>": 24, "std::vector<int, std::allocator<int> >": 24, "std::vector<int,std::allocator<int>>": 24}
spile("-e", "probe begin { " + " ".join(f'println(@sizeof("{name}", "{PATH}"))' for name in sizes) + " exit() }").expect(
    status=0, out="".join(f"{size}\n" for size in sizes.values()))
spile("-e", f'probe begin {{ println(@sizeof("std::vector<float>", "{PATH}")) }}').expect(
    status=1, err_match="has no type 'std::vector<float>'")
# Of several modules, those that are there say what they lack.
for modules in (f"nothere:{PATH}", f"{PATH}:nothere", f"/nothere/either:nothere:{PATH}"):
    lacks = "'/nothere/either'" if "either" in modules else "'nothere'"
    spile("-e", f'probe begin {{ println(@cast(0, "Absent", "{modules}")->x) }}').expect(
        status=1, err_match=f"has no type 'Absent', and {lacks} is neither a loaded module nor a program$")
