# @var of C++: variables of namespaces and static members of classes, by their names alone or with the scopes around them.
# variants: pretty_O0 pretty_gcc
from spiletest import *

PATH = program(VARIANT)
result = spile("-e", r"""probe process.function("main") {
  printf("%d %d %d %d %d\n", @var("counter::count"), @var("::counter::count"), @var("plane::counter::count"),
    @var("plane::height"),
         @var("height@pretty.cpp"))
}""", "-c", PATH, "-o", "/dev/stderr").expect(status=0)
expect(result.err, "1 1 2 3 3\n")
spile("-e", 'probe process.function("main") { println(@var("counter::height")) }', "-c", PATH).expect(
    status=1, err_match="no global variable 'counter::height'")
spile("-e", 'probe process.function("foo").return { println($return) }', "-c", f"{program('calls_stripped')} 3").expect(
    status=1, err_match=r"hint: .*use returnval\(\) if it is")

# Names of inline namespaces may be left out.
folder = temporary_directory()
(folder / "inline.cpp").write_text("""namespace shop { inline namespace v2 { int price = 7; namespace { int secret = 8; } }
  int plain = 9; }
int price = 1;
int main() { return shop::price + shop::secret + shop::plain + price == 25 ? 0 : 1; }
""")
subprocess.run(["g++", "-g", "-o", folder / "inline", folder / "inline.cpp"], check=True)
names = ("shop::price", "shop::v2::price", "v2::price", "::shop::price", "::shop::v2::price", "shop::secret",
         "shop::plain", "::price")
values = " ".join(f'printf("%d ", @var("{name}"))' for name in names)
expect(spile("-e", f'probe process.function("main") {{ {values} }}', "-c", folder / "inline", "-o",
             "/dev/stderr").expect(status=0).err, "7 7 7 7 7 8 9 1 ")
spile("-e", 'probe process.function("main") { println(@var("shop::v1::price")) }', "-c",
      folder / "inline").expect(status=1, err_match="no global variable 'shop::v1::price'")
