"""Section 2 of the issue: positions of modifiers, and PTX that ptxas accepts and lode refused."""

from bench import HERE, finding, require
from device import TWICE, all_refused, gives, ptx

ODD = "and.b32 %r2, %r0, 1;\nsetp.eq.u32 %p1, %r2, 1;\n"
PICK = "\nselp.u32 %r1, 1, 0, %p2;"
LANES = range(8)


# -- modifiers ------------------------------------------------------------------------------------

@finding("modifiers: vote.any.sync and vote.uni.sync vote as all")
def vote_any(bench):
    gives(bench, ODD + "vote.sync.any.pred %p2, %p1, -1;" + PICK, [1] * 8)
    gives(bench, ODD + "vote.any.sync.pred %p2, %p1, -1;" + PICK, [1] * 8)
    gives(bench, ODD + "vote.uni.sync.pred %p2, %p1, -1;" + PICK, [0] * 8)
    gives(bench, "setp.gt.u32 %p1, %r0, 99;\nvote.uni.sync.pred %p2, %p1, -1;" + PICK, [1] * 8)


@finding("modifiers: match.sync.all matches as any")
def match_all(bench):
    body = "shr.u32 %r2, %r0, 4;\nmatch.{}.b32 %r1|%p1, %r2, -1;"
    gives(bench, body.format("all.sync"), [0] * 8)
    gives(bench, body.format("sync.all"), [0] * 8)


@finding("modifiers: shfl.down.sync reads wrong lanes")
def shfl_down(bench):
    gives(bench, "shfl.sync.down.b32 %r1, %r0, 3, 31, -1;", [lane + 3 for lane in LANES])
    gives(bench, "shfl.down.sync.b32 %r1, %r0, 3, 31, -1;", [lane + 3 for lane in LANES])


@finding("modifiers: vote.ballot.sync.b32 is refused")
def vote_ballot(bench):
    gives(bench, ODD + "vote.ballot.sync.b32 %r1, %p1, -1;", [0xaaaaaaaa] * 8)


@finding("modifiers: the ranks of CUB's DeviceRadixSort are refused")
def radix_sort(bench):
    source = HERE.parent / "corpus/kernels/cub_radix.cu"
    outcome = bench.lode("run", source, "cub_radix_match", "--grid", "1", "--block", "128", "--json",
                         "-I", bench.tree.cuda, "-I", bench.tree.cuda + "/cccl", "--",
                         "u32[512]:random(1)", seconds=60)
    require(outcome.code == 0, outcome.how())
    head = outcome.json()["arguments"][0]["head"]
    require(head == sorted(head) and head[0] != 0, f"sorted to {head}")


@finding("modifiers: one that isn't consumed is ignored")
def left_over(bench):
    wrong = ("add.ftz.ftz.f32 %f1, %f2, %f3;", "vote.sync.any.all.pred %p1, %p2, -1;",
             "ld.global.shared.u32 %r1, [%rd0];", "add.rn.rz.f32 %f1, %f2, %f3;",
             "add.foo.u32 %r1, %r2, %r3;", "bar.sync.cta 0;", "ld.gpu.u32 %r1, [%rd0];")
    all_refused(bench, {instruction: ptx(instruction) for instruction in wrong})


# -- forms that ptxas accepts ---------------------------------------------------------------------

@finding("grammar: element selectors v.x are refused")
def selectors(bench):
    gives(bench, ".reg .v4 .b32 v;\nmov.u32 v.x, 7;\nmov.u32 v.w, %r0;\nmov.u32 v.y, 0;\n"
          "mov.u32 v.z, 0;\nadd.u32 %r1, v.x, v.w;", [lane + 7 for lane in LANES])


@finding("grammar: a register plus a constant as a value is refused")
def register_plus(bench):
    gives(bench, "add.u32 %r1, %r0, %r0+5;", [2 * lane + 5 for lane in LANES])


@finding("grammar: mov.v4 is refused")
def mov_v4(bench):
    gives(bench, "mov.v4.u32 {%r2, %r3, %r4, %r5}, {%r0, 1, 2, 3};\nadd.u32 %r1, %r2, %r5;",
          [lane + 3 for lane in LANES])
    gives(bench, "mov.v4.u32 {%r1, _, _, _}, %tid;", LANES)


@finding("grammar: calls with register arguments are refused")
def register_arguments(bench):
    gives(bench, "call (%r1), twice, (%r0, %rd0);", [2 * lane for lane in LANES], before=TWICE)


@finding("grammar: functions whose parameters are registers are refused")
def register_parameters(bench):
    gives(bench, "call (%r1), twice, (%r0);", [2 * lane for lane in LANES],
          before=".func (.reg .b32 r) twice (.reg .b32 a)\n{ add.u32 r, a, a; ret; }\n")


@finding("grammar: a .global inside a body is refused")
def global_in_body(bench):
    gives(bench, ".global .align 4 .u32 inside = 9;\nld.global.u32 %r1, [inside];", [9] * 8)


@finding("grammar: mov.u64 of an array's element is refused")
def element_address(bench):
    gives(bench, ".local .align 8 .u32 array[4];\n.reg .b64 a, b;\nmov.u64 a, array[3];\n"
          "mov.u64 b, array[0];\nsub.u64 a, a, b;\ncvt.u32.u64 %r1, a;", [12] * 8)


@finding("grammar: cvt.pack is refused")
def cvt_pack(bench):
    gives(bench, "mov.u32 %r2, 70000;\ncvt.pack.sat.s16.s32 %r1, %r2, %r0;",
          [(32767 << 16) + lane for lane in LANES])


@finding("grammar: vshr is refused")
def vshr(bench):
    gives(bench, "mov.u32 %r2, 4096;\nvshr.u32.u32.u32.clamp %r1, %r2, %r0;",
          [4096 >> lane for lane in LANES])


@finding("grammar: max.s16x2.relu is refused")
def max_relu(bench):
    gives(bench, "mov.u32 %r2, 0xfffffffd;\nadd.u32 %r3, %r0, 0xffff0000;\n"
          "max.s16x2.relu %r1, %r2, %r3;", list(LANES))
