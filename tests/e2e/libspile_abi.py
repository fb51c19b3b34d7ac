# The ABI of libspile.so.0 is the one that tests/abi/libspile.txt records: exported symbols with their versions, sizes and offsets
# of the structures of spile.h, values of the enumerations; nothing else is exported; Python has the same structures. A change of
# what is recorded needs another SOVERSION, but for symbols and values that are added. `libspile_abi.py --update` writes the file.
# long
from libspile_install import *

header = (PREFIX / "include/spile.h").read_text()
plain = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
structures = {name: re.findall(r"(\w+)(?=[,;])", body) for body, name in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", plain, re.S)}
values = re.findall(r"\b(SPILE_[A-Z_]+) = ", plain)
expect_true(len(structures) == 8 and len(values) > 15, f"{structures.keys()} {values}")
lines = [f'printf("{name} %zu\\n", sizeof({name}));' + "".join(f'printf("  {field} %zu %zu\\n", offsetof({name}, {field}), sizeof(((({name}*)0)->{field})));' for field in fields)
         for name, fields in structures.items()]
lines += [f'printf("{name} = %d\\n", {name});' for name in values]
layout = run(compile_with_pkg_config("#include <spile.h>\n#include <stdio.h>\nint main(void) {\n" + "\n".join(lines) + "\n}\n", "-std=c99"))
symbols = sorted(line.split()[-1] for line in subprocess.run(["nm", "-D", "--defined-only", LIBRARY], check=True, capture_output=True, text=True).stdout.splitlines() if " A " not in line)
found = "\n".join(symbols) + "\n" + layout
recorded = ROOT / "tests/abi/libspile.txt"
if sys.argv[1:] == ["--update"]:
    recorded.write_text(found)
expect(found, recorded.read_text(), "the ABI")
declared = set(re.findall(r"\b(spile_\w+)\(", plain))
expect({symbol.partition("@@")[0] for symbol in symbols}, declared, "what is exported is what is declared")
expect({symbol.partition("@@")[2] for symbol in symbols}, {"SPILE_0"})
expect_match(r"SONAME.*\[libspile\.so\.0\]", subprocess.run(["readelf", "-d", LIBRARY], check=True, capture_output=True, text=True).stdout)
python = run(sys.executable, "-B", "-c", """import ctypes, spile
for name in "message value event statistics element global probe snapshot".split():
    made = getattr(spile, "_" + name.title())
    print(f"spile_{name} {ctypes.sizeof(made)}")
    for field, _ in made._fields_:
        print(f"  {field} {getattr(made, field).offset} {getattr(made, field).size}")
""")
expect(python, "".join(line + "\n" for line in layout.splitlines() if " = " not in line), "structures in Python")
# The header is C99 and C++, by itself, and compiles without a warning.
for language, standard, text in [("cc", "-std=c99", "#include <spile.h>\nint main(void) { return 0; }\n"), ("c++", "-std=c++11", "#include <spile.h>\nint main() {}\n"),
                                 ("c++", "-std=c++20", "#include <spile.hpp>\nint main() {}\n"), ("clang++-19", "-std=c++20", "#include <spile.hpp>\nint main() {}\n")]:
    compile_with_pkg_config(text, standard, compiler=language)
