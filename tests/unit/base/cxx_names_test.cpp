#include "base/cxx_names.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

using lode::canonical_name;
using lode::Spelling;

namespace {

using Names = std::vector<std::string>;

bool same(std::string_view a, std::string_view b, Spelling spelling = Spelling::exact) {
    INFO(canonical_name(a, spelling));
    INFO(canonical_name(b, spelling));
    return canonical_name(a, spelling) == canonical_name(b, spelling);
}

Names named(std::string_view wanted, const Names& symbols) {
    std::vector<lode::NamedSymbol> candidates;
    for (const auto& symbol : symbols)
        candidates.push_back({symbol});
    return lode::symbols_named(wanted, candidates);
}

}  // namespace

TEST_CASE("C++ names: a symbol gives the types of its parameters") {
    using Types = std::vector<std::string>;
    CHECK(lode::parameter_types("_Z5scaleIfLi3EEvPT_") == Types{"float*"});
    CHECK(lode::parameter_types("_Z1kPKfPmi") == Types{"float const*", "unsigned long*", "int"});
    CHECK(lode::parameter_types("_Z1kIFvicEEvT_S0_").size() == 2);
    CHECK(lode::parameter_types("_ZN12_GLOBAL__N_15scaleEPFvicE") == Types{"void (*)(int, char)"});
    CHECK(lode::parameter_types("_Z1kv").empty());
    CHECK(lode::parameter_types("k").empty());
}

TEST_CASE("C++ names: numbers have a kind and a size, and pointers a pointee") {
    const auto text = [](std::string_view name) {
        const auto type = lode::number_type(name);
        if (!type) return std::string("none");
        return (type->is_floating ? "f" : type->is_signed ? "i" : "u") + std::to_string(type->size);
    };
    CHECK(text("float") == "f4");
    CHECK(text("double") == "f8");
    CHECK(text("bool") == "u1");
    CHECK(text("signed char") == "i1");
    CHECK(text("unsigned short") == "u2");
    CHECK(text("unsigned int") == "u4");
    CHECK(text("long") == "i8");
    CHECK(text("unsigned long long") == "u8");
    CHECK(text("float*") == "none");
    CHECK(text("S") == "none");
    CHECK(text("") == "none");
    CHECK(lode::pointee_type("float*") == "float");
    CHECK(lode::pointee_type("unsigned int const volatile*") == "unsigned int");
    CHECK(lode::pointee_type("float const**") == "float const*");
    CHECK(lode::pointee_type("float").empty());
}

TEST_CASE("C++ names: symbols are readable, with and without their parameters") {
    CHECK(lode::demangled("_Z5scaleIfLi3EEvPT_") == "void scale<float, 3>(float*)");
    CHECK(lode::demangled("_ZN2ns4scalEv") == "ns::scal()");
    CHECK_FALSE(lode::demangled("scale"));
    CHECK_FALSE(lode::demangled("_Zebra"));
    CHECK(lode::readable_name("_Z5scaleIfLi3EEvPT_") == "scale<float, 3>");
    CHECK(lode::readable_name("_ZN2ns5scaleEPf") == "ns::scale");
    CHECK(lode::readable_name("_ZN12_GLOBAL__N_15scaleEPf") == "scale");
    CHECK(lode::readable_name("_Z1kIFvicEEvT_") == "k<void (int, char)>");
    CHECK(lode::readable_name("saxpy") == "saxpy");
}

TEST_CASE("C++ names: all spellings of a name have the same canonical text") {
    for (const char* spelling :
         {"k<3, float>", "k<3,float>", " k < 3 , float > ", "k<(int)3, float>", "::k<0x3, float>",
          "k<03,float>", "k<(signed int) 3, float>", "k\n<0b11, float>"})
        CHECK(same(spelling, "k<3, float>"));
    CHECK(same("k<const float*>", "k<float const*>"));
    CHECK(same("k<const volatile a::b<const int>&>", "k<a::b<int const> volatile const&>"));
    CHECK(same("k<unsigned>", "k<unsigned int>"));
    CHECK(same("k<long int>", "k<long>"));
    CHECK(same("k<long unsigned int long>", "k<unsigned long long>"));
    CHECK(same("k<short int>", "k<short>"));
    CHECK(same("k<char unsigned>", "k<unsigned char>"));
    CHECK(same("k<std::uint32_t, size_t>", "k<unsigned int, unsigned long>"));
    CHECK(same("k<3u>", "k<(unsigned int)3>"));
    CHECK(same("k<1'000UL>", "k<(unsigned long)1000>"));
    CHECK(same("k<'a'>", "k<(char)97>"));
    CHECK(same("k<(bool)1>", "k<true>"));
    CHECK(same("k<- 3>", "k<-3>"));
    CHECK(same("k<struct a::b>", "k<::a::b>"));
    CHECK(same("k<a<b<int>>>", "k<a<b<int> > >"));
    CHECK(same("k(void)", "k()"));
    CHECK(same("k<void(int,char)>", "k<void (int, char)>"));
    CHECK(same("k<long double>", "k<double long>"));
}

TEST_CASE("C++ names: different names stay different") {
    for (const auto& [a, b] : {std::pair{"k<3>", "k<4>"},
                               {"k<3>", "k<-3>"},
                               {"k<3>", "k<3u>"},
                               {"k<char>", "k<signed char>"},
                               {"k<float*>", "k<float>"},
                               {"k<float* const>", "k<const float*>"},
                               {"k<true>", "k<false>"},
                               {"k<long>", "k<long long>"},
                               {"a::k", "b::k"},
                               {"k", "K"},
                               {"k<1>", "k<true>"},
                               {"k<int64_t>", "k<long>"},
                               {"ab", "a b"}})
        CHECK_FALSE(same(a, b));
    CHECK(same("k<3>", "k<3u>", Spelling::loose));
    CHECK(same("k<(short)3>", "k<3>", Spelling::loose));
    CHECK(same("k<1>", "k<true>", Spelling::loose));
    CHECK(same("k<std::int64_t>", "k<long long>", Spelling::loose));
    CHECK_FALSE(same("k<3>", "k<4>", Spelling::loose));
}

TEST_CASE("C++ names: any text has a canonical form") {
    for (const char* text : {"",      "<",        ">",  "::",  "k<",
                             "k<<<",  "(",        "((", ")",   "k(",
                             "'",     "'a",       "08", "0x",  "99999999999999999999999",
                             "(int)", "(int)-",   "-",  "a::", "::::",
                             "k<>::", "\xff<\x80"}) {
        CHECK_NOTHROW((void)canonical_name(text, Spelling::exact));
        CHECK_NOTHROW((void)canonical_name(text, Spelling::loose));
    }
    const std::string deep = "k" + std::string(100'000, '<') + std::string(100'000, '(');
    CHECK_FALSE(canonical_name(deep, Spelling::loose).empty());
}

TEST_CASE("C++ names: a name finds its symbol, or all symbols that it may mean") {
    const Names symbols{"saxpy", "_Z1kILi3EfEvPT0_", "_Z1kILi4EfEvPT0_", "_ZN2ns4stepEPf",
                        "_ZN2ns4stepEPfi"};
    CHECK(named("k<3,float>", symbols) == Names{"_Z1kILi3EfEvPT0_"});
    CHECK(named("void k<4, float>(float*)", symbols) == Names{"_Z1kILi4EfEvPT0_"});
    CHECK(named("k<3u, float>", symbols) == Names{"_Z1kILi3EfEvPT0_"});
    CHECK(named("k", symbols).empty());
    CHECK(named("::saxpy", symbols) == Names{"saxpy"});
    CHECK(named("ns::step", symbols) == Names{"_ZN2ns4stepEPf", "_ZN2ns4stepEPfi"});
    CHECK(named("ns::step(float *, int)", symbols) == Names{"_ZN2ns4stepEPfi"});
    CHECK(named("&ns::step(float*)", symbols) == Names{"_ZN2ns4stepEPf"});
    // An exact match takes precedence over a loose one.
    const Names numbers{"_Z1kILi3EEvv", "_Z1kILj3EEvv"};
    CHECK(named("k<3u>", numbers) == Names{"_Z1kILj3EEvv"});
    CHECK(named("k<(short)3>", numbers) == numbers);
}

TEST_CASE("C++ names: mangled symbols in a text are followed by their names") {
    CHECK(lode::with_readable_symbols("no '_Z3foov' in \"_Z1kPf\", _Z3barv.\n_Z") ==
          "no '_Z3foov' (foo()) in \"_Z1kPf\" (k(float*)), _Z3barv (bar()).\n_Z");
    CHECK(lode::with_readable_symbols("a_Z3foov '_Zx' plain") == "a_Z3foov '_Zx' plain");
    CHECK(lode::with_readable_symbols("").empty());
}

TEST_CASE("C++ names: a suggestion differs from what was asked, and says how") {
    const Names names{"image::sharpen", "scale<float>", "Blur", "image::edge<...>"};
    CHECK(lode::suggestion("image::sharpn", names) == " Did you mean 'image::sharpen'?");
    CHECK(lode::suggestion("sharpen", names) ==
          " Did you mean 'image::sharpen'? Its namespace is part of the name.");
    CHECK(lode::suggestion("picture::sharpen", names) ==
          " Did you mean 'image::sharpen'? The namespace differs.");
    CHECK(lode::suggestion("blur", names) == " Did you mean 'Blur'? The case differs.");
    CHECK(lode::suggestion("scale", names) ==
          " Did you mean 'scale<float>'? A template's arguments are part of the name.");
    CHECK(lode::suggestion("scale<double>", names) ==
          " Did you mean 'scale<float>'? The template arguments differ.");
    CHECK(lode::suggestion("Blur<3>", names) == " Did you mean 'Blur'? It isn't a template.");
    CHECK(
        lode::suggestion("_Z5scaleIdEvPT_", names) ==
        " It is the symbol of 'scale<double>'. Did you mean 'scale<float>'? The template arguments "
        "differ.");
    CHECK(lode::suggestion("_Z4BlurPf", names) ==
          " It is the symbol of 'Blur'. Did you mean 'Blur'? Its symbol differs.");
    CHECK(lode::suggestion("image::edge", names) ==
          " Did you mean 'image::edge<...>'? A template's arguments are part of the name.");
    CHECK(lode::suggestion("scale< float >", names).empty());
    CHECK(lode::suggestion("transpose", names).empty());
    CHECK(lode::suggestion("", names).empty());
    CHECK(lode::suggestion("k", Names{"j", "k"}).empty());
}

TEST_CASE("C++ names: a message lists few kernels, the nearest first if there are more") {
    CHECK(lode::listed_near("x", Names{"scale", "_Z4blurPf"}) == "scale, blur(float*) (_Z4blurPf)");
    Names names;
    for (int i = 0; i < 1500; ++i)
        names.push_back("kernel_" + std::to_string(i));
    names.emplace_back("_Z5scaleIfEvPT_");
    auto list = lode::listed_near("ns::scala<float>", names);
    CHECK_MESSAGE(list.starts_with("void scale<float>(float*) (_Z5scaleIfEvPT_), kernel_"), list);
    CHECK(list.ends_with(" and 1,489 more"));
    list = lode::listed_near("kernel_1234x", names);
    CHECK_MESSAGE(list.starts_with("kernel_1234, "), list);
    CHECK(list.size() < 250);
    // Long names cost neither room nor time.
    for (auto& name : names)
        name = std::string(6000, 'n') + name;
    list = lode::listed_near(std::string(6000, 'n') + "kernel_12", names);
    CHECK_MESSAGE(list.size() < 2200, list.size());
    CHECK(lode::suggestion(std::string(6000, 'n') + "kernel_12x", names).size() < 200);
}
