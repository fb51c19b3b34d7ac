# C++ functions by the names that people have for them: hits equal calls for virtual functions, templates, constructors and
# destructors (which have several entries), lambdas, and mangled names.
# long
from spiletest import *

WANTED = {  # by pattern: function, calls
    "plane::Shape::Shape": {"plane::Shape::Shape": 90},
    "Square::Square": {"plane::Square::Square": 45},
    "Disc::Disc": {"plane::Disc::Disc": 45},  # with a virtual base: made by C1, never by C2
    "Shape::~Shape": {"plane::Shape::~Shape": 90},
    "plane::*::area": {"plane::Disc::area": 45, "plane::Square::area": 45},
    "Sha*::*": {"plane::Shape::Shape": 90, "plane::Shape::~Shape": 90},  # area is never called
    "plane::S*::area": {"plane::Square::area": 45},
    "Square::area": {"plane::Square::area": 45},
    "plane::Stack<int>::push": {"plane::Stack<int>::push": 90},
    "plane::Stack<int>::pu*": {"plane::Stack<int>::push": 90},
    "scale": {"plane::scale<double>": 90, "plane::scale<long>": 90},
    "plane::scale<long>": {"plane::scale<long>": 90},
    "_ZN5plane5scaleIdEET_S1_i": {"plane::scale<double>": 90},
    "plane::fold": {"plane::fold": 90},
    "main::*::__invoke": {"main::$_1::__invoke": 90},  # a lambda as a plain function
}
own = start(program("shapes"), 90).communicate()[0].decode()
for pattern, functions in WANTED.items():
    result = spile("-e", f"""global e, r
probe process.function("{pattern}").call {{ e[ppfunc()]++ }}
probe process.function("{pattern}").return {{ r[ppfunc()]++ }}
probe end {{ foreach (f+ in e) printf("%s %d %d\\n", f, e[f], r[f]) }}""", "-c", f"{program('shapes')} 90")
    wanted = "".join(f"{name} {calls} {calls}\n" for name, calls in sorted(functions.items()))
    expect((result.out, result.status), (own + wanted, 0), f"{pattern}\n{result}")
result = spile("-e", """global e
probe process.function("main::*::operator()") { e[ppfunc()]++ }
probe end { foreach (f+ in e) printf("%s %d\\n", f, e[f]) }""", "-c", f"{program('shapes')} 90")
expect((result.out, result.status), (own + "main::$_0::operator() 90\nmain::$_1::operator() 90\n", 0), "lambdas, inlined")
# A "*" of its own reaches through all scopes; how many functions there are, and which may have been meant, counts C++ ones.
found = spile("-l", f'process("{program("shapes")}").function("plane::*")').out
for name in ["plane::fold", "plane::Square::area", "plane::Disc::Disc", "plane::Stack<int>::push"]:
    expect(f'function("{name}@' in found, True, found)
spile("-l", f'process("{program("shapes")}").function("Square::aera")').expect(
    status=1, err_match=r"no function 'Square::aera' in .+ \(\d\d functions known\)[\s\S]*did you mean 'Square::area'\?")
