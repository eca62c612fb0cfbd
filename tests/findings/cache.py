"""Section 1 of the issue: the compile cache."""

import json
import os
import shutil
import signal
import subprocess
import time

from bench import GIB, define, finding, kernel, require

# Takes NVRTC a second or two, so that files can change during the compilation.
LONG = "".join(f"__device__ int f{i}(int x) {{ for (int j = 0; j < x; ++j) x ^= j * {i}; return x; }}\n"
               for i in range(1500))


# -- which file was read --------------------------------------------------------------------------

def settle():
    """Waits until the files written so far are older than a tick of the file system's clock."""
    time.sleep(0.05)


@finding("cache: twenty folders whose headers have the same size and time")
def twenty_folders(bench):
    bench.write("a.cu", kernel("#include <c.h>"))
    for i in range(1, 21):
        bench.write(f"v{i}/c.h", define(i))
    settle()
    got = [bench.value("a.cu", "-I", f"v{i}") for i in range(1, 21)]
    wrong = sum(value != i for i, value in enumerate(got, 1))
    require(wrong == 0, f"{wrong} of 20 got another folder's code")


@finding("cache: two projects with the same source beside different headers")
def two_projects(bench):
    for i in (1, 2):
        bench.write(f"p{i}/a.cu", kernel('#include "c.h"'))
    for i in (1, 2):
        bench.write(f"p{i}/c.h", define(i))
    settle()
    got = [bench.value(f"p{i}/a.cu") for i in (1, 2)]
    require(got == [1, 2], f"the values are {got}")


def two_folders(bench):
    bench.write("a.cu", kernel("#include <c.h>"))
    bench.write("v1/c.h", define(1))
    bench.write("v2/c.h", define(2))
    os.symlink("v1", bench / "cur")
    settle()


def point_elsewhere(bench):
    os.symlink("v2", bench / "new")
    os.rename(bench / "new", bench / "cur")


def swap_folders(bench):
    os.rename(bench / "v1", bench / "old")
    os.rename(bench / "v2", bench / "v1")


def before_and_after(bench, folder, change):
    """Checks that the folder's header defines 1 before the change and 2 after it."""
    two_folders(bench)
    first = bench.value("a.cu", "-I", folder)
    change(bench)
    got = [first, bench.value("a.cu", "-I", folder)]
    require(got == [1, 2], f"the values are {got}")


@finding("cache: a symlink that is redirected")
def link_elsewhere(bench):
    before_and_after(bench, "cur", point_elsewhere)


@finding("cache: a folder that is replaced by mv")
def folder_swapped(bench):
    before_and_after(bench, "v1", swap_folders)


def while_nvrtc_runs(bench, folder, swap):
    """Swaps at several points of a compilation; afterwards the code must match the new header."""
    bench.write("warm.cu", kernel(LONG + define(9)))
    begin = time.monotonic()
    bench.value("warm.cu")
    whole = time.monotonic() - begin
    wrong = []
    for percent in (30, 50, 70, 90):
        for name in ("a.cu", "v1", "v2", "old", "cur", "cache"):
            path = bench / name
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(True)
        two_folders(bench)
        # The header comes first and is read early; compiling the rest takes time.
        bench.write("a.cu", "#include <c.h>\n" + LONG + kernel())
        process = bench.start(["compile", "a.cu", "--arch", "sm_90", "-o", "out", "-I", folder])
        time.sleep(whole * percent / 100)
        swap(bench)
        process.communicate()
        if bench.value("a.cu", "-I", folder) != 2:
            wrong.append(percent)
    require(not wrong, f"the old code is filed for the new header, swapped at {wrong} %")


@finding("cache: a symlink that is redirected while NVRTC runs")
def link_while_running(bench):
    while_nvrtc_runs(bench, "cur", point_elsewhere)


@finding("cache: a folder that is replaced by mv while NVRTC runs")
def folder_while_running(bench):
    while_nvrtc_runs(bench, "v1", swap_folders)


# -- hidden inputs of a source --------------------------------------------------------------------

def appears(bench, question, *options):
    """Checks that a header created where __has_include looked for it changes the code."""
    (bench / "inc").mkdir()
    bench.write("a.cu", kernel(f"{question}\n{define(1)}#else\n{define(2)}#endif"))
    first = bench.value("a.cu", "-I", "inc", *options)
    bench.write("inc/opt.h", "\n")
    got = [first, bench.value("a.cu", "-I", "inc", *options)]
    require(got == [2, 1], f"the values are {got}")


@finding("cache: __has_include(MACRO), and the file appears")
def has_include_macro(bench):
    appears(bench, "#define NAME <opt.h>\n#if __has_include(NAME)")


@finding("cache: __has_include under an alias, and the file appears")
def has_include_alias(bench):
    appears(bench, "#define HAS(x) __has_include(x)\n#if HAS(<opt.h>)")


@finding("cache: __has_include made by token pasting, and the file appears")
def has_include_pasted(bench):
    appears(bench, "#define CAT(a, b) a##b\n#define HAS(x) CAT(__has_, include)(x)\n#if HAS(<opt.h>)")


@finding("cache: -D HDR=…, and the file appears earlier in the search path")
def header_of_definition(bench):
    bench.write("a.cu", kernel("#include HDR"))
    bench.write("late/c.h", define(1))
    (bench / "early").mkdir()
    options = ("-I", "early", "-I", "late", "-D", "HDR=<c.h>")
    first = bench.value("a.cu", *options)
    bench.write("early/c.h", define(2))
    got = [first, bench.value("a.cu", *options)]
    require(got == [1, 2], f"the values are {got}")


@finding("cache: -D HDR=… in __has_include, and the file appears")
def has_include_definition(bench):
    appears(bench, "#if __has_include(HDR)", "-D", "HDR=<opt.h>")


def kept(bench, text):
    """Returns where, source or header, code is cached although the text changes by itself."""
    head = "#define CAT(a, b) a##b\n#define V " + text
    bench.write("a.cu", kernel(head))
    bench.write("b.cu", kernel('#include "b.h"'))
    bench.write("b.h", head + "\n")
    found = []
    for source in ("a.cu", "b.cu"):
        bench.code(source)
        if bench.code(source)[1]["from"] != "compiler":
            found.append(f"{text!r} in {'a header' if source == 'b.cu' else 'the source'}")
    return found


@finding("cache: __TIME__ and __DATE__ across a line splice")
def time_spliced(bench):
    found = kept(bench, "__TI\\\nME__[0]") + kept(bench, "__DA\\\nTE__[0]")
    require(not found, "kept: " + ", ".join(found))


@finding("cache: __TIME__ and __DATE__ made with ##")
def time_pasted(bench):
    found = kept(bench, "CAT(__TI, ME__)[0]") + kept(bench, "CAT(__DA, TE__)[0]")
    require(not found, "kept: " + ", ".join(found))


def own_name(bench, text):
    for i in (1, 2):
        bench.write(f"p{i}/a.cu", '#include "a.h"\n')
        bench.write(f"p{i}/a.h", "#define CAT(a, b) a##b\n__constant__ char name[] = " + text +
                    ';\nextern "C" __global__ void k(int* x) { *x = name[*x]; }\n')
    bench.code(bench / "p1/a.cu")
    cached = bench.code(bench / "p2/a.cu")[0]
    right = bench.code(bench / "p2/a.cu", env={"LODE_CACHE": "off"})[0]
    require(cached == right, f"{text!r} of p2/a.h is that of p1/a.h")


@finding("cache: __FILE__ across a line splice")
def file_spliced(bench):
    own_name(bench, "__FI\\\nLE__")


@finding("cache: __FILE__ made with ##")
def file_pasted(bench):
    own_name(bench, "CAT(__FI, LE__)")


# -- flags ----------------------------------------------------------------------------------------

@finding("cache: --flag=' --pre-include=…' passes the checks and isn't tracked")
def blank_before_flag(bench):
    bench.write("a.cu", kernel())
    for blank in (" ", "\t"):
        got = []
        for i in (1, 2):
            bench.write("p.h", define(i))
            outcome = bench.compile("a.cu", f"--flag={blank}--pre-include={bench / 'p.h'}")
            if outcome.code == 0:
                got.append(bench.value("a.cu", f"--flag={blank}--pre-include={bench / 'p.h'}"))
        require(not got, f"{blank!r} in front: the flag is taken, and the values are {got}")


@finding("cache: --ptxas-options=--options-file=F isn't part of the key")
def options_file(bench):
    values = [f"v{i}" for i in range(64)]
    body = "".join(f"float {v} = x[{i}];\n" for i, v in enumerate(values))
    body += "__syncthreads();\n" + "".join(f"x[{i}] = v{63 - i} * {v};\n"
                                           for i, v in enumerate(values))
    bench.write("a.cu", 'extern "C" __global__ void k(float* x) {\n' + body + "}\n")
    flag = f"--flag=--ptxas-options=--options-file={bench / 'options'}"
    cubin = bench / "out/a.sm_90.cubin"
    bench.write("options", "--maxrregcount=32\n")
    bench.code("a.cu", flag)
    bench.write("options", "--maxrregcount=96\n")
    bench.code("a.cu", flag)
    cached = cubin.read_bytes()
    bench.code("a.cu", flag, env={"LODE_CACHE": "off"})
    require(cached == cubin.read_bytes(), "the file is edited and the old code is a hit")


# -- files that aren't regular --------------------------------------------------------------------

def odd_file(bench, name):
    """Checks two inactive includes of the file and an active one, with the cache on and off."""
    seen = []
    for mode in ("on", "off"):
        for where, head in (("a comment", f'// #include "{name}"\n{define(1)}'),
                            ("#if 0", f'#if 0\n#include "{name}"\n#endif\n{define(1)}'),
                            ("an include", f'#include "{name}"\n')):
            bench.write("a.cu", kernel(head))
            outcome = bench.compile("a.cu", env={"LODE_CACHE": mode}, seconds=10, memory=6 * GIB)
            if outcome.code != (1 if where == "an include" else 0):
                seen.append(f"{where} with LODE_CACHE={mode}: {outcome.how()}")
    require(not seen, "; ".join(seen))


@finding("cache: a FIFO that is included, in a comment, in #if 0, with LODE_CACHE=off")
def fifo_included(bench):
    os.mkfifo(bench / "fifo")
    odd_file(bench, bench / "fifo")


@finding("cache: /dev/zero that is included, in a comment, in #if 0, with LODE_CACHE=off")
def zero_included(bench):
    odd_file(bench, "/dev/zero")


@finding("cache: a FIFO as the source")
def fifo_as_source(bench):
    os.mkfifo(bench / "a.cu")
    outcome = bench.compile("a.cu", seconds=10)
    require(outcome.code == 1, outcome.how())


@finding("cache: LODE_CACHE_PACKS=/dev/zero")
def zero_as_pack(bench):
    bench.write("a.cu", kernel(define(1)))
    outcome = bench.compile("a.cu", env={"LODE_CACHE_PACKS": "/dev/zero"}, seconds=10, memory=6 * GIB)
    require(outcome.code == 0, outcome.how())
    require("/dev/zero" in outcome.err, "stderr doesn't mention it")


# -- the folder -----------------------------------------------------------------------------------

@finding("cache: a header that is edited within the tick before a compilation is compiled twice")
def edited_right_before(bench):
    bench.write("a.cu", kernel('#include "c.h"'))
    bench.write("c.h", define(0))
    bench.code("a.cu")
    trials, twice = 0, []
    for i in range(1, 41):
        if trials == 5:
            break
        bench.write("new.h", define(i))
        process = bench.start(["compile", "a.cu", "--arch", "sm_90", "--ptx", "--json", "-o", "first"])
        # Usually before the process reads the header.
        os.rename(bench / "new.h", bench / "c.h")
        told = json.loads(process.communicate()[0])["images"][0]["code"]["not_kept"]
        new = f", {70000 + i};"
        ptx, code = bench.code("a.cu")
        require(new in ptx, f"the code of edit {i} is older")
        if new in (bench / "first/a.sm_90.ptx").read_text():
            trials += 1
            if code["from"] == "compiler":
                twice.append(told)
    require(trials > 0, "no process was faster than the edit")
    require(not twice, f"{len(twice)} of {trials} compiled twice, because {twice[:1]}")


@finding("cache: SIGINT, SIGTERM and SIGKILL leave files in TMPDIR")
def left_in_tmpdir(bench):
    bench.write("c.h", define(1))
    bench.write("a.cu", '#include "c.h"\n' + LONG + kernel())
    left = []
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        ended = 0
        for delay in (0.1, 0.2, 0.4):
            process = bench.start(["compile", "a.cu", "--arch", "sm_90", "-o", "out"],
                                  out=subprocess.DEVNULL, err=subprocess.DEVNULL,
                                  env={"LODE_CACHE_DIR": bench / "none" / f"{number}-{delay}"})
            time.sleep(delay)
            process.send_signal(number)
            ended += process.wait() != 0
            found = os.listdir(bench / "tmp")
            if found:
                left.append(f"{number.name}: {found[0]}")
                shutil.rmtree(bench / "tmp")
                (bench / "tmp").mkdir()
        require(ended, f"no compilation is ended by {number.name}")
    require(not left, f"{len(left)} of 9: {', '.join(left)}")


def recompiled(bench, what):
    """Checks that repeated compilations hit the cache or report why they don't."""
    runs = [bench.compile("a.cu") for _ in range(3)]
    origins = [run.json()["images"][0]["code"]["from"] for run in runs]
    silent = all(not run.err and not run.json().get("warnings") for run in runs)
    require(origins[-1] == "disk" or not silent,
            f"{what}: three runs, the code is from {', '.join(origins)}, and nothing is reported")


def cached(bench):
    bench.write("c.h", define(1))
    bench.write("a.cu", kernel('#include "c.h"'))
    bench.code("a.cu")
    require(bench.code("a.cu")[1]["from"] == "disk", "nothing is kept")
    manifests = [path for path in bench.folder.glob("cache/v*/manifests/*/*") if path.is_file()]
    require(len(manifests) == 1, f"{len(manifests)} manifests")
    return manifests[0]


@finding("cache: a folder in a manifest's place")
def folder_as_manifest(bench):
    manifest = cached(bench)
    manifest.unlink()
    manifest.mkdir()
    recompiled(bench, "a folder in the manifest's place")


@finding("cache: a fan folder that is a symlink")
def linked_fan(bench):
    fan = cached(bench).parent
    os.rename(fan, bench / "moved")
    os.symlink(bench / "moved", fan)
    recompiled(bench, "a symlink in the fan folder's place")


@finding("cache: LODE_CACHE_DIR=/proc/nope loses the cache silently")
def no_such_folder(bench):
    bench.write("a.cu", kernel(define(1)))
    outcome = bench.compile("a.cu", env={"LODE_CACHE_DIR": "/proc/nope"})
    require(outcome.code == 0, outcome.how())
    require("/proc/nope" in outcome.err, "stderr doesn't mention it")
