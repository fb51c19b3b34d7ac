# What another source file defines is seen where C++ code only declares it: variables of namespaces by the linker's names, whether
# that file has debug information or not, and std::string where clang does not describe its parts (-O0).
# variants: g++ clang++-19
from spiletest import *

USER = r"""
#include <cstdio>
#include <string>
namespace shop { extern int total; extern std::string title; namespace v2 { extern long price; } }
__attribute__((noinline)) int look(const std::string &by_reference, std::string by_value) {
  std::printf("%d %ld \"%s\" \"%s\" \"%s\"\n", shop::total, shop::v2::price, shop::title.c_str(),
    by_reference.c_str(), by_value.c_str());
  return shop::total++;
}
int main() {
  std::string text = "a long string that is not within the object";
  for (int i = 0; i < 3; i++) look(text, "short" + std::to_string(i));
}
"""
OWNER = """
#include <string>
namespace shop { int total = 42; std::string title = "the title"; namespace v2 { long price = -7; } }
"""
folder = temporary_directory()
(folder / "user.cpp").write_text(USER)
(folder / "owner.cpp").write_text(OWNER)
compiler = installed(VARIANT)
for level in ["-O0", "-O2"]:
    for debug in [["-g"], []]:
        subprocess.run([compiler, level, "-g", "-c", "user.cpp"], cwd=folder, check=True)
        subprocess.run([compiler, level, *debug, "-c", "owner.cpp"], cwd=folder, check=True)
        subprocess.run([compiler, "-o", "program", "user.o", "owner.o"], cwd=folder, check=True)
        # Without its owner's debug information, clang says nothing of a variable.
        known = debug or VARIANT == "g++"
        numbers = '@var("shop::total"), @var("shop::v2::price")' if known else "0, 0"
        title = '@var("shop::title")$' if debug else '""'
        run = spile("-e", f"""probe process.function("look") {{
            printf("> %d %d %s %s %s\\n", {numbers}, {title}, $by_reference$, $by_value$) }}""",
                    "-c", folder / "program").expect(status=0)
        lines = run.out.splitlines()
        own = [line for line in lines if not line.startswith(">")]
        if not known:
            own = [re.sub(r"^\S+ \S+", "0 0", line) for line in own]
        if not debug:
            own = [line.replace('"the title"', "") for line in own]
        expect(len(own), 3, "lines of the program")
        expect([line[2:] for line in lines if line.startswith(">")], own, f"{level} {debug}")
