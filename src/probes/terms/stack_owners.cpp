#include "probes/terms/stack_owners.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "debuginfo/elf/defined_symbols.h"

namespace spile::probes {
namespace {

bool begins_with_any(std::string_view name, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view prefix) { return name.starts_with(prefix); });
}
bool ends_with_any(std::string_view name, std::initializer_list<std::string_view> suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(), [&](std::string_view suffix) { return name.ends_with(suffix); });
}
bool is_any(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// camlModule__function_123, and what amd64.S has for OCaml code to call.
bool is_ocaml(std::string_view name) {
  if (name.starts_with("caml") && name.size() > 4 && isupper(static_cast<unsigned char>(name[4]))) return true;
  return begins_with_any(name, {"caml_call_gc", "caml_alloc1", "caml_alloc2", "caml_alloc3", "caml_allocN", "caml_c_call",
                                "caml_curry", "caml_apply", "caml_tuplify", "caml_send", "caml_raise_ex", "caml_callback_asm",
                                "caml_callback2_asm", "caml_callback3_asm", "caml_call_realloc_stack"}) ||
         is_any(name, {"caml_start_program", "caml_program", "caml_startup__code_begin", "caml_stack_overflow",
                       "caml_ml_array_bound_error", "caml_ml_array_align_error", "caml_perform", "caml_reperform", "caml_resume",
                       "caml_runstack", "caml_system__code_begin"});
}

// What GHC and its C-- compiler make: Module_function_info, stg_ap_pv_fast, stg_BLACKHOLE_entry. And the way from C to these
// and back, which is no call.
bool is_haskell(std::string_view name) {
  return name.starts_with("stg_") || ends_with_any(name, {"_info", "_entry", "_fast", "_slow", "_ret"}) ||
         is_any(name, {"StgRun", "StgReturn", "StgRunIsImplementedInAssembler"});
}

bool is_v8(std::string_view name) { return begins_with_any(name, {"v8::", "node::", "Builtins_"}); }

// Interpreter and library in assembly language (vm_x64.dasc).
bool is_luajit(std::string_view name) { return begins_with_any(name, {"lj_BC_", "lj_vm_", "lj_ff_", "lj_cont_", "lj_fff_"}); }

bool is_hhvm(std::string_view name) { return name.starts_with("HPHP::"); }

bool is_dart(std::string_view name) { return begins_with_any(name, {"Precompiled_", "stub "}); }

constexpr const char* kOcaml = "OCaml's collector and exceptions find frames by their return addresses";
constexpr const char* kGhc = "Haskell code is entered by jumps, with no return address on the stack";
constexpr const char* kMono = "Mono finds frames by the return addresses of calls in its generated code";
constexpr const char* kDotnet = "the .NET runtime finds frames by their return addresses, and replaces them itself";
constexpr const char* kContinuations = "continuations are copies of the stack, in which one call can return more than once";
constexpr const char* kGreenlet = "greenlets are parts of the stack that are copied out of it and back";

// A row fits by file or by symbol. Symbols are those of the runtime itself where it is linked into the program.
//
// Sources: runtime/amd64.S, runtime/stack.h (OCaml 4.14), runtime/fiber.c (OCaml 5); rts/StgCRun.c (GHC); runtime.c "Cheney on
// the MTA" (CHICKEN); continuations.c, scm_i_make_continuation (Guile); cont.c, cont_save_machine_stack (Ruby);
// src/greenlet/slp_platformselect.h (greenlet); rpython/translator/c/src/stacklet (PyPy); gencgc.c, preserve_pointer (SBCL);
// src/execution/frames.cc, ExitFrame::FillState (V8); frame_x86.cpp, JavaFrameAnchor::make_walkable (HotSpot);
// mini-amd64.c, mono_arch_unwind_frame (Mono); JITStubRoutineSet::mark (JavaScriptCore); include/exec/exec-all.h, GETPC (QEMU);
// jit/interface.c, get_current_position (MoarVM); hphp/runtime/vm/jit/fixup.cpp (HHVM); jitstack.c, setjmpup.c (Racket BC);
// JavascriptStackWalker.cpp (ChakraCore); codert_vm/cnathelp.cpp, jitReturnAddress (OpenJ9); aco.c, aco_resume (libaco);
// runtime/vm/stack_frame.cc (Dart); com.oracle.svm.core.stack.JavaStackWalker (native images).
constexpr StackOwner kOwners[] = {
    // Its functions also run on stacks of their own, with a few hundred bytes left below what they use.
    {"OCaml 5", OwnedPart::kFunctions, "", "caml_call_realloc_stack", is_ocaml,
     "OCaml 5 runs its functions on small stacks that it walks and moves", true},
    {"OCaml", OwnedPart::kFunctions, "", "caml_frametable", is_ocaml, kOcaml, false, true},
    {"OCaml", OwnedPart::kFunctions, "", "caml_plugin_header", is_ocaml, kOcaml, false, true},
    {"GHC", OwnedPart::kFunctions, "libHS", "", is_haskell, kGhc},
    {"GHC", OwnedPart::kFunctions, "", "stg_upd_frame_info", is_haskell, kGhc},
    {"GHC", OwnedPart::kFunctions, "", "ZCMain_main_closure", is_haskell, kGhc},
    {"CHICKEN", OwnedPart::kProcess, "libchicken.so", "CHICKEN_initialize", nullptr,
     "CHICKEN's functions never return: the stack is thrown away when it is full"},
    {"Guile", OwnedPart::kProcess, "libguile-", "scm_boot_guile", nullptr, kContinuations},
    {"Ruby, callcc", OwnedPart::kProcess, "continuation.so", "", nullptr, kContinuations},
    {"greenlet", OwnedPart::kProcess, "_greenlet.", "", nullptr, kGreenlet},
    {"PyPy", OwnedPart::kProcess, "libpypy", "pypy_main_startup", nullptr, kGreenlet},
    {"Racket BC", OwnedPart::kProcess, "libracket3m", "scheme_setjmpup_relative", nullptr, kContinuations},
    {"libaco", OwnedPart::kProcess, "libaco.so", "aco_share_stack_new", nullptr,
     "libaco's coroutines are parts of the stack that are copied out of it and back"},
    {"SBCL", OwnedPart::kProcess, "", "alien_linkage_table_n_prelinked", nullptr,
     "SBCL's collector does not move code whose return addresses it finds on the stack"},
    {"V8, node", OwnedPart::kFunctions, "", "", is_v8, "V8 finds frames by their return addresses"},
    {"HotSpot", OwnedPart::kFile, "libjvm.so", "", nullptr, "the Java virtual machine finds frames by their return addresses"},
    {"JavaScriptCore", OwnedPart::kFile, "libjavascriptcoregtk-", "", nullptr,
     "JavaScriptCore's collector keeps generated code whose return addresses it finds on the stack"},
    {"ChakraCore", OwnedPart::kFile, "libChakraCore.so", "", nullptr, "ChakraCore finds frames by their return addresses"},
    {"OpenJ9", OwnedPart::kFile, "libj9", "", nullptr, "the Java virtual machine finds frames by their return addresses"},
    {"HHVM", OwnedPart::kFunctions, "", "", is_hhvm, "HHVM finds frames by the return addresses of calls in translated code"},
    {"MoarVM", OwnedPart::kFile, "libmoar.so", "MVM_vm_create_instance", nullptr,
     "MoarVM finds its place in generated code by the return address on the stack"},
    {"Mono", OwnedPart::kProcess, "libmono", "mono_jit_init", nullptr, kMono},
    {"Mono", OwnedPart::kProcess, "mono-sgen", "", nullptr, kMono},
    {".NET", OwnedPart::kProcess, "libcoreclr.so", "RhpReversePInvokeReturn", nullptr, kDotnet},
    {"GraalVM native image", OwnedPart::kFile, "", "__svm_version_info", nullptr,
     "native images find frames by their return addresses"},
    {"Dart", OwnedPart::kFunctions, "", "_kDartIsolateSnapshotInstructions", is_dart,
     "Dart finds frames by their return addresses"},
    {"LuaJIT", OwnedPart::kFunctions, "", "lj_vm_call", is_luajit,
     "LuaJIT's interpreter is entered by jumps, and keeps frames of its own"},
    {"QEMU", OwnedPart::kFile, "", "tcg_qemu_tb_exec", nullptr,
     "QEMU finds the guest's instruction by the return addresses of calls in translated code"},
};

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::set<std::string_view> all_symbols() {
  std::set<std::string_view> symbols;
  for (const StackOwner& owner : kOwners) {
    if (!owner.symbol.empty()) symbols.insert(owner.symbol);
  }
  return symbols;
}

bool has_name(const StackOwner& owner, std::string_view path) {
  return !owner.file.empty() && file_name(path).starts_with(owner.file);
}

}  // namespace

std::span<const StackOwner> stack_owners() { return kOwners; }

FileOwners::FileOwners(const std::string& path, const std::string& opened) {
  std::set<std::string_view> symbols = debuginfo::defined_symbols(opened.empty() ? path : opened, all_symbols());
  for (const StackOwner& owner : kOwners) {
    bool anywhere = owner.file.empty() && owner.symbol.empty();
    if (anywhere || has_name(owner, path) || symbols.contains(owner.symbol)) rows_.push_back(&owner);
  }
}

const StackOwner* FileOwners::of(std::string_view function) const {
  for (const StackOwner* owner : rows_) {
    if (owner->part != OwnedPart::kFunctions || owner->owns(function)) return owner;
  }
  return nullptr;
}

const StackOwner* process_owner(const std::string& path, bool main_executable, const std::string& opened) {
  std::set<std::string_view> symbols;
  if (main_executable) symbols = debuginfo::defined_symbols(opened.empty() ? path : opened, all_symbols());
  for (const StackOwner& owner : kOwners) {
    if (owner.part == OwnedPart::kProcess && (has_name(owner, path) || symbols.contains(owner.symbol))) return &owner;
  }
  return nullptr;
}

}  // namespace spile::probes
