#include "jit/nvjitlink.hpp"

#include "base/file.hpp"
#include "base/message_text.hpp"
#include "base/os/library.hpp"
#include "base/process_end.hpp"
#include "base/try.hpp"
#include "jit/nvrtc/compiler_thread.hpp"
#include "jit/nvrtc/file_hooks.hpp"
#include "jit/nvrtc/locate.hpp"
#include "jit/target_rules.hpp"

#include <lode/base/digest.hpp>
#include <lode/base/environment.hpp>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace LODE_NAMESPACE::nvjitlink {
namespace {

/// Loads all entry points; returns the name of the first missing one, or empty.
std::string load_table(const SharedLibrary& library, Table& table) {
    SymbolBinder symbols([&](std::string_view name) -> void* {
        // Exported under the plain name or, since 12.0, with the version of its first release.
        for (const std::string& spelling :
             {std::string(name), fmt::format("__{}_13_0", name), fmt::format("__{}_12_0", name)}) {
            if (void* const address = library.symbol(spelling)) return address;
        }
        return nullptr;
    });
    symbols.required(table.create, "nvJitLinkCreate");
    symbols.required(table.destroy, "nvJitLinkDestroy");
    symbols.required(table.add_data, "nvJitLinkAddData");
    symbols.required(table.complete, "nvJitLinkComplete");
    symbols.required(table.cubin_size, "nvJitLinkGetLinkedCubinSize");
    symbols.required(table.cubin, "nvJitLinkGetLinkedCubin");
    symbols.required(table.error_log_size, "nvJitLinkGetErrorLogSize");
    symbols.required(table.error_log, "nvJitLinkGetErrorLog");
    symbols.required(table.info_log_size, "nvJitLinkGetInfoLogSize");
    symbols.required(table.info_log, "nvJitLinkGetInfoLog");
    symbols.optional(table.ptx_size, "nvJitLinkGetLinkedPtxSize");
    symbols.optional(table.ptx, "nvJitLinkGetLinkedPtx");
    symbols.optional(table.lto_ir_size, "nvJitLinkGetLinkedLTOIRSize");
    symbols.optional(table.lto_ir, "nvJitLinkGetLinkedLTOIR");
    symbols.optional(table.version, "nvJitLinkVersion");
    return symbols.missing();
}

std::vector<LibraryPlace> places_in(const std::filesystem::path& folder, std::string_view why,
                                    const std::vector<std::string>& names) {
    std::vector<LibraryPlace> places;
    for (const auto& name : names) {
        for (const char* below : {"", "lib64", "lib"})
            places.push_back({std::string(why), folder / below / name});
    }
    return places;
}

int version_of(const Table& table) {
    constexpr int oldest = 12000;
    unsigned version_major = 0;
    unsigned version_minor = 0;
    if (table.version == nullptr || table.version(&version_major, &version_minor) != success)
        return oldest;
    return static_cast<int>(version_major * 1000 + version_minor * 10);
}

/// Identifies the library's build.
Result<std::string> build_of(const Table& table, const std::filesystem::path& file) {
    if (auto id = os::build_id_at(reinterpret_cast<const void*>(table.create)); !id.empty())
        return id;
    LODE_TRY_ASSIGN(const auto bytes, read_text(file));
    return sha256(bytes).to_hex();
}

}  // namespace

std::string_view result_name(int result) noexcept {
    constexpr std::string_view names[] = {
        "NVJITLINK_SUCCESS",
        "NVJITLINK_ERROR_UNRECOGNIZED_OPTION",
        "NVJITLINK_ERROR_MISSING_ARCH",
        "NVJITLINK_ERROR_INVALID_INPUT",
        "NVJITLINK_ERROR_PTX_COMPILE",
        "NVJITLINK_ERROR_NVVM_COMPILE",
        "NVJITLINK_ERROR_INTERNAL",
        "NVJITLINK_ERROR_THREADPOOL",
        "NVJITLINK_ERROR_UNRECOGNIZED_INPUT",
        "NVJITLINK_ERROR_FINALIZE",
        "NVJITLINK_ERROR_NULL_INPUT",
        "NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS",
        "NVJITLINK_ERROR_INCORRECT_INPUT_TYPE",
        "NVJITLINK_ERROR_ARCH_MISMATCH",
        "NVJITLINK_ERROR_OUTDATED_LIBRARY",
        "NVJITLINK_ERROR_MISSING_FATBIN",
        "NVJITLINK_ERROR_UNRECOGNIZED_ARCH",
        "NVJITLINK_ERROR_UNSUPPORTED_ARCH",
        "NVJITLINK_ERROR_LTO_NOT_ENABLED",
    };
    const auto index = static_cast<std::size_t>(result);
    return index < std::size(names) ? names[index] : "NVJITLINK_ERROR_UNKNOWN";
}

int input_type(LinkInput::Kind kind) noexcept {
    switch (kind) {
        case LinkInput::Kind::cubin:
            return 1;
        case LinkInput::Kind::ptx:
            return 2;
        case LinkInput::Kind::lto_ir:
            return 3;
        case LinkInput::Kind::fatbin:
            return 4;
        case LinkInput::Kind::object:
            return 5;
        case LinkInput::Kind::archive:
            return 6;
    }
    return 0;
}

bool is_lto(std::span<const LinkInput> inputs, const LinkOptions& options) {
    return options.lto || std::ranges::any_of(inputs, [](const LinkInput& input) {
               return input.kind == LinkInput::Kind::lto_ir;
           });
}

std::vector<std::string> flags_of(std::span<const LinkInput> inputs, const Arch& target,
                                  const LinkOptions& options) {
    std::vector<std::string> flags{"-arch=" + target.to_string()};
    if (is_lto(inputs, options)) flags.emplace_back("-lto");
    if (!target.is_real()) flags.emplace_back("-ptx");
    if (options.max_registers > 0)
        flags.push_back(fmt::format("-maxrregcount={}", options.max_registers));
    if (options.optimization_level)
        flags.push_back(fmt::format("-O{}", *options.optimization_level));
    if (options.line_info) flags.emplace_back("-lineinfo");
    if (options.debug) flags.emplace_back("-g");
    if (options.verbose) flags.emplace_back("-verbose");
    if (options.split_compile != 1)
        flags.push_back(fmt::format("-split-compile={}", options.split_compile));
    for (const auto& kernel : options.kernels_used)
        flags.push_back("-kernels-used=" + kernel);
    for (const auto& variable : options.variables_used)
        flags.push_back("-variables-used=" + variable);
    if (options.drop_unused_variables) flags.emplace_back("-optimize-unused-variables");
    flags.insert(flags.end(), options.extra_flags.begin(), options.extra_flags.end());
    return flags;
}

CompilerProperties properties_of(const Library& library, const CompilerFile& file) {
    constexpr int major_unit = 1000;
    constexpr int minor_unit = 10;
    const LinkerInfo& linker = library.info;
    CompilerProperties made;
    made.info.product = product;
    made.info.version_major = linker.version / major_unit;
    made.info.version_minor = linker.version % major_unit / minor_unit;
    made.info.build = cuda_version_text(linker.version);
    made.info.path = linker.path;
    made.info.supported = target_rules::capabilities_of(linker.version);
    made.info.search_attempts = linker.search_attempts;
    made.files = {file};
    return made;
}

std::vector<LibraryPlace> places(const LinkerSearch& search) {
    std::vector<int> majors{13, 12};
    if (search.driver_version != 0) {
        const int preferred = search.driver_version / 1000;
        std::ranges::stable_sort(majors, {}, [&](int m) { return m != preferred; });
    }
    std::vector<std::string> names;
    for (const int version_major : majors)
        names.push_back(fmt::format("libnvJitLink.so.{}", version_major));

    std::vector<LibraryPlace> found;
    const auto add = [&](const std::filesystem::path& place, std::string_view why) {
        if (place.empty()) return;
        std::error_code problem;
        if (std::filesystem::is_directory(place, problem)) {
            std::ranges::move(places_in(place, why, names), std::back_inserter(found));
        } else {
            found.push_back({std::string(why), place});
        }
    };
    add(search.library, "the caller's choice");
    if (search.library.empty()) add(environment("LODE_NVJITLINK").value_or(""), "LODE_NVJITLINK");
    if (!found.empty()) return found;
    for (const auto& folder : search.folders)
        add(folder, "beside the compiler");
    add(environment("CUDA_HOME").value_or(""), "CUDA_HOME");
    add(environment("CUDA_PATH").value_or(""), "CUDA_PATH");
    add("/usr/local/cuda", "the standard folder");
    for (const auto& [why, folder] :
         wheel_folders(NvrtcSearchEnvironment::of_process({}), "nvjitlink"))
        add(folder, why);
    for (const auto& name : names)
        found.push_back({"the loader's path", name});
    return found;
}

namespace {

Result<Library> open_on_thread(const LinkerSearch& search) {
    Library library;
    for (const auto& place : places(search)) {
        const bool is_new = !os::is_library_loaded(place.candidate);
        auto found = open_first({place});
        auto& attempt = found.attempts.front();
        if (found.library) {
            const auto missing = load_table(found.library, library.table);
            if (!missing.empty()) attempt.outcome = "not usable: it lacks " + missing;
        }
        library.info.search_attempts.push_back(
            fmt::format("{} ({}): {}", place.candidate.string(), place.why, attempt.outcome));
        if (attempt.outcome != "opened") continue;
        if (is_new) LODE_TRY(refuse_after_exit());
        library.info.path = found.library.path();
        library.info.version = version_of(library.table);
        LODE_TRY_ASSIGN(library.info.build, build_of(library.table, library.info.path));
        watch_calculations(reinterpret_cast<void*>(library.table.create));
        return library;
    }
    return fail(Errc::not_found,
                fmt::format("No usable nvJitLink library can be found. Install a CUDA toolkit or "
                            "NVIDIA's wheel nvidia-nvjitlink, or set LODE_NVJITLINK. Places "
                            "tried:\n  {}",
                            listed(library.info.search_attempts, search_form)));
}

}  // namespace

Result<Library> open(const LinkerSearch& search) {
    LODE_TRY(require_dynamic_program(Errc::not_found, "nvJitLink"));
    Result<Library> opened;
    LODE_TRY(on_compiler_thread([&] { opened = open_on_thread(search); }));
    return opened;
}

}  // namespace LODE_NAMESPACE::nvjitlink
