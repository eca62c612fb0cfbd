#include "emulator/debug/breakpoints.hpp"

#include "base/cxx_names.hpp"

#include <algorithm>

namespace lode::emulator::debug {

std::vector<const Breakpoint*> Breakpoints::replace(const std::string& file,
                                                    std::vector<Breakpoint> fresh) {
    // Ops of those that go must not be found any more: the next bind() makes them again.
    sites_.clear();
    std::erase_if(all_, [&](const Breakpoint& one) { return one.file == file; });
    std::vector<const Breakpoint*> made;
    for (Breakpoint& one : fresh) {
        one.id = ++last_id_;
        one.file = file;
        all_.push_back(std::move(one));
    }
    for (const Breakpoint& one : all_)
        if (one.file == file) made.push_back(&one);
    return made;
}

void Breakpoints::bind(const std::deque<std::unique_ptr<CodePlaces>>& codes,
                       const std::function<void(const Breakpoint&)>& bound) {
    sites_.clear();
    for (Breakpoint& one : all_) {
        u32 line = one.line;
        std::vector<const Op*> ops;
        for (const auto& code : codes) {
            if (one.file.empty()) {
                if (is_called(code->code().function->name, one.function))
                    ops.push_back(code->begin_of_body());
                continue;
            }
            u32 here = one.line;
            const auto found = code->begin_of_line(one.file, here);
            if (found.empty() || (!ops.empty() && here > line)) continue;
            if (ops.empty() || here < line) ops.clear();
            line = here;
            ops.insert(ops.end(), found.begin(), found.end());
        }
        for (const Op* const op : ops)
            if (op != nullptr) sites_[op].push_back(&one);
        if (ops.empty() || one.is_bound) continue;
        one.is_bound = true;
        one.line = line;
        bound(one);
    }
}

const std::vector<Breakpoint*>* Breakpoints::at(const Op* op) const {
    if (sites_.empty()) return nullptr;
    const auto found = sites_.find(op);
    return found == sites_.end() ? nullptr : &found->second;
}

bool is_called(std::string_view symbol, std::string_view name) {
    const std::vector<lode::NamedSymbol> candidates = {{std::string(symbol)}};
    if (!lode::symbols_named(name, candidates).empty()) return true;
    // Without template arguments, and without the result's type, which a template's symbol has.
    const std::string readable = lode::readable_name(symbol);
    const std::string_view plain = lode::plain_name(readable);
    return plain.substr(plain.rfind(' ') + 1) == name;
}

}  // namespace lode::emulator::debug
