#include "engine/patch/place_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "engine/process/function_table.h"

namespace spile::engine {
namespace {

constexpr uint64_t kLargestFunction = uint64_t{16} << 20;
constexpr int64_t kInStep = 48;  // disassembly falls into step within a few instructions
constexpr int kStarts = 16;
constexpr uint64_t kEntryAlignment = 8;
constexpr int kEnoughStarts = 11;

constexpr const char* kInsideInstruction =
    "its address lies inside an instruction: debug information or symbols are damaged, or of another build";

// The module's text as it was before it was probed. Reads a piece when it is asked for; mostly in ascending order.
class Text {
 public:
  Text(const AddressSpace& space, const Module& module) : space_(space), module_(module) {}

  bool has(Address at) const {
    return std::any_of(module_.text.begin(), module_.text.end(),
                       [&](const Module::Range& range) { return at >= range.begin && at < range.end; });
  }
  // At most kLongest bytes from `at`; fewer, or none, where the text ends.
  std::span<const uint8_t> at(Address at) {
    if (at < begin_ || at + kLongest > begin_ + static_cast<int64_t>(bytes_.size())) read(at);
    size_t offset = static_cast<size_t>(at - begin_);
    return std::span(bytes_).subspan(offset, std::min<size_t>(kLongest, bytes_.size() - offset));
  }
  // Visits all of the text, in pieces of which each begins with the last bytes of the one before.
  template <typename Visitor>
  void each(Visitor visit) {
    for (const Module::Range& range : module_.text) {
      for (Address at = range.begin; at < range.end; at = at + static_cast<int64_t>(kPiece - kLongest)) {
        read(at);
        visit(begin_, std::span<const uint8_t>(bytes_));
      }
    }
  }

 private:
  static constexpr int64_t kLongest = 16;
  static constexpr size_t kPiece = 256 << 10;

  void read(Address from) {
    begin_ = from;
    bytes_.clear();
    for (const Module::Range& range : module_.text) {
      if (from < range.begin || from >= range.end) continue;
      bytes_.resize(std::min<size_t>(kPiece, static_cast<size_t>(range.end - from)));
      bytes_.resize(space_.memory.read_some(from, bytes_));
    }
    space_.sites.overlay_originals(begin_, bytes_);
  }

  const AddressSpace& space_;
  const Module& module_;
  Address begin_;
  std::vector<uint8_t> bytes_;
};

class ModuleCheck {
 public:
  ModuleCheck(const AddressSpace& space, const Module& module)
      : module_(module), table_(space.memory, module), text_(space, module) {}

  // Why the request can't be believed, or empty; corrects its size, function and probe. In ascending order of addresses each
  // function is decoded once.
  std::string check(SiteRequest& request) {
    Address at(request.address.value + module_.bias);
    if (!text_.has(at)) return {};  // refused where it is laid out
    if (request.semaphore != FileAddress() && !is_data(Address(request.semaphore.value + module_.bias))) {
      return "its semaphore is not in the program's data: its note is damaged";
    }
    auto function = table_.containing(at);
    if (!function) return check_without_table(request, at);
    if (static_cast<uint64_t>(at - function->begin) > kLargestFunction)
      return "the unwind tables give its function an implausible size";
    if (!meets(function->begin, at)) return kInsideInstruction;
    uint64_t claimed = request.size, least = static_cast<uint64_t>(function->end - at);
    if (claimed != 0 || at == function->begin)
      request.size = std::clamp(claimed, least, std::max(least, static_cast<uint64_t>(function->next - at)));
    if (!request.is_at_entry()) {
      correct_function(request, function->begin);
      return {};
    }
    if (at == function->begin || request.is<FunctionEndsProbe>() || is_called(at) || native_architecture().is_stub(text_.at(at)))
      return {};
    if (request.is<ReturnProbe>()) {
      return "its address is in the middle of a function of the unwind tables, and nothing calls it: only its entry can be "
             "probed";
    }
    request.probe = InstructionProbe{std::get<EntryProbe>(request.probe).enter};
    request.function = FileAddress(function->begin.value - module_.bias);
    return {};
  }

 private:
  bool is_data(Address at) { return at >= module_.lowest && at < module_.highest && !text_.has(at); }

  // The cold part of a function, which lies elsewhere, may have an entry of its own in the unwind table: its function is unknown
  // then.
  void correct_function(SiteRequest& request, Address begin) const {
    FileAddress found(begin.value - module_.bias);
    if (request.function == found || request.function == FileAddress()) return;
    auto other = table_.containing(Address(request.function.value + module_.bias));
    bool is_other = other && other->begin.value == request.function.value + module_.bias && other->begin != begin;
    request.function = is_other ? FileAddress() : found;
  }

  std::string check_without_table(SiteRequest& request, Address at) {
    bool inside = request.is<InstructionProbe>() && request.function != FileAddress();
    Address function(inside ? request.function.value + module_.bias : at.value);
    // Data may lie before a function, as GHC's tables do; such functions are aligned.
    bool known = function <= at && static_cast<uint64_t>(at - function) < kLargestFunction &&
                 (function.value % kEntryAlignment == 0 || is_called(function) || is_in_step(function));
    if (inside && !known) {
      // No function begins where the request's function is said to begin.
      request.function = FileAddress();
      return is_in_step(at) ? "" : kInsideInstruction;
    }
    return known && meets(function, at) ? "" : kInsideInstruction;
  }

  // Whether disassembly from `from` meets `at`. REQUIRES: for one `from`, `at` ascends.
  bool meets(Address from, Address at) {
    if (from == at) return true;
    if (from != from_ || reached_ > at) from_ = reached_ = from;
    while (reached_ < at) {
      uint64_t length = native_architecture().instruction_length(text_.at(reached_));
      reached_ = reached_ + static_cast<int64_t>(std::max<uint64_t>(length, 1));
    }
    return reached_ == at;
  }

  bool is_in_step(Address at) {
    int reached = 0, tried = 0;
    for (int64_t back = kInStep; back < kInStep + kStarts; back++) {
      Address place = at + -back;
      if (!text_.has(place)) continue;  // nothing lies before it
      tried++;
      while (place < at) {
        place = place + static_cast<int64_t>(std::max<uint64_t>(native_architecture().instruction_length(text_.at(place)), 1));
      }
      reached += place == at;
    }
    return tried < kStarts || reached >= kEnoughStarts;
  }

  bool is_called(Address at) {
    if (!calls_) {
      calls_.emplace();
      text_.each(
          [&](Address begin, std::span<const uint8_t> bytes) { native_architecture().find_called(bytes, begin, *calls_); });
      std::sort(calls_->begin(), calls_->end());
    }
    return std::binary_search(calls_->begin(), calls_->end(), at);
  }

  const Module& module_;
  FunctionTable table_;
  Text text_;
  std::optional<std::vector<Address>> calls_;
  Address from_, reached_;
};

}  // namespace

const CheckedRequests& PlaceCheck::check(const AddressSpace& space, const Module& module, const RequestList& list) {
  auto [known, fresh] = known_.try_emplace({list.get(), module.device, module.inode});
  Checked& checked = known->second;
  if (!fresh) return checked.answer;
  checked.asked = checked.answer.list = list;
  // The engine has found these places in the text itself.
  auto is_ours = [](const SiteRequest& request) { return request.is<SystemCallProbe>() || request.is<PatchRoom>(); };
  if (module.text.empty() || std::all_of(list->begin(), list->end(), is_ours)) return checked.answer;
  std::vector<uint32_t> order(list->size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return (*list)[a].address < (*list)[b].address; });
  ModuleCheck check(space, module);
  std::vector<SiteRequest> corrected(*list);
  std::set<uint32_t> gone;
  for (uint32_t index : order) {
    SiteRequest& request = corrected[index];
    if (is_ours(request)) continue;
    std::string reason = check.check(request);
    if (reason.empty()) continue;
    checked.answer.refused.push_back({request.site_id, std::move(reason)});
    gone.insert(index);
  }
  std::vector<SiteRequest> believed;
  believed.reserve(corrected.size());
  for (uint32_t index = 0; index < corrected.size(); index++) {
    if (!gone.contains(index)) believed.push_back(std::move(corrected[index]));
  }
  checked.answer.list = std::make_shared<const std::vector<SiteRequest>>(std::move(believed));
  return checked.answer;
}

}  // namespace spile::engine
