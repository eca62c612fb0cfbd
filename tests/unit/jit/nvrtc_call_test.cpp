// What lode knows of the options of a program's call.
#include "jit/request/nvrtc_call.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace lode;

namespace {

NvrtcCall call_with(std::vector<std::string> options) {
    return {"__global__ void k() {}", "k.cu", {}, std::move(options), {}};
}

}  // namespace

TEST_CASE("NVRTC call: known options in every spelling can be cached") {
    const std::vector<std::vector<std::string>> known = {
        {},
        {"-arch=sm_90", "--gpu-architecture", "sm_90"},
        {"-I", "folder", "-Ifolder", "--include-path=folder", "-DX", "-D", "Y=1", "-UX"},
        {"-Xptxas", "-v", "--ptxas-options=-O1", "-lineinfo", "-G", "-dlto"},
        {"-include=a.h", "--pre-include", "b.h", "-std=c++20", "-dopt", "on"}};
    for (const auto& options : known)
        CHECK(uncacheable_reason(call_with(options)).empty());
}

TEST_CASE("NVRTC call: what isn't known, or has other effects, can't be cached") {
    const std::vector<std::vector<std::string>> unknown = {{"--a-newer-option"},
                                                           {"-pch"},
                                                           {"--create-pch=x"},
                                                           {"-use-pch", "x"},
                                                           {"-time=x.csv"},
                                                           {"-optf", "x"},
                                                           {"--options-file=x"},
                                                           {""},
                                                           {" -G"},
                                                           {"folder"},
                                                           {"---G"},
                                                           {"-Gx"},
                                                           {"-fdevice-time-trace=x"},
                                                           {"-lineinfo", "true"}};
    for (const auto& options : unknown) {
        CAPTURE(options.front());
        CHECK(!uncacheable_reason(call_with(options)).empty());
    }
}

TEST_CASE("NVRTC call: the time in any text can't be cached") {
    CHECK(!uncacheable_reason(call_with({"-DT=__TIME__"})).empty());
    auto call = call_with({});
    call.headers = {{"h.h", "const char* d = __DATE__;"}};
    CHECK(!uncacheable_reason(call).empty());
    call.headers = {{"h.h", "int not__DATE__;"}};
    CHECK(uncacheable_reason(call).empty());
    call.source += "int not__TIMESTAMP__;";
    CHECK(uncacheable_reason(call).empty());
    call.source += " __TIMESTAMP__";
    CHECK(!uncacheable_reason(call).empty());
}

TEST_CASE("NVRTC call: options that leave traces end their worker") {
    CHECK(!leaves_traces(call_with({"-arch=sm_90", "-lineinfo", "-Xptxas", "-G"})));
    CHECK(leaves_traces(call_with({"-G"})));
    CHECK(leaves_traces(call_with({"-arch=sm_90", "--restrict"})));
    CHECK(leaves_traces(call_with({"--a-newer-option"})));
}

TEST_CASE("NVRTC call: target and folders are read from the options") {
    const auto call = call_with({"-arch", "sm_80", "-Ia", "-I", "b", "--include-path=c", "-G"});
    CHECK(request_of(call).arch.to_string() == "sm_80");
    CHECK(request_of(call).options.debug);
    CHECK(include_folders_of(call) == std::vector<std::string>{"a", "b", "c"});
}
