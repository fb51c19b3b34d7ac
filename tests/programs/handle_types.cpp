// Values of the standard library's types that lead to others (iterators, futures, error codes), of which the program itself prints what a tracer should: one line
// "NAME=TEXT" for each.
#include <cstdio>
#include <deque>
#include <forward_list>
#include <future>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <unordered_map>
#include <unordered_set>
#include <vector>

struct Shop : std::error_category {
  const char* name() const noexcept override { return "shop"; }
  std::string message(int) const override { return "closed"; }
};
static const Shop kShop;

struct alignas(32) Wide {
  int id;
};

struct Everything {
  std::list<int> list = {4, 5};
  std::list<Wide> wide_list = {{7}};
  std::forward_list<char> forward = {'a', 'b'};
  std::map<std::string, int> map = {{"a", 1}, {"b", 2}, {"c", 3}};
  std::map<int, int> no_map;
  std::set<long> set = {30, 10, 20};
  std::multimap<char, double> multimap = {{'x', 0.5}};
  std::unordered_map<int, std::string> hash_map = {{42, "answer"}};
  std::unordered_set<std::string> hash_set = {"only"};
  std::deque<int> deque = {8, 9};
  std::vector<int> numbers = {1, 2, 3};
  std::vector<bool> bits = {false, true};

  std::list<int>::iterator in_list = std::next(list.begin());
  std::list<int>::const_iterator in_const_list = list.cbegin();
  std::list<Wide>::iterator in_wide_list = wide_list.begin();
  std::list<int>::iterator in_no_list{};
  std::forward_list<char>::iterator in_forward = forward.begin();
  std::map<std::string, int>::iterator in_map = map.find("b");
  std::map<std::string, int>::const_iterator at_root = map.cbegin();
  std::set<long>::iterator in_set = set.begin();
  std::multimap<char, double>::iterator in_multimap = multimap.begin();
  std::unordered_map<int, std::string>::iterator in_hash_map = hash_map.begin();
  std::unordered_map<int, std::string>::const_iterator in_const_hash_map = hash_map.cbegin();
  std::unordered_map<int, std::string>::iterator hash_end = hash_map.end();
  std::unordered_set<std::string>::iterator in_hash_set = hash_set.begin();
  std::deque<int>::iterator in_deque = deque.begin() + 1;
  std::vector<int>::reverse_iterator reverse = numbers.rbegin();
  std::vector<bool>::iterator in_bits = bits.begin() + 1;
#ifndef _LIBCPP_VERSION
  std::map<std::string, int>::iterator map_end = map.end();
  std::map<int, int>::iterator no_map_end = no_map.end();
#endif

  std::promise<int> promise;
  std::future<int> future = promise.get_future();
  std::promise<std::string> text_promise;
  std::shared_future<std::string> text_future = text_promise.get_future().share();
  std::promise<void> void_promise;
  std::future<void> void_future = void_promise.get_future();
  std::promise<double&> reference_promise;
  std::future<double&> reference_future = reference_promise.get_future();
  std::promise<Wide> failed_promise;
  std::future<Wide> failed_future = failed_promise.get_future();
  std::promise<char> open_promise;
  std::future<char> open_future = open_promise.get_future();
  std::future<int> no_future;
  std::packaged_task<int(int)> task{[](int x) { return 2 * x; }};

  std::error_code no_file = std::make_error_code(std::errc::no_such_file_or_directory);
  std::error_code refused{111, std::system_category()};
  std::error_code no_error;
  std::error_code odd{4711, std::generic_category()};
  std::error_condition late = std::make_error_condition(std::errc::timed_out);
  std::error_code closed{2, kShop};
};

static double number = 2.5;

template <typename Iterator>
static void print(const char* name, Iterator iterator, const std::string& value) {
  printf("%s=0x%016lx -> %s\n", name, reinterpret_cast<unsigned long>(&*iterator), value.c_str());
}
static void print(const char* name, const std::string& value) { printf("%s=%s\n", name, value.c_str()); }

struct Keeper {
  int keep(int more) const;
};
int Keeper::keep(int more) const { return more; }

// Two words each, in registers.
[[gnu::noinline, gnu::noipa]] void probed(Everything* e, std::error_code by_value, int (Keeper::*method)(int) const) {
  asm volatile("" : : "r"(e), "r"(by_value.value()), "r"(&by_value.category()), "r"(method != nullptr) : "memory");
}

int main() {
  Everything e;
  e.promise.set_value(42);
  e.text_promise.set_value("done");
  e.void_promise.set_value();
  e.reference_promise.set_value(number);
  e.failed_promise.set_exception(std::make_exception_ptr(std::runtime_error("failed")));
  print("in_list", e.in_list, "5");
  print("in_const_list", e.in_const_list, "4");
  print("in_wide_list", e.in_wide_list, "{.id=7}");
  print("in_no_list", "NULL");
  print("in_forward", e.in_forward, "'a'");
  print("in_map", e.in_map, "(\"b\", 2)");
  print("at_root", e.at_root, "(\"a\", 1)");
  print("in_set", e.in_set, "10");
  print("in_multimap", e.in_multimap, "('x', 0.5)");
  print("in_hash_map", e.in_hash_map, "(42, \"answer\")");
  print("in_const_hash_map", e.in_const_hash_map, "(42, \"answer\")");
  print("hash_end", "end");
  print("in_hash_set", e.in_hash_set, "\"only\"");
  print("in_deque", e.in_deque, "9");
  print("reverse", e.reverse, "3");
  print("in_bits", "[1]");
#ifndef _LIBCPP_VERSION
  print("map_end", "end");
  print("no_map_end", "end");
#endif
  print("promise", "ready(42)");
  print("future", "ready(42)");
  print("text_future", "ready(\"done\")");
#ifndef _LIBCPP_VERSION  // whose future<void> is only declared here
  print("void_future", "ready");
#endif
  char reference[40];
  snprintf(reference, sizeof reference, "ready(0x%016lx)", reinterpret_cast<unsigned long>(&number));
  print("reference_future", reference);
  print("failed_future", "exception");
  print("open_future", "not ready");
  print("no_future", "no state");
  print("task", "not ready");
  print("no_file", "{\"generic\": ENOENT}");
  print("refused", "{\"system\": ECONNREFUSED}");
  print("no_error", "{\"system\": 0}");
  print("odd", "{\"generic\": 4711}");
  print("late", "{\"generic\": ETIMEDOUT}");
  print("closed", "{\"shop\": 2}");
  fflush(stdout);
  probed(&e, e.closed, &Keeper::keep);
}
