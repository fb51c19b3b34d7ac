#include "cli/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <regex>
#include <thread>

#include "base/files/file.h"
#include "base/messages.h"
#include "base/print.h"
#include "base/processes/spawn.h"
#include "base/processes/threads.h"
#include "base/unique_fd.h"

extern char** environ;

namespace spile::cli {

namespace {

namespace fs = std::filesystem;

std::string quoted(const std::string& word) {
  std::string text = "'";
  for (char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

// The options that hold where the bundle runs; the others are in it.
std::string options_there(const session::Options& options, const std::vector<std::string>& processes) {
  std::string words;
  for (const std::string& process : processes) words += " -x " + quoted(process);
  const session::OutputOptions& output = options.output;
  for (const auto& [name, value] :
       {std::pair("http", &output.http), std::pair("otlp", &output.otlp), std::pair("kafka", &output.kafka)}) {
    if (!value->empty()) words += fmt::format(" --{}={}", name, quoted(*value));
  }
  for (const std::string* command : {&options.target.command, &options.target.workload}) {
    if (!command->empty()) words += " -c " + quoted(*command);
  }
  if (!options.target.children) words += " --no-children";
  for (int i = 0; i < options.messages.verbosity(); ++i) words += " -v";
  if (options.messages.suppress_warnings) words += " -w";
  return words;
}

// What the shell of the other machine does: its input is spile-run, then the bundle. When the input ends, here by Ctrl-C or since
// the connection broke, the script ends.
std::string script_there(size_t runner_size, size_t bundle_size, const std::string& options) {
  const std::string script = fmt::format(
      "umask 077; d=$(mktemp -d) || exit 1; trap 'rm -rf \"$d\"' EXIT; trap 'exit 1' HUP INT TERM; "
      "head -c {} >\"$d/spile-run\" && head -c {} >\"$d/bundle\" && chmod 700 \"$d/spile-run\" || exit 1; exec 3<&0; "
      "\"$d/spile-run\" \"$d/bundle\"{} </dev/null & run=$!; "
      "(exec >/dev/null 2>&1; cat <&3; kill -TERM $run) & watch=$!; "
      "wait $run; status=$?; kill $watch 2>/dev/null; exit $status",
      runner_size, bundle_size, options);
  return "exec sh -c " + quoted(script);
}

// A machine, its ssh, and the pipes to that.
class Host {
 public:
  explicit Host(std::string name) : name_(std::move(name)) {}
  ~Host() {
    if (pid_ > 0 && !ended_) {
      kill(pid_, SIGTERM);
      waitpid(pid_, nullptr, 0);
    }
    input_.reset();
    if (sender_.joinable()) sender_.join();
  }

  Result<void> start(const std::vector<std::string>& ssh, const std::string& command, std::shared_ptr<const std::string> data) {
    int in[2], out[2], err[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0)
      return Error::from_errno("pipe", errno);
    UniqueFd theirs[3] = {UniqueFd(in[0]), UniqueFd(out[1]), UniqueFd(err[1])};
    input_ = UniqueFd(in[1]);
    streams_[0].fd = UniqueFd(out[0]);
    streams_[1].fd = UniqueFd(err[0]);
    streams_[1].file = stderr;
    std::vector<std::string> words = ssh;
    words.insert(words.end(), {name_, command});
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    for (int i = 0; i < 3; ++i) posix_spawn_file_actions_adddup2(&actions, theirs[i].get(), i);
    // Ctrl-C is for us: ssh goes on until the other side has said all.
    const int failure = spawn_apart(words, actions, &pid_);
    posix_spawn_file_actions_destroy(&actions);
    if (failure != 0) {
      pid_ = 0;
      return Error::from_errno(fmt::format("run {}", words.front()), failure, "--remote needs ssh");
    }
    // All of it may not fit into the pipe.
    return spile::start(sender_, "the thread that sends the script", [fd = input_.get(), data = std::move(data)] {
      for (std::string_view left = *data; !left.empty();) {
        const ssize_t written = write(fd, left.data(), left.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return;  // ssh has ended, and says why
        left.remove_prefix(static_cast<size_t>(written));
      }
    });
  }

  // Lets the other side know that it shall end.
  void end() {
    if (sender_.joinable()) sender_.join();
    input_.reset();
  }
  void abort() { kill(pid_, SIGTERM); }

  bool reads() const { return streams_[0].fd || streams_[1].fd; }
  void add_to(std::vector<pollfd>& polled) const {
    for (const Stream& stream : streams_) polled.push_back({stream.fd ? stream.fd.get() : -1, POLLIN, 0});
  }
  void read(size_t which) { streams_[which].read(name_); }

  // Returns the exit status of ssh: that of spile-run there, or 255 where ssh itself failed.
  int wait() {
    input_.reset();
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    ended_ = true;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  const std::string& name() const { return name_; }

 private:
  struct Stream {
    UniqueFd fd = {};
    FILE* file = stdout;
    std::string line = {};

    void read(const std::string& host) {
      char buffer[1 << 16];
      const ssize_t count = ::read(fd.get(), buffer, sizeof buffer);
      if (count < 0 && errno == EINTR) return;
      if (count > 0) line.append(buffer, static_cast<size_t>(count));
      size_t begin = 0;
      for (size_t end; (end = line.find('\n', begin)) != std::string::npos; begin = end + 1)
        print(host, std::string_view(line).substr(begin, end - begin));
      line.erase(0, begin);
      if (count > 0) return;
      if (!line.empty()) print(host, line);
      fd.reset();
    }
    void print(const std::string& host, std::string_view text) const { print_to(file, "{}: {}\n", host, text); }
  };

  std::string name_;
  pid_t pid_ = 0;
  bool ended_ = false;
  UniqueFd input_;
  Stream streams_[2];
  std::thread sender_;
};

// The first program that a script names, in which names are looked up where -x's process is elsewhere.
std::string program_in(const std::string& script) {
  static const std::regex kProcess("process\\s*\\(\\s*\"([^\"*?]+)\"");
  std::smatch match;
  return std::regex_search(script, match, kProcess) ? match[1].str() : "";
}

// Compiles the script to a bundle in `path`. Returns the exit status.
Result<int> compile_here(session::Options options, bool has_process, const std::string& path) {
  if (has_process) {
    std::string text = options.script.text.value_or("");
    if (!options.script.text) {
      TRY(text, read_file(options.script.file));
    }
    const std::string program = program_in(text);
    if (program.empty())
      return Error{"-x names a process of another machine, and the script does not say which program that is",
                   "write process(\"/usr/sbin/nginx\").function(...): a file that is here, too"};
    options.target.processes.clear();
    options.target.command = quoted(program);
  }
  options.passes.last = 4;
  options.output = {};
  options.output.file = path;
  return session::run(options);
}

// A folder of our own for the bundle.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "spile-remote.XXXXXX").string();
    if (mkdtemp(name.data())) path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::vector<std::string> ssh_command() {
  const char* given = getenv("SPILE_SSH");
  std::vector<std::string> words;
  std::string word;
  for (char c : std::string(given && *given ? given : "ssh -C") + " ") {
    if (c != ' ') word += c;
    else if (!word.empty()) words.push_back(std::exchange(word, {}));
  }
  return words;
}

void read_until_ended(std::vector<std::unique_ptr<Host>>& hosts, int signals) {
  bool asked = false;
  while (std::ranges::any_of(hosts, [](const auto& host) { return host->reads(); })) {
    std::vector<pollfd> polled = {{signals, POLLIN, 0}};
    for (const auto& host : hosts) host->add_to(polled);
    if (poll(polled.data(), polled.size(), -1) < 0) continue;
    if (polled[0].revents) {
      signalfd_siginfo info;
      (void)!read(signals, &info, sizeof info);
      for (auto& host : hosts) asked ? host->abort() : host->end();
      asked = true;
    }
    for (size_t i = 1; i < polled.size(); ++i) {
      if (polled[i].revents) hosts[(i - 1) / 2]->read((i - 1) % 2);
    }
    fflush(stdout);
  }
}

}  // namespace

Result<int> run_remotely(const std::vector<std::string>& names, const session::Options& options,
                         const std::vector<std::string>& processes) {
  const std::string runner_path = fs::read_symlink("/proc/self/exe").parent_path() / "spile-run";
  if (::access(runner_path.c_str(), F_OK) != 0 && errno == ENOENT)
    return Error{fmt::format("--remote sends {} along, which is not there", runner_path),
                 "in a build tree, ./dev build makes it (or ninja -C build/release spile-run); else install spile whole"};
  TRY(const std::string runner, read_file(runner_path));
  TemporaryFolder folder;
  if (folder.path().empty()) return Error::from_errno("make a temporary folder", errno);
  const std::string bundle_path = folder.path() + "/script.spile";
  TRY(const int compiled, compile_here(options, !processes.empty(), bundle_path));
  if (compiled != 0) return compiled;
  TRY(const std::string bundle, read_file(bundle_path));

  sigset_t ends;
  sigemptyset(&ends);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, signal);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  UniqueFd signals(signalfd(-1, &ends, SFD_CLOEXEC));
  const auto data = std::make_shared<const std::string>(runner + bundle);
  const std::string command = script_there(runner.size(), bundle.size(), options_there(options, processes));
  std::vector<std::unique_ptr<Host>> hosts;
  for (const std::string& name : names) {
    hosts.push_back(std::make_unique<Host>(name));
    TRY_DO(hosts.back()->start(ssh_command(), command, data));
  }
  read_until_ended(hosts, signals.get());
  int status = 0;
  for (auto& host : hosts) {
    const int ended = host->wait();
    if (ended == 0) continue;
    refuse(fmt::format("{}: {}", host->name(), ended == 255 ? "ssh failed" : fmt::format("ended with status {}", ended)));
    status = 1;
  }
  return status;
}

}  // namespace spile::cli
