#include "session/serve/procfs_server.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <span>

#include "base/messages.h"
#include "session/scripts/procfs_value.h"

namespace spile::session {

namespace {

// The controller's copies of the globals that stand for $value (procfs_value.h).
class ProcfsValue {
 public:
  ProcfsValue(const sema::Program& program, Controller& controller)
      : controller_(controller), room_(static_cast<size_t>(program.limits.max_string_length)) {
    for (const syntax::Global* global : program.globals) {
      if (global->name == kProcfsValue) value_ = global->index;
      if (global->name == kProcfsParts) parts_ = global->index;
      if (global->name == kProcfsCount) count_ = global->index;
    }
  }

  // Does `$value = text`; text that does not fit into a string is cut off.
  void set(std::string_view text) {
    std::string padded((room_ + 7) & ~size_t{7}, '\0');
    text.copy(padded.data(), room_ - 1);
    int64_t none = 0;
    if (value_ >= 0) controller_.put_element(value_, {}, bytes_of(padded.data(), padded.size()));
    if (parts_ >= 0) controller_.clear_global(parts_);
    if (count_ >= 0) controller_.put_element(count_, {}, bytes_of(&none, sizeof none));
  }

  static std::span<const uint8_t> bytes_of(const void* data, size_t size) { return {static_cast<const uint8_t*>(data), size}; }

  std::string get() {
    std::map<int64_t, std::string> parts;
    auto take = [&](int64_t number, const void* string) {
      const char* text = static_cast<const char*>(string);
      parts[number] = std::string(text, strnlen(text, room_ - 1));
    };
    auto take_part = [&](std::span<const char> key, const void* string) {
      int64_t number = 0;
      memcpy(&number, key.data(), std::min(key.size(), sizeof number));
      take(number, string);
    };
    if (parts_ >= 0) controller_.for_each_element(parts_, take_part);
    if (value_ >= 0) controller_.for_each_element(value_, [&](auto, const void* string) { take(INT64_MAX, string); });
    std::string text;
    for (const auto& [number, part] : parts) text += part;
    return text;
  }

 private:
  Controller& controller_;
  size_t room_;
  int value_ = -1, parts_ = -1, count_ = -1;
};

}  // namespace

Result<void> ProcfsServer::open(const sema::Program& program, Controller& controller, const std::string& name,
                                const std::string& http, const MessageOptions& messages, RunProbe run,
                                HttpFiles::Metrics metrics) {
  const bool has_files = ProcfsFiles::wanted(program);
  if (!has_files && http.empty() && std::ranges::none_of(program.probes, [](const sema::Probe& probe) {
        return std::ranges::any_of(probe.points, StandardInput::is_input);
      }))
    return {};
  auto value = std::make_shared<ProcfsValue>(program, controller);
  ProcfsFiles::Handlers handlers;
  handlers.read = [run, value](int probe) {
    value->set("");
    run(probe);
    return value->get();
  };
  handlers.write = [run, value](int probe, std::string_view text) {
    value->set(text);
    run(probe);
  };
  handlers.string_most = static_cast<size_t>(program.limits.max_string_length) - 1;
  input_ = StandardInput::open(program, handlers.write, handlers.string_most);
  if (!http.empty()) {
    TRY(http_, HttpFiles::listen(http, program, handlers.read, std::move(metrics)));
    if (messages.verbosity() > 0) note("procfs files are at " + http_->url());
  }
  if (!has_files) return {};
  auto mounted = ProcfsFiles::mount(program, name, std::move(handlers));
  // With --http, files are not the only way.
  if (!mounted.ok() && !http_) return std::move(mounted).error();
  if (!mounted.ok()) {
    warn(mounted.error().message);
    return {};
  }
  files_ = std::move(*mounted);
  if (messages.verbosity() > 0) note("procfs files are in " + files_->folder());
  return {};
}

void ProcfsServer::close() {
  files_.reset();
  input_.reset();
  http_.reset();
}

}  // namespace spile::session
