#define FUSE_USE_VERSION 35
#include "session/serve/procfs_files.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fuse3/fuse_lowlevel.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "session/serve/standard_input.h"

namespace spile::session {

namespace {

constexpr fuse_ino_t kFirstFile = 2;
// What a read probe made is kept until its file is closed, and any user may open files: both are limited.
constexpr size_t kMostOpenBytes = 64 << 20, kMostOpen = 4096;

ProcfsFiles& files_of(fuse_req_t request) { return *static_cast<ProcfsFiles*>(fuse_req_userdata(request)); }

ProcfsFiles::File* file_at(fuse_req_t request, fuse_ino_t inode) {
  auto& files = files_of(request).files;
  return inode >= kFirstFile && inode - kFirstFile < files.size() ? &files[inode - kFirstFile] : nullptr;
}

struct stat status_of(const ProcfsFiles::File* file, fuse_ino_t inode) {
  struct stat status{};
  status.st_ino = inode;
  status.st_uid = geteuid();
  status.st_gid = getegid();
  bool is_file = file && !file->is_folder;
  status.st_mode = is_file ? static_cast<mode_t>(S_IFREG | file->mode) : S_IFDIR | 0755;
  status.st_nlink = is_file ? 1 : 2;
  status.st_mtime = status.st_ctime = status.st_atime = time(nullptr);
  return status;
}

void look_up(fuse_req_t request, fuse_ino_t parent, const char* name) {
  auto& files = files_of(request).files;
  for (size_t i = 0; i < files.size(); ++i) {
    if (files[i].folder != parent || files[i].name != name) continue;
    fuse_entry_param entry{};
    entry.ino = kFirstFile + i;
    entry.attr = status_of(&files[i], entry.ino);
    fuse_reply_entry(request, &entry);
    return;
  }
  fuse_reply_err(request, ENOENT);
}

void get_attributes(fuse_req_t request, fuse_ino_t inode, fuse_file_info*) {
  const ProcfsFiles::File* file = file_at(request, inode);
  if (!file && inode != FUSE_ROOT_ID) {
    fuse_reply_err(request, ENOENT);
    return;
  }
  struct stat status = status_of(file, inode);
  fuse_reply_attr(request, &status, 0);
}

// `echo x > file` truncates the file first, which has no meaning here.
void set_attributes(fuse_req_t request, fuse_ino_t inode, struct stat*, int, fuse_file_info* info) {
  get_attributes(request, inode, info);
}

void read_folder(fuse_req_t request, fuse_ino_t folder, size_t size, off_t offset, fuse_file_info*) {
  auto& files = files_of(request).files;
  std::string out;
  for (size_t i = 0; i < files.size(); ++i) {
    if (files[i].folder != folder) continue;
    struct stat status = status_of(&files[i], kFirstFile + i);
    size_t before = out.size();
    out.resize(before + fuse_add_direntry(request, nullptr, 0, files[i].name.c_str(), nullptr, 0));
    fuse_add_direntry(request, out.data() + before, out.size() - before, files[i].name.c_str(), &status,
                      static_cast<off_t>(out.size()));
  }
  size_t at = std::min(static_cast<size_t>(offset), out.size());
  fuse_reply_buf(request, out.data() + at, std::min(size, out.size() - at));
}

void open_file(fuse_req_t request, fuse_ino_t inode, fuse_file_info* info) {
  ProcfsFiles::File* file = file_at(request, inode);
  if (file && file->is_folder) {
    fuse_reply_err(request, EISDIR);
    return;
  }
  int access = info->flags & O_ACCMODE;
  bool reads = access != O_WRONLY, writes = access != O_RDONLY;
  if (!file || (reads && file->read_probe < 0) || (writes && file->write_probe < 0)) {
    fuse_reply_err(request, file ? EACCES : ENOENT);
    return;
  }
  if (files_of(request).open_bytes > kMostOpenBytes || files_of(request).open_count > kMostOpen) {
    fuse_reply_err(request, ENFILE);
    return;
  }
  auto* content = new std::string(reads ? files_of(request).handlers.read(file->read_probe) : std::string());
  if (content->size() > file->read_most) content->resize(file->read_most);
  info->fh = reinterpret_cast<uint64_t>(content);
  ++files_of(request).open_count;
  files_of(request).open_bytes += content->size();
  info->direct_io = 1;  // the size is not known before the probe has run
  fuse_reply_open(request, info);
}

void read_file(fuse_req_t request, fuse_ino_t, size_t size, off_t offset, fuse_file_info* info) {
  const auto& content = *reinterpret_cast<std::string*>(info->fh);
  size_t at = std::min(static_cast<size_t>(offset), content.size());
  fuse_reply_buf(request, content.data() + at, std::min(size, content.size() - at));
}

void write_file(fuse_req_t request, fuse_ino_t inode, const char* bytes, size_t size, off_t, fuse_file_info*) {
  const ProcfsFiles::File& file = *file_at(request, inode);
  size_t most = std::min(file.write_most, files_of(request).handlers.string_most);
  for (size_t at = 0; at < size; at += most) {
    files_of(request).handlers.write(file.write_probe, {bytes + at, std::min(most, size - at)});
  }
  fuse_reply_write(request, size);
}

void release_file(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  auto* content = reinterpret_cast<std::string*>(info->fh);
  --files_of(request).open_count;
  files_of(request).open_bytes -= content->size();
  delete content;
  fuse_reply_err(request, 0);
}

const fuse_lowlevel_ops kOperations = [] {
  fuse_lowlevel_ops operations{};
  operations.lookup = look_up;
  operations.getattr = get_attributes;
  operations.setattr = set_attributes;
  operations.readdir = read_folder;
  operations.open = open_file;
  operations.read = read_file;
  operations.write = write_file;
  operations.release = release_file;
  return operations;
}();

// Makes the folder that has those of sessions. The usual place may be absent or read-only, in containers and early at boot.
std::string make_run_time_folder() {
  const char* of_user = getenv("XDG_RUNTIME_DIR");
  std::string folder;
  if (geteuid() == 0) folder = "/run/spile";
  else if (of_user && of_user[0] == '/') folder = std::string(of_user) + "/spile";
  if (!folder.empty() && (::mkdir(folder.c_str(), 0755) == 0 || (errno == EEXIST && ::access(folder.c_str(), W_OK) == 0)))
    return folder;
  folder = fmt::format("/tmp/spile-{}", geteuid());
  ::mkdir(folder.c_str(), 0755);
  return folder;
}

// Removes the folders that killed runs have left.
void clean_up(const std::string& base) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(base, error)) {
    struct stat status;
    if (stat(entry.path().c_str(), &status) == 0 || errno != ENOTCONN) continue;
    if (umount2(entry.path().c_str(), MNT_DETACH) == 0) rmdir(entry.path().c_str());
  }
}

}  // namespace

bool ProcfsFiles::wanted(const sema::Program& program) {
  return std::any_of(program.probes.begin(), program.probes.end(), [](const sema::Probe& probe) {
    return sema::info(probe.kind).source == sema::Source::kFile &&
           std::ranges::any_of(probe.points, [](const sema::ResolvedPoint& point) { return !StandardInput::is_input(point); });
  });
}

// Returns the file of that path; makes it, and the folders on the way, if they do not exist.
Result<ProcfsFiles::File*> ProcfsFiles::file_named(const std::string& path) {
  size_t folder = FUSE_ROOT_ID;
  for (size_t begin = 0;;) {
    size_t end = path.find('/', begin);
    bool is_folder = end != std::string::npos;
    std::string name = path.substr(begin, is_folder ? end - begin : end);
    auto found = std::find_if(files.begin(), files.end(), [&](const File& f) { return f.folder == folder && f.name == name; });
    if (found == files.end()) {
      File made;
      made.name = name;
      made.folder = folder;
      made.is_folder = is_folder;
      found = files.insert(found, std::move(made));
    }
    if (found->is_folder != is_folder)
      return Error{fmt::format("procfs(\"{}\"): '{}' is a folder for one probe and a file for another", path, name), {}};
    if (!is_folder) return &*found;
    folder = kFirstFile + static_cast<size_t>(found - files.begin());
    begin = end + 1;
  }
}

Result<void> ProcfsFiles::add(const sema::Probe& probe, const sema::ResolvedPoint& point) {
  bool reads = probe.kind == sema::ProbeKind::kProcfsRead, writes = probe.kind == sema::ProbeKind::kProcfsWrite;
  if ((!reads && !writes) || StandardInput::is_input(point)) return {};
  TRY(File * file, file_named(point.procfs_name));
  int& slot = reads ? file->read_probe : file->write_probe;
  if (slot >= 0) return Error{fmt::format("{}: duplicate probe of this file", point.text), "give each probe a file of its own"};
  slot = probe.index;
  if (point.procfs_maxsize > 0) (reads ? file->read_most : file->write_most) = static_cast<size_t>(point.procfs_maxsize);
  file->mode |= (reads ? 0444 : 0222) & ~static_cast<int>(point.procfs_umask);
  return {};
}

Result<std::unique_ptr<ProcfsFiles>> ProcfsFiles::mount(const sema::Program& program, const std::string& name,
                                                        Handlers handlers) {
  std::unique_ptr<ProcfsFiles> made(new ProcfsFiles);
  made->handlers = std::move(handlers);
  for (const sema::Probe& probe : program.probes) {
    for (const sema::ResolvedPoint& point : probe.points) TRY_DO(made->add(probe, point));
  }

  if (access("/dev/fuse", R_OK | W_OK) != 0) {
    return Error::from_errno("serve procfs files: open /dev/fuse", errno,
                             "procfs probes need FUSE: load the fuse module, and run as a user who may open /dev/fuse");
  }
  const std::string base = make_run_time_folder();
  // In /tmp, another user may have made it.
  struct stat status{};
  if (lstat(base.c_str(), &status) == 0 &&
      (!S_ISDIR(status.st_mode) || status.st_uid != geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)))) {
    return Error{fmt::format("serve procfs files: {} is not a folder that you alone can write to", base),
                 "remove it, or set XDG_RUNTIME_DIR"};
  }
  clean_up(base);
  made->folder_ = fmt::format("{}/{}", base, name.empty() ? std::to_string(getpid()) : name);
  if (mkdir(made->folder_.c_str(), 0755) != 0 && errno != EEXIST) {
    return Error::from_errno("serve procfs files: make " + made->folder_, errno,
                             "the folder of procfs files is made in /run, or else in /tmp: one of them must be writable");
  }
  std::string words[] = {"spile", "-osubtype=spile,fsname=spile",
                         geteuid() == 0 ? "-oallow_other,default_permissions" : "-odefault_permissions"};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data()};
  fuse_args args = FUSE_ARGS_INIT(3, arguments);
  made->session_ = fuse_session_new(&args, &kOperations, sizeof kOperations, made.get());
  if (!made->session_) return Error{"serve procfs files: libfuse rejects its options", {}};
  if (fuse_session_mount(made->session_, made->folder_.c_str()) != 0) {
    int why = errno;
    fuse_session_destroy(made->session_);
    made->session_ = nullptr;
    rmdir(made->folder_.c_str());
    return Error::from_errno("serve procfs files: mount " + made->folder_, why,
                             "mounting FUSE needs root, or fusermount3 (Debian: fuse3)");
  }
  fcntl(fuse_session_fd(made->session_), F_SETFL, O_NONBLOCK);
  return made;
}

ProcfsFiles::~ProcfsFiles() {
  if (!session_) return;
  // A process that is just closing a file still gets an answer (`echo now > stop` has ended the session).
  pollfd request{fd(), POLLIN, 0};
  for (int i = 0; open_count > 0 && i < 20; ++i) {
    if (poll(&request, 1, 10) > 0) serve();
  }
  fuse_session_unmount(session_);
  fuse_session_destroy(session_);
  rmdir(folder_.c_str());
}

int ProcfsFiles::fd() const { return fuse_session_fd(session_); }

void ProcfsFiles::serve() {
  static fuse_buf buffer{};  // libfuse allocates it on first use and reuses it
  if (fuse_session_receive_buf(session_, &buffer) > 0) fuse_session_process_buf(session_, &buffer);
}

}  // namespace spile::session
