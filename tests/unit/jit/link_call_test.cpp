// What lode knows of a program's link.
#include "jit/link_calls.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace lode;

namespace {

NvrtcCall link_with(std::vector<std::string> options) {
    return {{}, std::string(complete_link), {}, std::move(options), {}};
}

int last_type = 0;
std::string last_name;
int note_input(nvjitlink::Handle /*link*/, int type, const void* /*data*/, std::size_t size,
               const char* name) {
    last_type = type;
    last_name = name != nullptr ? name : "null";
    return static_cast<int>(size);
}

}  // namespace

TEST_CASE("link call: options whose effect is known can be cached, and no others") {
    for (const char* known : {"-arch=sm_90", "-lto", "-ptx", "-O0", "-O3", "-Xptxas=-v",
                              "-kernels-used=time_step", "-no-cache"}) {
        CAPTURE(known);
        CHECK(uncacheable_link_reason(link_with({"-arch=sm_90", known})).empty());
    }
    for (const char* unknown : {"", "arch", "--arch=sm_90", "-O2", "-time", "-split-compile=2",
                                "-a-newer-option", "-Xptxas=--options-file=x", "-Xptxas=--time"}) {
        CAPTURE(unknown);
        CHECK(!uncacheable_link_reason(link_with({"-arch=sm_90", unknown})).empty());
        CHECK(link_leaves_traces(link_with({unknown})));
    }
    CHECK(link_leaves_traces(link_with({"-arch=sm_90", "-O0"})));
    CHECK(!link_leaves_traces(link_with({"-arch=sm_90", "-lto", "-ftz=true"})));
}

TEST_CASE("link call: an input keeps its type, its bytes and whether it has a name") {
    const char text[] = "a\0b";
    const auto bytes = std::as_bytes(std::span(text));
    for (const char* name : {"a name.o", "", "7"}) {
        CHECK(add_input(&note_input, nullptr, input_of_link(10, bytes, name)) == 4);
        CHECK(last_type == 10);
        CHECK(last_name == name);
    }
    CHECK(add_input(&note_input, nullptr, input_of_link(2, bytes, nullptr)) == 4);
    CHECK(last_type == 2);
    CHECK(last_name == "null");
    const auto request =
        link_request_of({{},
                         {},
                         {input_of_link(1, bytes, "a.o"), input_of_link(3, bytes, "b c")},
                         {"-lto", "-arch=sm_90a"},
                         {}});
    CHECK(request.source.name() == "a.o + b c");
    CHECK(request.arch.to_string() == "sm_90a");
}

TEST_CASE("link call: results that report the machine's state aren't kept") {
    NvrtcAnswer answer;
    for (const int result : {-1, 0, 3, 4, 6, 7, 9, 18, 19}) {
        answer.result = result;
        const bool is_lasting = result >= 0 && result <= 18 && result != 6 && result != 7;
        CHECK(is_lasting_link(answer) == is_lasting);
    }
}
