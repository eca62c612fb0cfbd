#include "jit/cache/call_pipeline.hpp"

#include "base/foreign_environment.hpp"
#include "base/identifier.hpp"
#include "base/try.hpp"
#include "jit/cache/make_once.hpp"
#include "jit/cache/request_context.hpp"
#include "jit/headers/collect.hpp"
#include "jit/headers/include_scan.hpp"
#include "jit/headers/other_inputs.hpp"
#include "jit/nvrtc/table.hpp"
#include "jit/request/text_words.hpp"
#include "jit/store/entry_format.hpp"
#include "jit/store/sealed_file.hpp"
#include "jit/translation_unit.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace LODE_NAMESPACE::cache {
namespace {

/// The folder of a source with an absolute name, in which quoted includes are searched; else empty.
/// Programs compile the same source from a temporary folder, which has another name each time.
std::string source_folder(const NvrtcCall& call) {
    if (!call.name || !call.name->starts_with('/') || *call.name != cleaned_path(*call.name))
        return {};
    const auto folder = std::filesystem::path(*call.name).parent_path().string();
    return folder == "/" ? std::string() : folder;
}

/// Everything that the answer depends on besides files and variables, as the program gave it. A
/// source's folder isn't in it: an answer that may depend on its name is bound to it.
Key call_key(const NvrtcCall& call, const CompileRequest& request, const KnownCompiler& compiler,
             const CallRules& rules) {
    KeyWriter key;
    key.field("format", format_version).field("lode", LODE_VERSION);
    key.field("compiler", compiler.info().name());
    key.field("compiler.sha256", compiler.digest);
    key.field("arch", request.arch.to_string());
    key.field("output", answer_output);
    const auto folder = source_folder(call);
    if (!folder.empty())
        key.field("source.file", call.name->substr(folder.size() + 1));
    else if (call.name)
        key.field("source.name", *call.name);
    key.field("source.size", call.source.size());
    key.field("source.sha256", sha256(call.source).to_hex());
    for (const auto& option : call.options)
        key.field("flag", option);
    for (const auto& [name, text] : call.headers) {
        key.field("header.name", name);
        key.field("header.sha256", sha256(text).to_hex());
    }
    for (const auto& expression : call.name_expressions)
        key.field("name_expression", expression);
    for (const auto names : {key_variables(), rules.variables}) {
        for (const auto name : names) {
            if (const auto value = foreign_environment(name))
                key.field("variable", fmt::format("{}={}", name, *value));
        }
    }
    return key.finish();
}

/// Whether tokens of the texts, one after the other, spell a word.
bool can_spell(std::string_view word, const std::vector<std::string_view>& texts) {
    std::set<std::string_view> tokens;
    for (const auto text : texts) {
        for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
            end = at;
            while (end < text.size() && is_identifier_character(text[end]))
                ++end;
            const auto token = text.substr(at, end - at);
            if (!token.empty() && word.find(token) != std::string_view::npos) tokens.insert(token);
        }
    }
    std::vector<bool> is_spelled(word.size() + 1, false);
    is_spelled[0] = true;
    for (std::size_t at = 0; at < word.size(); ++at) {
        if (!is_spelled[at]) continue;
        if (!is_identifier_character(word[at])) is_spelled[at + 1] = true;
        for (const auto token : tokens)
            if (word.substr(at).starts_with(token)) is_spelled[at + token.size()] = true;
    }
    return is_spelled[word.size()];
}

/// The answer depends on the name of the source's folder, or may.
bool names_source_folder(const NvrtcCall& call, const PreparedRequest& request,
                         const CompileFiles& files, const NvrtcAnswer& answer) {
    const std::string folder = request.folders.source.string();
    const std::string working = request.folders.working.string();
    if (folder.empty()) return false;
    if (code_contains(answer, folder) || working == folder || is_below(working, folder))
        return true;
    const auto toolkit = toolkit_folders_of(call);
    const auto is_of_toolkit = [&](const std::string& path) {
        return std::ranges::any_of(
            toolkit, [&](const auto& known) { return is_below(path, known.string()); });
    };
    std::vector<std::string_view> inside{call.source};
    inside.insert(inside.end(), call.options.begin(), call.options.end());
    inside.insert(inside.end(), call.name_expressions.begin(), call.name_expressions.end());
    auto all = inside;
    for (const auto& [name, text] : call.headers)
        all.insert(all.end(), {name, text});
    for (const auto& [path, file] : files.compiler.answers()) {
        if (file.content == nullptr || is_of_toolkit(path)) continue;
        all.emplace_back(file.content->text);
        if (is_below(path, folder)) inside.emplace_back(file.content->text);
    }
    // A name that leads to the folder has the last part of its path, as one text or computed.
    const auto last = folder.substr(folder.rfind('/') + 1);
    const auto computes = [&] {
        return files.may_join_questions ||
               std::ranges::any_of(all, [](auto text) { return scan_includes(text).computed; });
    };
    const auto has_last = [&](auto text) { return text.find(last) != std::string_view::npos; };
    return std::ranges::any_of(all, has_last) || (computes() && can_spell(last, all)) ||
           (files.may_name_files &&
            TranslationUnit(request.request, files.compiler, toolkit).may_name_folder(inside));
}

/// What the compilation asked for. Paths outside the source's folder stay as they were queried: a
/// call names its other folders by itself, and so does its key. Errors: not_supported, with why the
/// answer isn't certain.
Result<HeaderSet> headers_of_call(const NvrtcCall& call, const PreparedRequest& request,
                                  const CompileFiles& files, const NvrtcAnswer& answer,
                                  HeaderStore& store) {
    using Kind = FileAnswer::Kind;
    using Root = HeaderPath::Root;
    const auto refuse = [](std::string why) { return fail(Errc::not_supported, std::move(why)); };
    const FileAccesses& asked = files.compiler;
    const std::string working = request.folders.working.string();
    if (files.uses_time) return refuse(std::string(time_obstacle));
    if (!files.compiler_state.empty()) return refuse(files.compiler_state);
    if (!files.is_watched) return refuse("lode can't see what this compiler reads");
    if (!asked.unforeseen().empty())
        return refuse("the compiler did something that lode doesn't track: " + asked.unforeseen());
    if (!asked.working().empty() && asked.working() != working)
        return refuse("the working directory changed");
    HeaderSet set;
    const std::string own = request.folders.source.string();
    std::vector<NamedFolder> named;
    if (!own.empty()) named.push_back({Root::source, 0, own});
    for (const auto& [path, file] : asked.answers()) {
        const HeaderPath where =
            path.starts_with('/') ? place_among(named, path) : HeaderPath{Root::working, 0, path};
        if (file.kind == Kind::irregular) return refuse(path + " isn't a regular file");
        if (file.kind == Kind::refused) {
            return refuse(fmt::format("{} can't be read: {}", path,
                                      std::generic_category().message(file.error)));
        }
        if (file.kind == Kind::file && file.content && file.consumed) {
            const auto state = store.scan(absolute_path(path, working), *file.content)->state;
            set.headers.push_back({where, state.stamp, state.settled, state.content});
            continue;
        }
        // Every compilation looks at its own folder.
        if (file.kind == Kind::folder && (path == "." || path == working)) continue;
        const FileStamp stamp = stamp_of(file.attributes);
        const bool is_file = file.kind == Kind::file;
        set.probes.push_back(
            {where,
             is_file                     ? HeaderProbe::Kind::file
             : file.kind == Kind::folder ? HeaderProbe::Kind::folder
                                         : HeaderProbe::Kind::absent,
             is_file ? FileStamp{stamp.device, stamp.inode, 0, 0, 0} : FileStamp{}});
    }
    const bool is_bound = options_put_paths_into_code(request.request.options) ||
                          (working.size() > 1 && code_contains(answer, working)) ||
                          names_source_folder(call, request, files, answer);
    if (is_bound) set.bound_to = request.folders.to_string();
    for (const auto& [name, value] : asked.variables()) {
        if (is_variable_in_key(name) || (name == "PWD" && !is_bound)) continue;
        set.variables.push_back(VariableRecord::of(name, value ? value->c_str() : nullptr));
    }
    const auto& calculations = asked.calculations();
    set.calculations.assign(calculations.begin(), calculations.end());
    std::ranges::sort(set.headers, {}, &HeaderRecord::path);
    std::ranges::sort(set.probes, {}, &HeaderProbe::path);
    std::ranges::sort(set.variables);
    return set;
}

}  // namespace

const CallRules& nvrtc_call_rules() noexcept {
    static constexpr CallRules rules = {
        .compiler = "NVRTC",
        .settled_since = {12, 8},
        .uncacheable_reason = [](const NvrtcCall& call) { return uncacheable_reason(call); },
        .request_of = [](const NvrtcCall& call) { return request_of(call); },
        .is_lasting =
            [](const NvrtcAnswer& answer) {
                return answer.result == NVRTC_SUCCESS || answer.result == NVRTC_ERROR_COMPILATION;
            }};
    return rules;
}

Result<AnsweredCall> CallPipeline::answer(const NvrtcCall& call) {
    if (auto why = rules_.uncacheable_reason(call); !why.empty())
        return fail(Errc::not_supported, std::move(why));
    LODE_TRY_ASSIGN(const auto compiler, identity_.get());
    const CompileRequest request = rules_.request_of(call);
    auto folders = search_folders(request, {});
    folders.source = source_folder(call);
    const PreparedRequest prepared{request,
                                   compiler->digest,
                                   std::move(folders),
                                   call_key(call, request, *compiler, rules_),
                                   {},
                                   false};
    bool is_shared = true;
    auto answered = flights_.run(prepared.flight_key(), [&] {
        is_shared = false;
        return answer_alone(call, prepared, *compiler);
    });
    if (answered && is_shared && answered->tier.empty()) answered->tier = "memory";
    return answered;
}

std::optional<AnsweredCall> CallPipeline::look_up(const PreparedRequest& request, Reach reach) {
    std::optional<Hit> hit;
    if (auto found = lookup_.find(request)) hit = *std::move(found);
    if (!hit && reach == Reach::everywhere) hit = lookup_.find_remote(request);
    if (!hit || hit->kept.answer == nullptr) return std::nullopt;
    if (hit->renewed) {
        const bool is_remote = hit->tier == RemoteTier::tier_name;
        publisher_.publish_headers(request, *std::move(hit->renewed),
                                   is_remote ? Publisher::When::later : Publisher::When::now);
    }
    return AnsweredCall{hit->kept.answer, std::string(hit->tier), hit->kept.compile_ms, {}};
}

Result<AnsweredCall> CallPipeline::answer_alone(const NvrtcCall& call,
                                                const PreparedRequest& request,
                                                const KnownCompiler& compiler) {
    if (auto known = look_up(request, Reach::everywhere)) return *std::move(known);
    storage_.count_remote_miss();
    // The lock is for images; an answer goes past it.
    AnsweredCall answered;
    const auto keep = [&](std::optional<AnsweredCall> found) -> std::optional<CachedImage> {
        if (!found) return std::nullopt;
        answered = *std::move(found);
        return CachedImage{};
    };
    LODE_TRY(make_once({.key = request.key.digest,
                        .name = request.request.source.name(),
                        .look_up = [&] { return keep(look_up(request, Reach::local)); },
                        .look_up_remote = [&] { return keep(look_up(request, Reach::everywhere)); },
                        .make = [&]() -> Result<CachedImage> {
                            LODE_TRY_ASSIGN(answered, compile_and_publish(call, request, compiler));
                            return CachedImage{};
                        }},
                       storage_, CompileControl()));
    return answered;
}

Result<AnsweredCall> CallPipeline::compile_and_publish(const NvrtcCall& call,
                                                       const PreparedRequest& request,
                                                       const KnownCompiler& compiler) {
    const auto start = std::chrono::steady_clock::now();
    const auto& info = compiler.info();
    const bool in_new_process =
        std::pair(info.version_major, info.version_minor) < rules_.settled_since;
    CompileFiles files;
    LODE_TRY_ASSIGN(auto made, backend_->answer(call, in_new_process, files, CompileControl()));
    const double spent = milliseconds_since(start);
    const auto answer = std::make_shared<const NvrtcAnswer>(std::move(made));
    if (!rules_.is_lasting(*answer)) {
        return fail(Errc::not_supported,
                    fmt::format("{}'s result is the error {}, which isn't that of a compilation",
                                rules_.compiler, answer->result));
    }
    LODE_TRY_ASSIGN(auto headers, headers_of_call(call, request, files, *answer, storage_.headers));
    ++storage_.counters.compilations;
    AnsweredCall answered{answer, {}, spent, {}};
    if (files.compiler_files != compiler.properties.files || !compiler.is_settled) {
        identity_.refresh();
        answered.not_kept = "the compiler's files have just changed";
        return answered;
    }
    auto image = std::make_shared<Image>();
    image->name = request.request.source.name();
    image->arch = request.request.arch;
    image->compiler = compiler.info().name();
    auto published =
        publisher_.publish(request, std::move(headers), {std::move(image), spent, answer});
    answered.not_kept = std::move(published.not_kept);
    return answered;
}

}  // namespace LODE_NAMESPACE::cache
