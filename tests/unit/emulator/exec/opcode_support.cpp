#include "tests/unit/emulator/exec/opcode_support.hpp"

#include <algorithm>
#include <span>
#include <sstream>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lode::emulator::exec::testing {

namespace {

constexpr u64 untouched = 0x5a5a'5a5a'5a5a'5a5a;

unsigned width_of(std::string_view type) {
    if (type == "pred") return 1;
    if (type.ends_with("x2")) return type.starts_with("e") ? 16 : 32;
    return static_cast<unsigned>(
        std::stoul(std::string(type.substr(type.find_first_of("0123456789")))));
}
Bits kept_of(std::string_view type) {
    const unsigned width = width_of(type);
    return width >= 64 ? ~Bits{0} : (Bits{1} << width) - 1;
}
std::string register_type(std::string_view type) {
    if (type == "pred") return ".pred";
    const unsigned width = width_of(type);
    if (width <= 16) return ".b16";
    return width <= 32 ? ".b32" : ".b64";
}
std::string memory_type(std::string_view type) {
    const unsigned width = width_of(type);
    if (width <= 8) return "u8";
    if (width <= 16) return "b16";
    return width <= 32 ? "b32" : "b64";
}

/// A kernel around the instruction. The last of every `skip` threads doesn't execute it.
std::string program(const std::string& instruction, const std::vector<std::string>& types) {
    std::string text =
        ".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in, .param "
        ".u64 out, .param .u32 skip)\n{\n.reg .pred p, q, s, skipped;\n.reg .b16 v;\n.reg .b32 i, "
        "m, n;\n.reg .b64 from, to, o;\n";
    const char names[] = {'d', 'a', 'b', 'c'};
    const auto load = [&](std::string_view type, char name, const std::string& place) {
        if (type == "pred") {
            text += fmt::format("ld.global.u8 v, [{}];\nsetp.ne.u16 {}, v, 0;\n", place, name);
        } else {
            text += fmt::format("ld.global.{} {}, [{}];\n", memory_type(type), name, place);
        }
    };
    for (std::size_t k = 0; k < types.size(); ++k) {
        text += fmt::format(".reg {} {};\n", register_type(types[k]), names[k]);
    }
    text +=
        "ld.param.u64 from, [in];\nld.param.u64 to, [out];\nld.param.u32 n, [skip];\n"
        "mov.u32 i, %ctaid.x;\nmov.u32 m, %ntid.x;\nmul.lo.u32 i, i, m;\nmov.u32 m, %tid.x;\n"
        "add.u32 i, i, m;\n"
        "mul.wide.u32 o, i, 24;\nadd.u64 from, from, o;\nmul.wide.u32 o, i, 8;\n"
        "add.u64 to, to, o;\n";
    for (std::size_t k = 1; k < types.size(); ++k)
        load(types[k], names[k], fmt::format("from+{}", 8 * (k - 1)));
    load(types[0], 'd', "to");
    text += "rem.u32 m, i, n;\nadd.u32 m, m, 1;\nsetp.eq.u32 skipped, m, n;\n@skipped bra DONE;\n";
    text += instruction;
    text += "\nDONE:\n";
    if (types[0] == "pred") {
        text += "selp.u16 v, 1, 0, d;\nst.global.u8 [to], v;\nret;\n}\n";
    } else {
        text += fmt::format("st.global.{} [to], d;\nret;\n}}\n", memory_type(types[0]));
    }
    return text;
}

/// Triples of sources: every pair of edge values; the third values take turns.
std::vector<Bits> sources(const std::vector<std::string>& types) {
    static constexpr std::size_t counts[] = {1, 512, 40, 30};
    const std::size_t count = counts[types.size() - 1];
    const std::vector<Bits> none{0};
    const auto as = types.size() > 1 ? values(types[1], count) : none;
    const auto bs = types.size() > 2 ? values(types[2], count) : none;
    const auto cs = types.size() > 3 ? values(types[3], count) : none;
    std::vector<Bits> in;
    std::size_t row = 0;
    for (const Bits a : as) {
        std::size_t turn = row++;
        for (const Bits b : bs) {
            in.insert(in.end(), {a, b, cs[turn % cs.size()]});
            turn += 7;
        }
    }
    return in;
}

std::string difference_of(const Form& form, Bench& bench) {
    std::vector<std::string> types;
    std::istringstream words(form.types);
    for (std::string word; words >> word;)
        types.push_back(word);
    std::vector<Bits> in = sources(types);
    const std::size_t count = in.size() / 3;
    const std::size_t padded = (count + 63) / 64 * 64;
    in.resize(padded * 3);
    const Bits kept = kept_of(types[0]);
    if (std::string why = bench.load(program(form.text, types)); !why.empty())
        return bench.may_lack(why) ? std::string{} : why;
    std::vector<Bits> wanted(count);
    for (std::size_t k = 0; k < count; ++k)
        wanted[k] = form.reference(in[3 * k], in[3 * k + 1], in[3 * k + 2]) & kept;
    const bool looser = form.on_device && !bench.is_executor();
    const Accepts& accepts = looser ? form.on_device : form.accepts;
    for (const u32 skip : {u32{1} << 30, u32{3}}) {
        std::vector<Bits> given = in;
        std::vector<Bits> got(padded, untouched & kept);
        const auto ended = bench.run(
            static_cast<u32>(padded / 64), 64, std::as_writable_bytes(std::span(given)),
            std::as_writable_bytes(std::span(got)), std::as_bytes(std::span(&skip, 1)), 0);
        if (ended.fault != Fault::none) return form.text + " faults: " + ended.report;
        for (std::size_t k = 0; k < count; ++k) {
            const bool ran = k % skip != skip - 1;
            const Bits want = ran ? wanted[k] : untouched & kept;
            const Bits have = got[k] & kept;
            if (have == want || (ran && accepts && accepts(have, want))) continue;
            return fmt::format("{} of 0x{:x}, 0x{:x}, 0x{:x} is 0x{:x} and should be 0x{:x}",
                               form.text, in[3 * k], in[3 * k + 1], in[3 * k + 2], have, want);
        }
    }
    return {};
}

std::string scene_program(const Scene& scene) {
    return ".version 8.7\n.target sm_90\n.address_size 64\n" + scene.before +
           "\n.visible .entry k(.param .u64 in, .param .u64 out, .param .align 16 .b8 given[64])\n"
           "{\n.reg .pred %p<16>;\n.reg .b16 %h<16>;\n.reg .b32 %r<16>, %i;\n"
           ".reg .b64 %d<16>, %in, %out;\n"
           "mov.u32 %i, %tid.x;\nmul.wide.u32 %d1, %i, 64;\nld.param.u64 %in, [in];\n"
           "ld.param.u64 %out, [out];\nadd.u64 %in, %in, %d1;\nadd.u64 %out, %out, %d1;\n" +
           scene.body + "\nret;\n}\n";
}

std::string difference_of(const Scene& scene, Bench& bench) {
    const std::size_t threads = scene.threads + (scene.odd ? 20 : 0);
    corpus::Random random(threads);
    Rows in(threads);
    for (std::size_t k = 0; k < threads; ++k) {
        for (std::size_t word = 0; word < 8; ++word)
            in[k][word] = scene.fill ? scene.fill(k, word) : random.bits();
    }
    Row blank;
    blank.fill(untouched);
    Rows out(threads, blank);
    if (scene.fault != Fault::none && !bench.is_executor()) return {};
    if (std::string why = bench.load(scene_program(scene)); !why.empty())
        return bench.may_lack(why) ? std::string{} : why;
    const Rows given = in;
    const Rows blanks = out;
    scene.reference(in, out);
    // Seed 0 runs in order; the other seed shuffles convergence groups and warps.
    for (const u64 seed : {0, 5}) {
        Rows first = given;
        Rows second = blanks;
        const auto ended =
            bench.run(1, static_cast<u32>(threads), std::as_writable_bytes(std::span(first)),
                      std::as_writable_bytes(std::span(second)),
                      std::as_bytes(std::span(given.front())), seed);
        if (ended.fault != scene.fault) {
            return fmt::format("{} ends with {}: {}", scene.body, static_cast<int>(ended.fault),
                               ended.report);
        }
        for (const auto& [name, got, want] :
             {std::tuple{"in", &first, &in}, {"out", &second, &out}}) {
            for (std::size_t k = 0; k < threads; ++k) {
                for (std::size_t word = 0; word < 8; ++word) {
                    if ((*got)[k][word] == (*want)[k][word]) continue;
                    return fmt::format(
                        "{} makes {}[{}][{}] 0x{:016x} and should make it 0x{:016x}; the row was "
                        "0x{:016x}",
                        scene.body, name, k, word, (*got)[k][word], (*want)[k][word],
                        fmt::join(given[k], " 0x"));
                }
            }
        }
    }
    return {};
}

/// Whether the text contains the opcode as a whole word.
bool uses(std::string_view text, std::string_view opcode) {
    for (std::size_t at = text.find(opcode); at != text.npos; at = text.find(opcode, at + 1)) {
        const char before = at == 0 ? ' ' : text[at - 1];
        const std::size_t end = at + opcode.size();
        const char after = end == text.size() ? ' ' : text[end];
        const auto apart = [](char c) { return c == ' ' || c == ';' || c == '\n' || c == '{'; };
        if (apart(before) && apart(after)) return true;
    }
    return false;
}

}  // namespace

Comparison compared(Form form) {
    if (form.text.empty()) {
        const auto count = std::count(form.types.begin(), form.types.end(), ' ');
        form.text = form.opcode;
        form.text += std::string_view(" d, a, b, c").substr(0, 2 + 3 * static_cast<u32>(count));
        form.text += ';';
    }
    std::string opcode = form.opcode;
    std::string text = form.text;
    return {std::move(opcode), std::move(text),
            [form = std::move(form)](Bench& bench) { return difference_of(form, bench); }};
}

Comparison compared(Scene scene) {
    std::string opcode = scene.opcode;
    std::string text = scene.before + scene.body;
    return {std::move(opcode), std::move(text),
            [scene = std::move(scene)](Bench& bench) { return difference_of(scene, bench); }};
}

std::vector<Family>& families() {
    static std::vector<Family> all;
    return all;
}

void check_all(const Comparisons& comparisons) {
    std::string why;
    const std::unique_ptr<Bench> bench = make_bench(why);
    if (bench == nullptr) {
        MESSAGE("skipped: " << why);
        return;
    }
    for (const Comparison& one : comparisons) {
        INFO(one.opcode);
        CHECK_MESSAGE(uses(one.text, one.opcode), one.text);
        const std::string difference = one.difference(*bench);
        if (!difference.empty()) FAIL_CHECK(difference);
    }
    if (const std::string summary = bench->summary(); !summary.empty()) MESSAGE(summary);
}

}  // namespace lode::emulator::exec::testing
