#include "tools/lode/input.hpp"

#include "base/file.hpp"
#include "base/ptx_scan.hpp"
#include "base/try.hpp"
#include "jit/text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>

#include <fmt/format.h>
#include <unistd.h>

namespace lode::tool {
namespace {

Result<std::vector<std::byte>> read_standard_input() {
    constexpr std::size_t most = std::size_t{1} << 30;
    constexpr std::size_t piece_size = std::size_t{1} << 16;
    std::vector<std::byte> bytes;
    std::array<std::byte, piece_size> piece{};
    for (;;) {
        const ssize_t got = ::read(STDIN_FILENO, piece.data(), piece.size());
        if (got == 0) return bytes;
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail_from_errno("reading standard input", standard_input, errno);
        bytes.insert(bytes.end(), piece.begin(), piece.begin() + got);
        if (bytes.size() > most)
            return fail(Errc::file_failed, "Standard input has more than 1 GiB, the limit.");
    }
}

/// The extension of a file with this code.
std::string_view kind_of(std::string_view code) {
    if (begins_as_ptx(code)) return "ptx";
    // Bitcode, and bitcode with a header around it.
    if (code.starts_with("BC\xC0\xDE") || code.starts_with("\xDE\xC0\x17\x0B")) return "bc";
    // What begins the text of a module; none begins C++. Comments precede it.
    constexpr std::string_view starts[] = {
        "target ", "source_filename ", "define ", "declare ", "@", "%", "!"};
    while (!code.empty()) {
        const auto line = trimmed(take_line(code));
        if (line.empty()) continue;
        if (line.starts_with(';')) return "ll";
        const auto begins = [&](std::string_view start) { return line.starts_with(start); };
        return std::ranges::any_of(starts, begins) ? "ll" : "cu";
    }
    return "cu";
}

}  // namespace

Status check_inputs(std::span<const std::string> names) {
    if (std::ranges::count(names, standard_input) <= 1) return {};
    return fail(Errc::invalid_argument,
                "Standard input (-) is named twice, but it can be read only once.");
}

std::string input_name(const std::string& name) {
    return name == standard_input ? "stdin" : std::filesystem::path(name).filename().string();
}

Result<std::vector<std::byte>> read_input(const std::string& name) {
    return name == standard_input ? read_standard_input() : read_bytes(name);
}

Source::Language language_of(const std::string& name, bool is_llvm_ir) {
    const auto told = Source::language_of(name);
    const bool may_be = told == Source::Language::nvvm_ir || name == standard_input;
    return is_llvm_ir && may_be ? Source::Language::llvm_ir : told;
}

Status check_options(const std::string& name, const CompileFlags& flags) {
    if (name == standard_input) return {};
    const auto language = language_of(name, flags.llvm_ir);
    const auto refuse = [&](std::string_view option, std::string_view why) -> Status {
        return fail(Errc::invalid_argument,
                    fmt::format("'{}' is {}, which {} doesn't apply to: {}. Leave {} out.", name,
                                to_string(language), option, why, option));
    };
    if (flags.llvm_ir && language != Source::Language::llvm_ir)
        return refuse("--llvm-ir", "it tells the language of .ll and .bc files");
    if (language == Source::Language::cuda) return {};
    constexpr std::string_view front_end = "it is an option of a C++ front end";
    if (!flags.standard.empty()) return refuse("--std", front_end);
    if (!flags.tile.empty()) return refuse("--tile", front_end);
    constexpr std::string_view decided = "the precision is part of each of its instructions";
    if (language == Source::Language::ptx && !flags.math.empty()) return refuse("--math", decided);
    if (language == Source::Language::ptx && flags.fast_math) return refuse("--fast-math", decided);
    if (language == Source::Language::llvm_ir && flags.math == "host_comparable") {
        return refuse("--math host_comparable",
                      "each of its instructions tells whether it may be fused");
    }
    return {};
}

Result<Source> source_of(const std::string& name, bool is_llvm_ir) {
    if (name != standard_input) return Source::file(name, language_of(name, is_llvm_ir));
    LODE_TRY_ASSIGN(const auto bytes, read_standard_input());
    std::string code(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const auto name_here = fmt::format("stdin.{}", kind_of(code));
    return Source::of(is_llvm_ir ? Source::Language::llvm_ir : Source::language_of(name_here),
                      std::move(code), name_here);
}

}  // namespace lode::tool
