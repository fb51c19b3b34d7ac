# @var of C++: variables of namespaces and static members of classes, by their names alone or with the scopes around them.
# variants: pretty_O0 pretty_gcc
from spiletest import *

PATH = program(VARIANT)
result = spile("-e", r"""probe process.function("main") {
  printf("%d %d %d %d %d\n", @var("counter::count"), @var("::counter::count"), @var("plane::counter::count"), @var("plane::height"),
         @var("height@pretty.cpp"))
}""", "-c", PATH, "-o", "/dev/stderr").expect(status=0)
expect(result.err, "1 1 2 3 3\n")
spile("-e", 'probe process.function("main") { println(@var("counter::height")) }', "-c", PATH).expect(
    status=1, err_match="no global variable 'counter::height'")
spile("-e", 'probe process.function("foo").return { println($return) }', "-c", f"{program('calls_stripped')} 3").expect(
    status=1, err_match=r"hint: .*use returnval\(\) if it is")
