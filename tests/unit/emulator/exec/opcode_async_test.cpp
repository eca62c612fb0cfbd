// Asynchronous copies, address conversions and address queries.
#include "tests/unit/emulator/exec/opcode_memory.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace lode::emulator::exec::testing {

namespace {

const std::string wait_all = "cp.async.wait_all;\n";

/// Copies each thread's row of `out` to 64 bytes of shared memory, runs `copy`, and copies the 64
/// bytes back. %d2 is the address in shared memory; `copy` copies from %in+16 to %d2+16.
Comparison copied(const std::string& opcode, const std::string& copy,
                  std::function<void(const Row& in, Row& out, u32 thread)> reference,
                  const std::string& before = {}) {
    return compared(Scene{opcode,
                          prepare(Place::shared_wide, Pattern::rows, scene_threads, 64, "%out") +
                              copy + copy_back(Place::shared_wide, "%out"),
                          [=](Rows& in, Rows& out) {
                              for (u32 i = 0; i < scene_threads; ++i)
                                  reference(in[i], out[i], i);
                          },
                          declarations(Place::shared_wide) + before, scene_threads});
}

/// Copies the first `read` of `bytes` bytes and zeroes the rest.
void take(const Row& in, Row& out, u32 bytes, u32 read) {
    char buffer[16] = {};
    std::memcpy(buffer, reinterpret_cast<const char*>(&in) + 16, read);
    std::memcpy(reinterpret_cast<char*>(&out) + 16, buffer, bytes);
}

void add_copies(Comparisons& all) {
    struct Spelling {
        std::string opcode;
        std::vector<u32> sizes;
    };
    const std::vector<Spelling> spellings{
        {"cp.async.ca.shared.global", {4, 8, 16}},
        {"cp.async.cg.shared.global", {16}},
        {"cp.async.ca.shared::cta.global", {4, 8, 16}},
        {"cp.async.ca.shared.global.L2::128B", {4, 8, 16}},
        {"cp.async.cg.shared.global.L2::256B", {16}},
    };
    for (const auto& [opcode, sizes] : spellings) {
        for (const u32 bytes : sizes) {
            const std::string whole = fmt::format("{} [%d2+16], [%in+16], {}", opcode, bytes);
            all.push_back(
                copied(opcode, whole + ";\n" + wait_all,
                       [=](const Row& in, Row& out, u32) { take(in, out, bytes, bytes); }));
            // A smaller source: missing bytes become zero.
            for (const u32 read : {0u, 1u, 3u, bytes - 1, bytes}) {
                all.push_back(
                    copied(opcode, whole + ", " + std::to_string(read) + ";\n" + wait_all,
                           [=](const Row& in, Row& out, u32) { take(in, out, bytes, read); }));
            }
            all.push_back(copied(
                opcode,
                fmt::format("rem.u32 %r3, %i, {};\n{}, %r3;\n{}", bytes + 1, whole, wait_all),
                [=](const Row& in, Row& out, u32 i) { take(in, out, bytes, i % (bytes + 1)); }));
            // Some threads ignore their source.
            all.push_back(copied(
                opcode,
                "rem.u32 %r3, %i, 3;\nsetp.eq.u32 %p2, %r3, 1;\n" + whole + ", %p2;\n" + wait_all,
                [=](const Row& in, Row& out, u32 i) {
                    take(in, out, bytes, i % 3 == 1 ? 0 : bytes);
                }));
        }
    }
    const std::string copy = "cp.async.ca.shared.global [%d2+16], [%in+16], 8;\n";
    const auto eight = [](const Row& in, Row& out, u32) { take(in, out, 8, 8); };
    for (const std::string groups :
         {"cp.async.commit_group;\ncp.async.wait_group 0;\n",
          "cp.async.commit_group;\ncp.async.commit_group;\ncp.async.wait_group 1;\n"}) {
        all.push_back(copied("cp.async.commit_group", copy + groups, eight));
        all.push_back(copied("cp.async.wait_group", copy + groups, eight));
    }
    all.push_back(copied("cp.async.wait_all", copy + wait_all, eight));
    // One arrival for each thread's copies; with .noinc the barrier's count must include it.
    const std::string wait =
        "WAIT:\nmbarrier.test_wait.parity.shared.b64 %p2, [bar], 0;\n@!%p2 bra WAIT;\n";
    for (const std::string tail : {".shared.b64", ".noinc.shared.b64", ".shared::cta.b64"}) {
        const bool counted = tail.starts_with(".noinc");
        const std::string opcode = "cp.async.mbarrier.arrive" + tail;
        all.push_back(copied(opcode,
                             "setp.eq.u32 %p1, %i, 0;\n@%p1 mbarrier.init.shared.b64 [bar], 64;\n"
                             "bar.sync 0;\n" +
                                 copy + opcode + " [bar];\n" +
                                 (counted ? "" : "mbarrier.arrive.shared.b64 _, [bar];\n") + wait,
                             eight, ".shared .align 8 .b64 bar;\n"));
    }
}

/// Thread 0 copies `size` bytes between the rows of threads 0 to 3 and shared memory.
void add_bulk(Comparisons& all) {
    const std::string first = "setp.eq.u32 %p1, %i, 0;\n";
    const std::string wait =
        "WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0;\n@!%p2 bra WAIT;\n";
    for (const u32 size : {0u, 16u, 48u, 256u}) {
        const auto moved = [=](Rows& in, Rows& out) { std::memcpy(&out[0], &in[0], size); };
        for (const std::string into : {".shared::cluster", ".shared::cta"}) {
            const std::string opcode =
                "cp.async.bulk" + into + ".global.mbarrier::complete_tx::bytes";
            const std::string body =
                prepare(Place::shared_wide, Pattern::rows, scene_threads, 64, "%out") + first +
                "@%p1 mbarrier.init.shared.b64 [bar], 1;\nbar.sync 0;\n" + "@!%p1 bra WAIT;\n" +
                fmt::format(
                    "mbarrier.arrive.expect_tx.shared.b64 _, [bar], {0};\n"
                    "{1} [room], [%in], {0}, [bar];\n",
                    size, opcode) +
                wait + copy_back(Place::shared_wide, "%out");
            all.push_back(compared(Scene{
                opcode, body, moved,
                declarations(Place::shared_wide) + ".shared .align 8 .b64 bar;\n", scene_threads}));
        }
        // Copies from shared memory to global memory.
        for (const std::string read : {"", ".read"}) {
            const std::string copy = "cp.async.bulk.global.shared::cta.bulk_group";
            const std::string commit = "cp.async.bulk.commit_group";
            const std::string settle = "cp.async.bulk.wait_group" + read;
            const std::string body =
                prepare(Place::shared_wide, Pattern::rows, scene_threads, 64, "%in") + first +
                "@!%p1 bra DONE;\n" +
                fmt::format("{} [%out], [room], {};\n{};\n{} 0;\nDONE:\n", copy, size, commit,
                            settle);
            for (const std::string& opcode : {copy, commit, settle}) {
                all.push_back(compared(
                    Scene{opcode, body, moved, declarations(Place::shared_wide), scene_threads}));
            }
        }
        const std::string ahead = "cp.async.bulk.prefetch.L2.global";
        all.push_back(compared(Scene{ahead,
                                     first + fmt::format("@%p1 {} [%in], {};\n", ahead, size) +
                                         "ld.global.u64 %d3, [%in];\nst.global.u64 [%out], %d3;\n",
                                     [](Rows& in, Rows& out) {
                                         for (std::size_t i = 0; i < in.size(); ++i)
                                             out[i][0] = in[i][0];
                                     }}));
        for (const std::string opcode : {"st.bulk.shared::cta", "st.bulk.weak.shared::cta"}) {
            all.push_back(compared(Scene{
                opcode,
                prepare(Place::shared_wide, Pattern::rows, scene_threads, 64, "%out") + first +
                    fmt::format("mov.u64 %d6, room;\nmov.u64 %d5, {};\n@%p1 {} [%d6], %d5, 0;\n",
                                size, opcode) +
                    copy_back(Place::shared_wide, "%out"),
                [=](Rows&, Rows& out) { std::memset(&out[0], 0, size); },
                declarations(Place::shared_wide), scene_threads}));
        }
    }
}

/// Converts to a generic address, checks that a generic load reads the same bytes, and converts
/// back.
void add_addresses(Comparisons& all) {
    struct Space {
        std::string name;
        Place place;
    };
    for (const auto& [name, place] : {Space{"global", Place::global},
                                      {"shared", Place::shared_wide},
                                      {"shared::cta", Place::shared_wide},
                                      {"local", Place::local},
                                      {"const", Place::constant}}) {
        const std::string to_generic = "cvta." + name + ".u64";
        const std::string back = "cvta.to." + name + ".u64";
        const Pattern pattern =
            is_local(place) || is_constant(place) ? Pattern::alternating : Pattern::rows;
        const std::string body = prepare(place, pattern, scene_threads, 8, "%in") + to_generic +
                                 " %d5, %d2;\nld.u64 %d6, [%d5+16];\n" + back + " %d7, %d5;\nld" +
                                 space_of(place) +
                                 ".u64 %d8, [%d7+16];\nsub.u64 %d9, %d7, %d2;\n"
                                 "st.global.u64 [%out], %d6;\nst.global.u64 [%out+8], %d8;\n"
                                 "st.global.u64 [%out+16], %d9;\n";
        for (const std::string& opcode : {to_generic, back}) {
            all.push_back(compared(Scene{opcode, body,
                                         [=, place = place](Rows& in, Rows& out) {
                                             for (u32 i = 0; i < scene_threads; ++i) {
                                                 const u64 word =
                                                     is_constant(place) ? constant_word(2 + i % 2)
                                                     : is_local(place)  ? in[i][2 + i % 2]
                                                                        : in[i][2];
                                                 out[i][0] = out[i][1] = word;
                                                 out[i][2] = 0;
                                             }
                                         },
                                         declarations(place), scene_threads}));
        }
        for (const std::string asked : {"global", "shared", "shared::cta", "shared::cluster",
                                        "local", "const", "param", "param::entry"}) {
            const std::string opcode = "isspacep." + asked;
            const std::string plain = asked.substr(0, asked.find(':'));
            const std::string own = name.substr(0, name.find(':'));
            all.push_back(compared(Scene{opcode,
                                         prepare(place, pattern, scene_threads, 8, "%in") +
                                             to_generic + " %d5, %d2;\n" + opcode +
                                             " %p2, %d5;\nselp.u32 %r3, 1, 0, %p2;\n"
                                             "st.global.u32 [%out], %r3;\n",
                                         [yes = u32{own == plain}](Rows&, Rows& out) {
                                             for (Row& row : out)
                                                 set(row, 0, yes);
                                         },
                                         declarations(place), scene_threads}));
        }
    }
    // A block without others is the one of rank 0.
    for (const std::string opcode : {"mapa.u64", "mapa.shared::cluster.u64", "getctarank.u64",
                                     "getctarank.shared::cluster.u64"}) {
        const bool generic = opcode.find("::") == std::string::npos;
        const std::string space = generic ? "" : ".shared::cluster";
        all.push_back(compared(Scene{
            opcode,
            prepare(Place::shared_wide, Pattern::rows, scene_threads, 8, "%in") +
                (generic ? "cvta.shared.u64 %d5, %d2;\n" : "mov.u64 %d5, %d2;\n") + "mapa" + space +
                ".u64 %d6, %d5, 0;\nld" + space + ".u64 %d7, [%d6+16];\ngetctarank" + space +
                ".u64 %r3, %d6;\nsub.u64 %d8, %d6, %d5;\n"
                "st.global.u64 [%out], %d7;\nst.global.u64 [%out+8], %d8;\n"
                "st.global.u32 [%out+16], %r3;\n",
            [](Rows& in, Rows& out) {
                for (u32 i = 0; i < scene_threads; ++i) {
                    out[i][0] = in[i][2];
                    out[i][1] = 0;
                    set(out[i], 16, 0u);
                }
            },
            declarations(Place::shared_wide), scene_threads}));
    }
    all.push_back(compared(Scene{"cvta.param.u64",
                                 "mov.u64 %d2, given;\ncvta.param.u64 %d3, %d2;\n"
                                 "ld.u64 %d4, [%d3+8];\nisspacep.param %p1, %d3;\n"
                                 "selp.b64 %d5, 1, 0, %p1;\nst.global.u64 [%out], %d4;\n"
                                 "st.global.u64 [%out+8], %d5;\n",
                                 [](Rows& in, Rows& out) {
                                     for (Row& row : out) {
                                         row[0] = in[0][1];
                                         row[1] = 1;
                                     }
                                 }}));
}

}  // namespace

static Comparisons async_family() {
    Comparisons all;
    add_copies(all);
    add_bulk(all);
    add_addresses(all);
    return all;
}

LODE_OPCODE_FAMILY("opcode: asynchronous copies and address conversions reach the right bytes",
                   async_family)

}  // namespace lode::emulator::exec::testing
