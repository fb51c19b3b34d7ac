// Loading: maps first, then the programs, whose ld_imm64 instructions get the maps' descriptors.

#include "abi/kernel.h"

#include <errno.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <thread>

#include "base/check.h"
#include "base/messages.h"
#include "base/processes/threads.h"
#include "bpf/attach.h"
#include "bpf/bpf.h"
#include "bpf/cpu_samples.h"
#include "bpf/grace_period.h"
#include "bpf/kernel_function.h"
#include "bpf/kernel_switches.h"
#include "bpf/library.h"
#include "bpf/maps.h"
#include "bpf/object.h"
#include "bpf/object_lines.h"
#include "bpf/packet.h"
#include "bpf/perf_event.h"
#include "bpf/privilege.h"
#include "bpf/program_image.h"
#include "bpf/sample.h"
#include "bpf/uprobe.h"
#include "bpf/verifier.h"

namespace spile::bpf {
namespace {

constexpr char kLicence[] = "Dual MIT/GPL";  // the kernel compares with this very string

// Handlers compare literals with strings up to the most bytes that a string can have. They stop at the NUL, which the
// verifier does not see: what follows a literal must be readable.
constexpr size_t kLiteralSlack = 4096;

struct Program {
  const ProgramSpec* spec;
  std::vector<UniqueFd> fds;  // one, or one for each point (bpf::is_traced)
};

// Programs that are attached all together or not at all, and others that would do instead: ProgramSpec::choice.
struct Choice {
  std::map<int, std::vector<const ProgramSpec*>> ways;  // those that have not been tried
  std::vector<Program> programs;                        // of the way that was taken
  Error refused;                                        // why the last way wasn't
};

struct RingCloser {
  void operator()(ring_buffer* ring) const { ring_buffer__free(ring); }
};

class LoadedKernel final : public Kernel {
 public:
  explicit LoadedKernel(const ObjectSpec& spec)
      : programs_spec_(spec.programs), verbosity_(spec.verbosity), arena_(spec.arena), shared_(spec.shared) {}
  ~LoadedKernel() override {
    (void)detach();
    if (closing_.joinable()) closing_.join();
  }

  Result<void> create(const ObjectSpec& spec);

  Result<void> attach() override;
  Result<void> detach() override;
  Result<void> follow(pid_t thread, const std::string& program) override;
  void unfollow(pid_t thread) override { threads_.erase(thread); }
  int poll_fd() const override { return ring_ ? ring_buffer__epoll_fd(ring_.get()) : -1; }
  Result<size_t> consume(const RecordVisitor& visit) override;
  Result<void> elements(const std::string& map, const ElementVisitor& visit) override;
  Result<void> raw_elements(const std::string& map, const RawVisitor& visit) override;
  Result<void> collect(const CollectVisitor& visit) override;
  Result<void> put(const std::string& map, std::span<const uint8_t> key, std::span<const uint8_t> value) override;
  Result<void> add(const std::string& map, std::span<const uint8_t> key, std::span<const uint8_t> value) override;
  Result<void> erase(const std::string& map, std::span<const uint8_t> key) override;
  Result<void> clear(const std::string& map) override;
  std::span<uint8_t> data(const std::string& symbol) override;
  std::span<const uint8_t> arena_constants() const override {
    const Section* section = object_.find_section(abi::kKernelConstantsSection);
    return section ? std::span<const uint8_t>(section->bytes) : std::span<const uint8_t>();
  }
  Result<std::vector<uint64_t>> skipped() override;
  std::vector<std::pair<std::string, std::string>> attached() const override;
  std::vector<SwitchedOff> switched_off() const override { return find_switched_off(attached_); }
  Result<std::vector<int>> sample_new_cpus() override;
  std::vector<std::pair<std::string, uint64_t>> missed() const override;
  bool misses_uncounted() const override;
  const std::vector<Error>& refused() const override { return refused_; }
  Verification verification() const override;

 private:
  Result<void> create_data(const ObjectSpec& spec);
  Result<void> open_ring(const Map& map);
  Result<void> resolve(const Section& section, const Relocation& relocation, std::vector<bpf_insn>& code, size_t at) const;
  Result<ProgramImage> link(const std::string& section) const;
  Result<Program> load_program(const ProgramSpec& spec);
  Result<UniqueFd> load_for(const ProgramImage& image, const AttachPoint& point);
  Result<void> load_next_way(Choice& choice);
  Result<void> attach_one(const Program& program);
  Result<void> attach_in_files(const Program& program);
  void note_refused(Error error);
  Result<void> attach_choice(Choice& choice);
  Result<Map*> find(const std::string& name);
  static int on_record(void* self, void* data, size_t size);

  std::vector<ProgramSpec> programs_spec_;  // first: choices_ point into it
  int verbosity_;
  int arena_, shared_;
  uint32_t epoch_ = 0;
  Object object_;
  std::map<std::string, Map> maps_;
  std::map<uint32_t, DataSection> data_;  // by section index
  std::vector<Choice> choices_;
  std::unique_ptr<ring_buffer, RingCloser> ring_;
  const RecordVisitor* visitor_ = nullptr;  // while consume runs
  size_t consumed_ = 0;                     // by it
  // Handlers that write records faster than they can be read must not hold up the rest of the session.
  static constexpr size_t kMostAtOnce = 200'000;
  std::vector<Attachment> attachments_;
  std::vector<CpuSamples> cpu_samples_;
  std::vector<int> online_cpus_;                                       // when sample_new_cpus() looked last
  std::chrono::steady_clock::time_point looked_{};                     // when it asked the events last
  std::thread closing_;                                                // detach()
  std::map<pid_t, std::map<const AttachPoint*, Attachment>> threads_;  // of points with AttachPoint::of_threads
  struct Counted {
    std::string text;
    int program;               // a descriptor of choices_
    size_t attachment, count;  // in attachments_; 0: the kernel counts by the program alone
  };
  std::vector<Counted> counted_;
  std::chrono::nanoseconds verification_time_{0};
  std::vector<const AttachPoint*> attached_;  // of programs_spec_
  std::vector<Error> refused_;
};

// Each kprobe and uprobe costs a grace period of the kernel's (some ms) to close, in which it waits.
void close_all(std::vector<Attachment> attachments) {
  constexpr size_t kFew = 4, kMostThreads = 64;
  const size_t threads = std::min(attachments.size(), kMostThreads);
  auto close_share = [&](size_t first) {
    for (size_t i = first; i < attachments.size(); i += threads) attachments[i] = {};
  };
  if (attachments.size() <= kFew) {
    for (size_t i = 0; i < threads; ++i) close_share(i);
  } else {
    std::vector<std::jthread> closing;
    for (size_t i = 0; i < threads; ++i) {
      std::jthread next;
      if (try_to_start(next, close_share, i)) closing.push_back(std::move(next));
      else close_share(i);
    }
  }
}

std::chrono::nanoseconds thread_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

enum bpf_prog_type program_type(AttachPoint::Kind kind) {
  switch (kind) {
    case AttachPoint::Kind::kTracepoint: return BPF_PROG_TYPE_TRACEPOINT;
    case AttachPoint::Kind::kRawTracepoint: return BPF_PROG_TYPE_RAW_TRACEPOINT;
    case AttachPoint::Kind::kSample: return BPF_PROG_TYPE_PERF_EVENT;
    case AttachPoint::Kind::kPacket: return static_cast<bpf_prog_type>(kNetfilterProgram);
    case AttachPoint::Kind::kFentry:
    case AttachPoint::Kind::kFexit: return BPF_PROG_TYPE_TRACING;
    default: return BPF_PROG_TYPE_KPROBE;
  }
}

bpf_prog_load_opts load_options(const AttachPoint& point) {
  bpf_prog_load_opts options{};
  options.sz = sizeof options;
  if (point.kind == AttachPoint::Kind::kPacket) options.expected_attach_type = static_cast<bpf_attach_type>(kNetfilterAttach);
  if (is_multi(point.kind)) options.expected_attach_type = BPF_TRACE_KPROBE_MULTI;
  if (is_uprobe_multi(point.kind)) options.expected_attach_type = static_cast<bpf_attach_type>(kAttachUprobeMulti);
  if (is_traced(point.kind)) {
    options.expected_attach_type = point.kind == AttachPoint::Kind::kFexit ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY;
    options.attach_btf_id = point.description;
  }
  return options;
}

Result<void> LoadedKernel::create(const ObjectSpec& spec) {
  TRY(object_, read_object(spec.object));
  TRY_DO(read_lines(object_));
  for (const MapSpec& map : spec.maps) {
    TRY(Map made, Map::create(map));
    Map& placed = maps_.emplace(map.symbol, std::move(made)).first->second;
    if (map.kind == MapSpec::Kind::kRing) TRY_DO(open_ring(placed));
  }
  TRY_DO(create_data(spec));
  std::map<int, size_t> by_number;
  for (const ProgramSpec& program : programs_spec_) {
    auto known = program.choice < 0 ? by_number.end() : by_number.find(program.choice);
    const size_t index = known == by_number.end() ? choices_.size() : known->second;
    if (index == choices_.size()) choices_.emplace_back();
    if (program.choice >= 0) by_number[program.choice] = index;
    choices_[index].ways[program.way].push_back(&program);
  }
  for (Choice& choice : choices_) TRY_DO(load_next_way(choice));
  return {};
}

// Takes the first of the ways left that the kernel loads.
Result<void> LoadedKernel::load_next_way(Choice& choice) {
  choice.programs.clear();
  while (!choice.ways.empty()) {
    auto way = choice.ways.extract(choice.ways.begin());
    bool whole = true;
    for (const ProgramSpec* spec : way.mapped()) {
      Result<Program> program = load_program(*spec);
      if (program) {
        choice.programs.push_back(std::move(program).value());
        continue;
      }
      choice.refused = std::move(program).error();
      if (verbosity_ > 1 && !choice.ways.empty()) note(fmt::format("{}; another way is tried", choice.refused.message));
      choice.programs.clear();
      whole = false;
      break;
    }
    if (whole) return {};
  }
  return choice.refused;
}

Result<void> LoadedKernel::create_data(const ObjectSpec& spec) {
  for (uint32_t i = 0; i < object_.sections.size(); ++i) {
    const Section& section = object_.sections[i];
    if (!section.data || section.bytes.empty() || section.name == abi::kKernelConstantsSection) continue;
    std::vector<uint8_t> bytes = section.bytes;
    for (const DataSpec& data : spec.data) {
      const Symbol* symbol = object_.find_symbol(data.symbol);
      if (!symbol || symbol->section != i) continue;
      if (symbol->value + data.bytes.size() > bytes.size())
        return Error{fmt::format("kernel object: {} bytes for {} do not fit", data.bytes.size(), data.symbol), ""};
      std::copy(data.bytes.begin(), data.bytes.end(), bytes.begin() + static_cast<ptrdiff_t>(symbol->value));
    }
    bytes.resize((bytes.size() + 7) & ~size_t{7});
    if (!section.writable) bytes.resize(bytes.size() + kLiteralSlack);
    TRY(DataSection made, DataSection::create(section, std::move(bytes)));
    data_.emplace(i, std::move(made));
  }
  return {};
}

Result<void> LoadedKernel::open_ring(const Map& map) {
  ring_.reset(ring_buffer__new(map.fd(), on_record, this, nullptr));
  if (!ring_) return Error::from_errno("map the ring of " + map.spec().symbol, errno);
  return {};
}

Result<void> LoadedKernel::resolve(const Section& section, const Relocation& relocation, std::vector<bpf_insn>& code,
                                   size_t at) const {
  const Symbol& symbol = object_.symbols[relocation.symbol];
  if (relocation.type != kRelocation64 || at + 1 >= code.size() || code[at].code != (BPF_LD | BPF_IMM | BPF_DW))
    return Error{fmt::format("kernel object: relocation {} of {} in {} is not known", relocation.type, symbol.name, section.name),
                 ""};
  if (symbol.section == 0 && symbol.name == abi::kKernelArenaMap && arena_ >= 0) {
    code[at].src_reg = BPF_PSEUDO_MAP_FD;
    code[at].imm = arena_;
    return {};
  }
  if (symbol.section == 0 && symbol.name == abi::kKernelSharedMap && shared_ >= 0) {
    code[at].src_reg = BPF_PSEUDO_MAP_VALUE;
    code[at + 1].imm = code[at].imm;  // the addend
    code[at].imm = shared_;
    return {};
  }
  if (auto map = maps_.find(symbol.name); symbol.section == 0 && map != maps_.end()) {
    code[at].src_reg = BPF_PSEUDO_MAP_FD;
    code[at].imm = map->second.fd();
    return {};
  }
  auto data = data_.find(symbol.section);
  if (symbol.section == 0 || data == data_.end())
    return Error{fmt::format("kernel object: {} refers to {}, which is neither a map nor data", section.name, symbol.name), ""};
  // The instruction's own immediate is the addend to the symbol.
  code[at].src_reg = BPF_PSEUDO_MAP_VALUE;
  code[at + 1].imm = static_cast<int32_t>(symbol.value) + code[at].imm;
  code[at].imm = data->second.fd();
  return {};
}

Result<ProgramImage> LoadedKernel::link(const std::string& name) const {
  const Section* section = object_.find_section(name);
  if (!section || !section->code) return Error{"kernel object: no program in section " + name, ""};
  return link_program(object_, *section,
                      [&](const Section& in, const Relocation& relocation, std::vector<bpf_insn>& code, size_t at) {
                        return resolve(in, relocation, code, at);
                      });
}

Result<Program> LoadedKernel::load_program(const ProgramSpec& spec) {
  CHECK(!spec.points.empty());
  TRY(ProgramImage image, link(spec.section));
  Program program{&spec, {}};
  for (const AttachPoint& point : spec.points) {
    TRY(UniqueFd fd, load_for(image, point));
    program.fds.push_back(std::move(fd));
    if (!is_traced(point.kind)) break;
  }
  return program;
}

Result<UniqueFd> LoadedKernel::load_for(const ProgramImage& image, const AttachPoint& point) {
  bpf_prog_load_opts options = load_options(point);
  ProgramTypes types;
  if (image.functions.size() > 1 || !image.lines.empty()) {
    TRY(types, load_types(image));
    options.prog_btf_fd = static_cast<uint32_t>(types.btf.get());
    options.func_info = types.functions.data();
    options.func_info_cnt = static_cast<uint32_t>(types.functions.size());
    options.func_info_rec_size = sizeof(bpf_func_info);
    options.line_info = types.lines.data();
    options.line_info_cnt = static_cast<uint32_t>(types.lines.size());
    options.line_info_rec_size = sizeof(bpf_line_info);
  }
  auto load = [&] {
    return UniqueFd(bpf_prog_load(program_type(point.kind), "spile", kLicence, image.code.data(), image.code.size(), &options));
  };
  const std::chrono::nanoseconds begin = thread_time();
  UniqueFd fd = load();
  int error = errno;
  verification_time_ += thread_time() - begin;
  if (fd) return fd;
  // Without privilege there is EPERM before any verification; the verifier's own EPERM and EACCES come with a log.
  std::string log(16 << 20, '\0');
  options.log_level = verbosity_ > 2 ? 2 : 1;
  options.log_buf = log.data();
  options.log_size = static_cast<uint32_t>(log.size());
  UniqueFd second = load();
  if (second) return second;
  log.resize(std::strlen(log.c_str()));
  if (log.empty() && point.kind == AttachPoint::Kind::kPacket && error == EINVAL) return no_packet_programs(point, error);
  // Some kernels load other programs for us, and these for nobody.
  if (log.empty() && is_privilege_error(error) && is_traced(point.kind) && check_privilege().ok())
    return no_tracing(point, error);
  if (log.empty() && is_privilege_error(error)) return privilege_error("load the handler of " + point.text, error);
  return verifier_error(point, image, error, log, verbosity_);
}

Result<void> LoadedKernel::attach_one(const Program& program) {
  const std::vector<AttachPoint>& points = program.spec->points;
  if (is_uprobe_multi(points.front().kind)) return attach_in_files(program);
  const bool multi = is_multi(points.front().kind);
  size_t refused = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    const int fd = program.fds[std::min(i, program.fds.size() - 1)].get();
    if (points[i].may_be_refused) {
      Result<Attachment> made = attach_program(fd, points[i]);
      const bool can_go_on = made.ok() || is_refusal_of_place(made.error()) || is_refused_instruction(made.error());
      if (!made.ok() && (++refused == points.size() || !can_go_on)) return std::move(made).error();
      if (!made.ok()) {
        if (!points[i].optional) note_refused(std::move(made).error());
        continue;
      }
      if (is_kernel_function(points[i].kind)) counted_.push_back({points[i].text, fd, attachments_.size(), 1});
      attachments_.push_back(std::move(made).value());
      attached_.push_back(&points[i]);
      continue;
    }
    attached_.push_back(&points[i]);
    if ((multi && i > 0) || points[i].of_threads) continue;
    const size_t first = attachments_.size();
    if (points[i].kind == AttachPoint::Kind::kSample && points[i].process <= 0) {
      TRY(CpuSamples made, CpuSamples::attach(fd, points[i]));
      cpu_samples_.push_back(std::move(made));
      continue;
    }
    TRY(Attachment made, multi ? attach_to_functions(fd, points) : attach_program(fd, points[i]));
    attachments_.push_back(std::move(made));
    if (!is_kernel_function(points[i].kind)) {
      counted_.push_back({points[i].text, fd, first, 0});
      continue;
    }
    const bool several = multi && points.size() > 1;
    counted_.push_back(
        {several ? fmt::format("the {} functions of the probe at {}", points.size(), points[i].place) : points[i].text, fd, first,
         attachments_.size() - first});
  }
  return {};
}

Result<void> LoadedKernel::attach_in_files(const Program& program) {
  const std::vector<AttachPoint>& points = program.spec->points;
  TRY(MadeUprobes made, attach_uprobes(program.fds.front().get(), points));
  for (Attachment& attachment : made.attachments) attachments_.push_back(std::move(attachment));
  std::set<const AttachPoint*> refused;
  for (auto& [point, error] : made.refused) {
    refused.insert(point);
    if (!point->optional) note_refused(std::move(error));
  }
  for (const AttachPoint& point : points) {
    if (!refused.contains(&point)) attached_.push_back(&point);
  }
  return {};
}

// The entry and the return of a probe may be refused for one reason.
void LoadedKernel::note_refused(Error error) {
  if (std::ranges::none_of(refused_, [&](const Error& known) { return known.message == error.message; }))
    refused_.push_back(std::move(error));
}

// The kernel attaches handlers all the same while a switch is off, and reports no error.
Result<void> check_switches(const Choice& choice) {
  std::vector<const AttachPoint*> points;
  for (const Program& program : choice.programs) {
    for (const AttachPoint& point : program.spec->points) points.push_back(&point);
  }
  const std::vector<SwitchedOff> off = find_switched_off(points);
  if (!off.empty()) return error_of(off.front());
  return {};
}

Result<void> LoadedKernel::attach_choice(Choice& choice) {
  for (;;) {
    const size_t attachments = attachments_.size(), attached = attached_.size(), counted = counted_.size(),
                 refused_before = refused_.size();
    Result<void> outcome = check_switches(choice);
    for (const Program& program : choice.programs) {
      if (outcome.ok()) outcome = attach_one(program);
    }
    if (outcome.ok()) return outcome;
    attachments_.resize(attachments);
    attached_.resize(attached);
    counted_.erase(counted_.begin() + static_cast<ptrdiff_t>(counted), counted_.end());
    refused_.erase(refused_.begin() + static_cast<ptrdiff_t>(refused_before), refused_.end());
    if (choice.ways.empty()) return outcome;
    Error refused = std::move(outcome).error();
    // Of the errors of all ways, that of the place says more than that of a program which the kernel does not load.
    if (!load_next_way(choice)) return refused;
  }
}

bool is_optional(const Choice& choice) {
  return std::ranges::all_of(choice.programs, [](const Program& program) {
    return std::ranges::all_of(program.spec->points, [](const AttachPoint& point) { return point.optional; });
  });
}

// Each place takes two descriptors, unless one link serves many.
void raise_descriptor_limit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

Result<void> LoadedKernel::attach() {
  raise_descriptor_limit();
  std::optional<Error> left_out;
  for (Choice& choice : choices_) {
    Result<void> outcome = attach_choice(choice);
    if (outcome.ok()) continue;
    if (!is_refusal_of_place(outcome.error())) {
      (void)detach();
      return outcome;
    }
    if (!is_optional(choice)) {
      note_refused(outcome.error());
      if (!left_out) left_out = std::move(outcome).error();
    }
    choice.programs.clear();
  }
  // A script that would see nothing must not report so.
  if (left_out && attached_.empty()) return *left_out;
  return {};
}

Result<void> LoadedKernel::follow(pid_t thread, const std::string& program) {
  std::map<const AttachPoint*, Attachment>& before = threads_[thread];
  std::map<const AttachPoint*, Attachment> followed;
  for (const Choice& choice : choices_) {
    for (const Program& loaded : choice.programs) {
      for (const AttachPoint& point : loaded.spec->points) {
        if (!point.of_threads || (!point.program.empty() && point.program != program)) continue;
        if (auto known = before.find(&point); known != before.end()) {
          followed.emplace(&point, std::move(known->second));
          continue;
        }
        TRY(Attachment made, attach_sample_to(loaded.fds.front().get(), point, thread));
        followed.emplace(&point, std::move(made));
      }
    }
  }
  before = std::move(followed);
  return {};
}

std::vector<std::pair<std::string, std::string>> LoadedKernel::attached() const {
  std::vector<std::pair<std::string, std::string>> all;
  for (const AttachPoint* point : attached_) all.emplace_back(point->text, mechanism(*point));
  return all;
}

Result<std::vector<int>> LoadedKernel::sample_new_cpus() {
  if (cpu_samples_.empty()) return std::vector<int>();
  constexpr std::chrono::seconds kOften(1);
  const auto now = std::chrono::steady_clock::now();
  std::vector<int> online = online_cpus();
  const bool looks = now - looked_ >= kOften;
  if (!looks && online == online_cpus_) return std::vector<int>();
  if (looks) looked_ = now;
  online_cpus_ = online;
  std::set<int> renewed;
  std::optional<Error> refused;
  for (CpuSamples& samples : cpu_samples_) {
    Result<std::vector<int>> made = samples.renew(online, looks);
    if (made.ok()) renewed.insert(made->begin(), made->end());
    else refused = std::move(made).error();
  }
  if (refused) return *refused;
  return std::vector<int>(renewed.begin(), renewed.end());
}

Result<void> LoadedKernel::detach() {
  if (attachments_.empty() && cpu_samples_.empty() && threads_.empty()) return {};
  if (std::span<uint8_t> memory = data(abi::kKernelControlSymbol); memory.size() >= sizeof(abi::KernelControl)) {
    __atomic_store_n(&reinterpret_cast<abi::KernelControl*>(memory.data())->enabled, 0, __ATOMIC_RELEASE);
  }
  threads_.clear();
  if (closing_.joinable()) closing_.join();
  for (CpuSamples& samples : std::exchange(cpu_samples_, {})) std::ranges::move(samples.take(), std::back_inserter(attachments_));
  auto closed = std::make_shared<std::vector<Attachment>>(std::exchange(attachments_, {}));
  if (!try_to_start(closing_, [closed] { close_all(std::move(*closed)); })) close_all(std::move(*closed));
  attached_.clear();
  counted_.clear();
  return wait_for_handlers();
}

std::vector<std::pair<std::string, uint64_t>> LoadedKernel::missed() const {
  std::vector<std::pair<std::string, uint64_t>> all;
  std::map<std::string, uint64_t> sums;
  std::map<int, std::string> programs;  // each counts once
  for (const Counted& counted : counted_) {
    uint64_t missed = 0;
    for (size_t i = 0; i < counted.count; ++i) {
      const Attachment& attachment = attachments_[counted.attachment + i];
      missed += attachment.probe.missed().value_or(missed_by_link(attachment.link.get()).value_or(0));
    }
    if (programs.emplace(counted.program, counted.text).second) missed += missed_by_program(counted.program).value_or(0);
    sums[counted.text] += missed;
  }
  for (auto& [text, sum] : sums) {
    if (sum > 0) all.emplace_back(text, sum);
  }
  return all;
}

// A kprobe misses hits only where another handler runs on the processor, and not by those of kAlone.
bool LoadedKernel::misses_uncounted() const {
  using Kind = AttachPoint::Kind;
  static constexpr Kind kAlone[] = {Kind::kRawTracepoint, Kind::kPacket, Kind::kFentry, Kind::kFexit};
  const auto in_the_way = [](const AttachPoint* point) { return std::ranges::find(kAlone, point->kind) == std::end(kAlone); };
  if (std::ranges::count_if(attached_, in_the_way) < 2) return false;
  return std::ranges::any_of(counted_, [&](const Counted& counted) {
    for (size_t i = 0; i < counted.count; ++i) {
      const Attachment& attachment = attachments_[counted.attachment + i];
      // An eBPF program of fentry counts by itself.
      const bool by_program = is_tracing_link(attachment.link.get());
      if (!by_program && !attachment.probe.missed() && !missed_by_link(attachment.link.get())) return true;
    }
    return false;
  });
}

Verification LoadedKernel::verification() const {
  Verification all{.time = verification_time_};
  for (const Choice& choice : choices_) {
    for (const Program& program : choice.programs) {
      all.programs += program.fds.size();
      for (const UniqueFd& fd : program.fds) all.instructions += verified_instructions(fd.get()).value_or(0);
    }
  }
  return all;
}

int LoadedKernel::on_record(void* self, void* data, size_t size) {
  auto& kernel = *static_cast<LoadedKernel*>(self);
  const auto* record = static_cast<const abi::RecordHeader*>(data);
  if (size < sizeof *record || !kernel.visitor_) return 0;
  const auto* payload = static_cast<const uint8_t*>(data) + sizeof *record;
  (*kernel.visitor_)(*record, {payload, size - sizeof *record});
  return ++kernel.consumed_ < kMostAtOnce ? 0 : -EAGAIN;
}

Result<size_t> LoadedKernel::consume(const RecordVisitor& visit) {
  if (!ring_) return size_t{0};
  visitor_ = &visit;
  consumed_ = 0;
  int count = ring_buffer__consume(ring_.get());
  visitor_ = nullptr;
  if (count == -EAGAIN) return consumed_;
  if (count < 0) return Error::from_errno("read the kernel's records", -count);
  return static_cast<size_t>(count);
}

Result<Map*> LoadedKernel::find(const std::string& name) {
  auto map = maps_.find(name);
  if (map == maps_.end()) return Error{"no kernel map " + name, ""};
  return &map->second;
}

Result<void> LoadedKernel::elements(const std::string& name, const ElementVisitor& visit) {
  TRY(Map * map, find(name));
  return map->elements(visit);
}

Result<void> LoadedKernel::raw_elements(const std::string& name, const RawVisitor& visit) {
  TRY(Map * map, find(name));
  return map->raw_elements(visit);
}

Result<void> LoadedKernel::collect(const CollectVisitor& visit) {
  std::span<uint8_t> memory = data(abi::kKernelControlSymbol);
  if (memory.size() < sizeof(abi::KernelControl)) return Error{"kernel object: no control data", ""};
  auto* control = reinterpret_cast<abi::KernelControl*>(memory.data());
  uint32_t epoch = epoch_;
  epoch_ = 1 - epoch_;
  __atomic_store_n(&control->epoch, epoch_, __ATOMIC_RELEASE);
  TRY_DO(wait_for_handlers());
  for (auto& [name, map] : maps_) {
    if (!map.spec().sharded) continue;
    TRY_DO(map.take(epoch, [&](auto key, auto value) { visit(map.spec(), key, value); }));
  }
  return {};
}

Result<void> LoadedKernel::put(const std::string& name, std::span<const uint8_t> key, std::span<const uint8_t> value) {
  TRY(Map * map, find(name));
  return map->put(key, value);
}

Result<void> LoadedKernel::add(const std::string& name, std::span<const uint8_t> key, std::span<const uint8_t> value) {
  TRY(Map * map, find(name));
  return map->put(key, value, true);
}

Result<void> LoadedKernel::erase(const std::string& name, std::span<const uint8_t> key) {
  TRY(Map * map, find(name));
  return map->erase(key);
}

Result<void> LoadedKernel::clear(const std::string& name) {
  TRY(Map * map, find(name));
  return map->clear();
}

std::span<uint8_t> LoadedKernel::data(const std::string& name) {
  const Symbol* symbol = object_.find_symbol(name);
  if (!symbol) return {};
  auto section = data_.find(symbol->section);
  if (section == data_.end()) return {};
  std::span<uint8_t> memory = section->second.memory();
  if (symbol->value + symbol->size > memory.size()) return {};
  return memory.subspan(symbol->value, symbol->size);
}

Result<std::vector<uint64_t>> LoadedKernel::skipped() {
  std::vector<uint64_t> sums(abi::kSkipReasons);
  if (!maps_.contains(abi::kKernelStateMap)) return sums;
  TRY_DO(raw_elements(abi::kKernelStateMap, [&](auto, std::span<const std::span<const uint8_t>> values) {
    for (std::span<const uint8_t> value : values) {
      abi::KernelState state;
      if (value.size() < sizeof state) continue;
      std::memcpy(&state, value.data(), sizeof state);
      for (uint32_t reason = 0; reason < abi::kSkipReasons; ++reason) sums[reason] += state.skipped[reason];
    }
  }));
  return sums;
}

}  // namespace

Result<std::unique_ptr<Kernel>> load(const ObjectSpec& spec) {
  libbpf_set_print(nullptr);  // its warnings are not in our terms
  auto kernel = std::make_unique<LoadedKernel>(spec);
  TRY_DO(kernel->create(spec));
  return std::unique_ptr<Kernel>(std::move(kernel));
}

}  // namespace spile::bpf
