// Types of standard libraries as their debug information describes them, made by hand, and types that only have their names.

#include "probes/values/known_types.h"

#include <gmock/gmock.h>

#include "probes/values/test_types.h"

namespace spile::probes {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class KnownTypes : public testing::Test {
 protected:
  std::string text(uint64_t type, Detail detail = Detail::kAll, const ModuleFacts& facts = {}) const {
    return PlanText::of(ValuePlanner::plan(types_[type], detail, facts, plan_known_type).bytes);
  }
  // As libstdc++ has it: the pointers are in a base of a member.
  uint64_t vector(uint64_t of, const std::string& name) {
    const uint64_t p = types_.pointer(of),
                   data = types_.structure("_Vector_impl_data", 24,
                                           {{"_M_start", p, 0}, {"_M_finish", p, 8}, {"_M_end_of_storage", p, 16}});
    return types_.structure(
        name, 24,
        {base(types_.structure("_Vector_base", 24, {{"_M_impl", types_.structure("_Vector_impl", 24, {base(data, 0)}), 0}}), 0)},
        {of});
  }

  MadeTypes types_;
  const uint64_t int_ = types_.number("int", 4), char_ = types_.number("char", 1),
                 long_ = types_.number("unsigned long", 8, false);
  const uint64_t byte_ = types_.number("unsigned char", 1, false), bool_ = types_.number("bool", 1, false);
};

TEST_F(KnownTypes, AVectorIsItsElements) {
  const uint64_t v = vector(int_, "vector<int, std::allocator<int> >");
  EXPECT_EQ(text(v), "elements [] [base load8] [base+8 load8 base load8 minus divide4] [4] #1\n#1: signed4@0");
  EXPECT_EQ(text(v, Detail::kNested), R"("[...]")");
  EXPECT_EQ(text(vector(char_, "vector<char, std::allocator<char> >")), "span1[base load8][base+8 load8 base load8 minus]");
}

TEST_F(KnownTypes, AreRecognizedByTheirMembersToo) {
  const uint64_t s = types_.structure("vector<float>", 8, {{"x", int_, 0}, {"y", int_, 4}}, {int_});
  EXPECT_EQ(text(s), R"("{.x=" signed4@0 ", .y=" signed4@4 "}")") << "somebody else's vector";
  EXPECT_EQ(text(vector(int_, "vector")),
            R"("{._M_impl=" call#1@0 "}")"
            "\n#1: \"{._M_start=\" pointer8@0 \", ._M_finish=\" pointer8@8 \", ._M_end_of_storage=\" pointer8@16 \"}\"")
      << "not a template";
  const uint64_t opaque = types_.structure("opaque", 0, {});
  EXPECT_THAT(text(vector(opaque, "vector<opaque>")), StartsWith("\"{._M_impl=")) << "elements of no size";
}

TEST_F(KnownTypes, OfEachNameEndWhereTheyHaveNoMembers) {
  for (const char* name : {"basic_string",
                           "basic_string_view",
                           "vector",
                           "array",
                           "deque",
                           "list",
                           "forward_list",
                           "initializer_list",
                           "span",
                           "map",
                           "set",
                           "unordered_map",
                           "unordered_set",
                           "stack",
                           "pair",
                           "tuple",
                           "optional",
                           "variant",
                           "unique_ptr",
                           "shared_ptr",
                           "weak_ptr",
                           "function",
                           "atomic",
                           "complex",
                           "duration",
                           "time_point",
                           "Vec",
                           "&[i32]",
                           "Box",
                           "alloc::boxed::Box",
                           "&str",
                           "bitset",
                           "valarray",
                           "reference_wrapper",
                           "__normal_iterator",
                           "sub_match",
                           "match_results",
                           "Rc",
                           "Arc",
                           "Weak",
                           "RefCell",
                           "Mutex",
                           "RwLock",
                           "HashMap",
                           "HashSet",
                           "BTreeMap",
                           "BTreeSet",
                           "VecDeque",
                           "LinkedList"}) {
    const uint64_t type = types_.structure(std::string(name) + "<int>", 8, {{"other", int_, 0}}, {int_});
    EXPECT_EQ(text(type), R"("{.other=" signed4@0 "}")") << name;
  }
  for (const char* name :
       {"String", "string", "[]int", "runtime.iface", "runtime.eface", "any", "path", "id", "thread", "mutex", "strong_ordering",
        "year", "month", "year_month_day", "atomic_flag", "OsString", "PathBuf", "CString", "Duration"})
    EXPECT_EQ(text(types_.structure(name, 8, {{"other", int_, 0}})), R"("{.other=" signed4@0 "}")") << name;
}

TEST_F(KnownTypes, ABitsetHasTheBitsThatItsNameSays) {
  const uint64_t words = types_.structure("_Base_bitset<2>", 16, {{"_M_w", types_.array(long_, 2), 0}});
  for (const char* name : {"bitset<70>", "bitset<70ul>", "bitset<70UL>"})
    EXPECT_EQ(text(types_.structure(name, 16, {base(words, 0)})), "bits [] [base] [0] [70]");
  EXPECT_EQ(text(types_.structure("bitset<N>", 16, {base(words, 0)})), R"("{._M_w=" elements [] [base] [2] [8] #1 "}")"
                                                                       "\n#1: unsigned8@0");
}

TEST_F(KnownTypes, BasesOfKnownTypesAreValues) {
  const uint64_t derived = types_.structure("Names", 32, {base(vector(int_, "vector<int>"), 0), {"more", int_, 24}});
  EXPECT_EQ(text(derived),
            "\"{\" inline#1@0 \", .more=\" signed4@24 \"}\"\n#1: elements [] [base load8] [base+8 load8 base load8 minus "
            "divide4] [4] #2\n#2: signed4@0");
}

TEST_F(KnownTypes, OnlyTextIsText) {
  auto slice = [&](const char* name) {
    return text(types_.structure(name, 16, {{"data_ptr", types_.pointer(byte_), 0}, {"length", long_, 8}}, {byte_}));
  };
  for (const char* name : {"&str", "&mut str", "Box<str, alloc::alloc::Global>", "&std::path::Path", "&std::ffi::os_str::OsStr"})
    EXPECT_THAT(slice(name), StartsWith("span1")) << name;
  for (const char* name : {"&[u8]", "&[astro::Star]", "&mut [strange]", "Box<[strict], alloc::alloc::Global>"})
    EXPECT_THAT(slice(name), StartsWith("elements")) << name;
}

TEST_F(KnownTypes, AStringIsItsText) {
  const uint64_t hider = types_.structure("_Alloc_hider", 8, {{"_M_p", types_.pointer(char_), 0}});
  const uint64_t string =
      types_.structure("basic_string<char>", 32, {{"_M_dataplus", hider, 0}, {"_M_string_length", long_, 8}}, {char_});
  EXPECT_EQ(text(string, Detail::kNested), "span1[base load8][base+8 load8]");
  const uint64_t undescribed = types_.structure(
      "basic_string<char>", 32, {{"_M_dataplus", types_.declared("_Alloc_hider"), 0}, {"_M_string_length", long_, 8}}, {char_});
  EXPECT_EQ(text(undescribed), "span1[base load8][base+8 load8]") << "by clang -O0";
  const uint64_t old = types_.structure("basic_string<char>", 8, {{"_M_dataplus", hider, 0}}, {char_});
  EXPECT_EQ(text(old), "span1[base load8][base load8-24 load8]") << "its length is in front of the text";
}

TEST_F(KnownTypes, AnOptionalIsItsValueOrNothing) {
  const uint64_t payload =
      types_.structure("_Optional_payload", 8,
                       {{"_M_payload", types_.structure("_Storage", 4, {{"_M_value", int_, 0}}), 0}, {"_M_engaged", bool_, 4}});
  const uint64_t type = types_.structure("optional<int>", 8, {base(payload, 0)}, {int_});
  EXPECT_EQ(text(type), "switch[base+4 load1]{0#1 else#2}\n#1: \"nullopt\"\n#2: signed4@0");
}

// The index of "valueless" is the greatest number of its type, whatever its size: of 200 alternatives, the 199th has an index
// that is negative as a signed number.
TEST_F(KnownTypes, AVariantIsOneOfItsAlternatives) {
  auto variant = [&](uint64_t index_type, size_t count) {
    const uint64_t storage = types_.structure(
        "_Variant_storage", 16, {{"_M_u", types_.structure("_Variadic_union", 8, {}), 0}, {"_M_index", index_type, 8}});
    return types_.structure("variant<int, unsigned long>", 16, {base(storage, 0)}, std::vector<uint64_t>(count, int_));
  };
  EXPECT_EQ(
      text(variant(byte_, 2)),
      "switch[base+8 load1]{0#1 1#2 else#3}\n#1: \"{[0]=\" signed4@0 \"}\"\n#2: \"{[1]=\" signed4@0 \"}\"\n#3: \"{valueless}\"");
  EXPECT_THAT(text(variant(byte_, 200)), HasSubstr(" 199#200 else#201}"));
}

TEST_F(KnownTypes, AMapIsItsKeysAndValues) {
  const uint64_t self = types_.next();
  const uint64_t p = self + 1;
  types_.structure("_Rb_tree_node_base", 32,
                   {{"_M_color", int_, 0}, {"_M_parent", p, 8}, {"_M_left", p, 16}, {"_M_right", p, 24}});
  types_.pointer(self);
  const uint64_t header = types_.structure("_Rb_tree_header", 40, {{"_M_header", self, 0}, {"_M_node_count", long_, 32}});
  const uint64_t map = types_.structure("map<int, unsigned long>", 48,
                                        {{"_M_t", types_.structure("_Rb_tree", 48, {{"_M_impl", header, 8}}), 0}}, {int_, long_});
  EXPECT_EQ(text(map), "tree {} [base+24 load8] [base+40 load8] 16 24 8 32 #1\n#1: signed4@0 \": \" unsigned8@8")
      << "the value is aligned";
  EXPECT_EQ(text(map, Detail::kNested), R"("{...}")");
}

TEST_F(KnownTypes, AUniquePointerShowsWhatItOwns) {
  const uint64_t node = types_.next();
  const uint64_t tuple = node + 2;
  types_.structure("node", 16, {{"n", int_, 0}, {"next", node + 3, 8}});
  types_.pointer(node);
  types_.structure("_Tuple_impl", 8, {{"_M_head_impl", node + 1, 0}});
  types_.structure("unique_ptr<node>", 8, {{"_M_t", tuple, 0}}, {node});
  EXPECT_EQ(text(node + 3, Detail::kNested), "pointer8@0");
  EXPECT_EQ(text(node + 3),
            "switch[base load8]{0#1 else#2}\n#1: \"NULL\"\n#2: pointer8@0 \" -> \" follow#3[base load8]\n"
            "#3: \"{.n=\" signed4@0 \", .next=\" switch[base+8 load8]{0#1 else#4} \"}\"\n#4: pointer8@8 \" -> \" follow#3[base+8 "
            "load8]");
}

TEST_F(KnownTypes, DurationsHaveTheirUnit) {
  auto duration = [&](const std::string& ratio) {
    return types_.structure("duration<unsigned long, std::ratio>", 8, {{"__r", long_, 0}},
                            {long_, types_.structure(ratio, 1, {})});
  };
  EXPECT_EQ(text(duration("ratio<1L, 1000000L>")), R"(unsigned8@0 "us")");
  EXPECT_EQ(text(duration("ratio<60, 1>")), R"(unsigned8@0 "min")");
  EXPECT_EQ(text(duration("ratio<1, 60>")), R"(unsigned8@0 "[1/60]s")");
  for (const char* bad : {"ratio<1, 0>", "ratio<", "ratio<1>", "ratio<-1, 5>", "ratio<99999999999999999999, 1>", "other"})
    EXPECT_EQ(text(duration(bad)), R"("{.__r=" unsigned8@0 "}")") << bad;
}

TEST_F(KnownTypes, ARustEnumIsTheNameOfItsVariant) {
  debuginfo::TypeNode option{.kind = debuginfo::TypeKind::kStruct, .name = "struct Option<i32>", .size = 8};
  const uint64_t none = types_.structure("None", 8, {}), some = types_.structure("Some", 8, {{"__0", int_, 4}});
  option.variants = {{{"None", none, 0}, false, 0}, {{"Some", some, 0}, false, 1}};
  option.discriminant = {"", types_.number("u32", 4, false), 0};
  EXPECT_EQ(text(types_.add(option)),
            "switch[base load4]{0#1 1#2 else#3}\n#1: \"None\"\n#2: \"Some(\" signed4@4 \")\"\n#3: \"?\"");
  // One variant always: no number says so.
  option.variants.erase(option.variants.begin());
  option.discriminant = {};
  EXPECT_EQ(text(types_.add(option)), "inline#1@0\n#1: \"Some(\" signed4@4 \")\"");
}

TEST_F(KnownTypes, GoHasStringsSlicesAndInterfaces) {
  const uint64_t string = types_.structure("string", 16, {{"str", types_.pointer(byte_), 0}, {"len", long_, 8}});
  EXPECT_EQ(text(string), "span1[base load8][base+8 load8]");
  EXPECT_EQ(text(types_.structure("[]string", 24, {{"array", types_.pointer(string), 0}, {"len", long_, 8}, {"cap", long_, 16}})),
            "elements [] [base load8] [base+8 load8] [16] #1\n#1: span1[base load8][base+8 load8]");
  const uint64_t error =
      types_.structure("runtime.iface", 16, {{"tab", types_.pointer(int_), 0}, {"data", types_.pointer(int_), 8}});
  EXPECT_EQ(text(error, Detail::kTop, {.go_types = 0x4000}),
            "switch[base load8]{0#1 else#2}\n#1: \"nil\"\n#2: interface0x4000[base load8+8 load8][base+8 load8]");
  // Of generic functions.
  const uint64_t shape = types_.structure("go.shape.string_0", 16, {{"str", types_.pointer(byte_), 0}, {"len", long_, 8}});
  EXPECT_EQ(text(shape), "span1[base load8][base+8 load8]");
  EXPECT_EQ(text(error, Detail::kTop), R"("{.tab=" pointer8@0 ", .data=" pointer8@8 "}")") << "where the types are is not known";
}

}  // namespace
}  // namespace spile::probes
