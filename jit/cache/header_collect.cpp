#include "jit/cache/header_collect.hpp"

#include "jit/cache/request_key.hpp"
#include "jit/shims.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <system_error>
#include <unordered_map>

#include <fmt/format.h>
#include <sys/stat.h>

namespace lode::cache {
namespace {

namespace fs = std::filesystem;

/// Without repeated slashes and "." parts; ".." stays, since it may follow a link.
std::string cleaned(const fs::path& path) {
    std::string text;
    for (const auto& part : path) {
        if (part.empty() || part == "." || part == "/") continue;
        text += '/';
        text += part.native();
    }
    return text.empty() ? "/" : text;
}

std::string absolute_path(const fs::path& path) {
    std::error_code problem;
    const auto full = fs::absolute(path, problem);
    return cleaned(problem ? path : full);
}

std::string parent_of(const std::string& path) {
    return path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
}

/// Where quoted includes of an in-memory header may be searched: its name is taken for a path.
std::string folder_of_memory(const std::string& name) {
    return absolute_path("." / fs::path(name).parent_path());
}

bool is_below(const std::string& path, const std::string& folder) {
    return path.size() > folder.size() && path.starts_with(folder) &&
           (folder == "/" || path[folder.size()] == '/');
}

/// One collection under way.
class Collection {
public:
    Collection(const HeaderQuestion& question, HeaderStore& store)
        : question_(question), folders_(question.folders), store_(store) {
        for (const auto& header : question.options.headers)
            memory_names_.insert(header.name);
        if (question.options.toolkit_headers) {
            for (const auto& shim : shims())
                shims_.emplace(shim.name, shim.text);
        }
    }

    CollectedHeaders run() {
        const std::string source_folder = folders_.source.string();
        scan(scan_includes(question_.source_text), source_folder, false);
        for (const auto& header : question_.options.headers)
            scan(scan_includes(header.text), folder_of_memory(header.name), false);
        // NVRTC searches the working directory for these, then the folders.
        for (const auto& name : question_.options.pre_includes)
            look_up({IncludeMention::Form::include, true, name}, absolute_path("."));
        if (question_.traced != nullptr) add_traced();
        while (!queue_.empty() && obstacle_.empty()) {
            const std::string path = std::move(queue_.back());
            queue_.pop_back();
            add(path);
        }
        return finish();
    }

private:
    void add_traced() {
        for (const auto& name : *question_.traced) {
            const bool in_memory = memory_names_.contains(name) || shims_.contains(name);
            if (!in_memory) enqueue(absolute_path(name));
        }
    }

    void enqueue(const std::string& path) {
        if (seen_.insert(path).second) queue_.push_back(path);
    }

    /// Takes one header that was, or may have been, read.
    void add(const std::string& path) {
        const auto facts = store_.read(path);
        if (!facts) {
            obstacle_ = fmt::format("header '{}' can't be read back", path);
            return;
        }
        const HeaderFacts& header = **facts;
        if (!is_settled(header.stamp, question_.started)) {
            obstacle_ =
                fmt::format("header '{}' changed just before or during the compilation", path);
            return;
        }
        HeaderRecord record{place(path), {}, header.stamp, header.content};
        const bool from_toolkit = record.path.root == HeaderPath::Root::toolkit;
        if (header.mentions_time && !from_toolkit) {
            obstacle_ = fmt::format("header '{}' asks for the time of the compilation", path);
            return;
        }
        if (path_matters(header, record.path)) record.absolute = path;
        set_.headers.push_back(std::move(record));
        scan(header.scan, parent_of(path), from_toolkit);
    }

    /// For a user's header that mentions its path, always: it may use it in ways that leave no
    /// trace, such as its length. The toolkit's headers do so in assertions only.
    bool path_matters(const HeaderFacts& header, const HeaderPath& where) {
        if (options_put_paths_into_code(question_.options)) return true;
        if (!header.mentions_path) return false;
        if (where.root != HeaderPath::Root::toolkit) return true;
        if (question_.image == nullptr) return false;
        const std::string folder = folders_.toolkit[where.index].string();
        const auto [known, is_new] = toolkit_in_code_.try_emplace(folder, false);
        if (is_new) known->second = code_contains(*question_.image, folder);
        return known->second;
    }

    void scan(const IncludeScan& scan, const std::string& folder, bool from_toolkit) {
        has_line_directive_ = has_line_directive_ || scan.has_line_directive;
        if (scan.computed && question_.traced == nullptr && !from_toolkit) {
            obstacle_ =
                "an #include names its header by a macro, and this compiler doesn't list "
                "the headers that it opens";
        }
        for (const auto& mention : scan.mentions)
            look_up(mention, folder);
    }

    /// Follows one mention through the search path as the compiler does, noting what decides.
    void look_up(const IncludeMention& mention, const std::string& includer_folder) {
        using Form = IncludeMention::Form;
        const std::string& name = mention.name;
        if (!known_.insert({mention.form, mention.quoted ? includer_folder : "", name}).second) {
            return;
        }
        if (memory_names_.contains(name) || takes_shim(name)) {
            answer(mention, includer_folder, true);
            return;
        }
        for (const std::string& candidate : candidates(mention, includer_folder)) {
            if (!is_file(candidate)) {
                probe_absence(candidate);
                continue;
            }
            if (mention.form == Form::has_include) {
                set_.probes.push_back({place(candidate), true});
            } else if (question_.traced == nullptr) {
                enqueue(candidate);
            }
            // The next one may be meant instead.
            if (mention.form == Form::include_next) continue;
            answer(mention, includer_folder, true);
            return;
        }
        answer(mention, includer_folder, false);
    }

    void answer(const IncludeMention& mention, const std::string& folder, bool found) {
        if (mention.form != IncludeMention::Form::has_include) return;
        const std::string where =
            mention.quoted && !folder.empty() ? " in " + place(folder).to_string() : "";
        set_.answers.push_back(
            fmt::format("has_include {}{}: {}", mention.name, where, found ? "yes" : "no"));
    }

    /// Whether lode's own header of this name is used: one of the user's replaces it.
    bool takes_shim(const std::string& name) {
        const auto shim = shims_.find(name);
        if (shim == shims_.end()) return false;
        std::vector<std::string> places;
        for (const auto& folder : folders_.include)
            places.push_back(folder.string() + "/" + name);
        if (!folders_.source.empty()) places.push_back(folders_.source.string() + "/" + name);
        for (const auto& candidate : places) {
            if (is_file(candidate)) {
                set_.probes.push_back({place(candidate), true});
                return false;
            }
            probe_absence(candidate);
        }
        scan(scan_includes(shim->second), "", true);
        return true;
    }

    std::vector<std::string> candidates(const IncludeMention& mention,
                                        const std::string& includer_folder) const {
        if (mention.name.starts_with('/')) return {cleaned(mention.name)};
        std::vector<std::string> list;
        const auto append = [&](const std::string& folder) {
            list.push_back(cleaned(fs::path(folder) / mention.name));
        };
        if (mention.quoted && !includer_folder.empty()) append(includer_folder);
        for (const auto& folder : folders_.include)
            append(folder.string());
        for (const auto& folder : folders_.toolkit)
            append(folder.string());
        return list;
    }

    bool is_file(const std::string& path) {
        const auto [known, is_new] = files_.try_emplace(path, false);
        if (is_new) known->second = stamp_of(path).has_value();
        return known->second;
    }

    bool is_there(const std::string& path) {
        const auto [known, is_new] = places_.try_emplace(path, false);
        struct stat facts {};
        if (is_new) known->second = ::stat(path.c_str(), &facts) == 0;
        return known->second;
    }

    /// Notes that a file isn't there, by the topmost part of its path that isn't.
    void probe_absence(const std::string& path) {
        const HeaderPath whole = place(path);
        std::string part = whole.root == HeaderPath::Root::absolute
                               ? parent_of(path)
                               : path.substr(0, path.size() - whole.path.size() - 1);
        while (part.size() < path.size()) {
            if (!is_there(part)) break;
            part = path.substr(0, std::min(path.find('/', part.size() + 1), path.size()));
        }
        set_.probes.push_back({place(part), false});
    }

    /// A path relative to the innermost search folder that holds it.
    HeaderPath place(const std::string& path) const {
        HeaderPath best{HeaderPath::Root::absolute, 0, path};
        std::size_t longest = 0;
        const auto consider = [&](HeaderPath::Root root, std::size_t index,
                                  const std::string& folder) {
            if (folder.size() <= longest || (!is_below(path, folder) && path != folder)) return;
            longest = folder.size();
            best = {root, static_cast<std::uint32_t>(index),
                    path == folder ? "" : path.substr(folder.size() + 1)};
        };
        for (std::size_t i = 0; i < folders_.include.size(); ++i)
            consider(HeaderPath::Root::include, i, folders_.include[i].string());
        consider(HeaderPath::Root::source, 0, folders_.source.string());
        for (std::size_t i = 0; i < folders_.toolkit.size(); ++i)
            consider(HeaderPath::Root::toolkit, i, folders_.toolkit[i].string());
        return best;
    }

    CollectedHeaders finish() {
        std::ranges::sort(set_.headers, {}, &HeaderRecord::path);
        std::ranges::sort(set_.answers);
        set_.answers.erase(std::unique(set_.answers.begin(), set_.answers.end()),
                           set_.answers.end());
        std::ranges::sort(set_.probes);
        set_.probes.erase(std::unique(set_.probes.begin(), set_.probes.end()), set_.probes.end());
        return {std::move(set_), std::move(obstacle_), has_line_directive_};
    }

    const HeaderQuestion& question_;
    const SearchFolders& folders_;
    HeaderStore& store_;
    std::set<std::string> memory_names_;
    std::map<std::string, std::string_view> shims_;
    std::map<std::string, bool> toolkit_in_code_;
    std::unordered_map<std::string, bool> files_;
    std::unordered_map<std::string, bool> places_;
    std::set<std::tuple<IncludeMention::Form, std::string, std::string>> known_;
    std::set<std::string> seen_;
    std::vector<std::string> queue_;
    HeaderSet set_;
    std::string obstacle_;
    bool has_line_directive_ = false;
};

}  // namespace

CollectedHeaders collect_headers(const HeaderQuestion& question, HeaderStore& store) {
    return Collection(question, store).run();
}

LineDirectives find_line_directives(const HeaderQuestion& question, HeaderStore& store) {
    const CollectedHeaders scanned = collect_headers(question, store);
    if (scanned.has_line_directive) return LineDirectives::some;
    return scanned.obstacle.empty() ? LineDirectives::none : LineDirectives::unknown;
}

SearchFolders search_folders(const fs::path& source_folder, const CompileOptions& options,
                             const std::vector<fs::path>& toolkit) {
    SearchFolders folders;
    if (!source_folder.empty()) folders.source = absolute_path(source_folder);
    for (const auto& folder : options.include_folders)
        folders.include.emplace_back(absolute_path(folder));
    if (options.toolkit_headers) {
        for (const auto& folder : toolkit)
            folders.toolkit.emplace_back(absolute_path(folder));
    }
    return folders;
}

bool code_contains(const Image& image, std::string_view text) {
    if (as_text(image.cubin).find(text) != std::string_view::npos) return true;
    if (image.ptx.find(text) != std::string::npos) return true;
    // PTX writes string data as decimal bytes: "{47, 117, 115, 114, …".
    std::string decimal;
    for (const char c : text)
        decimal += fmt::format("{}{}", decimal.empty() ? "" : ", ", static_cast<unsigned char>(c));
    return image.ptx.find(decimal) != std::string::npos;
}

}  // namespace lode::cache
