// Barriers of a block and of a warp, and fences: writes before them are visible afterwards.
#include "tests/unit/emulator/exec/opcode_support.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace lode::emulator::exec::testing {

namespace {

const std::string room = ".shared .align 4 .b8 room[512];\n";

/// Each thread writes its word, executes `between`, and reads the word of the thread 33 places on.
Comparison exchanged(const std::string& opcode, const std::string& between) {
    Scene scene{opcode,
                "ld.global.u32 %r3, [%in];\nmov.u32 %r4, room;\nmad.lo.u32 %r5, %i, 4, %r4;\n"
                "st.shared.u32 [%r5], %r3;\nmov.u32 %r8, %ntid.x;\n" +
                    between +
                    "add.u32 %r6, %i, 33;\nrem.u32 %r6, %r6, %r8;\nmad.lo.u32 %r6, %r6, 4, %r4;\n"
                    "ld.shared.u32 %r7, [%r6];\nst.global.u32 [%out], %r7;\n",
                [](Rows& in, Rows& out) {
                    for (std::size_t i = 0; i < in.size(); ++i)
                        set(out[i], 0, get<u32>(in[(i + 33) % in.size()]));
                },
                room};
    scene.odd = true;
    return compared(std::move(scene));
}

void add_barriers(Comparisons& all) {
    for (const std::string opcode :
         {"bar.sync", "barrier.sync", "barrier.sync.aligned", "bar.cta.sync", "barrier.cta.sync",
          "barrier.cta.sync.aligned"}) {
        for (const char* const id : {"0", "15", "%r9"}) {
            const std::string set_id = "mov.u32 %r9, 3;\n";
            all.push_back(exchanged(opcode, set_id + opcode + " " + id + ";\n"));
            // A count of threads: whole warps, including the partial last one.
            all.push_back(exchanged(opcode, set_id + opcode + " " + id + ", 96;\n"));
        }
    }
    for (const std::string cluster :
         {"barrier.cluster.arrive", "barrier.cluster.arrive.release",
          "barrier.cluster.arrive.aligned", "barrier.cluster.wait", "barrier.cluster.wait.acquire",
          "barrier.cluster.wait.aligned"}) {
        const bool arrives = cluster.find("arrive") != std::string::npos;
        const std::string arrive = arrives ? cluster : "barrier.cluster.arrive";
        const std::string wait = arrives ? "barrier.cluster.wait" : cluster;
        all.push_back(exchanged(cluster, arrive + ";\n" + wait + ";\n"));
    }
    // Warps 0 and 2 write and arrive without waiting; warp 1 waits and adds up their words.
    for (const std::string opcode : {"bar.arrive", "barrier.arrive", "barrier.cta.arrive"}) {
        const std::string sync = opcode.substr(0, opcode.rfind('.')) + ".sync";
        Scene scene{opcode,
                    "mov.u32 %r4, room;\nmad.lo.u32 %r5, %i, 4, %r4;\nadd.u32 %r3, %i, 1000;\n"
                    "shr.u32 %r6, %i, 5;\nsetp.eq.u32 %p1, %r6, 1;\n@%p1 bra CONSUME;\n"
                    "st.shared.u32 [%r5], %r3;\n" +
                        opcode + " 2, 96;\nbra DONE;\nCONSUME:\n" + sync +
                        " 2, 96;\nld.shared.u32 %r7, [%r5+-128];\nld.shared.u32 %r8, [%r5+128];\n"
                        "add.u32 %r7, %r7, %r8;\nst.global.u32 [%out], %r7;\nDONE:\n",
                    [](Rows&, Rows& out) {
                        for (u32 i = 32; i < 64; ++i)
                            set(out[i], 0, 2000 + (i - 32) + (i + 32));
                    },
                    room};
        scene.threads = 96;
        all.push_back(compared(std::move(scene)));
    }
}

void add_reductions(Comparisons& all) {
    struct Reduction {
        const char* name;
        u32 (*result)(u32 yes, u32 threads);
    };
    static constexpr Reduction reductions[] = {
        {"popc.u32", [](u32 yes, u32) { return yes; }},
        {"and.pred", [](u32 yes, u32 threads) { return u32{yes == threads}; }},
        {"or.pred", [](u32 yes, u32) { return u32{yes != 0}; }},
    };
    for (const std::string head : {"bar.red.", "barrier.red.", "barrier.cta.red.aligned."}) {
        for (const Reduction& one : reductions) {
            const bool counts = std::string_view(one.name) == "popc.u32";
            for (const bool negated : {false, true}) {
                for (const bool counted : {false, true}) {
                    // True for no thread, for every seventh thread, for all.
                    for (const u32 kind : {0u, 1u, 2u}) {
                        const std::string opcode = head + one.name;
                        const auto yes = [=](u32 i) {
                            return (kind == 2 || (kind == 1 && i % 7 == 3)) != negated;
                        };
                        std::string body = fmt::format(
                            "rem.u32 %r4, %i, 7;\nsetp.eq.u32 %p1, %r4, 3;\n"
                            "setp.eq.and.u32 %p1, {}, 1, %p1;\nsetp.eq.or.u32 %p1, {}, 2, %p1;\n",
                            kind, kind);
                        body += opcode + (counts ? " %r3, " : " %p2, ") + "1, " +
                                (counted ? "96, " : "") + (negated ? "!%p1" : "%p1") + ";\n";
                        if (!counts) body += "selp.u32 %r3, 1, 0, %p2;\n";
                        body += "st.global.u32 [%out], %r3;\n";
                        Scene scene{opcode, body, [=, &one](Rows&, Rows& out) {
                                        const auto threads = static_cast<u32>(out.size());
                                        u32 count = 0;
                                        for (u32 i = 0; i < threads; ++i)
                                            count += yes(i);
                                        for (Row& row : out)
                                            set(row, 0, one.result(count, threads));
                                    }};
                        scene.threads = 96;
                        all.push_back(compared(std::move(scene)));
                    }
                }
            }
        }
    }
}

void add_warp_barriers(Comparisons& all) {
    // Lanes diverge, write at different times, and meet as whole warps or as half warps.
    const std::string part =
        "mov.u32 %r4, room;\nmad.lo.u32 %r5, %i, 4, %r4;\nmov.u32 %r7, %laneid;\n"
        "and.b32 %r8, %i, 1;\nsetp.eq.u32 %p1, %r8, 1;\n@%p1 bra LATE;\n"
        "add.u32 %r3, %i, 100;\nst.shared.u32 [%r5], %r3;\nbra MEET;\nLATE:\n"
        "add.u32 %r3, %i, 200;\nst.shared.u32 [%r5], %r3;\nMEET:\n";
    const std::string take =
        "xor.b32 %r6, %i, 1;\nmad.lo.u32 %r6, %r6, 4, %r4;\nld.shared.u32 %r7, [%r6];\n"
        "st.global.u32 [%out], %r7;\n";
    const auto reference = [](Rows&, Rows& out) {
        for (u32 i = 0; i < out.size(); ++i)
            set(out[i], 0, (i ^ 1) + ((i ^ 1) % 2 == 0 ? 100 : 200));
    };
    for (const std::string mask :
         {"bar.warp.sync 0xffffffff;\n", "bar.warp.sync -1;\n",
          "and.b32 %r9, %r7, 16;\nshl.b32 %r9, 0xffff, %r9;\nbar.warp.sync %r9;\n"}) {
        all.push_back(compared(Scene{"bar.warp.sync", part + mask + take, reference, room}));
    }
}

void add_fences(Comparisons& all) {
    for (const std::string fence :
         {"membar.cta", "membar.gl", "membar.sys", "fence.sc.cta", "fence.sc.cluster",
          "fence.sc.gpu", "fence.sc.sys", "fence.acq_rel.cta", "fence.acq_rel.cluster",
          "fence.acq_rel.gpu", "fence.acq_rel.sys", "fence.proxy.async",
          "fence.proxy.async.shared::cta", "fence.proxy.async.global", "fence.proxy.alias",
          "fence.mbarrier_init.release.cluster"}) {
        all.push_back(exchanged(fence, fence + ";\nbar.sync 0;\n"));
        // Message passing: warp 0 writes, fences and sets a flag; warp 1 waits for the flag, fences
        // and reads.
        all.push_back(compared(Scene{
            fence,
            "sub.u64 %d2, %out, %d1;\nsetp.ge.u32 %p1, %i, 32;\n@%p1 bra WAIT;\n"
            "ld.global.u32 %r3, [%in];\nst.global.u32 [%out+8], %r3;\n" +
                fence +
                ";\nbar.warp.sync -1;\nmov.u32 %r4, 1;\nst.volatile.global.u32 [%d2], %r4;\n"
                "bra DONE;\nWAIT:\nld.volatile.global.u32 %r4, [%d2];\n"
                "setp.ne.u32 %p2, %r4, 1;\n@%p2 bra WAIT;\n" +
                fence + ";\nld.global.u32 %r3, [%out+-2040];\nst.global.u32 [%out], %r3;\nDONE:\n",
            [](Rows& in, Rows& out) {
                set(out[0], 0, u32{1});
                for (std::size_t i = 0; i < 32; ++i) {
                    set(out[i], 8, get<u32>(in[i]));
                    set(out[i + 32], 0, get<u32>(in[i]));
                }
            }}));
    }
}

}  // namespace

static Comparisons barrier_family() {
    Comparisons all;
    add_barriers(all);
    add_reductions(all);
    add_warp_barriers(all);
    add_fences(all);
    return all;
}

LODE_OPCODE_FAMILY("opcode: barriers and fences order what threads write and read", barrier_family)

}  // namespace lode::emulator::exec::testing
