#include "tools/lode/input.hpp"

#include "base/file.hpp"
#include "base/ptx_scan.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>

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

Result<Source> source_of(const std::string& name) {
    if (name != standard_input) return Source::file(name);
    LODE_TRY_ASSIGN(const auto bytes, read_standard_input());
    std::string code(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (begins_as_ptx(code)) return Source::ptx(std::move(code), "stdin.ptx");
    return Source::text(std::move(code), "stdin.cu");
}

}  // namespace lode::tool
