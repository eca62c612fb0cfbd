"""Random calls of NVRTC: every kind of source, header, option and name that programs pass."""

import random

ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_90a", "sm_100f", "compute_75", "compute_90",
                 "compute_100a")
PARTS = {
    "plain": 'extern "C" __global__ void k(float* x) { x[threadIdx.x] *= %d; }',
    "template": "template <class T, int N> __global__ void t(T* x) { x[threadIdx.x] += N + %d; }",
    "namespace": "namespace a { namespace { __device__ int v = %d; } "
                 "__global__ void n(int* x) { *x = v++; } }",
    "printf": 'extern "C" __global__ void p(int x) { printf("%%d %d\\n", x); }',
    "constant": "__constant__ double c[4] = {%d}; __device__ double d() { return c[1] * sin(0.3); }",
    "warning": "__global__ void w(int* x) { int unused = %d; *x = 1; }",
    "unicode": "// Größe, 中文, \U0001f600 %d\n__device__ const char* u = \"é中\";",
    "file": '__device__ const char* f() { return __FILE__; } // %d',
    "assert": "#include <cassert>\n__global__ void as(int x) { assert(x > %d); }",
    "fp16": "#include <cuda_fp16.h>\n__global__ void h(__half* x) { *x = __hadd(*x, __half(%d)); }",
    "folder": '#include "own.h"\n__global__ void o(int* x) { *x = OWN + %d; }',
    "nested": "#include <deep/first.h>\n__global__ void i(int* x) { *x = FIRST + %d; }",
    "question": '#if __has_include("later.h")\n#include "later.h"\n#else\n#define LATER %d\n#endif\n'
                "__global__ void q(int* x) { *x = LATER; }",
    "appears": '#include "later.h"\n__global__ void l(int* x) { *x = LATER + %d; }',
    "memory": '#include "memory.h"\n__global__ void m(int* x) { *x = MEMORY + %d; }',
    "macro": "#define NAME <own.h>\n#include NAME\n__device__ int mac = OWN + %d;",
    "shared": "__global__ void s(float* x) { __shared__ float y[%d + 1]; y[0] = *x; *x = y[0]; }",
    "line": '#line 7 "other.cu"\n__global__ void ln(int* x) { int %s = 1; *x = 2; }',
}
# Enough text to be precompiled. The code depends on each kind of state that a header can leave.
BIG = "#pragma once\n" + "".join(
    f"struct Big{i} {{ float third[{i % 7 + 1}]; static const int me = {i}; }};  // {'text' * 1500}\n"
    for i in range(100)) + """
#define BIG_NAME(x) big_##x
static __device__ int big_static = __LINE__;
namespace { __device__ int big_hidden = __LINE__ + 5; }
template <class T> struct BigBox { T value; __device__ T twice() const { return value + value; } };
template <> struct BigBox<char> { char value; __device__ char twice() const { return value; } };
inline __device__ int big_inline(int x) { static int calls = 3; return x * big_hidden + calls++; }
template <class T> __global__ void big_kernel(T* x) { *x = BigBox<T>{*x}.twice() + big_static; }
enum { big_enum = sizeof(Big3) };
#pragma nv_diag_suppress 177
"""
BIG_TAIL = """
__global__ void BIG_NAME(tail)(int* x) {
    int unused = __LINE__;
    *x = BigBox<int>{*x}.twice() + big_inline(*x) + Big%d::me + big_enum + __LINE__;
}
__device__ const char* big_file() { return __FILE__; }
__device__ auto* big_use = &big_kernel<float>;
"""
BROKEN = {
    "error": "__global__ void e(int* x) { *x = undeclared_%d; }",
    "missing": '#include "absent_%d.h"\n',
    "unterminated": "__global__ void z( { %d",
}
# Options that may come in any call, and those that change what the others mean.
OPTIONS = (["-DNAME=3"], ["-D", "OTHER"], ["--define-macro=F(x)=x"], ["-UNAME"], ["-std=c++14"],
           ["--std=c++20"], ["-lineinfo"], ["--fmad=false"], ["-use_fast_math"], ["-ftz=true"],
           ["-maxrregcount=32"], ["-rdc=true"], ["-dc"], ["-Xptxas", "-v"], ["--ptxas-options=-O1"],
           ["-w"], ["-default-device"], ["--device-int128"], ["-diag-suppress=177"],
           ["--display-error-number"], ["--no-display-error-number"], ["-ewp"], ["-restrict"],
           ["--minimal"], ["-include=own.h"], ["--pre-include", "memory.h"], ["-no-source-include"],
           ["--brief-diagnostics=true"], ["--maxrregcount", "255"], ["--jump-table-density=50"],
           ["--modify-stack-limit=false"], ["-no-cache"], ["-dopt=on"], ["-diag-error=177"],
           ["-I/nonexistent"])
RARE = (["-G"], ["-dlto"], ["-optix-ir"], ["-Ofast-compile=mid"], ["-split-compile=2"])
INVALID = (["-std=c++99"], ["--fmad=perhaps"], ["-maxrregcount=many"], ["-arch=sm_1"],
           ["-arch=compute_"], ["-arch"], ["-D"])
# The program's own NVRTC answers: lode can't know what else these do.
UNCACHED = (["--unknown-option"], ["--options-file=options.txt"],
            ["-DWHEN=__TIME__"], ["-time=times.csv"])
NAMES = {"template": ("t<float, 3>", "&t<int, 1>", "t<wrong>"), "namespace": ("a::n", "a::v"),
         "plain": ("k", "missing_name"),
         "big": ("big_kernel<int>", "&big_static", "big_tail"), "warning": ("w", " w")}


def make_calls(count, seed, folders):
    """Calls with the folders "include", "other" and "working", two of which are working folders.

    An "is_uncached" call is one that the cache mustn't answer.
    """
    chance = random.Random(seed)
    calls = []
    while len(calls) < count:
        parts = chance.sample(sorted(PARTS), chance.choice((1, 1, 2, 3)))
        if calls and chance.random() < 0.2:
            # A neighbour of another one: the same head, options and name, and other code.
            other = chance.choice(calls)
            calls.append({**other, "source": other["source"] + "\n__device__ int "
                          f"neighbour{len(calls)}(int x) {{ return x + {len(calls)}; }}\n"})
            continue
        source = "\n".join(PARTS[part] % chance.randrange(100) if "%s" not in PARTS[part]
                           else PARTS[part] % "unused" for part in parts)
        if chance.random() < 0.35:
            parts.append("big")
            source = '// A head\n#include "big.h"\n' + source + BIG_TAIL % chance.randrange(100)
        if chance.random() < 0.15:
            source += "\n" + BROKEN[chance.choice(sorted(BROKEN))] % chance.randrange(100)
        if chance.random() < 0.05:
            source += "".join(f"\n__device__ int big{i}(int x) {{ return x * {i}; }}"
                              for i in range(3000))
        headers = []
        if "memory" in parts or chance.random() < 0.2:
            headers.append(["memory.h", '#include "beside.h"\n#define MEMORY BESIDE\n'])
            headers.append(["beside.h", f"#define BESIDE {chance.randrange(9)}\n"])
        if "big" in parts and chance.random() < 0.3:
            headers.append(["big.h", BIG])
        options = []
        if chance.random() < 0.85:
            arch = chance.choice(ARCHITECTURES)
            options += chance.choice(([f"-arch={arch}"], ["--gpu-architecture", arch],
                                      [f"--gpu-architecture={arch}"]))
        if chance.random() < 0.85:
            options += chance.choice((["-I" + folders["include"]], ["-I", folders["include"]],
                                      ["--include-path=" + folders["include"]], ["-I../include"]))
        if "assert" in parts or "fp16" in parts or chance.random() < 0.1:
            options += ["-I" + folders["toolkit"]]
        for extra in chance.sample(OPTIONS, chance.choice((0, 1, 1, 2, 3))):
            options += extra
        if chance.random() < 0.15:
            options += chance.choice(RARE)
        if chance.random() < 0.08:
            options += chance.choice(INVALID)
        uncached = chance.random() < 0.08
        if uncached:
            options += chance.choice(UNCACHED)
        names = [name for part in parts for name in NAMES.get(part, ())
                 if chance.random() < 0.4]
        calls.append({"source": source, "headers": headers, "options": options, "names": names,
                      "name": chance.choice((None, "", "kernel.cu", "some/place/k.cu",
                                             folders["other"] + "/absolute.cu")),
                      "folder": chance.choice((folders["working"], folders["other"])),
                      "is_uncached": uncached})
    return calls
