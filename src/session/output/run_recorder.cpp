#include "session/output/run_recorder.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include "base/files/elf_identity.h"
#include "base/processes/proc.h"
#include "runs/run/run_stream.h"

namespace spile::session {

namespace {

constexpr size_t kMostModules = 10'000;

// Returns the build-id of a mapped file; "": it has none, or another file is in its place now.
std::string build_id_of(pid_t pid, const Mapping& mapping) {
  const std::string path = fmt::format("/proc/{}/root{}", pid, mapping.path);
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0 || facts.st_ino != mapping.inode || facts.st_dev != mapping.device) return {};
  const std::string identity = elf_identity_of_file(path);
  return identity.find(' ') == std::string::npos ? identity : "";
}

// Returns the build-id among ELF notes (elf(5)); "": there is none.
std::string build_id_in(std::string_view notes) {
  constexpr uint32_t kBuildId = 3;  // NT_GNU_BUILD_ID
  uint32_t head[3];                 // bytes of the name, bytes of the content, type
  const auto padded = [](uint32_t size) { return (size_t{size} + 3) / 4 * 4; };
  while (notes.size() >= sizeof head) {
    std::memcpy(head, notes.data(), sizeof head);
    const size_t content = sizeof head + padded(head[0]), end = content + padded(head[1]);
    if (end > notes.size()) return {};
    if (head[2] == kBuildId && notes.substr(sizeof head, 4) == std::string_view("GNU\0", 4)) {
      std::string text;
      for (const char c : notes.substr(content, head[1])) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
      return text;
    }
    notes.remove_prefix(end);
  }
  return {};
}

// Returns the lines of the warnings, without those that are empty.
std::vector<std::string> lines_of(const std::vector<std::string>& warnings) {
  std::vector<std::string> lines;
  for (const std::string& warning : warnings) {
    for (size_t begin = 0; begin < warning.size();) {
      const size_t end = std::min(warning.find('\n', begin), warning.size());
      if (end > begin) lines.push_back(warning.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return lines;
}

}  // namespace

Result<std::unique_ptr<RunRecorder>> RunRecorder::create(const LiveRun& run, const codegen::CompiledScript& script,
                                                         const RecordOptions& options) {
  std::unique_ptr<RunRecorder> recorder(new RunRecorder(run, script));
  if (options.stream) {
    recorder->is_stream_ = true;
    TRY(recorder->writer_,
        runs::RunWriter::begin(options.stream->frames(), run.facts(), run.probes(), run.globals(), script.formats));
  } else {
    TRY(recorder->writer_, runs::RunWriter::create(options.file, run.facts(), run.probes(), run.globals(), script.formats));
  }
  return recorder;
}

void RunRecorder::add_printf(const abi::OwnedHeader& header, int64_t time_ns, runs::PayloadReader arguments) {
  values_.clear();
  for (const ValueType type : script_.formats[header.id].arguments) {
    if (type == ValueType::kString) values_.emplace_back(arguments.next_string());
    else values_.emplace_back(arguments.next_long());
  }
  const uint32_t probe = header.probe < run_.probes().size() ? header.probe : runs::RunEvent::kNoProbe;
  writer_->add_event({time_ns, 0, header.id, probe, header.cpu, header.owner.process, header.owner.thread}, values_);
}

void RunRecorder::add_text(const abi::OwnedHeader& header, int64_t time_ns, std::string_view text) {
  const uint32_t probe = header.probe < run_.probes().size() ? header.probe : runs::RunEvent::kNoProbe;
  const runs::RunWriter::Value value = text;
  writer_->add_event({time_ns, 0, runs::RunEvent::kText, probe, header.cpu, header.owner.process, header.owner.thread},
                     {&value, 1});
}

void RunRecorder::add_tick(Controller& controller, std::span<const uint64_t> runs) {
  const runs::RunTick tick = run_.tick(controller, runs);
  for (size_t i = 0; i < tick.globals.size(); ++i) writer_->set_global(i, *tick.globals[i]);
  writer_->add_tick(tick);
}

void RunRecorder::note_modules(const std::vector<pid_t>& processes) {
  std::vector<runs::RunModule> found;
  for (const pid_t pid : processes) {
    Result<std::vector<Mapping>> mappings = read_mappings(pid);
    if (!mappings.ok()) continue;
    for (const Mapping& mapping : *mappings) {
      if (!mapping.executable || !mapping.path.starts_with('/') || mapping.path.starts_with("/memfd:spile-") ||
          mapping.inode == 0 || modules_.size() >= kMostModules)
        continue;
      if (!looked_at_.insert(fmt::format("{} {} {}", mapping.device, mapping.inode, mapping.path)).second) continue;
      runs::RunModule module{mapping.path, build_id_of(pid, mapping)};
      if (modules_.insert(module).second) found.push_back(std::move(module));
    }
  }
  if (!found.empty()) writer_->add_modules(found);
}

void RunRecorder::note_armed(const std::map<std::string, uint64_t>& armed, int64_t paused_ns) {
  if (armed == armed_) return;
  armed_ = armed;
  writer_->set_armed(armed, paused_ns);
}

void RunRecorder::note_started() {
  if (is_stream_) writer_->set_started();
}

void RunRecorder::send() {
  if (is_stream_) writer_->send();
}

void RunRecorder::note_kernel() {
  std::ifstream file("/sys/kernel/notes", std::ios::binary);
  const std::string notes{std::istreambuf_iterator<char>(file), {}};
  writer_->add_modules({{"[kernel]", build_id_in(notes)}});
}

void RunRecorder::finish(int64_t time_ns, const std::vector<std::string>& warnings) {
  std::vector<std::string> lines = lines_of(warnings);
  if (writer_->left_out() > 0)
    lines.push_back(
        fmt::format("{} events were left out: the program that has started spile reads them too slowly", writer_->left_out()));
  writer_->finish(time_ns, lines);
}

}  // namespace spile::session
