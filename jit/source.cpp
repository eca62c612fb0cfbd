#include "base/file.hpp"

#include <lode/jit/source.hpp>

#include <cstdint>
#include <utility>

namespace LODE_NAMESPACE {

Source Source::file(const std::filesystem::path& path) {
    const auto language = path.extension() == ".ptx" ? Language::ptx : Language::cuda;
    return {language, path.string(), {}, true};
}

Source Source::text(std::string code, std::string name) {
    return {Language::cuda, std::move(name), std::move(code), false};
}

Source Source::ptx(std::string code, std::string name) {
    return {Language::ptx, std::move(name), std::move(code), false};
}

std::filesystem::path Source::folder() const {
    if (!is_file_) return {};
    auto folder = std::filesystem::path(name_).parent_path();
    return folder.empty() ? std::filesystem::path(".") : folder;
}

Result<std::string> Source::read() const {
    constexpr std::uint64_t largest_source = std::uint64_t{1} << 30;
    if (!is_read_) return read_text(name_, largest_source);
    return code_;
}

Source Source::pinned(std::string code) const {
    Source source = *this;
    source.code_ = std::move(code);
    source.is_read_ = true;
    return source;
}

}  // namespace LODE_NAMESPACE
