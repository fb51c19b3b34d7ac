// Values of the standard library's types, of which the program itself prints what a tracer should: one line "NAME=TEXT" for each.
#include <array>
#include <atomic>
#include <chrono>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <forward_list>
#include <functional>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

enum class Color : uint8_t { kRed, kGreen = 5, kBlue };
enum Flags { kNone = 0, kRead = 1, kWrite = 2, kExecute = 4, kAll = 7 };

struct Point {
  int x;
  double y;
};

struct Node {
  std::string name;
  std::vector<Node> children;
};

int twice(int x) { return 2 * x; }

struct Everything {
  std::string text = "short";
  std::string longer = "a text that is too long to be kept in the object itself";
  std::string controls = "tab\there \033[31m \xc3\xa4 \xff";
  std::string empty;
  std::u16string wide = u"w\u00e4\U0001F600";
  std::string_view view = std::string_view("viewed text").substr(0, 6);
  std::vector<int> numbers = {1, -2, 3};
  std::vector<int> none;
  std::vector<bool> bits = {true, false, true, true};
  std::vector<std::string> words = {"one", "two"};
  std::vector<std::vector<int>> nested = {{1}, {2, 3}, {}};
  std::array<short, 3> fixed = {{7, 8, 9}};
  std::array<int, 0> nothing;
  std::deque<int> deque;
  std::list<int> list = {4, 5, 6};
  std::forward_list<char> forward = {'a', 'b'};
  std::map<std::string, int> map = {{"b", 2}, {"a", 1}, {"c", 3}};
  std::map<char, double> other_map = {{'x', 0.5}};
  std::set<long> set = {30, 10, 20};
  std::unordered_map<int, std::string> hash_map = {{42, "answer"}};
  std::unordered_set<std::string> hash_set = {"only"};
  std::queue<int> queue;
  std::optional<int> some = 5;
  std::optional<std::string> no_text;
  std::variant<int, std::string, Point> variant = std::string("second");
  std::unique_ptr<Point> unique = std::make_unique<Point>(Point{1, 2.5});
  std::unique_ptr<int> no_pointer;
  std::shared_ptr<int> shared = std::make_shared<int>(77);
  std::shared_ptr<int> other = shared;
  std::function<int(int)> function = twice;
  std::function<int(int)> lambda = [](int x) { return x + 1; };
  std::function<int(int)> no_function;
  std::atomic<int> atomic{-3};
  std::atomic<bool> flag{true};
  std::chrono::milliseconds duration{1500};
  std::chrono::duration<double> seconds{0.25};
  std::chrono::system_clock::time_point instant{
      std::chrono::duration_cast<std::chrono::system_clock::duration>(std::chrono::nanoseconds(1700000000123456789))};
  std::pair<int, std::string> pair = {1, "one"};
  std::tuple<int, std::string, double> tuple = {3, "three", 3.25};
  std::complex<double> complex = {1.5, -2};
  Color color = Color::kBlue;
  Color no_color = Color(77);
  Flags flags = Flags(kRead | kExecute);
  float single = 0.1f;
  double tenth = 0.1;
  double huge = 1e300;
  double tiny = -2.5e-310;
  double infinite = -1.0 / 0.0;
  long double extended = 1.25L;
  Node tree = {"root", {{"left", {}}, {"right", {{"leaf", {}}}}}};
};

static std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char c = text[i];
    char buffer[8];
    if (c == '\t') out += "\\t";
    else if (c == 0xc3) out += text.substr(i++, 2);
    else if (c < 0x20 || c >= 0x7f) snprintf(buffer, sizeof buffer, "\\%03o", c), out += buffer;
    else out += c;
  }
  return out + "\"";
}

template <typename T>
static void print(const char* name, const T& value) {
  std::cout << name << '=' << value << '\n';
}

template <typename T, typename Shown>
static void print_all(const char* name, const T& values, const char* brackets, Shown shown) {
  std::cout << name << '=' << brackets[0];
  bool first = true;
  for (const auto& value : values) {
    if (!first) std::cout << ", ";
    first = false;
    shown(value);
  }
  std::cout << brackets[1] << '\n';
}

static void tree(const Node& node) {
  std::cout << "{.name=" << quoted(node.name) << ", .children=[";
  bool first = true;
  for (const Node& child : node.children) {
    if (!first) std::cout << ", ";
    first = false;
    tree(child);
  }
  std::cout << "]}";
}

extern "C" __attribute__((noinline)) void probed(Everything* e, std::string by_value, const std::vector<int>& by_reference, std::string_view by_words) {
  asm volatile("" : : "r"(e), "r"(&by_value), "r"(&by_reference), "r"(&by_words) : "memory");
}

int main() {
  std::cout.precision(17);
  Everything e;
  for (int i = 0; i < 200; ++i) e.deque.push_back(i);
  for (int i = 0; i < 197; ++i) e.deque.pop_front();
  e.queue.push(1);
  e.queue.push(2);
  auto plain = [](const auto& x) { std::cout << x; };
  auto text = [](const auto& x) { std::cout << quoted(x); };
  print("text", quoted(e.text));
  print("longer", quoted(e.longer));
  print("controls", quoted(e.controls));
  print("empty", quoted(e.empty));
  print("wide", "\"w\u00e4\U0001F600\"");
  print("view", quoted(e.view));
  print_all("numbers", e.numbers, "[]", plain);
  print_all("none", e.none, "[]", plain);
  print_all("bits", e.bits, "[]", plain);
  print_all("words", e.words, "[]", text);
  print("nested", "[[1], [2, 3], []]");
  print_all("fixed", e.fixed, "[]", plain);
  print("nothing", "[]");
  print_all("deque", e.deque, "[]", plain);
  print_all("list", e.list, "[]", plain);
  print_all("forward", e.forward, "[]", [](char c) { std::cout << '\'' << c << '\''; });
  print_all("map", e.map, "{}", [](const auto& x) { std::cout << quoted(x.first) << ": " << x.second; });
  print_all("other_map", e.other_map, "{}", [](const auto& x) { std::cout << '\'' << x.first << "': " << x.second; });
  print_all("set", e.set, "{}", plain);
  print_all("hash_map", e.hash_map, "{}", [](const auto& x) { std::cout << x.first << ": " << quoted(x.second); });
  print_all("hash_set", e.hash_set, "{}", text);
  print("queue", "[1, 2]");
  print("some", *e.some);
  print("no_text", "nullopt");
  print("variant", "{[1]=" + quoted(std::get<1>(e.variant)) + "}");
  printf("unique=0x%016lx -> {.x=1, .y=2.5}\n", (unsigned long)e.unique.get()), fflush(stdout);
  print("no_pointer", "NULL");
  printf("shared=0x%016lx -> 77 (use %ld)\n", (unsigned long)e.shared.get(), e.shared.use_count());
  printf("other=0x%016lx -> 77 (use %ld)\n", (unsigned long)e.other.get(), e.other.use_count()), fflush(stdout);
  print("function", "twice");
  print("no_function", "NULL");
  print("atomic", e.atomic.load());
  print("flag", e.flag.load());
  print("duration", std::to_string(e.duration.count()) + "ms");
  print("seconds", "0.25s");
  using Ticks = std::chrono::system_clock::period;
  print("instant", "2023-11-14 22:13:20." + std::to_string(e.instant.time_since_epoch().count() % Ticks::den));
  print("pair", "(1, \"one\")");
  print("tuple", "(3, \"three\", 3.25)");
  print("complex", "1.5 + -2i");
  print("color", "kBlue");
  print("no_color", "77");
  print("flags", "kRead | kExecute");
  print("single", "0.1");
  print("tenth", "0.1");
  print("huge", "1e+300");
  print("tiny", "-2.5e-310");
  print("infinite", "-inf");
  print("extended", "1.25");
  std::cout << "tree=";
  tree(e.tree);
  std::cout << std::endl;
  probed(&e, "by value", e.numbers, "by words");
}
