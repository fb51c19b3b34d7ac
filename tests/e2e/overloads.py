# A function by its signature, in the forms of nm -C, of gdb's `info functions`, of people, and as spile itself prints it, is one
# function; without a signature all overloads are meant. Operators are not wildcards.
from spiletest import *

binary = program("overloads")
SOURCE = open(f"{ROOT}/tests/programs/overloads.cpp").read().splitlines()


def line_of(text):
    found = [i for i, line in enumerate(SOURCE, 1) if "OWN" in line and text in line]
    return found[0]


WANTED = {  # pattern: the lines that declare what it selects, by a text in them
    "f(int)": ["f(int a)"], "shop::f(unsigned int)": ["f(unsigned a)"], "int shop::f(int);": ["f(int a)"],
    "f(unsigned)": ["f(unsigned a)"], "f()": ["int f()"], "f(void)": ["int f()"], "f(char const*)": ["f(const char* s)"],
    "f(const char *)": ["f(const char* s)"], "f(char*)": ["f(char* s)"],
    "shop::f(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&)":
        ["f(const std::string& s)"],
    "f(const std::string&)": ["f(const std::string& s)"], "f(std::string, std::vector<int>)": ["std::vector<int> v"],
    "f(std::map<int, std::string> const&)": ["std::map<int"], "f(int (*)(int))": ["f(int (*g)"],
    "shop::f(int const (&) [3])": ["(&a)[3]"], "int shop::g<double>(double)": ["int g(T t)"],
    "shop::V::operator*": ["operator*(const", "operator*(int", "operator*()"], "V::operator*(int) const": ["operator*(int"],
    "operator*()": ["operator*()"], "shop::V shop::V::operator*(shop::V const&) const": ["operator*(const"],
    "V::operator()(int)": ["operator()(int i) "], "shop::V::operator char const*() const": ["operator const char*"],
    "operator const char*": ["operator const char*"], "V::get()": ["get() {"], "V::get() const": ["get() const"],
    "V::only()": ["only()"], "operator<<(_IO_FILE*, shop::V const&)": ["operator<<"],
    "operator<<(FILE*, const shop::V&)": ["operator<<"],
    'shop::operator"" _km(unsigned long long)': ['operator""_km'], 'operator""_km': ['operator""_km'],
    "shop::hidden(int)": ["hidden(int"], "shop::(anonymous namespace)::hidden(double)": ["hidden(double"],
    "shop::hidden": ["hidden(int", "hidden(double"], "id(int)": ["int id("], "static int id(int);": ["int id("],
}


def script_text(text):
    return text.replace("\\", "\\\\").replace('"', '\\"')


def lines(listing):
    return sorted({int(n) for n in re.findall(r"overloads\.cpp:(\d+)", listing)})


for pattern, texts in WANTED.items():
    wanted = sorted(line_of(text) for text in texts)
    found = spile("-l", f'process("{binary}").function("{script_text(pattern)}")')
    expect(lines(found.out), wanted, f"{pattern}\n{found}")
    expect(lines(spile("funcs", "-v", binary, pattern).out), wanted, f"spile funcs: {pattern}")

# What -l prints finds what was printed, each line by itself.
listed = spile("-l", f'process("{binary}").function("*@*overloads.cpp")').expect(status=0).out.splitlines()
expect_true(len(listed) > 25 and any('operator\\"\\" _km' in line for line in listed), str(listed))
for point in listed:
    expect(spile("-l", point).out, point + "\n", "a line of -l as a probe point")

# One hit for each: the others are not counted.
result = spile("-e", 'global n probe process.function("f(int)"), process.function("V::operator*") { n[ppfunc()]++ }'
                     'probe end { foreach (f+ in n) printf("%s %d\\n", f, n[f]) }', "-c", binary).expect(status=0)
expect(result.out, "shop::V::operator* 3\nshop::f 1\n", str(result))

spile("-l", f'process("{binary}").function("shop::f(shrt)")').expect(status=1, err_match=r"did you mean 'shop::f\(")
