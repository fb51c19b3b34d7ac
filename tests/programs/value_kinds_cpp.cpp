// As value_kinds.c, for C++: methods, templates, lambdas, references, exceptions, containers.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>
namespace shop {
struct Item {
  int id;
  double price;
  std::string name;
};
class Base {
 public:
  virtual ~Base() = default;
  virtual double value(int n) const = 0;

 protected:
  int kind_ = 7;
};
class Cart : public Base {
  std::vector<Item> items_;
  static int carts_;

 public:
  Cart() { ++carts_; }
  __attribute__((noinline)) void add(int id, double price, const std::string& name) {
    Item item{id, price, name};
    items_.push_back(item);
    count_ += 1;
  }
  __attribute__((noinline)) double value(int n) const override {
    double sum = 0;
    for (const Item& item : items_) {
      double p = item.price;
      sum += p * n;
    }
    return sum + kind_;
  }
  template <typename F>
  __attribute__((noinline)) int each(F f) {
    int k = 0;
    for (auto& item : items_) {
      int r = f(item);
      k += r;
    }
    return k;
  }
  static int count_;
};
int Cart::carts_ = 0;
int Cart::count_ = 0;
}  // namespace shop
template <typename T>
__attribute__((noinline)) T largest(const std::vector<T>& v, T start) {
  T best = start;
  for (T x : v) {
    if (best < x) best = x;
  }
  return best;
}
static int fold(std::vector<int> v) {
  int total = std::accumulate(v.begin(), v.end(), 0);
  std::sort(v.begin(), v.end(), [total](int a, int b) {
    int left = a ^ total, right = b ^ total;
    return left < right;
  });
  return v.front() + total;
}
__attribute__((noinline)) int throwing(int n) {
  int local = n * 3;
  try {
    if (n & 1) throw n;
    local += 2;
  } catch (int e) {
    local -= e;
  }
  return local;
}
__attribute__((noinline)) long refs(int& a, const long& b, int&& c) {
  a += (int)b;
  long r = a * c;
  return r;
}
int main() {
  long all = 0;
  for (int round = 1; round < 5; round++) {
    shop::Cart cart;
    for (int i = 0; i < round; i++) cart.add(i, 1.25 * i, "item" + std::to_string(i));
    all += (long)cart.value(round);
    all += cart.each([round](shop::Item& i) {
      int m = i.id * round;
      return m + (int)i.name.size();
    });
    std::vector<int> v;
    for (int i = 0; i < 8; i++) v.push_back(i * 37 % 11 + round);
    all += largest(v, round) + fold(v) + (long)largest(std::vector<double>{1.5, 2.5 * round}, 0.5);
    int a = round;
    all += refs(a, 5L, round + 1);
    all += throwing(round);
    std::map<int, int> m;
    for (int x : v) m[x]++;
    for (auto& [key, n] : m) {
      int both = key * n;
      all += both;
    }
    auto p = std::make_unique<int>(round);
    std::function<int(int)> f = [&](int x) {
      int y = x + *p;
      return y;
    };
    all += f(3);
  }
  std::printf("%ld\n", all);
}
