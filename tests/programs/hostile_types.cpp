// Containers whose memory is garbage: lists and trees that lead to themselves, absurd sizes, pointers to nowhere.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

// A compiler describes a template's class that is needed, not one that is only pointed to.
struct Needed {
  std::vector<int> a;
  std::vector<long> b;
  std::deque<int> c;
  std::unordered_map<int, std::string> d;
  std::variant<int, std::string> e;
  std::shared_ptr<int> f;
  std::vector<bool> g;
} needed;

struct Pointers {
  const char* null_text;
  const char* bad_text;
  int* null;
  const char* good;
};

extern "C" __attribute__((noinline)) void bad_pointers(Pointers* p, Pointers* nowhere, Pointers* null) { asm volatile("" : : "r"(p), "r"(nowhere), "r"(null) : "memory"); }
extern "C" __attribute__((noinline)) void cyclic(std::list<int>* list, std::map<int, int>* map) { asm volatile("" : : "r"(list), "r"(map) : "memory"); }
extern "C" __attribute__((noinline)) void garbage(std::vector<int>* ends_before, std::vector<long>* nowhere, std::string* text, std::deque<int>* deque,
                                                  std::unordered_map<int, std::string>* hash, std::variant<int, std::string>* variant,
                                                  std::shared_ptr<int>* shared, std::vector<bool>* bits) {
  asm volatile("" : : "r"(ends_before), "r"(nowhere), "r"(text), "r"(deque), "r"(hash), "r"(variant), "r"(shared), "r"(bits) : "memory");
}

template <typename T, typename... Words>
static T* made_of(Words... words) {
  uint64_t all[] = {static_cast<uint64_t>(words)...};
  char* memory = static_cast<char*>(calloc(1, 256));
  memcpy(memory, all, sizeof all);
  return reinterpret_cast<T*>(memory);
}

int main() {
  Pointers p = {nullptr, reinterpret_cast<const char*>(0x10), nullptr, "a\033[31mb"};
  bad_pointers(&p, reinterpret_cast<Pointers*>(0x1000), nullptr);
  auto* list = new std::list<int>{1, 2};
  uint64_t* second = *reinterpret_cast<uint64_t**>(*reinterpret_cast<uint64_t**>(list));  // the node of 2
  second[0] = reinterpret_cast<uint64_t>(second);                                          // is its own next one
  reinterpret_cast<uint64_t*>(list)[2] = uint64_t{1} << 60;                                // of so many elements
  auto* map = new std::map<int, int>{{1, 10}, {2, 20}, {3, 30}};
  uint64_t* header = reinterpret_cast<uint64_t*>(map) + 1;
  uint64_t* root = reinterpret_cast<uint64_t*>(header[1]);
  root[3] = reinterpret_cast<uint64_t>(root);  // its own right child
  root[2] = reinterpret_cast<uint64_t>(root);  // and its own left one
  header[4] = uint64_t{1} << 60;
  cyclic(list, map);
  garbage(made_of<std::vector<int>>(0x2000, 0x1000, 0x1000), made_of<std::vector<long>>(0x10, 0xffffffffffffff00, 0), made_of<std::string>(0x123, 1ull << 40),
          made_of<std::deque<int>>(0x10, 8, 1, 2, 3, 0x4444444444444444, 5, 6, 7, 1ull << 50), made_of<std::unordered_map<int, std::string>>(1, 2, 0xdead, 1ull << 62),
          made_of<std::variant<int, std::string>>(1, 2, 3, 4, 77), made_of<std::shared_ptr<int>>(0xdeadbeef, 0x33), made_of<std::vector<bool>>(0x77, 0, 0x7777777777777777, 5));
  puts("done");
}
