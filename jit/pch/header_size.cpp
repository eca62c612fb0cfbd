#include "jit/pch/header_size.hpp"

#include "jit/files/file_state.hpp"
#include "jit/headers/include_scan.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>
#include <set>
#include <utility>

namespace LODE_NAMESPACE::pch {
namespace {

class Estimate {
public:
    Estimate(const IncludePlaces& places, std::uint64_t enough) noexcept
        : places_(places), enough_(enough) {}

    std::uint64_t run(std::string_view code) {
        scan(code, places_.folder);
        while (!waiting_.empty() && total_ < enough_) {
            const Wanted wanted = std::move(waiting_.front());
            waiting_.pop_front();
            follow(wanted);
        }
        return total_;
    }

private:
    struct Wanted {
        std::string name;
        std::string beside;  ///< The including file's folder; empty where it isn't searched.
    };

    void scan(std::string_view text, const std::string& folder) {
        for (const auto& mention : cache::scan_includes(text).mentions) {
            if (mention.form == cache::IncludeMention::Form::has_include) continue;
            waiting_.push_back({mention.name, mention.quoted ? folder : std::string()});
        }
    }

    void follow(const Wanted& wanted) {
        const std::string& name = wanted.name;
        if (!name.empty() && name.front() == '/') {
            (void)take_file(name);
            return;
        }
        if (!wanted.beside.empty() && take_file(wanted.beside + "/" + name)) return;
        for (const auto& header : places_.texts) {
            if (name != header.name) continue;
            if (seen_.insert(name).second) take(header.text, {});
            return;
        }
        for (const auto& folder : places_.folders) {
            std::string path = folder;
            path += '/';
            if (take_file(path += name)) return;
        }
    }

    /// Whether there is a file; counts it the first time.
    bool take_file(const std::string& path) {
        if (seen_.contains(path)) return true;
        const auto opening = read_file_content(path);
        if (!opening.content) return false;
        seen_.insert(path);
        take(opening.content->text, path.substr(0, path.rfind('/')));
        return true;
    }

    void take(std::string_view text, const std::string& folder) {
        total_ += text.size();
        if (total_ < enough_) scan(text, folder);
    }

    const IncludePlaces& places_;
    const std::uint64_t enough_;
    std::uint64_t total_ = 0;
    std::set<std::string> seen_;
    std::deque<Wanted> waiting_;
};

}  // namespace

std::uint64_t estimate_header_bytes(std::string_view code, const IncludePlaces& places,
                                    std::uint64_t enough) {
    return Estimate(places, enough).run(code);
}

}  // namespace LODE_NAMESPACE::pch
