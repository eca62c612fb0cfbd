#include "base/file.hpp"

#include <lode/jit/source.hpp>

#include <cstdint>
#include <utility>

namespace LODE_NAMESPACE {

Source::Language Source::language_of(std::string_view name) {
    if (name.ends_with(".ptx")) return Language::ptx;
    if (name.ends_with(".ll") || name.ends_with(".bc")) return Language::nvvm_ir;
    return Language::cuda;
}

Source Source::file(const std::filesystem::path& path) {
    return file(path, language_of(path.string()));
}

Source Source::file(const std::filesystem::path& path, Language language) {
    return {language, path.string(), {}, true};
}

Source Source::of(Language language, std::string code, std::string name) {
    return {language, std::move(name), std::move(code), false};
}

Source Source::text(std::string code, std::string name) {
    return of(Language::cuda, std::move(code), std::move(name));
}

Source Source::ptx(std::string code, std::string name) {
    return of(Language::ptx, std::move(code), std::move(name));
}

Source Source::nvvm_ir(std::string code, std::string name) {
    return of(Language::nvvm_ir, std::move(code), std::move(name));
}

Source Source::llvm_ir(std::string code, std::string name) {
    return of(Language::llvm_ir, std::move(code), std::move(name));
}

Source Source::named(std::string code, std::string name) {
    const Language language = language_of(name);
    return of(language, std::move(code), std::move(name));
}

std::string_view to_string(Source::Language language) noexcept {
    switch (language) {
        case Source::Language::cuda:
            return "CUDA C++";
        case Source::Language::ptx:
            return "PTX";
        case Source::Language::nvvm_ir:
            return "NVVM IR";
        case Source::Language::llvm_ir:
            return "LLVM IR";
    }
    return "unknown";
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
