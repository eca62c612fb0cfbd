#include "tests/cache_oracle/fake_nvrtc.hpp"

#include "base/file.hpp"
#include "base/try.hpp"
#include "jit/files/file_state.hpp"
#include "jit/shims.hpp"
#include "tests/cache_oracle/preprocessor.hpp"

#include <system_error>

#include <fmt/format.h>

namespace lode::oracle {
namespace {

namespace fs = std::filesystem;

std::vector<std::byte> bytes_of(const std::string& text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

Status check_include_folders(const CompileOptions& options) {
    for (const auto& folder : options.include_folders) {
        std::error_code problem;
        if (!fs::is_directory(folder, problem)) {
            return fail(Errc::not_found,
                        fmt::format("Include folder '{}' doesn't exist.", folder.string()));
        }
    }
    return {};
}

}  // namespace

FakeNvrtc::Mapped FakeNvrtc::map() const {
    Mapped made;
    if (library_.empty()) return made;
    for (const char* const name : file_names) {
        const fs::path path = library_ / name;
        const auto stamp = stamp_of(path.native());
        made.code += read_text(path).value_or("");
        made.files.push_back({path.native(), stamp.value_or(FileStamp{})});
    }
    return made;
}

Result<CompilerProperties> FakeNvrtc::properties() {
    if (!mapped) mapped = map();
    CompilerProperties properties;
    properties.files = mapped->files;
    CompilerInfo& info = properties.info;
    info.version_major = 13;
    info.build = "13.0.1";
    info.path = library_ / file_names[0];
    info.include_folders = {toolkit_};
    info.supported = {{8, 0}, {9, 0}};
    info.search_attempts = {"found"};
    return properties;
}

Result<Image> FakeNvrtc::compile(const cache::CompileTask& task) {
    ++compilations;
    if (before_mapping && !mapped) before_mapping();
    if (!mapped) mapped = map();
    task.files.compiler_files = mapped->files;
    LODE_TRY(check_include_folders(task.options));
    LODE_TRY_ASSIGN(const std::string text, task.source.read());

    std::vector<Header> shims;
    std::vector<std::string> folders;
    for (const auto& folder : task.options.include_folders)
        folders.push_back(folder.native());
    if (task.options.toolkit_headers) {
        for (const auto& shim : shims_for(task.source, task.options, task.files.shims))
            shims.push_back(
                {shim.name, fmt::format("int shim_{};\n", fs::path(shim.name).stem().string())});
        folders.push_back(toolkit_.native());
    }
    task.files.is_watched = true;
    auto expanded = Preprocessor({program_name(task.source), text, task.options, shims, folders,
                                  task.files.compiler, before_question})
                        .run();
    if (!expanded) return tl::unexpected<Error>(std::move(expanded).error());
    note_texts(task.files, text, task.options, task.name_expressions, std::span(&toolkit_, 1));

    CompileOptions placeless = task.options;
    placeless.include_folders.clear();
    LODE_TRY_ASSIGN(const auto flags, compile_flags(placeless));
    // The code contains a hash of the flags: a path in a flag would look like a path in the code.
    Hasher hasher;
    for (const auto& flag : flags)
        hasher.field(flag);
    std::string code = fmt::format("{}\nflags {}\n{}", task.arch.to_string(),
                                   hasher.finish().to_hex(), mapped->code);
    // Symbols of anonymous namespaces contain the file name.
    code += fs::path(task.source.name()).filename().string() + "\n";
    if (task.options.line_info) code += "in " + fs::current_path().string() + "\n";
    code += *expanded;

    Image image;
    image.name = task.source.name();
    image.arch = task.arch;
    image.cubin = bytes_of(code);
    image.ptx = "// " + code;
    image.compiler = "NVRTC 13.0.1";
    return image;
}

}  // namespace lode::oracle
