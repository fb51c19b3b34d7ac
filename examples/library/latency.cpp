// latency: how long the calls of a function of a command take: each slow one as it comes, and percentiles at the end.
//
//   c++ -std=c++20 latency.cpp $(pkg-config --cflags --libs spile) -o latency
//   ./latency FUNCTION MICROSECONDS COMMAND        prints the calls that take at least so long
#include <iostream>
#include <spile.hpp>

constexpr const char* kScript = R"(
global times
probe process.function(@1).return {
  took = gettimeofday_ns() - @entry(gettimeofday_ns())
  times <<< took
  if (took >= $2 * 1000) printf("%d %d\n", tid(), took)
}
)";

int main(int argc, char** argv) try {
  if (argc != 4) {
    std::cerr << "usage: latency FUNCTION MICROSECONDS COMMAND\n";
    return 2;
  }
  spile::Session session({.script = kScript, .arguments = {argv[1], argv[2]}, .command = argv[3]});
  for (const spile::Event& event : session.events()) std::cout << "thread " << event.number(0) << ": " << event.number(1) / 1000 << " us\n";

  const spile::Snapshot end = session.read();
  const spile::Statistics& times = end.at("times").statistics();
  std::cout << times.count << " calls";
  if (times.p50 && times.p99) std::cout << ", half within " << *times.p50 << " ns, 99 % within " << *times.p99 << " ns, the longest " << times.max << " ns";
  std::cout << '\n';
  if (end.skipped > 0 || end.lost_records > 0) std::cout << end.skipped << " calls were not measured, " << end.lost_records << " not printed\n";
  for (const spile::Message& message : session.messages()) {
    if (message.code == SPILE_WARNING) std::cerr << "warning: " << message.text << '\n';
  }
} catch (const spile::Error& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
