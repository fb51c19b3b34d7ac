# libspile from C++20: events as a range, globals as values, errors as exceptions with their range in the script; stop() from
# another thread ends the iteration.
# long
from libspile_install import *

source = r"""
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <ranges>
#include <spile.hpp>
#include <thread>

#define EXPECT(condition) ((condition) ? (void)0 : (std::cout << "line " << __LINE__ << ": not " #condition "\n", std::exit(1)))

static_assert(std::ranges::input_range<spile::Session::Events> && !std::is_copy_constructible_v<spile::Session> && std::is_nothrow_move_constructible_v<spile::Session>);

int main(int, char** argv) {
  const std::string calls = argv[1];
  const pid_t server = std::atoi(argv[2]);

  spile::Session first({.script = R"(global texts, t probe process.function("foo") { texts[$arg] = sprintf("<%d>", $arg) t <<< $arg printf("%d %s", $arg, ppfunc()) })", .command = calls + " 100"});
  spile::Session session = std::move(first);
  std::int64_t sum = 0;
  std::ptrdiff_t events = 0;
  for (const spile::Event& event : session.events() | std::views::filter([](const spile::Event& event) { return event.number(0) % 2 == 0; })) {
    EXPECT(event.text == std::to_string(event.number(0)) + " foo" && event.string(1) == "foo" && event.time.time_since_epoch().count() > 0 && event.process > 1 && event.thread == event.process);
    sum += event.number(0);
    ++events;
  }
  EXPECT(events == 50 && sum == 49 * 50 && session.has_ended());
  const spile::Snapshot end = session.read();
  EXPECT(end.is_final && end.skipped + end.lost_records + end.lost_elements + end.dropped_events == 0);
  EXPECT(end.at("texts").elements.size() == 100);
  for (const spile::Element& element : end.at("texts").elements) EXPECT(element.string() == "<" + std::to_string(std::get<std::int64_t>(element.keys.at(0))) + ">");
  const spile::Statistics& t = end.at("t").statistics();
  EXPECT(t.count == 100 && t.sum == 4950 && t.min == 0 && t.max == 99 && t.average == 49.5 && t.p50 == 49 && t.p99 == 98);
  EXPECT(end.probes.at(0).hits == 100u && end.probes.at(0).places == 1);
  // What is taken of a snapshot that nobody keeps is a value, as docs/library-api.md and spile.hpp show it.
  static_assert(std::is_same_v<decltype(session.read().at("t").statistics()), spile::Statistics> && std::is_same_v<decltype(session.read().at("t").string()), std::string>);
  static_assert(std::is_same_v<decltype(session.read().at("t")), spile::Global> && std::is_same_v<decltype(end.at("t").statistics()), const spile::Statistics&>);
  const spile::Statistics& kept = session.read().at("t").statistics();
  std::size_t texts = 0;
  for (const spile::Element& element : session.read().at("texts").elements) texts += element.string().starts_with("<");
  EXPECT(kept.count == 100 && kept.p99 == 98 && texts == 100);
  try {
    end.at("nothing");
    EXPECT(false);
  } catch (const std::out_of_range&) {
  }

  // The script is wrong.
  try {
    spile::Session wrong({.script = "global a\nprobe end {\n  a = undefined_function(1)\n}", .processes = {server}});
    EXPECT(false);
  } catch (const spile::Error& error) {
    const spile::Message& message = error.message();
    EXPECT(error.code() == SPILE_ERROR_SCRIPT && message.file == "<input>" && message.line == 3 && message.column == 7 && message.end_line == 3 && message.end_column == 25);
    EXPECT(std::string(error.what()).starts_with("<input>:3:7: ") && std::string(error.what()).find("^~~~") != std::string::npos);
  }
  // A handler's error ends the iteration, after what came before it.
  spile::Session failing({.script = "probe process.function(\"foo\") {\n  println(10 / (2 - $arg))\n}\nprobe end { println(\"end\") }", .command = calls + " 9"});
  std::string text;
  try {
    for (const spile::Event& event : failing.events()) text += event.text;
    EXPECT(false);
  } catch (const spile::Error& error) {
    EXPECT(error.code() == SPILE_ERROR_HANDLER && error.message().line == 2 && error.message().column == 14);
    EXPECT(text.starts_with("5\n10\n") && text.ends_with("end\n"));
  }

  // Globals while it runs; another thread stops it.
  spile::Session running({.script = "global n probe process.function(\"work\") { n++ } probe timer.ms(20) { println(\"tick\") }", .processes = {server}});
  std::int64_t before = running.read().at("n").number();
  while (running.read().at("n").number() < before + 1000) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT(!running.read().is_final && !running.next(std::chrono::milliseconds(0)).value_or(spile::Event{}).text.starts_with("end"));
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    running.stop();
  });
  for (const spile::Event& event : running.events()) EXPECT(event.text == "tick\n");
  stopper.join();
  const spile::Snapshot stopped = running.read();
  EXPECT(stopped.is_final && stopped.probes.at(0).hits == static_cast<std::uint64_t>(stopped.at("n").number()));
  std::cout << "done\n";
}
"""
target = server()
built = compile_with_pkg_config(source, "-std=c++20", "-O1", "-pthread", compiler="c++")
expect_true(run(built, command_line(program("calls")), target.pid).endswith("\ndone\n"), "all expectations of the program")
expect_untouched(target.pid)
