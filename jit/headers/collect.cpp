#include "jit/headers/collect.hpp"

#include "jit/headers/other_inputs.hpp"
#include "jit/request/shims.hpp"
#include "jit/request/source_files.hpp"
#include "jit/request/text_words.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <system_error>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE::cache {
namespace {

namespace fs = std::filesystem;
using Kind = FileAnswer::Kind;
using Root = HeaderPath::Root;

std::string parent_of(const std::string& path) {
    return path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
}

/// Names of the texts that lode passes to the compiler without a file. The compiler still looks for
/// a file of that name in the working directory, to identify the header.
std::set<std::string> names_in_memory(const CompileRequest& request) {
    std::set<std::string> names;
    if (request.source.folder().empty()) names.insert(cleaned_path(program_name(request.source)));
    for (const auto& header : request.options.headers)
        names.insert(cleaned_path(header.name));
    if (request.options.toolkit_headers) {
        for (const auto& shim : shims())
            names.insert(shim.name);
    }
    return names;
}

/// Whether the path is a header that NVRTC has in memory.
bool is_of_nvrtc(const std::string& path) {
    return path == "__nv_nvrtc_builtin_header.h" || path == "__nv_name_map";
}

/// Absolute paths between quotes or brackets, anywhere in the text.
std::vector<std::string> absolute_names(std::string_view text) {
    std::vector<std::string> names;
    for (std::size_t at = 0; (at = text.find('/', at)) != std::string_view::npos; ++at) {
        if (at == 0 || (text[at - 1] != '"' && text[at - 1] != '<')) continue;
        const auto name = text.substr(at, text.find_first_of("\">\n", at) - at);
        if (!name.starts_with("//") && !name.starts_with("/*")) names.emplace_back(name);
    }
    return names;
}

/// One collection in progress.
class Collection {
public:
    Collection(const CompileRequest& request, const SearchFolders& folders,
               const CompileFiles& files, const Image* image, HeaderStore& store)
        : request_(request),
          folders_(folders),
          files_(files),
          image_(image),
          named_(named_folders(folders, false)),
          in_memory_(names_in_memory(request)),
          store_(store) {}

    CollectedHeaders run() {
        const FileAccesses& asked = files_.compiler;
        if (!asked.unforeseen().empty()) {
            obstacle_ = "the compiler did something that lode doesn't track: " + asked.unforeseen();
        }
        if (files_.uses_time) obstacle_ = time_obstacle;
        if (!files_.compiler_state.empty()) obstacle_ = files_.compiler_state;
        if (!asked.working().empty() && asked.working() != folders_.working) {
            obstacle_ = "the working directory changed";
        }
        scan_request();
        reads_headers_ = std::ranges::any_of(asked.answers(), [&](const auto& item) {
            return item.second.kind != Kind::folder && !is_about_itself(item.first, item.second);
        });
        std::vector<const FileAccesses::Answers::value_type*> later;
        for (const auto& item : asked.answers()) {
            if (!obstacle_.empty()) break;
            if (item.second.kind == Kind::folder) {
                later.push_back(&item);
            } else if (reads_headers_ || !is_about_itself(item.first, item.second)) {
                add(item.first, item.second);
            }
        }
        // All texts have been scanned now.
        for (const auto* item : later) {
            if (!is_about_working_folder(item->first)) add(item->first, item->second);
        }
        if (obstacle_.empty()) add_shims();
        add_variables();
        if (is_bound()) set_.bound_to = folders_.to_string();
        return finish();
    }

private:
    /// A look at the source or at an in-memory header; every compilation has such looks. If no file
    /// is read or searched for, nothing depends on them.
    bool is_about_itself(const std::string& path, const FileAnswer& answer) const {
        if (answer.content) return false;
        return (answer.kind == Kind::absent && is_of_nvrtc(path)) || in_memory_.contains(path) ||
               path == cleaned_path(program_name(request_.source));
    }

    /// Scans the texts and paths of the request itself.
    void scan_request() {
        const auto& options = request_.options;
        const std::string& code = request_.source.code();
        text(code, scan_includes(code));
        for (const auto& header : options.headers) {
            text(header.text, scan_includes(header.text));
            if (header.name.starts_with('/')) absolute_name(header.name);
        }
        for (const auto& name : options.pre_includes) {
            mentioned_.insert(name);
            if (name.starts_with('/')) absolute_name(name);
        }
        for (const auto& definition : options.definitions) {
            const std::string value = definition.value.value_or("");
            text(value, scan_includes(value));
        }
    }

    /// Debug information names the working directory, and such code is bound to it. Headers don't
    /// depend on the compiler's look at the directory, unless a text may name it.
    bool is_about_working_folder(const std::string& path) const {
        if (path == ".") return true;
        if (is_computed_ || names_absolute_) return false;
        return path == cleaned_path(variable("PWD")) || path == folders_.working.string();
    }

    std::string variable(const char* name) const {
        const auto& variables = files_.compiler.variables();
        const auto found = variables.find(name);
        return found == variables.end() ? "" : found->second.value_or("");
    }

    void add(const std::string& path, const FileAnswer& answer) {
        const std::string full = absolute_path(path, folders_.working);
        if (path.starts_with('/') || is_below_relative_folder(path)) {
            add(path, full, place_among(named_, full), answer);
        }
        if (!path.starts_with('/') && may_start_at_working_folder(path)) {
            add(path, full, {Root::working, 0, path}, answer);
        }
    }

    /// Whether a relative path may have been formed from a search folder given as a relative path.
    bool is_below_relative_folder(const std::string& path) const {
        const auto holds = [&](const fs::path& folder) {
            if (folder.empty() || folder.is_absolute()) return false;
            const std::string given = cleaned_path(folder.string());
            return given == "." || path == given || is_below(path, given);
        };
        return holds(request_.source.folder()) ||
               std::ranges::any_of(request_.options.include_folders, holds);
    }

    /// Whether a relative path may start at the working directory.
    bool may_start_at_working_folder(const std::string& path) const {
        return !is_below_relative_folder(path) || in_memory_.contains(path) ||
               path.starts_with(memory_folder) || !request_.options.headers.empty() ||
               !request_.options.pre_includes.empty();
    }

    void add(const std::string& path, const std::string& full, const HeaderPath& where,
             const FileAnswer& answer) {
        switch (answer.kind) {
            case Kind::absent:
                set_.probes.push_back({absent_part(full, where), HeaderProbe::Kind::absent});
                return;
            case Kind::folder:
                set_.probes.push_back({where, HeaderProbe::Kind::folder});
                return;
            case Kind::irregular:
                obstacle_ = fmt::format("'{}' isn't a regular file", path);
                return;
            case Kind::refused:
                obstacle_ = fmt::format("'{}' can't be read: {}", path,
                                        std::generic_category().message(answer.error));
                return;
            case Kind::file:
                break;
        }
        if (answer.content && answer.consumed) {
            add_header(full, where, *answer.content);
        } else {
            add_file(where, stamp_of(answer.attributes));
        }
    }

    void add_file(const HeaderPath& where, const FileStamp& stamp) {
        set_.probes.push_back(
            {where, HeaderProbe::Kind::file, {stamp.device, stamp.inode, 0, 0, 0}});
    }

    void add_header(const std::string& full, const HeaderPath& where, const FileContent& content) {
        const auto properties = store_.scan(full, content);
        const HeaderState& state = properties->state;
        set_.headers.push_back({where, state.stamp, state.settled, state.content});
        if (where.root == Root::toolkit) {
            for (const auto& mention : properties->scan.mentions)
                mentioned_.insert(mention.name);
            return;
        }
        text(content.text, properties->scan);
    }

    /// Records how a user's text may affect the code other than by its content.
    void text(std::string_view whole, const IncludeScan& scan) {
        is_computed_ = is_computed_ || scan.computed;
        for (const auto& mention : scan.mentions) {
            mentioned_.insert(mention.name);
            if (mention.name.find(memory_folder) != std::string::npos) is_computed_ = true;
        }
        // A macro may separate the name from its use.
        for (const auto& name : absolute_names(whole))
            absolute_name(name);
    }

    /// A header named by its absolute path is the same file from any folder, and so are the names
    /// in it that are searched beside it, whatever the search folders are called.
    void absolute_name(const std::string& name) {
        names_absolute_ = true;
        const std::string path = cleaned_path(name);
        const std::string folder = parent_of(path);
        is_computed_ = is_computed_ || std::ranges::any_of(named_, [&](const auto& known) {
                           return path == known.path || is_below(path, known.path) ||
                                  folder == known.path || is_below(known.path, folder);
                       });
    }

    /// Whether the set holds only for these folders, not for others with the same files.
    bool is_bound() const {
        if (is_computed_ || files_.may_name_files) return true;
        if (options_put_paths_into_code(request_.options)) return true;
        if (!variable("NVRTC_APPEND_FLAGS").empty()) return true;
        // Assertion macros of the toolkit put the paths of the files that use them into the code.
        if (image_ == nullptr) return false;
        const auto is_in_code = [&](const std::string& path) {
            return path.find('/') != std::string::npos && path != "/" &&
                   code_contains(*image_, path);
        };
        // A header in a relative include folder has a relative name.
        for (const auto& folder : request_.options.include_folders) {
            if (folder.is_relative() && is_in_code(folder.string() + "/")) return true;
        }
        return is_in_code(request_.source.name()) ||
               std::ranges::any_of(named_,
                                   [&](const auto& folder) { return is_in_code(folder.path); });
    }

    /// lode's own headers are used where no file has their name. Only those that some text names
    /// matter.
    void add_shims() {
        for (const auto& [path, answer] : files_.shims.answers()) {
            const std::string full = absolute_path(path, folders_.working);
            const std::string name = full.substr(full.rfind('/') + 1);
            if (!is_computed_ && !mentioned_.contains(name)) continue;
            const HeaderPath where = place_among(named_, full);
            if (answer.kind == Kind::absent) {
                set_.probes.push_back({absent_part(full, where), HeaderProbe::Kind::absent});
            } else if (answer.kind == Kind::file) {
                add_file(where, stamp_of(answer.attributes));
            } else if (answer.kind == Kind::folder) {
                set_.probes.push_back({where, HeaderProbe::Kind::folder});
            } else {
                obstacle_ = fmt::format("'{}' isn't a regular file that can be read", path);
            }
        }
    }

    void add_variables() {
        for (const auto& [name, value] : files_.compiler.variables()) {
            // Used only for the compilation directory; code that contains it is bound.
            if (name == "PWD" || is_variable_in_key(name)) continue;
            set_.variables.push_back(VariableRecord::of(name, value ? value->c_str() : nullptr));
        }
        const auto& calculations = files_.compiler.calculations();
        set_.calculations.assign(calculations.begin(), calculations.end());
    }

    bool is_there(const std::string& path) {
        const auto [known, is_new] = places_.try_emplace(path, false);
        os::FileAttributes attributes;
        if (is_new) known->second = os::attributes_of(path, attributes);
        return known->second;
    }

    /// The topmost missing part of an absent path: while it is missing, nothing below it exists,
    /// and one probe covers all of it. The path itself if all its parents exist.
    HeaderPath absent_part(const std::string& path, const HeaderPath& where) {
        const std::size_t folder = path.size() - where.path.size();
        // For an absolute path only the last folder is considered.
        std::size_t end = where.root == Root::absolute ? parent_of(path).size() : folder;
        HeaderPath result = where;
        while ((end = path.find('/', end)) != std::string::npos) {
            if (end > folder && !is_there(path.substr(0, end))) {
                result.path.resize(end - folder);
                break;
            }
            ++end;
        }
        return result;
    }

    CollectedHeaders finish() {
        std::ranges::sort(set_.headers, {}, &HeaderRecord::path);
        std::ranges::sort(set_.probes, {}, &HeaderProbe::path);
        set_.probes.erase(std::unique(set_.probes.begin(), set_.probes.end()), set_.probes.end());
        std::ranges::sort(set_.variables);
        return {std::move(set_), std::move(obstacle_)};
    }

    const CompileRequest& request_;
    const SearchFolders& folders_;
    const CompileFiles& files_;
    const Image* const image_;
    const std::vector<NamedFolder> named_;
    const std::set<std::string> in_memory_;
    HeaderStore& store_;
    std::set<std::string> mentioned_;  ///< Header names in all texts that were read.
    std::unordered_map<std::string, bool> places_;
    HeaderSet set_;
    std::string obstacle_;
    /// A text may compute the name of a header.
    bool is_computed_ = files_.may_join_questions;
    bool names_absolute_ = false;  ///< A text may name a header by its absolute path.
    bool reads_headers_ = true;    ///< The compiler asked for files besides its source.
};

/// Whether PTX, or another text, contains a text.
bool ptx_contains(std::string_view ptx, std::string_view text) {
    if (ptx.find(text) != std::string_view::npos) return true;
    // PTX writes string data as decimal bytes: "{47, 117, 115, 114, …".
    std::string decimal;
    for (const char c : text)
        decimal += fmt::format("{}{}", decimal.empty() ? "" : ", ", static_cast<unsigned char>(c));
    return ptx.find(decimal) != std::string_view::npos;
}

}  // namespace

CollectedHeaders collect_headers(const CompileRequest& request, const SearchFolders& folders,
                                 const CompileFiles& files, const Image* image,
                                 HeaderStore& store) {
    return Collection(request, folders, files, image, store).run();
}

bool code_contains(const Image& image, std::string_view text) {
    // They are encoded, so that they can't be searched.
    if (!image.lto_ir.empty() || !image.tile_ir.empty() || !image.optix_ir.empty()) return true;
    return as_text(image.cubin).find(text) != std::string_view::npos ||
           ptx_contains(image.ptx, text);
}

bool code_contains(const NvrtcAnswer& answer, std::string_view text) {
    constexpr std::string_view encoded[] = {"LTOIR", "OptiXIR", "NVVM", "TileIR"};
    return std::ranges::any_of(answer.outputs, [&](const NvrtcAnswer::Output& output) {
        if (std::ranges::find(encoded, output.name) != std::end(encoded))
            return !output.bytes.empty();
        return ptx_contains(output.bytes, text);
    });
}

}  // namespace LODE_NAMESPACE::cache
