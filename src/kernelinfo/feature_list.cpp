#include "kernelinfo/feature_list.h"

#include <fmt/format.h>

#include <charconv>
#include <functional>
#include <vector>

namespace spile::kernelinfo {

namespace {

using abi::KernelMembers;

// A number of a layout: the offset of a member, of members within each other ({"struct task_struct", "thread_info"}, {"struct
// thread_info", "status"}), or, without a member, the size of a structure.
struct Member {
  const char* structure;
  const char* name;
};
template <class Layout>
struct Offset {
  uint32_t Layout::* field;
  std::vector<Member> path;
};

const std::vector<Offset<TaskLayout>>& offsets_of(const TaskLayout*) {
  static const std::vector<Offset<TaskLayout>> offsets = {
      {&TaskLayout::task_mm, {{"struct task_struct", "mm"}}},
      {&TaskLayout::task_signal, {{"struct task_struct", "signal"}}},
      {&TaskLayout::task_files, {{"struct task_struct", "files"}}},
      {&TaskLayout::mm_exe_file, {{"struct mm_struct", "exe_file"}}},
      {&TaskLayout::file_inode, {{"struct file", "f_inode"}}},
      {&TaskLayout::signal_threads, {{"struct signal_struct", "nr_threads"}}},
      {&TaskLayout::files_table, {{"struct files_struct", "fdt"}}},
      {&TaskLayout::table_files, {{"struct fdtable", "fd"}}},
  };
  return offsets;
}

const std::vector<Offset<KernelMembers>>& offsets_of(const KernelMembers*) {
  static const std::vector<Offset<KernelMembers>> offsets = {
      {&KernelMembers::task_parent, {{"struct task_struct", "real_parent"}}},
      {&KernelMembers::task_signal, {{"struct task_struct", "signal"}}},
      {&KernelMembers::task_thread_pid, {{"struct task_struct", "thread_pid"}}},
      {&KernelMembers::task_cred, {{"struct task_struct", "cred"}}},
      {&KernelMembers::task_mm, {{"struct task_struct", "mm"}}},
      {&KernelMembers::task_name, {{"struct task_struct", "comm"}}},
      {&KernelMembers::task_links, {{"struct task_struct", "pid_links"}}},
      {&KernelMembers::task_call_state, {{"struct task_struct", "thread_info"}, {"struct thread_info", "status"}}},
      {&KernelMembers::signal_pids, {{"struct signal_struct", "pids"}}},
      {&KernelMembers::pid_level, {{"struct pid", "level"}}},
      {&KernelMembers::pid_tasks, {{"struct pid", "tasks"}}},
      {&KernelMembers::pid_numbers, {{"struct pid", "numbers"}}},
      {&KernelMembers::number_size, {{"struct upid", nullptr}}},
      {&KernelMembers::number_value, {{"struct upid", "nr"}}},
      {&KernelMembers::number_space, {{"struct upid", "ns"}}},
      {&KernelMembers::space_inode, {{"struct pid_namespace", "ns"}, {"struct ns_common", "inum"}}},
      {&KernelMembers::space_ids, {{"struct pid_namespace", "idr"}, {"struct idr", "idr_rt"}, {"struct xarray", "xa_head"}}},
      {&KernelMembers::node_shift, {{"struct xa_node", "shift"}}},
      {&KernelMembers::node_slots, {{"struct xa_node", "slots"}}},
      {&KernelMembers::cred_euid, {{"struct cred", "euid"}}},
      {&KernelMembers::cred_egid, {{"struct cred", "egid"}}},
      {&KernelMembers::mm_arguments, {{"struct mm_struct", "arg_start"}}},
      {&KernelMembers::mm_arguments_end, {{"struct mm_struct", "arg_end"}}},
      {&KernelMembers::mm_environment, {{"struct mm_struct", "env_start"}}},
      {&KernelMembers::mm_environment_end, {{"struct mm_struct", "env_end"}}},
  };
  return offsets;
}

// nullopt: one of the members is not there.
template <class Layout>
std::optional<Layout> read_layout(Btf& types) {
  Layout layout{};
  for (const Offset<Layout>& offset : offsets_of(&layout)) {
    uint64_t at = 0;
    for (const Member& each : offset.path) {
      auto type = types.type_named(each.structure);
      auto member = type && each.name ? type->member(each.name) : std::nullopt;
      if (!type || (each.name && !member)) return std::nullopt;
      at += member ? static_cast<uint64_t>(member->offset) : type->size();
    }
    layout.*offset.field = static_cast<uint32_t>(at);
  }
  return layout;
}

bool has_member(Btf& types, std::string_view structure, std::string_view member) {
  auto type = types.type_named(structure);
  return type && type->member(member);
}

// Calls number(name, value) for everything that the text has, and writes back what it makes of the value.
void visit(Features& features, const std::function<void(const std::string&, uint32_t&)>& number) {
  auto flag = [&](const char* name, bool& value) {
    uint32_t as_number = value;
    number(name, as_number);
    value = as_number != 0;
  };
  flag("tracing", features.tracing);
  flag("tracing_cookie", features.tracing_cookie);
  flag("multi", features.multi);
  flag("multi_return_stack", features.multi_return_stack);
  auto layout = [&]<class Layout>(const char* name, std::optional<Layout>& value) {
    bool is_there = value.has_value();
    flag(name, is_there);
    Layout layout = value.value_or(Layout());
    for (const Offset<Layout>& offset : offsets_of(&layout)) {
      std::string path = name;
      for (const Member& each : offset.path) path += fmt::format(" {}.{}", each.structure, each.name ? each.name : "size");
      number(path, layout.*offset.field);
    }
    value = is_there ? std::optional(layout) : std::nullopt;
  };
  layout("tasks", features.tasks);
  layout("members", features.members);
}

}  // namespace

Features read_features(Btf& types) {
  // The kernel describes what it was built with: these functions and structures are compiled where the feature is.
  Features found;
  found.tracing = types.function("register_ftrace_direct") && types.enum_with("BPF_FUNC_get_func_arg");
  found.tracing_cookie = has_member(types, "struct bpf_tramp_link", "cookie");
  found.multi = has_member(types, "struct bpf_kprobe_multi_link", "cookies");
  // From 6.14 on fprobes are made of the function graph tracer's, whose return handlers get no stack pointer.
  found.multi_return_stack = found.multi && has_member(types, "struct fprobe", "rethook");
  found.tasks = read_layout<TaskLayout>(types);
  found.members = read_layout<KernelMembers>(types);
  return found;
}

std::string feature_names() {
  std::string names;
  Features none;
  visit(none, [&](const std::string& name, uint32_t&) { names += name + "\n"; });
  return names;
}

std::string feature_text(const Features& features) {
  std::string text;
  Features copy = features;
  visit(copy, [&](const std::string&, uint32_t& value) { text += fmt::format("{}\n", value); });
  return text;
}

std::optional<Features> parse_features(std::string_view text) {
  Features features;
  bool whole = true;
  visit(features, [&](const std::string&, uint32_t& value) {
    const size_t end = std::min(text.find('\n'), text.size());
    auto [stop, error] = std::from_chars(text.data(), text.data() + end, value);
    whole = whole && error == std::errc() && stop == text.data() + end && end < text.size();
    text.remove_prefix(std::min(end + 1, text.size()));
  });
  return whole && text.empty() ? std::optional(features) : std::nullopt;
}

}  // namespace spile::kernelinfo
