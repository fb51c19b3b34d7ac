// shapes N: calls virtual functions, templates, constructors, destructors and lambdas; prints how often.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#define PROBED __attribute__((noinline, used))

namespace plane {
static long made, ended, areas, scaled, folded, pushed;

class Shape {
 public:
  PROBED explicit Shape(int size) : size_(size) { made++; }
  PROBED virtual ~Shape() { ended++; }
  PROBED virtual long area() const { areas++; return 0; }
  int size_;
};
class Square final : public Shape {
 public:
  PROBED explicit Square(int size) : Shape(size) {}
  PROBED ~Square() override {}
  PROBED long area() const override { areas++; return long(size_) * size_; }
};
class Disc final : public virtual Shape {
 public:
  PROBED explicit Disc(int size) : Shape(size) {}
  PROBED long area() const override { areas++; return 3L * size_ * size_; }
};

template <typename T>
class Stack {
 public:
  PROBED void push(const T& value) { pushed++; values_.push_back(value); }
  std::vector<T> values_;
};
template <typename T>
PROBED T scale(T value, int by) { scaled++; return value * by; }
template long scale<long>(long, int);

PROBED long fold(const std::function<long(long)>& f, long n) { folded++; return f(n); }
}  // namespace plane

int main(int, char** words) {
  using namespace plane;
  long n = std::atol(words[1]), sum = 0;
  Stack<int> ints;
  Stack<std::string> texts;
  long (*volatile plain)(long) = [](long x) { return x ^ 1; };
  for (long i = 0; i < n; i++) {
    std::unique_ptr<Shape> shape;
    if (i % 2) shape = std::make_unique<Square>(i); else shape = std::make_unique<Disc>(i);
    sum += shape->area() + scale(i, 2) + long(scale(0.5 * i, 2));
    long lambdas = 0;
    sum += fold([&lambdas](long x) { lambdas++; return x + 1; }, i) + lambdas + plain(i);
    ints.push(i);
    if (i % 3 == 0) texts.push("text");
  }
  std::printf("sum %ld made %ld ended %ld areas %ld scaled %ld folded %ld pushed %ld\n", sum, made, ended, areas, scaled, folded, pushed);
}
