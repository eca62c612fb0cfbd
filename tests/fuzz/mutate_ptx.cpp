// Mutations that know the words of PTX but not its grammar: the result is often valid, and
// otherwise wrong in only one place.
#include "tests/fuzz/mutate.hpp"

#include <cctype>
#include <utility>
#include <vector>

namespace lode::fuzz {
namespace {

enum class Kind : unsigned char { blank, word, opcode, directive, number, mark };

struct Piece {
    Kind kind;
    std::string text;
};
using Pieces = std::vector<Piece>;

bool is_part(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%';
}

Kind kind_of(std::string_view text) {
    const char c = text[0];
    if (std::isspace(static_cast<unsigned char>(c)) != 0) return Kind::blank;
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) return Kind::number;
    if (c == '.') return Kind::directive;
    if (!is_part(c)) return Kind::mark;
    return c != '%' && text.find('.') != std::string_view::npos ? Kind::opcode : Kind::word;
}

Pieces pieces_of(std::string_view text) {
    Pieces pieces;
    while (!text.empty()) {
        std::size_t size = 1;
        const char c = text[0];
        if (std::isspace(static_cast<unsigned char>(c)) != 0) {
            while (size < text.size() && std::isspace(static_cast<unsigned char>(text[size])) != 0)
                ++size;
        } else if (is_part(c) || c == '.') {
            while (size < text.size() && (is_part(text[size]) || text[size] == '.' ||
                                          text.substr(size, 2) == "::" || text[size - 1] == ':'))
                ++size;
            while (size > 1 && text[size - 1] == ':')
                --size;
        }
        pieces.push_back({kind_of(text), std::string(text.substr(0, size))});
        text.remove_prefix(size);
    }
    return pieces;
}

std::string joined(const Pieces& pieces) {
    std::string text;
    for (const Piece& piece : pieces)
        text += piece.text;
    return text;
}

/// The first piece of that kind after a random place, cyclically; pieces.size() if there is none.
std::size_t pick(const Pieces& pieces, Kind kind, Random& random) {
    const std::size_t from = random.below(pieces.size());
    for (std::size_t k = 0; k < pieces.size(); ++k) {
        const std::size_t at = (from + k) % pieces.size();
        if (pieces[at].kind == kind) return at;
    }
    return pieces.size();
}

bool ends_statement(const Piece& piece) {
    return piece.text == ";" || piece.text == "{" || piece.text == "}";
}

/// The statement around a place, as [first, end).
std::pair<std::size_t, std::size_t> statement_at(const Pieces& pieces, std::size_t at) {
    std::size_t first = at;
    while (first > 0 && !ends_statement(pieces[first - 1]))
        --first;
    std::size_t last = at;
    while (last < pieces.size() && !ends_statement(pieces[last]))
        ++last;
    return {first, last < pieces.size() ? last + 1 : last};
}

constexpr std::string_view numbers[] = {"0",
                                        "1",
                                        "-1",
                                        "2",
                                        "3",
                                        "4",
                                        "7",
                                        "8",
                                        "15",
                                        "16",
                                        "31",
                                        "32",
                                        "33",
                                        "63",
                                        "64",
                                        "127",
                                        "128",
                                        "255",
                                        "256",
                                        "1023",
                                        "1024",
                                        "4096",
                                        "65535",
                                        "65536",
                                        "1000000",
                                        "2147483647",
                                        "-2147483648",
                                        "4294967295",
                                        "4294967296",
                                        "99999999999",
                                        "9223372036854775807",
                                        "18446744073709551615",
                                        "18446744073709551616",
                                        "0x7fffffff",
                                        "0xffffffff",
                                        "0xffffffffffffffff",
                                        "0f3F800000",
                                        "0f7F800000",
                                        "0f7FFFFFFF",
                                        "0d3FF0000000000000",
                                        "0d7FF8000000000000",
                                        "0b101",
                                        "017",
                                        "3.5",
                                        "1e9",
                                        "0U"};

constexpr std::string_view modifiers[] = {".u8",           ".u16",
                                          ".u32",          ".u64",
                                          ".s8",           ".s16",
                                          ".s32",          ".s64",
                                          ".b8",           ".b16",
                                          ".b32",          ".b64",
                                          ".b128",         ".f16",
                                          ".f16x2",        ".bf16",
                                          ".bf16x2",       ".f32",
                                          ".f64",          ".pred",
                                          ".e4m3x2",       ".s16x2",
                                          ".u16x2",        ".tf32",
                                          ".lo",           ".hi",
                                          ".wide",         ".rn",
                                          ".rz",           ".rm",
                                          ".rp",           ".rni",
                                          ".rzi",          ".rna",
                                          ".ftz",          ".sat",
                                          ".relu",         ".satfinite",
                                          ".approx",       ".full",
                                          ".cc",           ".x",
                                          ".eq",           ".ne",
                                          ".lt",           ".le",
                                          ".gt",           ".ge",
                                          ".equ",          ".nan",
                                          ".num",          ".and",
                                          ".or",           ".xor",
                                          ".cas",          ".exch",
                                          ".add",          ".inc",
                                          ".dec",          ".min",
                                          ".max",          ".abs",
                                          ".sync",         ".aligned",
                                          ".async",        ".any",
                                          ".all",          ".uni",
                                          ".ballot",       ".up",
                                          ".down",         ".bfly",
                                          ".idx",          ".volatile",
                                          ".relaxed",      ".acquire",
                                          ".release",      ".acq_rel",
                                          ".cta",          ".cluster",
                                          ".gpu",          ".sys",
                                          ".global",       ".shared",
                                          ".shared::cta",  ".shared::cluster",
                                          ".local",        ".const",
                                          ".param",        ".generic",
                                          ".to",           ".v2",
                                          ".v4",           ".v8",
                                          ".ca",           ".cg",
                                          ".cs",           ".cv",
                                          ".wb",           ".wt",
                                          ".nc",           ".L1::evict_last",
                                          ".L2::128B",     ".L2::cache_hint",
                                          ".weak",         ".mmio",
                                          ".unified",      ".noftz",
                                          ".left",         ".right",
                                          ".wrap",         ".clamp",
                                          ".shiftamt",     ".b4e",
                                          ".rc8",          ".mode",
                                          ".warp",         ".arrive",
                                          ".red",          ".popc",
                                          ".sem",          ".expect_tx",
                                          ".noComplete",   ".init",
                                          ".inval",        ".test_wait",
                                          ".try_wait",     ".parity",
                                          ".bulk",         ".group",
                                          ".commit_group", ".wait_group",
                                          ".wait_all",     ".m8n8",
                                          ".trans",        ".xorsign",
                                          ".h0",           ".b0",
                                          ".po",           ".noinc"};

constexpr std::string_view statements[] = {"add.u32 %r1, %r2, %r3;",
                                           "mov.u32 %r1, %tid.x;",
                                           "mov.b64 %rd1, {%r1, %r2};",
                                           "mov.b64 {%r1, %r2}, %rd1;",
                                           "setp.lt.s32 %p1|%p2, %r1, %r2;",
                                           "@!%p1 bra L1;",
                                           "L1:",
                                           "bar.sync 0;",
                                           "barrier.cta.sync 1, 64;",
                                           "ret;",
                                           "exit;",
                                           "trap;",
                                           "brkpt;",
                                           "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1+16];",
                                           "st.shared.u32 [s+4], %r1;",
                                           "atom.global.add.u32 %r1, [%rd1], 1;",
                                           "red.shared.max.s32 [s], %r1;",
                                           "shfl.sync.down.b32 %r1|%p1, %r2, 1, 31, -1;",
                                           "vote.sync.ballot.b32 %r1, %p1, -1;",
                                           "match.any.sync.b32 %r1, %r2, -1;",
                                           "redux.sync.add.s32 %r1, %r2, -1;",
                                           "activemask.b32 %r1;",
                                           "cvta.to.global.u64 %rd1, %rd2;",
                                           "cvt.rn.f32.s32 %f1, %r1;",
                                           "fma.rn.f32 %f1, %f1, %f2, %f3;",
                                           "prmt.b32 %r1, %r2, %r3, 0x3210;",
                                           "lop3.b32 %r1, %r2, %r3, %r4, 0x96;",
                                           "nanosleep.u32 10;",
                                           "{",
                                           "}",
                                           ".reg .b32 %r<40>;",
                                           ".reg .b64 %rd<40>;",
                                           ".reg .pred %p<8>;",
                                           ".reg .f32 %f<9>;",
                                           ".shared .align 8 .b8 s[64];",
                                           ".local .align 4 .b8 l[32];",
                                           ".loc 1 2 3",
                                           ".pragma \"nounroll\";",
                                           "mbarrier.init.shared.b64 [s], 1;",
                                           "cp.async.ca.shared.global [s], [%rd1], 4;",
                                           "call.uni (%r1), f, (%r2);",
                                           "{ .param .b32 a; st.param.b32 [a], %r1; call f, (a); }",
                                           "brx.idx %r1, T;",
                                           "T: .branchtargets L1, L1;",
                                           "isspacep.shared %p1, %rd1;",
                                           "elect.sync %r1|%p1, -1;",
                                           "griddepcontrol.wait;",
                                           "membar.gl;",
                                           "fence.acq_rel.gpu;",
                                           "alloca.u64 %rd1, 16;",
                                           "stacksave.u64 %rd1;",
                                           "cvt.pack.sat.u8.s32.b32 %r1, %r2, %r3, %r4;"};

template <std::size_t count>
std::string_view any(const std::string_view (&values)[count], Random& random) {
    return values[random.below(count)];
}

/// Removes, adds, swaps or replaces modifiers of an opcode.
void change_modifiers(std::string& opcode, Random& random) {
    std::vector<std::string> parts;
    for (std::size_t at = 0; at < opcode.size();) {
        const std::size_t end = std::min(opcode.find('.', at + 1), opcode.size());
        parts.push_back(opcode.substr(at, end - at));
        at = end;
    }
    const std::size_t at = 1 + random.below(parts.size() - 1);
    switch (random.below(5)) {
        case 0:
            if (at < parts.size()) parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at));
            break;
        case 1:
            parts.insert(parts.begin() + static_cast<std::ptrdiff_t>(std::min(at, parts.size())),
                         std::string(any(modifiers, random)));
            break;
        case 2:
            if (at < parts.size()) std::swap(parts[at], parts[1 + random.below(parts.size() - 1)]);
            break;
        case 3:
            parts.push_back(parts[random.below(parts.size())]);
            break;
        default:
            if (at < parts.size()) parts[at] = any(modifiers, random);
            break;
    }
    opcode.clear();
    for (const std::string& part : parts)
        opcode += part;
}

void wrap(Piece& piece, Random& random) {
    static constexpr std::pair<std::string_view, std::string_view> around[] = {
        {"[", "]"}, {"[", "+4]"}, {"{", "}"},   {"(", ")"},  {"!", ""},     {"-", ""},
        {"", "+1"}, {"", ".x"},   {"", "|%p1"}, {"", "[0]"}, {"", ", %r1"}, {"generic(", ")"},
        {"~", ""},  {"((", "))"}, {"{{", "}}"}, {"", "<4>"}, {"@", ""},     {"", ":"}};
    const auto& [before, after] = around[random.below(std::size(around))];
    piece.text.insert(0, before);
    piece.text += after;
}

void change_statements(Pieces& pieces, const Pieces& others, Random& random) {
    const auto place = [&](const Pieces& in) { return statement_at(in, random.below(in.size())); };
    const auto [first, last] = place(pieces);
    const auto begin = pieces.begin() + static_cast<std::ptrdiff_t>(first);
    switch (random.below(6)) {
        case 0:
            pieces.erase(begin, pieces.begin() + static_cast<std::ptrdiff_t>(last));
            break;
        case 1: {
            const Pieces copy(begin, pieces.begin() + static_cast<std::ptrdiff_t>(last));
            const auto to = static_cast<std::ptrdiff_t>(place(pieces).first);
            pieces.insert(pieces.begin() + to, copy.begin(), copy.end());
            break;
        }
        case 2:
        case 3: {
            const auto [from, to] = place(others);
            pieces.insert(begin, others.begin() + static_cast<std::ptrdiff_t>(from),
                          others.begin() + static_cast<std::ptrdiff_t>(to));
            break;
        }
        default:
            pieces.insert(begin, {Kind::blank, "\n" + std::string(any(statements, random)) + "\n"});
            break;
    }
}

/// Replaces a piece by another one of its kind.
void exchange(Pieces& pieces, const Pieces& others, Kind kind, Random& random) {
    const std::size_t at = pick(pieces, kind, random);
    const Pieces& from = random.one_in(3) ? others : pieces;
    const std::size_t other = pick(from, kind, random);
    if (at == pieces.size() || other == from.size()) return;
    std::string text = from[other].text;
    pieces[at].text = std::move(text);
}

void change(Pieces& pieces, const Pieces& others, Random& random) {
    static constexpr Kind operands[] = {Kind::word, Kind::word, Kind::number};
    switch (random.below(10)) {
        case 0:
        case 1:
            return change_statements(pieces, others, random);
        case 2:
            return exchange(pieces, others, Kind::opcode, random);
        case 3:
        case 4:
            return exchange(pieces, others, operands[random.below(3)], random);
        case 5:
            return exchange(pieces, others, Kind::directive, random);
        case 6: {
            const std::size_t at = pick(pieces, Kind::opcode, random);
            if (at < pieces.size()) change_modifiers(pieces[at].text, random);
            return;
        }
        case 7: {
            const std::size_t at = pick(pieces, Kind::number, random);
            if (at < pieces.size()) pieces[at].text = any(numbers, random);
            return;
        }
        case 8: {
            const std::size_t at = pick(pieces, operands[random.below(3)], random);
            if (at == pieces.size()) return;
            if (random.one_in(3)) {
                pieces[at].text = any(numbers, random);
            } else {
                wrap(pieces[at], random);
            }
            return;
        }
        default: {
            const std::size_t at = random.below(pieces.size());
            if (random.one_in(2)) {
                pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(at));
            } else {
                const Piece copy = pieces[random.below(pieces.size())];
                pieces.insert(pieces.begin() + static_cast<std::ptrdiff_t>(at), copy);
            }
            return;
        }
    }
}

}  // namespace

void mutate_ptx(std::string& input, std::string_view other, Random& random) {
    Pieces pieces = pieces_of(input);
    const Pieces others = pieces_of(other.empty() ? std::string_view(";") : other);
    const std::size_t changes = 1 + random.below(random.one_in(4) ? 6 : 2);
    for (std::size_t k = 0; k < changes && !pieces.empty(); ++k)
        change(pieces, others, random);
    input = joined(pieces);
}

}  // namespace lode::fuzz
