// Values of the standard library's types, of which the program itself prints what a tracer should: one line "NAME=TEXT" for each.
#include <unistd.h>

#include <any>
#include <array>
#include <atomic>
#include <bitset>
#include <chrono>
#include <compare>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <forward_list>
#include <functional>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <queue>
#include <regex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <valarray>
#include <variant>
#include <vector>

enum class Color : uint8_t { kRed, kGreen = 5, kBlue };
enum Flags { kNone = 0, kRead = 1, kWrite = 2, kExecute = 4, kAll = 7 };

struct Point {
  int x;
  double y;
  double sum(int more) const;
};
double Point::sum(int more) const { return x + y + more; }

struct Node {
  std::string name;
  std::vector<Node> children;
};

struct Named : std::vector<int> {
  int more = 4;
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
  std::bitset<8> few_bits{0xa5};
  std::bitset<70> many_bits;
  std::any something = 42;
  std::any nothing_at_all;
  std::filesystem::path path = "/usr/lib";
  std::mutex free_mutex;
  std::mutex held_mutex;
  std::valarray<int> valarray = {1, 2, 3};
  std::span<int> view_of_numbers{numbers};
  std::span<int, 2> two_numbers{numbers.data(), 2};
  std::vector<int>::iterator iterator = numbers.begin() + 1;
  std::reference_wrapper<int> reference = numbers[0];
  std::smatch match;
  std::smatch no_match;
  std::strong_ordering ordering = std::strong_ordering::less;
  std::partial_ordering no_ordering = std::partial_ordering::unordered;
  std::chrono::year_month_day date{std::chrono::year(2024), std::chrono::month(2), std::chrono::day(29)};
  std::chrono::month month{7};
  std::nullptr_t null_pointer = nullptr;
  char8_t letter = u8'a';
  __int128 negative = -((__int128)1 << 100) - 1;
  unsigned __int128 positive = ~(unsigned __int128)0;
  __int128 zero = 0;
  double (Point::*method)(int) const = &Point::sum;
  double (Point::*no_method)(int) const = nullptr;
  Named named;
  Node tree = {"root", {{"left", {}}, {"right", {{"leaf", {}}}}}};
};

static std::string in_quotes(std::string_view text) {
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
  std::cout << "{.name=" << in_quotes(node.name) << ", .children=[";
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
  e.many_bits.set(1).set(69);
  e.held_mutex.lock();
  e.named.assign({1, 2});
  const std::string searched = "xaab";
  std::regex_search(searched, e.match, std::regex("(a+)b(c)?"));
  auto plain = [](const auto& x) { std::cout << x; };
  auto text = [](const auto& x) { std::cout << in_quotes(x); };
  print("text", in_quotes(e.text));
  print("longer", in_quotes(e.longer));
  print("controls", in_quotes(e.controls));
  print("empty", in_quotes(e.empty));
  print("wide", "\"w\u00e4\U0001F600\"");
  print("view", in_quotes(e.view));
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
  print_all("map", e.map, "{}", [](const auto& x) { std::cout << in_quotes(x.first) << ": " << x.second; });
  print_all("other_map", e.other_map, "{}", [](const auto& x) { std::cout << '\'' << x.first << "': " << x.second; });
  print_all("set", e.set, "{}", plain);
  print_all("hash_map", e.hash_map, "{}", [](const auto& x) { std::cout << x.first << ": " << in_quotes(x.second); });
  print_all("hash_set", e.hash_set, "{}", text);
  print("queue", "[1, 2]");
  print("some", *e.some);
  print("no_text", "nullopt");
  print("variant", "{[1]=" + in_quotes(std::get<1>(e.variant)) + "}");
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
  print("few_bits", "[1, 0, 1, 0, 0, 1, 0, 1]");
  std::cout << "many_bits=[0";
  for (int i = 1; i < 32; ++i) std::cout << ", " << e.many_bits[i];
  std::cout << ", ...]\n";
  print("something", "any(int)");
  print("nothing_at_all", "any()");
  print("path", in_quotes(e.path.string()));
  print("free_mutex", "unlocked");
  print("held_mutex", "locked by " + std::to_string(getpid()));
  print_all("valarray", e.valarray, "[]", plain);
  print_all("view_of_numbers", e.view_of_numbers, "[]", plain);
  print_all("two_numbers", e.two_numbers, "[]", plain);
  printf("iterator=0x%016lx -> -2\n", (unsigned long)&*e.iterator);
  printf("reference=0x%016lx -> 1\n", (unsigned long)&e.reference.get()), fflush(stdout);
  print("match", "[\"aab\", \"aa\", unmatched]");
  print("no_match", "[]");
  print("ordering", "less");
  print("no_ordering", "unordered");
  print("date", "2024-02-29");
  print("month", 7);
  print("null_pointer", "NULL");
  print("letter", "'a'");
  print("negative", "-1267650600228229401496703205377");
  print("positive", "340282366920938463463374607431768211455");
  print("zero", 0);
  print("method", "Point::sum");
  print("no_method", "NULL");
  print("named", "{[1, 2], .more=4}");
  std::cout << "tree=";
  tree(e.tree);
  std::cout << std::endl;
  probed(&e, "by value", e.numbers, "by words");
}
