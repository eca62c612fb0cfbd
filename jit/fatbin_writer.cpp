#include "base/message_text.hpp"
#include "base/shared_library.hpp"
#include "base/try.hpp"

#include <lode/base/environment.hpp>
#include <lode/jit/fatbin_writer.hpp>

#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

// The C interface of nvFatbin, unchanged since its first release, 12.4.
using FatbinHandle = struct nvFatbin*;
constexpr int fatbin_success = 0;

/// The entry points. Valid for ever: the library is never closed.
struct FatbinTable {
    int (*create)(FatbinHandle*, const char**, std::size_t) = nullptr;
    int (*destroy)(FatbinHandle*) = nullptr;
    int (*add_ptx)(FatbinHandle, const char* code, std::size_t size, const char* arch,
                   const char* name, const char* options) = nullptr;
    int (*add_cubin)(FatbinHandle, const void* code, std::size_t size, const char* arch,
                     const char* name) = nullptr;
    int (*add_lto_ir)(FatbinHandle, const void* code, std::size_t size, const char* arch,
                      const char* name, const char* options) = nullptr;
    int (*size)(FatbinHandle, std::size_t*) = nullptr;
    int (*get)(FatbinHandle, void*) = nullptr;
    int (*version)(unsigned*, unsigned*) = nullptr;
    const char* (*error_string)(int) = nullptr;
};

struct OpenedFatbinLibrary {
    FatbinTable table;
    FatbinWriterInfo info;
};

/// Loads all entry points; returns the name of the first missing one, or empty.
std::string load_fatbin_table(const SharedLibrary& library, FatbinTable& table) {
    SymbolBinder symbols(library);
    symbols.required(table.create, "nvFatbinCreate");
    symbols.required(table.destroy, "nvFatbinDestroy");
    symbols.required(table.add_ptx, "nvFatbinAddPTX");
    symbols.required(table.add_cubin, "nvFatbinAddCubin");
    symbols.required(table.add_lto_ir, "nvFatbinAddLTOIR");
    symbols.required(table.size, "nvFatbinSize");
    symbols.required(table.get, "nvFatbinGet");
    symbols.required(table.version, "nvFatbinVersion");
    symbols.required(table.error_string, "nvFatbinGetErrorString");
    return symbols.missing();
}

std::vector<LibraryPlace> fatbin_library_places(const FatbinWriterSearch& search) {
    constexpr const char* names[] = {"libnvfatbin.so.13", "libnvfatbin.so.12"};
    std::vector<LibraryPlace> places;
    const auto add = [&](const std::filesystem::path& place, const std::string& why) {
        std::error_code problem;
        if (place.empty()) return;
        if (!std::filesystem::is_directory(place, problem)) {
            places.push_back({why, place});
            return;
        }
        for (const char* name : names) {
            for (const char* below : {"", "lib64", "lib"})
                places.push_back({why, place / below / name});
        }
    };
    add(search.library, "the caller's choice");
    if (search.library.empty()) add(environment("LODE_NVFATBIN").value_or(""), "LODE_NVFATBIN");
    if (!places.empty()) return places;
    for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
        add(environment(variable).value_or(""), variable);
    add("/usr/local/cuda", "the standard folder");
    for (const char* name : names)
        places.push_back({"the loader's path", name});
    return places;
}

Result<OpenedFatbinLibrary> open_fatbin_library(const FatbinWriterSearch& search) {
    LODE_TRY(require_dynamic_program(Errc::not_found, "nvFatbin"));
    OpenedFatbinLibrary opened;
    for (const auto& place : fatbin_library_places(search)) {
        LibrarySearch found = open_first({place});
        std::string outcome = found.attempts.front().outcome;
        if (found.library) {
            const auto missing = load_fatbin_table(found.library, opened.table);
            if (!missing.empty()) outcome = "not usable: it lacks " + missing;
        }
        opened.info.search_attempts.push_back(
            fmt::format("{} ({}): {}", place.candidate.string(), place.why, outcome));
        if (outcome != "opened") continue;
        opened.info.path = found.library.path();
        unsigned version_major = 0;
        unsigned version_minor = 0;
        if (opened.table.version(&version_major, &version_minor) == fatbin_success)
            opened.info.version = static_cast<int>(version_major * 1000 + version_minor * 10);
        return opened;
    }
    return fail(Errc::not_found,
                fmt::format("No usable nvFatbin library can be found. Install a CUDA toolkit of "
                            "12.4 or newer or NVIDIA's wheel nvidia-nvfatbin, or set "
                            "LODE_NVFATBIN. Places tried:\n  {}",
                            listed(opened.info.search_attempts, search_form)));
}

/// A fat binary in the making; destroyed on every exit path.
class FatbinScope {
public:
    explicit FatbinScope(const FatbinTable& table) noexcept : table_(table) {}
    ~FatbinScope() {
        if (handle_ != nullptr) table_.destroy(&handle_);
    }
    FatbinScope(const FatbinScope&) = delete;
    FatbinScope& operator=(const FatbinScope&) = delete;

    [[nodiscard]] Status create(const FatbinOptions& options) {
        std::vector<std::string> flags{"-64",
                                       options.compress ? "-compress=true" : "-compress=false"};
        flags.insert(flags.end(), options.extra_flags.begin(), options.extra_flags.end());
        std::vector<const char*> pointers;
        for (const auto& flag : flags)
            pointers.push_back(flag.c_str());
        const int result = table_.create(&handle_, pointers.data(), pointers.size());
        if (result == fatbin_success) return {};
        return fail(Errc::invalid_argument,
                    fmt::format("nvFatbin refuses the options {}: {}.",
                                listed(flags, {.separator = " "}), reason_of(result)));
    }

    [[nodiscard]] Status add(const Image& image) {
        // "90a" of sm_90a and compute_90a.
        const std::string target = image.arch.to_string();
        const std::string number = target.substr(target.find('_') + 1);
        const char* const arch = number.c_str();
        const char* const name = image.name.c_str();
        if (image.cubin.empty() && image.ptx.empty() && image.lto_ir.empty()) {
            return fail(
                Errc::invalid_argument,
                fmt::format("'{}' holds neither PTX nor machine code nor LTO-IR.", image.name));
        }
        if (!image.cubin.empty()) {
            LODE_TRY(
                check(table_.add_cubin(handle_, image.cubin.data(), image.cubin.size(), arch, name),
                      image, "machine code"));
        }
        if (!image.ptx.empty()) {
            // With its NUL, as CUDA's own tools store it.
            LODE_TRY(check(
                table_.add_ptx(handle_, image.ptx.c_str(), image.ptx.size() + 1, arch, name, ""),
                image, "PTX"));
        }
        if (image.lto_ir.empty()) return {};
        return check(
            table_.add_lto_ir(handle_, image.lto_ir.data(), image.lto_ir.size(), arch, name, ""),
            image, "LTO-IR");
    }

    [[nodiscard]] Result<std::vector<std::byte>> finish() const {
        std::size_t size = 0;
        int result = table_.size(handle_, &size);
        std::vector<std::byte> bytes(size);
        if (result == fatbin_success) result = table_.get(handle_, bytes.data());
        if (result == fatbin_success) return bytes;
        return fail(Errc::invalid_image,
                    fmt::format("nvFatbin can't write the fat binary: {}.", reason_of(result)));
    }

private:
    [[nodiscard]] std::string_view reason_of(int result) const {
        const char* const text = table_.error_string(result);
        return text == nullptr ? "unknown error" : text;
    }
    [[nodiscard]] Status check(int result, const Image& image, std::string_view form) const {
        if (result == fatbin_success) return {};
        return fail(Errc::invalid_image,
                    fmt::format("nvFatbin refuses the {} of '{}' ({}): {}.", form, image.name,
                                image.arch.to_string(), reason_of(result)));
    }

    const FatbinTable& table_;
    FatbinHandle handle_ = nullptr;
};

}  // namespace

struct FatbinWriter::State {
    FatbinWriterSearch search;
    std::once_flag once;
    std::optional<Result<OpenedFatbinLibrary>> library;

    const Result<OpenedFatbinLibrary>& opened() {
        std::call_once(once, [this] { library = open_fatbin_library(search); });
        return *library;
    }
};

FatbinWriter::FatbinWriter(FatbinWriterSearch search) : state_(std::make_shared<State>()) {
    state_->search = std::move(search);
}

Result<FatbinWriterInfo> FatbinWriter::info() const {
    return state_->opened().map([](const auto& library) { return library.info; });
}

Result<std::vector<std::byte>> FatbinWriter::write(std::span<const Image> images,
                                                   const FatbinOptions& options) const {
    if (images.empty()) return fail(Errc::invalid_argument, "A fat binary needs an image.");
    const auto& library = state_->opened();
    if (!library) return tl::unexpected<Error>(library.error());
    FatbinScope scope(library->table);
    LODE_TRY(scope.create(options));
    for (const Image& image : images)
        LODE_TRY(scope.add(image));
    return scope.finish();
}

}  // namespace LODE_NAMESPACE
