#include "jit/nvvm/ir_compiler.hpp"

#include "base/message_text.hpp"
#include "base/os/library.hpp"
#include "base/process_end.hpp"
#include "base/try.hpp"

#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE {

void note_version(CompilerInfo& info) {
    const char* const end = info.build.data() + info.build.size();
    const auto dot = std::from_chars(info.build.data(), end, info.version_major).ptr;
    if (dot != end) std::from_chars(dot + 1, end, info.version_minor);
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
