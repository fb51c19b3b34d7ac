// Functions that only their parameters tell apart: each is called as often as its line says.
#include <stdio.h>
#include <stdlib.h>

#include <map>
#include <string>
#include <vector>

#define OWN __attribute__((noinline))

namespace shop {
OWN int f() { return 0; }
OWN int f(int a) { return a; }
OWN int f(unsigned a) { return a; }
OWN int f(const char* s) { return s[0]; }
OWN int f(char* s) { return s[0]; }
OWN int f(const std::string& s) { return s.size(); }
OWN int f(std::string s, std::vector<int> v) { return s.size() + v.size(); }
OWN int f(const std::map<int, std::string>& m) { return m.size(); }
OWN int f(int (*g)(int)) { return g(1); }
OWN int f(const int (&a)[3]) { return a[0]; }
template <typename T>
OWN int g(T t) {
  return static_cast<int>(t);
}
struct V {
  int x;
  OWN V operator*(const V& o) const { return {x * o.x}; }
  OWN V operator*(int o) const { return {x * o}; }
  OWN int operator*() const { return x; }
  OWN V operator+(const V& o) const { return {x + o.x}; }
  OWN int operator()(int i) const { return x + i; }
  OWN int operator()(int i, int j) const { return x + i + j; }
  OWN operator const char*() const { return "x"; }
  OWN int get() const { return x; }
  OWN int get() { return x + 1; }
  OWN int only() const { return x; }
};
OWN FILE* operator<<(FILE* f, const V& v) { return v.x ? f : nullptr; }
OWN long operator""_km(unsigned long long v) { return v * 1000; }
namespace {
OWN int hidden(int a) { return a; }
OWN int hidden(double a) { return a; }
}  // namespace
}  // namespace shop

static OWN int id(int a) { return a; }

int main() {
  using namespace shop;
  const int three[3] = {1, 2, 3};
  char text[] = "x";
  V v{1};
  const V c{2};
  volatile long sum = f() + f(1) + f(2u) + f("x") + f(text) + f(std::string("abc")) + f(std::string("a"), std::vector<int>{1}) +
                      f(std::map<int, std::string>{}) + f(id) + f(three);
  sum += g(1) + g(2.0) + (v * c).x + (v * 3).x + *v + (v + c).x + v(1) + v(1, 2) + *static_cast<const char*>(v) + c.get() +
         v.get() + c.only() + 5_km + hidden(1) + hidden(2.0);
  stdout << v;
  return sum == 1;
}
