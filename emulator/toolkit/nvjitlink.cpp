// Stands in for nvJitLink inside `lode emulate`: links PTX, and gives the linked PTX where a cubin
// is asked for. The software device loads it like any other PTX.
//
// The entry points are those of the toolkit's nvJitLink.h. NVIDIA's library compiles LTO-IR to PTX.
// Machine code and archives are refused by their kind, except libcudadevrt.a: what cooperative
// grids need of it is here as PTX.
#include "base/file.hpp"
#include "base/ptx_scan.hpp"
#include "emulator/decode/module.hpp"
#include "emulator/decode/ptx/link.hpp"
#include "emulator/decode/ptx/link_input.hpp"
#include "emulator/toolkit/lto.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace lode::emulator::toolkit {
namespace {

/// The values of nvJitLinkResult that occur here.
enum Outcome : int {
    success = 0,
    unrecognised_option = 1,
    missing_arch = 2,
    invalid_input = 3,
    ptx_compile = 4,
    nvvm_compile = 5,
    internal = 6,
    unrecognised_input = 8,
    null_input = 10,
    unrecognised_arch = 16,
};

/// The options of nvJitLinkCreate; those that end with '=' take a value. All but -arch and -ptx
/// control the code generator, which this library doesn't have.
constexpr std::string_view options[] = {
    "-arch=",
    "-maxrregcount=",
    "-time",
    "-verbose",
    "-lto",
    "-ptx",
    "-O",
    "-g",
    "-lineinfo",
    "-ftz=",
    "-prec-div=",
    "-prec-sqrt=",
    "-fma=",
    "-kernels-used=",
    "-variables-used=",
    "-no-cache",
    "-Xptxas=",
    "-split-compile=",
    "-Xnvvm=",
    "-optimize-unused-variables",
    "-jump-table-density=",
    "-split-compile-extended=",
    "-device-stack-protector=",
    "-r",
};

bool is_option(std::string_view text) noexcept {
    return std::ranges::any_of(options, [&](std::string_view option) {
        return option.ends_with('=') || option == "-O" ? text.starts_with(option) : text == option;
    });
}

/// One nvJitLinkHandle.
struct Linker {
    ptx::Link link{LoadOptions().newest_ptx};
    ComputeCapability device;
    std::vector<std::string> options;
    std::vector<LtoInput> lto_inputs;
    bool gives_ptx = false;  ///< -ptx
    bool is_complete = false;
    std::string log;

    int refuse(Outcome outcome, std::string_view why) {
        log += why;
        log += '\n';
        return outcome;
    }
};

/// Calls a function of a handle; no exception leaves the library.
template <class Body>
int with(Linker* handle, Body&& body) noexcept {
    if (handle == nullptr) return null_input;
    try {
        return body(*handle);
    } catch (const std::exception&) {
        return internal;
    }
}

/// Whether a text has the form of an architecture, as "sm_90a" and "compute_999" have.
bool is_architecture(std::string_view text) noexcept {
    const auto digits = text.find_first_of("0123456789");
    return digits != text.npos &&
           (text.substr(0, digits) == "sm_" || text.substr(0, digits) == "compute_");
}

/// The compute capability of "sm_90a" or "compute_90".
std::optional<ComputeCapability> capability_of(std::string_view arch) {
    const auto parsed = Arch::parse(std::string(arch));
    if (!parsed) return std::nullopt;
    return parsed->cc();
}

int read_options(Linker& linker, std::uint32_t count, const char* const* texts) {
    bool has_arch = false;
    for (std::uint32_t i = 0; i < count; ++i) {
        if (texts == nullptr || texts[i] == nullptr) return null_input;
        const std::string_view text = texts[i];
        if (!is_option(text)) return unrecognised_option;
        constexpr std::string_view arch = "-arch=";
        if (text.starts_with(arch)) {
            if (!is_architecture(text.substr(arch.size()))) return unrecognised_option;
            const auto capability = capability_of(text.substr(arch.size()));
            if (!capability) return unrecognised_arch;
            linker.device = *capability;
            has_arch = true;
        }
        linker.options.emplace_back(text);
        linker.gives_ptx = linker.gives_ptx || text == "-ptx";
    }
    return has_arch ? success : missing_arch;
}

bool is_lto_ir(std::string_view bytes) noexcept {
    constexpr std::string_view magic = "\xed\x43\x4e\x7f";
    return bytes.starts_with(magic);
}

int add_bytes(Linker& linker, std::string_view bytes, const std::string& name) {
    if (linker.is_complete) return invalid_input;
    if (ptx::is_device_runtime(bytes, name)) {
        linker.link.add_device_runtime();
        return success;
    }
    if (is_lto_ir(bytes)) {
        linker.lto_inputs.push_back({std::string(bytes), name});
        return success;
    }
    const auto text = ptx::ptx_of_link_input(bytes, linker.device, name);
    if (!text) return linker.refuse(unrecognised_input, text.error().message);
    const auto target = ptx_target_of(*text);
    if (target && !target->runs_on(linker.device)) {
        return linker.refuse(ptx_compile,
                             fmt::format("'{}' is for {}, which doesn't run on {}.", name,
                                         target->to_string(), Arch(linker.device).to_string()));
    }
    const std::string error = linker.link.add(*text, name);
    return error.empty() ? success : linker.refuse(ptx_compile, error);
}

int give_text(std::string_view text, char* room) {
    if (room == nullptr) return null_input;
    std::copy(text.begin(), text.end(), room);
    room[text.size()] = '\0';
    return success;
}

int give_size(std::string_view text, std::size_t* size) {
    if (size == nullptr) return null_input;
    *size = text.size() + 1;
    return success;
}

/// The linked text, for a function that needs a complete link.
template <class Give>
int with_result(Linker* handle, bool as_ptx, Give&& give) noexcept {
    return with(handle, [&](Linker& linker) -> int {
        if (!linker.is_complete || (as_ptx && !linker.gives_ptx)) return invalid_input;
        return give(linker.link.result());
    });
}

}  // namespace
}  // namespace lode::emulator::toolkit

using lode::emulator::toolkit::Linker;

// The functions with the names of the library, and with those of each of its releases.
#define LODE_ALIAS(name, release, parameters) \
    extern "C"                                \
        __attribute__((visibility("default"), alias(#name))) int __##name##_##release parameters;
#if LODE_CUDA_MAJOR == 12
#define LODE_RELEASES(name, parameters) \
    LODE_ALIAS(name, 12_0, parameters)  \
    LODE_ALIAS(name, 12_1, parameters)  \
    LODE_ALIAS(name, 12_2, parameters)  \
    LODE_ALIAS(name, 12_3, parameters)  \
    LODE_ALIAS(name, 12_4, parameters)  \
    LODE_ALIAS(name, 12_5, parameters)  \
    LODE_ALIAS(name, 12_6, parameters)  \
    LODE_ALIAS(name, 12_7, parameters)  \
    LODE_ALIAS(name, 12_8, parameters)  \
    LODE_ALIAS(name, 12_9, parameters)
#else
#define LODE_RELEASES(name, parameters) \
    LODE_ALIAS(name, 13_0, parameters)  \
    LODE_ALIAS(name, 13_1, parameters)  \
    LODE_ALIAS(name, 13_2, parameters)  \
    LODE_ALIAS(name, 13_3, parameters)  \
    LODE_ALIAS(name, 13_4, parameters)  \
    LODE_ALIAS(name, 13_5, parameters)  \
    LODE_ALIAS(name, 13_6, parameters)
#endif
/// Defines an entry point: LODE_LINKER_ENTRY(name, (parameters)) { … }
#define LODE_LINKER_ENTRY(name, parameters)                                \
    extern "C" __attribute__((visibility("default"))) int name parameters; \
    LODE_RELEASES(name, parameters)                                        \
    extern "C" int name parameters

extern "C" __attribute__((visibility("default"))) const int lode_stand_in = 1;

// NOLINTBEGIN(readability-identifier-naming): the names are those of nvJitLink.h.

LODE_LINKER_ENTRY(nvJitLinkCreate,
                  (Linker * *handle, std::uint32_t count, const char* const* texts)) {
    using namespace lode::emulator::toolkit;
    if (handle == nullptr) return null_input;
    try {
        auto linker = std::make_unique<Linker>();
        const int outcome = read_options(*linker, count, texts);
        if (outcome == success) *handle = linker.release();
        return outcome;
    } catch (const std::exception&) {
        return internal;
    }
}

LODE_LINKER_ENTRY(nvJitLinkDestroy, (Linker * *handle)) {
    using namespace lode::emulator::toolkit;
    if (handle == nullptr) return null_input;
    delete *handle;
    *handle = nullptr;
    return success;
}

LODE_LINKER_ENTRY(nvJitLinkAddData,
                  (Linker * handle, int, const void* data, std::size_t size, const char* name)) {
    using namespace lode::emulator::toolkit;
    return with(handle, [&](Linker& linker) -> int {
        if (data == nullptr || size == 0) return null_input;
        return add_bytes(linker, {static_cast<const char*>(data), size},
                         name == nullptr ? "unnamed" : name);
    });
}

LODE_LINKER_ENTRY(nvJitLinkAddFile, (Linker * handle, int, const char* path)) {
    using namespace lode::emulator::toolkit;
    return with(handle, [&](Linker& linker) -> int {
        if (path == nullptr) return null_input;
        const auto bytes = lode::read_text(path);
        if (!bytes) return linker.refuse(invalid_input, bytes.error().message);
        return add_bytes(linker, *bytes, path);
    });
}

LODE_LINKER_ENTRY(nvJitLinkComplete, (Linker * handle)) {
    using namespace lode::emulator::toolkit;
    return with(handle, [&](Linker& linker) -> int {
        if (linker.is_complete) return success;
        if (!linker.lto_inputs.empty()) {
            auto ptx = ptx_of_lto_ir(std::exchange(linker.lto_inputs, {}), linker.options);
            if (!ptx) return linker.refuse(nvvm_compile, ptx.error().message);
            const std::string error = linker.link.add(*std::move(ptx), "LTO-IR");
            if (!error.empty()) return linker.refuse(ptx_compile, error);
        }
        if (linker.link.empty()) {  // The result is a program without kernels.
            const std::string error =
                linker.link.add(".version 6.3\n.target sm_75\n.address_size 64\n", "no input");
            if (!error.empty()) return linker.refuse(internal, error);
        }
        if (const std::string errors = linker.link.complete(); !errors.empty())
            return linker.refuse(ptx_compile, errors);
        linker.is_complete = true;
        return success;
    });
}

LODE_LINKER_ENTRY(nvJitLinkGetLinkedCubinSize, (Linker * handle, std::size_t* size)) {
    using namespace lode::emulator::toolkit;
    return with_result(handle, false, [&](const auto& text) { return give_size(text, size); });
}

LODE_LINKER_ENTRY(nvJitLinkGetLinkedCubin, (Linker * handle, void* cubin)) {
    using namespace lode::emulator::toolkit;
    return with_result(handle, false, [&](const auto& text) {
        return give_text(text, static_cast<char*>(cubin));
    });
}

LODE_LINKER_ENTRY(nvJitLinkGetLinkedPtxSize, (Linker * handle, std::size_t* size)) {
    using namespace lode::emulator::toolkit;
    return with_result(handle, true, [&](const auto& text) { return give_size(text, size); });
}

LODE_LINKER_ENTRY(nvJitLinkGetLinkedPtx, (Linker * handle, char* ptx)) {
    using namespace lode::emulator::toolkit;
    return with_result(handle, true, [&](const auto& text) { return give_text(text, ptx); });
}

LODE_LINKER_ENTRY(nvJitLinkGetErrorLogSize, (Linker * handle, std::size_t* size)) {
    using namespace lode::emulator::toolkit;
    return with(handle, [&](Linker& linker) { return give_size(linker.log, size); });
}

LODE_LINKER_ENTRY(nvJitLinkGetErrorLog, (Linker * handle, char* log)) {
    using namespace lode::emulator::toolkit;
    return with(handle, [&](Linker& linker) { return give_text(linker.log, log); });
}

LODE_LINKER_ENTRY(nvJitLinkGetInfoLogSize, (Linker * handle, std::size_t* size)) {
    using namespace lode::emulator::toolkit;
    return with(handle, [&](Linker&) { return give_size({}, size); });
}

LODE_LINKER_ENTRY(nvJitLinkGetInfoLog, (Linker * handle, char* log)) {
    using namespace lode::emulator::toolkit;
    return with(handle, [&](Linker&) { return give_text({}, log); });
}

extern "C" __attribute__((visibility("default"))) int nvJitLinkVersion(unsigned* major,
                                                                       unsigned* minor) {
    using namespace lode::emulator::toolkit;
    if (major == nullptr || minor == nullptr) return null_input;
    *major = LODE_CUDA_MAJOR;
    *minor = LODE_CUDA_MAJOR == 12 ? 9 : 0;
    return success;
}

// NOLINTEND(readability-identifier-naming)
