# What is written without its namespace, and values that are objects: the error says how to write it.
from spiletest import *

folder = temporary_directory()
(folder / "shop.cpp").write_text(r"""#include <string>
namespace shop {
int total;
struct Cart { int items; int add(int n); static int made; };
int Cart::made;
__attribute__((noinline)) int Cart::add(int n) { items += n; asm volatile("" ::: "memory"); return items; }
__attribute__((noinline)) int sell(const std::string& what, std::string by) {
  asm volatile("" ::: "memory");
  return total += what.size() + by.size();
}
}
int main() { shop::Cart cart{}; return shop::sell("apple", "a string of more than sixteen bytes") + cart.add(1) > 0 ? 0 : 1; }
""")
shop = folder / "shop"
subprocess.run(["g++", "-g", "-O1", "-o", shop, folder / "shop.cpp"], check=True)


def hint_of(script):
    err = spile("-p2", "-e", script, "-c", shop).expect(status=1, out="").err
    return re.search(r"hint: (.*)", err)[1]


for wanted, found in [("total", "shop::total"), ("shop::totl", "shop::total"), ("totl", "shop::total"),
                      ("sho::total", "shop::total"), ("made", "shop::Cart::made"), ("Cart::mad", "shop::Cart::made")]:
    expect(hint_of(f'probe process.data("{wanted}").write {{ exit() }}'), f"did you mean '{found}'?", wanted)
expect_match("^local variables have no fixed address", hint_of('probe process.data("nothing_like_it").write { exit() }'))
for wanted, found in [("shop*", "shop::*"), ("Cart*", "Cart::*"), ("Cart", "Cart::*"), ("shp::sell", "shop::sell")]:
    expect(hint_of(f'probe process.function("{wanted}") {{ exit() }}'), f"did you mean '{found}'?", wanted)

# An object is not a number, nor are the characters of a string behind its address.
expect_match(r"show it as text with a \$ behind it", hint_of('probe process.function("sell") { println($by) }'))
expect_match(r"show it as text with a \$ behind it", hint_of('probe process.function("sell") { println(user_string($by)) }'))
expect_match(r"^\$what\$ shows the value as text.*user_string\(\$what\)",
             hint_of('probe process.function("sell") { printf("%s", $what) }'))
spile("-e", 'probe process.function("sell") { println($what$, $by$) }', "-c", shop).expect(
    status=0, out='"apple""a string of more than sixteen bytes"\n')
