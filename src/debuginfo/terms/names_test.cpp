#include "debuginfo/terms/names.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <stdlib.h>

#include <exception>

#include "debuginfo/debuginfo.h"

namespace spile::debuginfo {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(FilePattern, MatchesWholeComponentsAtTheEnd) {
  EXPECT_TRUE(file_matches("parse.c", "/build/src/parse.c"));
  EXPECT_TRUE(file_matches("src/*.c", "/build/src/parse.c"));
  EXPECT_TRUE(file_matches("/build/src/parse.c", "/build/src/parse.c"));
  EXPECT_TRUE(file_matches("", "/build/src/parse.c"));
  EXPECT_FALSE(file_matches("arse.c", "/build/src/parse.c"));
  EXPECT_FALSE(file_matches("src", "/build/src/parse.c"));
}

TEST(CloneName, StripsWhatCompilersAppend) {
  EXPECT_EQ(clone_name("foo").base, "foo");
  EXPECT_EQ(clone_name("foo.isra.0").base, "foo");
  EXPECT_EQ(clone_name("foo.constprop.12.isra.0").base, "foo");
  EXPECT_EQ(clone_name("foo.lto_priv.3").base, "foo");
  EXPECT_EQ(clone_name("foo.llvm.1234567").base, "foo");
  EXPECT_EQ(clone_name("foo.localalias").base, "foo");
  EXPECT_EQ(clone_name("foo.llvm.123.cfi").base, "foo");
  EXPECT_EQ(clone_name("foo.cfi.1").base, "foo.cfi.1");
  EXPECT_EQ(clone_name("memcpy@@GLIBC_2.14").base, "memcpy");
  EXPECT_EQ(clone_name("foo.other.1").base, "foo.other.1");
  EXPECT_EQ(clone_name("foo.isra").base, "foo.isra");
  EXPECT_EQ(clone_name(".isra.0").base, ".isra.0");
  EXPECT_EQ(clone_name("").base, "");
  EXPECT_FALSE(clone_name("foo.isra.0").split);
  EXPECT_TRUE(clone_name("foo.part.0").split);
  EXPECT_TRUE(clone_name("foo.part.0.cold").fragment);
  EXPECT_TRUE(clone_name("foo.cold.1").fragment);
  EXPECT_FALSE(clone_name("cold").fragment);
}

TEST(Scopes, AreCutOutOfDemangledNames) {
  EXPECT_THAT(scopes_of("_ZN2ns3Foo3barEi"), ElementsAre("ns", "Foo", "bar"));
  EXPECT_THAT(scopes_of("_ZNK2ns3Foo3barEi"), ElementsAre("ns", "Foo", "bar"));
  EXPECT_THAT(scopes_of("_Z3fooIiEvT_"), ElementsAre("foo<int>"));  // has a return type
  EXPECT_THAT(scopes_of("_ZN3FooC2Ev"), ElementsAre("Foo", "Foo"));
  EXPECT_THAT(scopes_of("_ZN3FooD1Ev"), ElementsAre("Foo", "~Foo"));
  EXPECT_THAT(scopes_of("_ZN3FooclEi"), ElementsAre("Foo", "operator()"));
  EXPECT_THAT(scopes_of("_ZN3FoolsEi"), ElementsAre("Foo", "operator<<"));
  EXPECT_THAT(scopes_of("_ZN3FooptEv"), ElementsAre("Foo", "operator->"));
  EXPECT_THAT(scopes_of("_ZlsIiEb1BIT_Ei"), ElementsAre("operator<< <int>"));
  EXPECT_THAT(scopes_of("_ZN2nsplIA14_cEEvNS_1AERKT_"), ElementsAre("ns", "operator+<char [14]>"));
  EXPECT_THAT(scopes_of("_Zli2_xPKc"), ElementsAre("operator\"\" _x"));
  EXPECT_THAT(scopes_of("_ZN3FoocvbEv"), ElementsAre("Foo", "operator bool"));
  EXPECT_THAT(scopes_of("_ZN12_GLOBAL__N_13fooEv"), ElementsAre("(anonymous namespace)", "foo"));
  EXPECT_THAT(scopes_of("_ZNSt6vectorIiSaIiEE9push_backERKi"),
              ElementsAre("std", "vector<int, std::allocator<int> >", "push_back"));
  EXPECT_THAT(scopes_of("_ZZ4mainENKUlvE_clEv"), ElementsAre("main", "{lambda()#1}", "operator()"));
  EXPECT_THAT(scopes_of("_ZN4core3fmt5write17h0123456789abcdefE"), ElementsAre("core", "fmt", "write"));  // Rust
  EXPECT_THAT(scopes_of("_ZN48_$LT$shapes..Square$u20$as$u20$shapes..Shape$GT$4area17h3e8c951fa9ee3e10E"),
              ElementsAre("<shapes::Square as shapes::Shape>", "area"));
  EXPECT_THAT(scopes_of("_ZN6shapes4main28_$u7b$$u7b$closure$u7d$$u7d$17hcfcb332b04ffcd07E"),
              ElementsAre("shapes", "main", "{{closure}}"));
  // Return types with parentheses: decltype(auto), decltype ((((declval<T>)())->g)()).
  EXPECT_THAT(scopes_of("_ZSt10__do_visitIvZ1fvEUlOT_E_JRiEEDcOT0_DpOT1_"),
              ElementsAre("std", "__do_visit<void, f()::{lambda(auto:1&&)#1}, int&>"));
  EXPECT_THAT(scopes_of("_Z1gI1AEDTclptcl7declvalIT_EE1hEES1_"), ElementsAre("g<A>"));
  EXPECT_THAT(scopes_of("_Z2fpIiEPFvdET_"), ElementsAre("fp<int>"));  // void (*fp<int>(int))(double)
  EXPECT_THAT(scopes_of("foo"), IsEmpty());
  EXPECT_THAT(scopes_of("_ZThn16_N3Foo3barEv"), IsEmpty());  // a thunk is not the function
  EXPECT_THAT(scopes_of("_Zgarbage"), IsEmpty());
}

bool matches(const char* pattern, const char* symbol) { return NamePattern(pattern).matches(symbol); }

TEST(NamePattern, MatchesPlainNames) {
  EXPECT_TRUE(matches("foo", "foo"));
  EXPECT_TRUE(matches("f*", "foo"));
  EXPECT_TRUE(matches("::foo", "foo"));
  EXPECT_FALSE(matches("bar::foo", "foo"));
  EXPECT_FALSE(matches("fo", "foo"));
}

TEST(NamePattern, MatchesCxxNamesByTheirLastScopes) {
  const char* symbol = "_ZN2ns3Foo3barEi";
  EXPECT_TRUE(matches("bar", symbol));
  EXPECT_TRUE(matches("Foo::bar", symbol));
  EXPECT_TRUE(matches("ns::Foo::bar", symbol));
  EXPECT_TRUE(matches("::ns::Foo::bar", symbol));
  EXPECT_TRUE(matches("Foo::b*", symbol));
  EXPECT_TRUE(matches("ns::*::bar", symbol));
  EXPECT_TRUE(matches("*::bar", symbol));
  EXPECT_TRUE(matches("_ZN2ns3Foo*", symbol));
  EXPECT_TRUE(matches("ns::*", symbol));
  EXPECT_TRUE(matches("::ns::*", symbol));
  EXPECT_TRUE(matches("::*::bar", symbol));
  EXPECT_TRUE(matches("Foo::*", symbol));
  EXPECT_FALSE(matches("::Foo::*", symbol));
  EXPECT_FALSE(matches("bar::*", symbol));
  EXPECT_FALSE(matches("Foo::*::bar", symbol));
  EXPECT_FALSE(matches("ns::b*", symbol));  // only a "*" of its own is several scopes
  EXPECT_FALSE(matches("::bar", symbol));
  EXPECT_FALSE(matches("::Foo::bar", symbol));
  EXPECT_FALSE(matches("Foo", symbol));
  EXPECT_FALSE(matches("ar", symbol));
}

TEST(NamePattern, StarsReachThroughScopes) {
  const char* deep = "_ZN1a1b1c1dEv";
  EXPECT_TRUE(matches("a::*", deep));
  EXPECT_TRUE(matches("a::*::d", deep));
  EXPECT_TRUE(matches("::a::*::*", deep));
  EXPECT_TRUE(matches("a::*::c::*", deep));
  EXPECT_FALSE(matches("a::*::*::*::*", deep));
  EXPECT_FALSE(matches("a::*::a::*", deep));
}

TEST(LastScopes, AreWhatPeopleWrite) {
  EXPECT_EQ(last_scopes("foo.isra.0", 1), "foo");
  EXPECT_EQ(last_scopes("_ZN2ns3Foo3barEi", 1), "bar");
  EXPECT_EQ(last_scopes("_ZN2ns3Foo3barEi", 2), "Foo::bar");
  EXPECT_EQ(last_scopes("_ZN2ns3Foo3barEi", 9), "ns::Foo::bar");
  EXPECT_EQ(last_scopes("_ZNSt6vectorIiSaIiEE9push_backERKi", 2), "vector::push_back");
  EXPECT_EQ(last_scopes("_Zgarbage", 1), "");
}

TEST(NamePattern, KnowsRustsNames) {
  const char* area = "_ZN48_$LT$shapes..Square$u20$as$u20$shapes..Shape$GT$4area17h3e8c951fa9ee3e10E";
  EXPECT_TRUE(matches("area", area));
  EXPECT_TRUE(matches("<shapes::Square as shapes::Shape>::area", area));
  EXPECT_TRUE(matches("<*Square as *>::area", area));
  EXPECT_FALSE(matches("<shapes::Disc as shapes::Shape>::area", area));
}

TEST(NamePattern, KnowsTemplatesAndTheStandardLibrary) {
  const char* push = "_ZNSt6vectorIiSaIiEE9push_backERKi";
  EXPECT_TRUE(matches("vector::push_back", push));
  EXPECT_TRUE(matches("std::vector::push_back", push));
  EXPECT_TRUE(matches("vector<int*>::push_back", push));
  EXPECT_FALSE(matches("vector<long*>::push_back", push));
  // Ss stands for std::string: no "string" in the mangled name.
  EXPECT_TRUE(matches("string::append", "_ZNSs6appendEPKc"));
  EXPECT_TRUE(matches("operator<<", "_ZN3FoolsEi"));
  EXPECT_TRUE(matches("operator<<", "_ZlsIiEb1BIT_Ei"));
  EXPECT_FALSE(matches("Foo::operator*", "_ZN3FoolsEi")) << "an operator is itself";
  EXPECT_TRUE(matches("Foo::operator*", "_ZN3FoomlEi"));
  EXPECT_TRUE(matches("Foo::operator?*", "_ZN3FoolsEi"));
  EXPECT_TRUE(matches("Foo::oper*", "_ZN3FoolsEi"));
  EXPECT_TRUE(matches("Foo::~Foo", "_ZN3FooD1Ev"));
}

TEST(NamePattern, TakesBracketsOfNamesAsTheyStand) {
  EXPECT_TRUE(matches("a::text[abi:cxx11]", "_ZN1a4textB5cxx11Ev"));
  EXPECT_TRUE(matches("a::text", "_ZN1a4textB5cxx11Ev"));
  EXPECT_TRUE(matches("ns::operator+<char [14]>", "_ZN2nsplIA14_cEEvNS_1AERKT_"));
  EXPECT_TRUE(matches("Foo::operator[]", "_ZN3FooixEi"));
  EXPECT_TRUE(matches("a::tex[rst]", "_ZN1a4textB5cxx11Ev")) << "a character class, too";
}

TEST(NamePattern, WithParametersIsOneFunction) {
  const char *f_int = "_ZN4shop1fEi", *f_long = "_ZN4shop1fEl", *f_text = "_ZN4shop1fEPKc";
  EXPECT_TRUE(matches("shop::f", f_int));
  EXPECT_TRUE(matches("f(int)", f_int));
  EXPECT_TRUE(matches("int shop::f(int);", f_int)) << "as gdb lists it";
  EXPECT_FALSE(matches("f(int)", f_long));
  EXPECT_TRUE(matches("f(long int)", f_long));
  EXPECT_TRUE(matches("f(char const*)", f_text));
  EXPECT_TRUE(matches("static char &shop::f(const char *)", f_text));
  EXPECT_FALSE(matches("f(char*)", f_text)) << "no wildcard within parameters";
  EXPECT_TRUE(matches("f(*)", f_text));
  EXPECT_TRUE(matches("shop::*(int)", f_int));
  EXPECT_FALSE(matches("shop::*(int)", f_long));
  EXPECT_TRUE(matches("f(void)", "_Z1fv"));
  EXPECT_TRUE(matches("f(std::string)", "_Z1fNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"));
  EXPECT_TRUE(matches("f(std::vector<int>, size_t)", "_Z1fSt6vectorIiSaIiEEm"));
  EXPECT_TRUE(matches("f(int (*)(const char *), int (&)[3])", "_Z1fPFiPKcERA3_i"));
  EXPECT_TRUE(matches("f(int (A::*)(char) const)", "_Z1fM1AKFicE"));
  EXPECT_TRUE(matches("main(int, char **)", "main")) << "C has no signatures in its symbols";
  EXPECT_TRUE(matches("f(int) [clone .isra.0]", "_Z1fi.isra.0"));
  EXPECT_FALSE(matches("f(int) [clone .isra.1]", "_Z1fi.isra.0"));
}

TEST(NamePattern, OfAnyDepthIsRead) {
  for (const auto& [open, close] : {std::pair("(*", ")"), {"a<", ">"}, {"[", "]"}, {"a(", ")"}}) {
    std::string parameters;
    for (int i = 0; i < 200'000; ++i) parameters += open;
    for (int i = 0; i < 200'000; ++i) parameters += close;
    EXPECT_FALSE(matches(("f(" + parameters + ")").c_str(), "_Z1fi")) << open;
  }
}

TEST(NamePattern, PrefersWhatMatchesExactly) {
  using Fit = NamePattern::Fit;
  const auto fit = [](const char* pattern, const char* symbol) { return NamePattern(pattern).fit(symbol); };
  EXPECT_EQ(fit("A::get()", "_ZN1A3getEv"), Fit::kExact);
  EXPECT_EQ(fit("A::get()", "_ZNK1A3getEv"), Fit::kLoose);
  EXPECT_EQ(fit("A::get() const", "_ZNK1A3getEv"), Fit::kExact);
  EXPECT_EQ(fit("A::get() const", "_ZN1A3getEv"), Fit::kNone);
  EXPECT_EQ(fit("main.(*T).M", "main.(*T).M"), Fit::kExact);
  EXPECT_EQ(fit("main.(*T).M", "main.(*AT).M"), Fit::kLoose);
  EXPECT_EQ(fit("main.Map[...]", "main.Map[go.shape.int_0]"), Fit::kExact);
  EXPECT_EQ(fit("main.Map[...].func1", "main.Map[go.shape.int_0].func1"), Fit::kExact);
  EXPECT_EQ(fit("main.Map[...]", "main.Mapped"), Fit::kNone);
}

TEST(NamePattern, MayLeaveOutAnonymousNamespaces) {
  const char* symbol = "_ZN4shop12_GLOBAL__N_14privEi";
  for (const char* pattern : {"shop::priv", "shop::(anonymous namespace)::priv", "priv(int)", "::shop::priv(int)"})
    EXPECT_TRUE(matches(pattern, symbol)) << pattern;
  EXPECT_FALSE(matches("::priv", symbol));
}

// What a listing shows can be probed: each name of a library finds the function.
TEST(NamePattern, OfEveryNameOfALibraryMatchesIt) {
  Dl_info library{};
  ASSERT_NE(dladdr(reinterpret_cast<void*>(static_cast<void (*)()>(std::terminate)), &library), 0);
  char* path = realpath(library.dli_fname, nullptr);
  OpenOptions options;
  options.use_cache = false;
  auto module = Module::open(path, options);
  free(path);
  ASSERT_TRUE(module.ok());
  const std::vector<Function> functions = (*module)->all_functions();
  EXPECT_GT(functions.size(), 1000u);
  for (const Function& function : functions)
    EXPECT_TRUE(NamePattern(function.name()).matches(clone_name(function.linkage_name).base)) << function.name();
  // With its parameters, each is the only one.
  for (const Function& function : functions) {
    const std::string base(clone_name(function.linkage_name).base), signature = name_with_signature(base);
    EXPECT_EQ(NamePattern(signature).fit(base), NamePattern::Fit::kExact) << signature;
  }
}

TEST(Names, AreSuggestedWithTheirScopes) {
  const std::vector<std::string> names = {"main", "shop::sell", "shop::Cart<int>::add", "shelf::put"};
  EXPECT_EQ(with_scopes("shop*", names), "shop::*");
  EXPECT_EQ(with_scopes("shop", names), "shop::*");
  EXPECT_EQ(with_scopes("sh*", names), "sh*::*");
  EXPECT_EQ(with_scopes("shelf*put", names), "shelf::put");
  EXPECT_EQ(with_scopes("Cart*", names), "Cart<int>::*");
  EXPECT_EQ(with_scopes("store*", names), "");
  EXPECT_EQ(with_scopes("*", names), "");
  for (const char* pattern : {"shop::*", "sh*::*"}) EXPECT_TRUE(NamePattern(pattern).matches("_ZN4shop4sellEi"));
}

TEST(NamePattern, TakesNamesAsListingsPrintThem) {
  EXPECT_TRUE(matches(R"(a\nb)", "a\nb"));
  EXPECT_TRUE(matches(R"(esc\033[31m)", "esc\033[31m"));
  EXPECT_TRUE(matches(R"(tab\t*)", "tab\there"));
  EXPECT_TRUE(matches(R"(q"uo\te)", R"(q"uo\te)"));
  EXPECT_TRUE(matches(R"(q\"uo\\te)", R"(q"uo\te)"));
  EXPECT_TRUE(matches(R"(operator\"\" _km)", "_Zli3_kmy"));
  EXPECT_TRUE(matches(R"(\!bang)", "!bang"));
  EXPECT_FALSE(matches(R"(a\nb)", "anb"));
}

TEST(NamePattern, MayMatchAllThatItMatches) {
  const std::vector<std::string> symbols = {
      "foo",     "foo.constprop.0",       "foo@@V_1", "food", "_ZN3bar3fooEi", "_ZN3bar3fooEi.isra.0", "_ZN3bar4foodEv",
      "_Z3foov", "_ZNSt6vectorIiE4sizeEv"};
  for (const char* text : {"foo", "::foo", "bar::foo", "::bar::foo", "fo*", "*::foo", "std::vector::size", "_ZN3bar3fooEi",
                           "foo.constprop.0", "nothing"}) {
    const NamePattern pattern(text);
    for (const std::string& symbol : symbols)
      if (pattern.matches(clone_name(symbol).base) || pattern.matches(symbol))
        EXPECT_TRUE(pattern.may_match(symbol)) << text << ' ' << symbol;
  }
  EXPECT_FALSE(NamePattern("foo").may_match("main"));
  EXPECT_FALSE(NamePattern("bar::foo").may_match("_Z3foov"));
}

}  // namespace
}  // namespace spile::debuginfo
