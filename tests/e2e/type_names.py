# Types by the names that C++ programs write: with arguments of templates, of inline namespaces and of those without a name,
# whatever the compiler writes of them.
from spiletest import *

directory = temporary_directory()
(directory / "names.cpp").write_text("""
template <class A, class B = long> struct Pair { A a; B b; };
template <int N, char C> struct Numbers { char bytes[N]; };
namespace { struct Hidden { int a, b, c; }; }
namespace one { inline namespace v2 { struct In { short s; }; } namespace { struct Deep { char x[7]; }; } struct one { int q[5];
  }; template <class T> struct Box { T t; }; }
int main() {
  Hidden h{}; one::In i{}; one::Deep d{}; one::one o{}; Pair<one::In, char> p{}; Pair<int*> q{}; Numbers<9, 'x'> n{};
  one::Box<Pair<Hidden>> b{};
  asm volatile("" : : "r"(&h), "r"(&i), "r"(&d), "r"(&o), "r"(&p), "r"(&q), "r"(&n), "r"(&b) : "memory");
}
""")
SIZES = {"Hidden": 12, "one::In": 2, "one::v2::In": 2, "one::Deep": 7, "one::one": 20, "Pair<one::v2::In, char>": 4,
         "Pair<int*, long>": 16, "Pair< int * >": 16, "Numbers<9, 'x'>": 9,
         "one::Box<Pair<(anonymous namespace)::Hidden, long> >": 24}
KINDS = [("g++", "-gdwarf-4"), ("g++", "-gdwarf-5"), ("g++", "-gdwarf-5", "-fdebug-types-section"), ("clang++-19", "-gdwarf-4"),
         ("clang++-19", "-gdwarf-5"), ("clang++-19", "-gdwarf-5", "-gsimple-template-names")]
for kind in KINDS:
    if not shutil.which(kind[0]):
        continue
    simple = kind[-1] == "-gsimple-template-names"
    program_file = directory / f"names{KINDS.index(kind)}"
    subprocess.run([*kind, "-w", "-o", program_file, directory / "names.cpp"], check=True)
    for name, size in SIZES.items():
        if name == "one::In" and kind[-1] == "-fdebug-types-section":
            continue  # gcc does not describe the namespace as an inline one there
        if (name.startswith("Numbers") and simple) or "long" in name and kind[0] == "g++" and name.startswith("one::Box"):
            continue  # "Numbers<9, 120>"; gcc's long is "long int" in some places
        asked = name.replace("long", "long int") if kind[0] == "g++" and name.startswith("Pair<int*, ") else name
        for name_asked in (asked, asked.replace(", ", ",").replace(" >", ">")):
            result = spile("-e", f'probe begin {{ println(@sizeof("{name_asked}", "{program_file}")) exit() }}')
            if name.startswith("Pair<int*, ") and result.status:  # "long", too
                result = spile("-e", f'probe begin {{ println(@sizeof("{name}", "{program_file}")) exit() }}')
            expect(result.out, f"{size}\n", f"size of {name_asked} by {kind}: {result.err}")
    for name in "one", "v2::Hidden", "Pair<float>", "Pair", "one::Box<", "Box<int>", "<", "::", "Pair<>":
        spile("-e", f'probe begin {{ println(@sizeof("{name}", "{program_file}")) }}').expect(
            status=1, err_match="has no type|is not")
