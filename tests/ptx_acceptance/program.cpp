// The text of a program: declares everything that its instruction uses.
#include "program.hpp"

#include "expand.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace lode::ptx_acceptance {
namespace {

bool names(std::string_view text, std::string_view word) {
    const auto is_word = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '%' || c == '$';
    };
    for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
        const bool left = at > 0 && is_word(text[at - 1]);
        const bool right = at + word.size() < text.size() && is_word(text[at + word.size()]);
        if (!left && !right) return true;
    }
    return false;
}

struct Declared {
    std::string type;
    int lanes;
    auto operator<=>(const Declared&) const = default;
};

std::string prefix_of(const Declared& declared) {
    return declared.lanes == 1 ? fmt::format("%{}_", declared.type)
                               : fmt::format("%{}v{}_", declared.type, declared.lanes);
}

// Names such as "%u32:4_1" exist only in the tables.
std::string with_names(std::string_view text, std::set<std::pair<Declared, std::string>>& used) {
    std::string out;
    std::size_t at = 0;
    for (const RegisterName& name : registers_of(text)) {
        const Declared declared{name.type, name.lanes};
        used.emplace(declared, name.number);
        out += std::string(text.substr(at, name.at - at)) + prefix_of(declared) + name.number;
        at = name.at + name.length;
    }
    return out + std::string(text.substr(at));
}

int bytes_of(std::string_view type) {
    if (type == "f16x2" || type == "bf16x2" || type == "tf32") return 4;
    if (type == "bf16") return 2;
    if (type.ends_with("128")) return 16;
    if (type.ends_with("64")) return 8;
    if (type.ends_with("32")) return 4;
    if (type.ends_with("16")) return 2;
    return 1;
}

}  // namespace

std::string_view name_of(Kind kind) noexcept {
    constexpr std::string_view all[] = {"form",   "order", "modifier", "operand",
                                        "target", "token", "address"};
    return all[static_cast<std::size_t>(kind)];
}

std::string line_of(const Program& program) {
    std::string line =
        fmt::format("[{} {}.{}]", program.target, program.version / 10, program.version % 10);
    if (!program.heading.empty()) line += " heading:" + program.heading;
    if (!program.module.empty()) line += " module: " + program.module;
    if (!program.before.empty()) line += " before: " + program.before;
    if (!program.module.empty() || !program.before.empty() || !program.heading.empty())
        line += " body:";
    return line + " " + program.instruction;
}

std::uint64_t digest(std::string_view text, std::uint64_t start) noexcept {
    for (const char c : text)
        start = (start ^ static_cast<unsigned char>(c)) * 1099511628211U;
    return start;
}

std::string Program::header() const {
    return fmt::format(".version {}.{}\n.target {}\n.address_size 64\n", version / 10, version % 10,
                       target);
}

std::string Program::text(bool live, bool canonical_order) const {
    if (whole) return header() + module + "\n";
    const std::string entry_text = entry("k", live, canonical_order);
    std::string out = header();
    for (const auto& [name, declaration] : declarations())
        if (names(entry_text, name) || names(module, name)) out += declaration;
    if (!module.empty()) out += module + "\n";
    return out + entry_text;
}

std::span<const std::pair<std::string_view, std::string_view>> Program::declarations() noexcept {
    static constexpr std::pair<std::string_view, std::string_view> all[] = {
        {"gbuf", ".global .align 16 .b8 gbuf[64];\n"},
        {"garr", ".global .align 16 .u32 garr[16];\n"},
        {"gvec", ".global .align 16 .v4 .f32 gvec[4];\n"},
        {"gone", ".global .align 16 .u32 gone;\n"},
        {"sarr", ".shared .align 16 .u64 sarr[8];\n"},
        {"cbuf", ".const .align 16 .b8 cbuf[64];\n"},
        {"sbuf", ".shared .align 16 .b8 sbuf[64];\n"},
        {"fun", ".func fun () { ret; }\n"}};
    return all;
}

std::string Program::entry(std::string_view entry_name, bool live, bool canonical_order) const {
    std::string out;
    std::set<std::pair<Declared, std::string>> used;
    const std::string front = with_names(before, used);
    const std::string middle = with_names(canonical_order ? canonical : instruction, used);
    const std::string back = with_names(after, used);
    const std::string all = module + "\n" + front + "\n" + middle + "\n" + back;
    out += fmt::format(".visible .entry {} (.param .u64 prm", entry_name);
    if (names(all, "pbuf")) out += ", .param .align 16 .b8 pbuf[64]";
    out += ")" + heading + "\n{\n";
    std::set<Declared> types;
    for (const auto& [declared, number] : used)
        types.insert(declared);
    for (const Declared& type : types) {
        const std::string spelled = type.type == "p" ? "pred" : type.type;
        const std::string lanes = type.lanes == 1 ? "" : fmt::format(" .v{}", type.lanes);
        if (type.lanes == 1) {
            out += fmt::format(".reg{} .{} {}<10>;\n", lanes, spelled, prefix_of(type));
        } else {
            out += fmt::format(".reg{} .{} {}1, {}2;\n", lanes, spelled, prefix_of(type),
                               prefix_of(type));
        }
    }
    if (names(all, "lbuf")) out += ".local .align 16 .b8 lbuf[64];\n";
    std::string store;
    if (live) {
        out += ".reg .b64 %live;\n.reg .u32 %flag;\nld.param.u64 %live, [prm];\n";
        int place = 0;
        for (const auto& [declared, number] : used) {
            const std::string name = prefix_of(declared) + number;
            if (declared.type == "p" || declared.type == "pred") {
                out += fmt::format("ld.global.u32 %flag, [%live+{}];\nsetp.ne.u32 {}, %flag, 0;\n",
                                   place, name);
                store +=
                    fmt::format("selp.u32 %flag, 1, 0, {};\nst.global.u32 [%live+{}], %flag;\n",
                                name, 4096 + place);
            } else if (declared.lanes == 1) {
                const int bits = 8 * bytes_of(declared.type);
                out += fmt::format("ld.global.b{} {}, [%live+{}];\n", bits, name, place);
                store += fmt::format("st.global.b{} [%live+{}], {};\n", bits, 4096 + place, name);
            }
            place += 16;
        }
    }
    if (!front.empty()) out += front + "\n";
    if (names(all, "L0")) out += "L0:\n";
    if (!middle.empty()) {
        out += middle;
        if (middle.back() != ';' && middle.back() != '}' && middle.back() != ':') out += ";";
        out += "\n";
    }
    if (!back.empty()) out += back + "\n";
    out += store;
    if (names(all, "L1")) out += "L1:\n";
    out += "ret;\n}\n";
    return out;
}

}  // namespace lode::ptx_acceptance
