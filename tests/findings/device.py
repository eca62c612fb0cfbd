"""Section 2 of the issue: crashes of the host, and PTX that is accepted though a GPU refuses it."""

import os
import subprocess

from bench import GIB, finding, require

INVALID = "CUDA_ERROR_INVALID_PTX"
INVALID_VALUE = "CUDA_ERROR_INVALID_VALUE"  # An H200 refuses such a launch with this error.
OUT_OF_MEMORY = "CUDA_ERROR_OUT_OF_MEMORY"


def ptx(body, before="", version="8.7"):
    """A kernel k that stores each lane's %r1; %r0 is the lane."""
    return f"""
.version {version}
.target sm_90
.address_size 64
{before}
.visible .entry k(.param .u64 out)
{{
.reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>;
ld.param.u64 %rd0, [out];
mov.u32 %r0, %laneid;
{body}
mul.wide.u32 %rd1, %r0, 4;
add.u64 %rd0, %rd0, %rd1;
st.global.u32 [%rd0], %r1;
ret;
}}
"""


def words(outcome):
    """Returns what the first eight lanes stored."""
    return outcome.json()["arguments"][0]["head"]


def gives(bench, body, want, **more):
    """Checks that the kernel runs and that the first lanes store the expected values."""
    outcome = bench.run_ptx(ptx(body, **more))
    last = body.splitlines()[-1]
    require(outcome.code == 0, f"{last}: {outcome.how()}")
    require(words(outcome) == list(want), f"{last}: {words(outcome)} instead of {list(want)}")


def refused(bench, text, code=INVALID, symbol="k", **how):
    """Checks that the device returns a driver error code and that the process survives."""
    outcome = bench.run_ptx(text, symbol, **how)
    if outcome.code != 1:
        return outcome.how()
    got = outcome.json()["error"].get("native", {}).get("name")
    return None if got == code else f"{got} instead of {code}"


def all_refused(bench, texts, **how):
    seen = [f"{name}: {why}" for name, text in texts.items()
            if (why := refused(bench, text, **how)) is not None]
    require(not seen, "; ".join(seen))


# -- crashes of the host --------------------------------------------------------------------------

@finding("device: two classes with the same name in api and exec")
def one_name(bench):
    found, seen = [], 0
    # The folders in old and new commits: api became driver, and decode was part of exec.
    for name, headers in (
            ("Kernel", ("api/code.hpp", "exec/code.hpp", "driver/code.hpp", "decode/code.hpp")),
            ("Context", ("api/context.hpp", "exec/context.hpp")),
            ("WarpContext", ("driver/context.hpp", "exec/warp_context.hpp"))):
        sizes = {}
        for header in headers:
            program, _ = bench.build("one_name.cpp", f'-DHEADER="emulator/{header}"',
                                     f"-DNAME=lode::emulator::{name}")
            if program:
                sizes[header] = int(bench.program(program).out)
        seen += len(sizes)
        if len(sizes) > 1:
            found.append(f"lode::emulator::{name} has these sizes: {sizes}")
    require(seen, "no header has a class with these names")
    require(not found, "; ".join(found))


@finding("device: ld.param and st.param of .local and .shared variables")
def parameters_elsewhere(bench):
    seen = []
    for space in ("local", "shared"):
        for access in ("ld.param.u32 %r1, [v];", "st.param.u32 [v], %r0;"):
            outcome = bench.run_ptx(ptx(f".{space} .align 8 .b32 v[4];\n{access}"))
            if outcome.code != 1:
                seen.append(f"{access} with v in .{space}: {outcome.how()}")
    require(not seen, "; ".join(seen))


def local(count):
    return ptx(f".local .b8 s[{count}];\nmov.u64 %rd1, s;\nst.local.u32 [%rd1], %r0;\n")


@finding("device: .local .b8 s[1000000000]")
def large_local(bench):
    all_refused(bench, {"launch": local(1000000000)}, code=INVALID_VALUE, memory=16 * GIB)


@finding("device: .local .b8 s[99999999999] blocks the stream for ever")
def largest_local(bench):
    all_refused(bench, {"launch": local(99999999999)}, code=INVALID_VALUE, memory=16 * GIB,
                seconds=10)


@finding("device: .reg .b32 %r<10000000>")
def many_registers(bench):
    outcome = bench.run_ptx(ptx(".reg .b32 %many<10000000>;\nmov.u32 %many9999999, 7;\n"
                                "mov.u32 %r1, %many9999999;"), memory=4 * GIB,
                            threads=1024, arguments=("u32[1024]",))
    require(outcome.code == 0 and words(outcome) == [7] * 8, outcome.how())


@finding("device: an exception in a host function")
def host_exception(bench):
    program, why = bench.build("host_exception.cpp", "-ldl")
    require(program, why)
    for kind in ("runtime_error", "bad_alloc", "number"):
        outcome = bench.program(program, str(bench.tree.emulator), kind, seconds=10)
        require(outcome.code == 0, f"throws {kind}: {outcome.how()}")


def nested(bench, mark, count):
    """Nests as deep as crashed a release build, and ten times deeper: frame sizes vary by build."""
    seen = {}
    for marks in (mark * count, mark * count * 10):
        seen[f"{len(marks)} times"] = ptx(marks if mark == "{" else f"mov.b32 %r1, {marks}")
    all_refused(bench, seen)


@finding("device: recursion of the parser: 32,692 times '!'")
def many_marks(bench):
    nested(bench, "!", 32692)


@finding("device: recursion of the parser: 19,371 times '('")
def many_parentheses(bench):
    nested(bench, "(", 19371)


@finding("device: recursion of the parser: 65,397 times '{'")
def many_braces(bench):
    nested(bench, "{", 65397)


def seconds_of(bench, count):
    """Returns the processor seconds that loading a module of `count` kernels takes."""
    text = ptx("mov.u32 %r1, 1;") + "".join(f".visible .entry e{i}() {{ ret; }}\n"
                                           for i in range(count))
    bench.write("many.ptx", text)
    process = bench.start(["run", "many.ptx", "k", "--grid", "1", "--block", "32", "--", "u32[32]"],
                          out=subprocess.DEVNULL, err=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    require(status == 0, f"{count} kernels: status {status}")
    return usage.ru_utime + usage.ru_stime


@finding("device: 100,000 kernels in one file")
def many_kernels(bench):
    small, large = seconds_of(bench, 20_000), seconds_of(bench, 100_000)
    require(large < 10 * small + 0.5, f"20,000 take {small:.2f} s, 100,000 {large:.1f} s")


# -- accepted although ptxas or a GPU refuses it --------------------------------------------------

@finding("device: static shared memory over the limit is accepted")
def shared_over_limit(bench):
    text = ".shared .align 4 .b8 s[{}];\nmov.u32 %r2, s;\nst.shared.u32 [%r2], %r0;\n" \
           "mov.u32 %r1, %r0;"
    gives(bench, text.format(49152), range(8))
    all_refused(bench, {"49153 bytes": ptx(text.format(49153))})


@finding("device: a .global of 10^12 bytes is accepted")
def global_over_memory(bench):
    all_refused(bench, {"load": ptx("mov.u32 %r1, 1;",
                                    ".visible .global .b8 g[1000000000000];")},
                code=OUT_OF_MEMORY)


TWICE = """.func (.param .b32 r) twice (.param .b32 a, .param .b64 b)
{ .reg .b32 %x; ld.param.b32 %x, [a]; add.u32 %x, %x, %x; st.param.b32 [r], %x; ret; }
"""
SLOTS = ".param .b32 p32;\n.param .b64 p64;\n"


@finding("device: calls with the wrong number, size or space of arguments are accepted")
def wrong_calls(bench):
    gives(bench, SLOTS + "st.param.b32 [p32], %r0;\ncall (p32), twice, (p32, p64);\n"
          "ld.param.b32 %r1, [p32];", [2 * lane for lane in range(8)], before=TWICE)
    calls = {"one argument of two": "call (p32), twice, (p32);",
             "three arguments of two": "call (p32), twice, (p32, p64, p64);",
             "no result": "call twice, (p32, p64);",
             "64 bits for 32": "call (p32), twice, (p64, p64);",
             "a result of 64 bits for 32": "call (p64), twice, (p32, p64);",
             "a .shared variable": ".shared .b32 s;\ncall (p32), twice, (s, p64);"}
    all_refused(bench, {name: ptx(SLOTS + call, TWICE) for name, call in calls.items()})


@finding("device: a newer .version is refused although every opcode is known")
def newer_version(bench):
    gives(bench, "mov.u32 %r1, 7;", [7] * 8, version="9.5")


# -- other findings of fuzzing --------------------------------------------------------------------

@finding("fuzzing: local, shared and global memory below the address 0 and in between")
def odd_addresses(bench):
    seen = []
    for address in (-1, -4, 0x7fffffffffff, 0x8000000000000000, 0x10de000000000):
        for access in ("st.global.u32 [%rd2], %r0;", "ld.global.u32 %r1, [%rd2];",
                       "st.global.v4.u32 [%rd2], {%r0, %r0, %r0, %r0};",
                       "st.u32 [%rd2], %r0;", "st.local.u32 [%rd2], %r0;",
                       "st.shared.u32 [%rd2], %r0;", "atom.global.add.u32 %r1, [%rd2], 1;"):
            outcome = bench.run_ptx(ptx(f"mov.s64 %rd2, {address};\n{access}"))
            if outcome.code != 1:
                seen.append(f"{access} at {address & (1 << 64) - 1:#x}: {outcome.how()}")
    require(not seen, f"{len(seen)} of 35: " + "; ".join(seen[:3]))


@finding("fuzzing: registers that are copies of each other, in a circle")
def copies_in_a_circle(bench):
    outcome = bench.run_ptx(ptx("mov.u32 %r1, 7;\nbra END;\n"
                                "cvta.to.global.u64 %rd5, %rd6;\ncvta.to.global.u64 %rd6, %rd5;\n"
                                "END:"), seconds=10)
    require(outcome.code == 0 and words(outcome) == [7] * 8, outcome.how())
