// The conventions of System V and of Go for x86-64 on hand-made types; values_test.cpp holds it against what compilers do.
#include "debuginfo/conventions/calling_convention.h"

#include <gmock/gmock.h>

#include <deque>

#include "debuginfo/conventions/go_convention.h"
#include "debuginfo/terms/type_node.h"

namespace spile::debuginfo {
namespace {

using testing::ElementsAre;

// Types made by hand: each new one gets the next id.
class HandMadeTypes : public TypeSource {
 public:
  HandMadeTypes() {
    nodes_.resize(2);
    nodes_[1].kind = TypeKind::kVoid;
  }
  uint64_t add(TypeNode node) {
    nodes_.push_back(std::move(node));
    return nodes_.size() - 1;
  }
  const TypeNode& type_node(uint64_t id) override { return nodes_.at(id); }
  uint64_t type_definition(uint64_t) override { return kUnknownType; }

 private:
  std::deque<TypeNode> nodes_;
};

class CallingConvention : public testing::Test {
 protected:
  Type made(TypeNode node) { return Type(source_, source_->add(std::move(node))); }
  Type integer(uint64_t size) { return made({.kind = TypeKind::kInteger, .name = "integer", .size = size}); }
  Type real(uint64_t size, const char* name = "double") {
    return made({.kind = TypeKind::kFloat, .name = name, .size = size, .is_extended = std::string(name) == "long double"});
  }
  // Members one behind the other, without padding.
  Type structure(const std::vector<Type>& members, TypeNode more = {}) {
    more.kind = TypeKind::kStruct;
    for (const Type& member : members) {
      more.members.push_back({.name = "m", .type = member.id(), .offset = more.size});
      more.size += member.size();
    }
    return made(more);
  }
  Type array(const Type& element, uint64_t count) {
    return made({.kind = TypeKind::kArray, .target = element.id(), .has_count = true, .count = count});
  }

  std::vector<std::string> places(const Type& returned, const std::vector<Type>& types) {
    std::vector<PassedParameter> parameters;
    for (const Type& type : types) parameters.push_back({type, type.passed_by_reference()});
    std::vector<std::string> texts;
    for (const Place& place : parameter_places(returned, parameters)) texts.push_back(text(place));
    return texts;
  }
  static std::string text(const Place& place) {
    if (place.kind == Place::Kind::kMemory) return "[" + to_string(place.operations) + "]";
    if (place.kind == Place::Kind::kValue) return to_string(place.operations);
    if (place.kind == Place::Kind::kUnavailable) return place.reason;
    std::string text;
    for (const Piece& piece : place.pieces)
      text += (text.empty() ? "" : "|") + (piece.operations.empty() ? "-" : to_string(piece.operations)) + ":" +
              std::to_string(piece.size);
    return text;
  }

  std::shared_ptr<HandMadeTypes> source_ = std::make_shared<HandMadeTypes>();
  Type void_{source_, kVoidType};
  Type int_ = integer(4), long_ = integer(8), double_ = real(8), wide_ = integer(16), long_double_ = real(16, "long double");
};

TEST_F(CallingConvention, IntegersTakeSixRegistersThenTheStack) {
  EXPECT_THAT(places(void_, {int_, int_, int_, int_, int_, int_, int_, long_}),
              ElementsAre("rdi", "rsi", "rdx", "rcx", "r8", "r9", "[rsp +8]", "[rsp +16]"));
}

TEST_F(CallingConvention, FloatsTakeNoGeneralRegister) {
  EXPECT_THAT(places(void_, {double_, int_, double_, int_}), ElementsAre("xmm0", "rdi", "xmm1", "rsi"));
}

TEST_F(CallingConvention, TheNinthFloatIsOnTheStack) {
  std::vector<Type> nine(9, double_);
  nine.push_back(int_);
  auto all = places(void_, nine);
  EXPECT_EQ(all[7], "xmm7");
  EXPECT_EQ(all[8], "[rsp +8]");
  EXPECT_EQ(all[9], "rdi");
}

TEST_F(CallingConvention, WideIntegersTakeTwoRegistersOrAnAlignedSlot) {
  EXPECT_THAT(places(void_, {wide_, int_}), ElementsAre("rdi:8|rsi:8", "rdx"));
  EXPECT_THAT(places(void_, {int_, int_, int_, int_, int_, wide_, int_, int_, wide_}),
              ElementsAre("rdi", "rsi", "rdx", "rcx", "r8", "[rsp +8]", "r9", "[rsp +24]", "[rsp +40]"));
}

TEST_F(CallingConvention, LongDoublesAreOnTheStack) {
  EXPECT_THAT(places(void_, {int_, long_double_, int_}), ElementsAre("rdi", "[rsp +8]", "rsi"));
}

TEST_F(CallingConvention, SmallStructuresAreInRegistersByEightbytes) {
  EXPECT_THAT(places(void_, {structure({int_, int_}), structure({long_, int_}), long_}),
              ElementsAre("rdi", "rsi:8|rdx:4", "rcx"));
  EXPECT_THAT(places(void_, {structure({double_, long_}), structure({long_, double_}), structure({double_, double_}), int_}),
              ElementsAre("xmm0:8|rdi:8", "rsi:8|xmm1:8", "xmm2:8|xmm3:8", "rdx"));
  // A float and an int in one eightbyte: the int decides.
  EXPECT_THAT(places(void_, {structure({real(4, "float"), int_})}), ElementsAre("rdi"));
}

TEST_F(CallingConvention, LargeAndPackedStructuresAreOnTheStack) {
  EXPECT_THAT(places(void_, {structure({long_, long_, long_}), int_, int_}), ElementsAre("[rsp +8]", "rdi", "rsi"));
  EXPECT_THAT(places(void_, {structure({integer(1), long_}), int_}), ElementsAre("[rsp +8]", "rdi"));
  EXPECT_THAT(places(void_, {int_, structure({array(long_, 3)}, {.alignment = 16})}), ElementsAre("rdi", "[rsp +8]"));
}

TEST_F(CallingConvention, ArraysInStructuresCountByElement) {
  EXPECT_THAT(places(void_, {structure({array(int_, 3)}), int_}), ElementsAre("rdi:8|rsi:4", "rdx"));
  EXPECT_THAT(places(void_, {structure({array(double_, 2)}), int_}), ElementsAre("xmm0:8|xmm1:8", "rdi"));
}

TEST_F(CallingConvention, FlexibleArraysPutStructuresInMemoryExceptOfGccInC) {
  Type flexible = structure({int_, made({.kind = TypeKind::kArray, .target = int_.id()})});
  Type empty = structure({int_, array(int_, 0)});
  EXPECT_EQ(places(void_, {flexible, int_}), (std::vector<std::string>{"[rsp +8]", "rdi"}));
  EXPECT_EQ(places(void_, {empty, int_}), (std::vector<std::string>{"rdi", "rsi"}));
  EXPECT_EQ(places(flexible, {int_}), (std::vector<std::string>{"rsi"}));
  std::vector<PassedParameter> parameters = {{flexible}, {int_}};
  std::vector<Place> ignored = parameter_places(flexible, parameters, FlexibleArrays::kIgnored);
  EXPECT_EQ(text(ignored[0]) + " " + text(ignored[1]), "rdi rsi");
  EXPECT_EQ(text(return_place(flexible, FlexibleArrays::kIgnored)), "rax");
}

TEST_F(CallingConvention, AStructureThatDoesNotFitTheRegistersLeavesThemToOthers) {
  EXPECT_THAT(places(void_, {long_, long_, long_, long_, long_, structure({long_, long_}), long_}),
              ElementsAre("rdi", "rsi", "rdx", "rcx", "r8", "[rsp +8]", "r9"));
}

TEST_F(CallingConvention, ResultsInMemoryShiftTheParameters) {
  const Type large = structure({long_, long_, long_});
  EXPECT_THAT(places(large, {int_}), ElementsAre("rsi"));
  EXPECT_EQ(text(return_place(large)), "[rax]");
  EXPECT_THAT(places(long_double_, {int_}), ElementsAre("rdi"));
}

TEST_F(CallingConvention, ClassesWithCopyConstructorsArePointedTo) {
  const Type text_class = structure({long_}, {.passed_by_reference = true});
  EXPECT_THAT(places(void_, {text_class, int_}), ElementsAre("[rdi]", "rsi"));
  EXPECT_THAT(places(text_class, {text_class}), ElementsAre("[rsi]"));
  EXPECT_THAT(places(void_, {int_, int_, int_, int_, int_, int_, text_class}).back(), "[rsp +8 deref8]");
}

TEST_F(CallingConvention, ResultsAreInRaxAndRdx) {
  EXPECT_EQ(text(return_place(int_)), "rax");
  EXPECT_EQ(text(return_place(wide_)), "rax:8|rdx:8");
  EXPECT_EQ(text(return_place(structure({double_, long_}))), "xmm0:8|rax:8");
  EXPECT_EQ(text(return_place(double_)), "xmm0");
  EXPECT_EQ(text(return_place(structure({double_, double_}))), "xmm0:8|xmm1:8");
  EXPECT_EQ(text(return_place(long_double_)), "is in an x87 floating-point register");
}

TEST_F(CallingConvention, AnUnknownTypeHidesWhatComesBehindIt) {
  auto all = places(void_, {int_, Type(source_, kUnknownType), int_});
  EXPECT_EQ(all[0], "rdi");
  EXPECT_EQ(all[1], "has a type that is not supported");
  EXPECT_EQ(all[2], "is at a location that depends on a parameter of unknown type before it");
}

TEST_F(CallingConvention, EmptyClassesTakeNothing) {
  EXPECT_THAT(places(void_, {structure({}, {.size = 1}), int_}), ElementsAre("is empty", "rdi"));
}

TEST_F(CallingConvention, GoReturnsAResultsPartsInItsOwnRegisters) {
  auto results = [&](const std::vector<Type>& types) {
    std::vector<std::string> texts;
    for (const Place& place : go_result_places(types)) texts.push_back(text(place));
    return texts;
  };
  Type number = integer(8), string = structure({integer(8), integer(8)});
  EXPECT_THAT(results({number}), ElementsAre("rax"));
  EXPECT_THAT(results({string, number}), ElementsAre("rax:8|rbx:8", "rcx"));
  EXPECT_THAT(results({real(8), number}), ElementsAre("is in a floating-point register", "rax"));
  EXPECT_THAT(results({structure({number, real(8)}), number}), ElementsAre("rax:8|-:8", "rbx"));
  EXPECT_THAT(results({array(number, 1), structure({})}), ElementsAre("rax", "is empty"));
  // Nine registers; what doesn't fit lies on the stack as a whole, and takes none.
  EXPECT_THAT(results({structure({number, number, number, number}), array(number, 2), structure({number, number, number, number}),
                       string, number}),
              ElementsAre("rax:8|rbx:8|rcx:8|rdi:8", "is returned on the stack", "rsi:8|r8:8|r9:8|r10:8",
                          "is returned on the stack", "r11"));
}

}  // namespace
}  // namespace spile::debuginfo
