// A host with embedded kernels: lists the embedded files and checks them.
#include <lode/lode.hpp>

#include <cstdio>
#include <set>
#include <span>
#include <string>

#include <lode_embedded/total.hpp>

namespace {

/// Whether an embedded file is machine code for an architecture and holds the kernel.
bool is_code_for(const lode::EmbeddedFile& file, const char* arch) {
    const auto bytes = std::as_bytes(std::span(file.content.data(), file.content.size()));
    const auto image =
        lode::Image::from_cubin(bytes, std::string(file.name), *lode::Arch::parse(arch));
    return image && file.content.find("total") != std::string_view::npos;
}

}  // namespace

int main() {
    const auto files = lode_embedded::total();
    std::set<std::string> names;
    for (const auto& file : files)
        names.insert(std::string(file.name));
    const std::set<std::string> expected{"total.cu", "total.cuh", "total.sm_80.cubin",
                                         "total.sm_90a.cubin"};
    for (const auto& name : names)
        std::printf("file: %s\n", name.c_str());
    if (names != expected) return 1;

    const lode::KernelFamily family{"total", {}, files};
    if (!is_code_for(*family.file("total.sm_80.cubin"), "sm_80")) return 2;
    if (!is_code_for(*family.file("total.sm_90a.cubin"), "sm_90a")) return 3;
    if (family.file("total.cu")->content.find("#include \"total.cuh\"") == std::string_view::npos)
        return 4;
    std::printf("target: sm_80\n");
    return 0;
}
