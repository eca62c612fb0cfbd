#include "jit/nvvm/ir_compiler.hpp"

#include "base/file.hpp"
#include "base/message_text.hpp"
#include "base/os/library.hpp"
#include "base/process_end.hpp"
#include "base/try.hpp"
#include "jit/nvrtc/file_hooks.hpp"

#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE {

void IrCompiler::note_opened(const SharedLibrary& library, const void* symbol,
                             const std::vector<std::filesystem::path>& libdevices) {
    path_ = library.path();
    is_watched_ = watch_file_functions(symbol, TimeQuestions::none).has_value();
    files_.push_back(compiler_file(path_));
    for (const auto& place : libdevices) {
        // The stamp before the text: a change in between shows.
        const CompilerFile file{place, stamp_of(place).value_or(FileStamp{})};
        auto code = read_text(place);
        if (!code) continue;
        libdevice_ = *std::move(code);
        files_.push_back(file);
        break;
    }
}

CompilerProperties IrCompiler::describe(std::string build) const {
    CompilerProperties made;
    made.info.product = product();
    made.info.build = std::move(build);
    const char* const end = made.info.build.data() + made.info.build.size();
    const auto dot = std::from_chars(made.info.build.data(), end, made.info.version_major).ptr;
    if (dot != end) std::from_chars(dot + 1, end, made.info.version_minor);
    made.info.path = path_;
    made.info.search_attempts = search_attempts_;
    made.files = files_;
    return made;
}

tl::unexpected<Error> fail_without_libdevice(std::string_view module, std::string_view why,
                                             const std::vector<std::filesystem::path>& places) {
    std::vector<std::string> tried;
    for (const auto& place : places)
        tried.push_back(place.string());
    return fail(Errc::compiler_missing,
                fmt::format("'{}' calls functions of libdevice, which {}. Places tried:\n  {}",
                            module, why, listed(tried, search_form)));
}

Result<std::vector<std::string>> open_usable(
    const std::string& product, const std::vector<LibraryPlace>& places, const std::string& cure,
    const std::function<std::string(const SharedLibrary&)>& load) {
    LODE_TRY(require_dynamic_program(Errc::compiler_missing, product));
    std::vector<std::string> attempts;
    for (const auto& place : places) {
        const bool is_new = !os::is_library_loaded(place.candidate);
        auto search = open_first({place});
        std::string& outcome = search.attempts.front().outcome;
        if (search.library) {
            if (is_new) LODE_TRY(refuse_after_exit());
            const auto missing = load(search.library);
            if (!missing.empty()) outcome = "not usable: it lacks " + missing;
        }
        attempts.push_back(
            fmt::format("{} ({}): {}", place.candidate.string(), place.why, outcome));
        if (outcome == "opened") return attempts;
    }
    return fail(Errc::compiler_missing,
                fmt::format("No usable {} library can be found. {} Places tried:\n  {}", product,
                            cure, listed(attempts, search_form)));
}

}  // namespace LODE_NAMESPACE
