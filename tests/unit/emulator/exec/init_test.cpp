// Unwritten bytes in every kind of memory, and copies that carry them along.
#include "tests/unit/emulator/exec/checked.hpp"

#include <algorithm>

namespace lode::emulator::exec {

using testing::Checked;

namespace {

struct Initialised : Checked {
    explicit Initialised(const std::string& source) : Checked(source) {
        REQUIRE(memory.watch_writes());
        options.checks.init = true;
    }
    std::uint64_t empty(std::size_t bytes) {
        return memory.allocate(bytes, MemoryKind::device, "cuMemAlloc");
    }
};

std::string init_kernel(const std::string& body) {
    return "struct Padded { char c; double d; };\n"
           "extern \"C\" __global__ void k(unsigned* a, unsigned* b, unsigned* c, int n) {\n" +
           body + "\n}\n";
}

}  // namespace

TEST_CASE("init: shared, global and local memory that nobody has written") {
    const std::pair<const char*, const char*> rows[] = {
        {"__shared__ unsigned s[64];\nif (threadIdx.x < 31) s[threadIdx.x] = 1;\n__syncthreads();\n"
         "a[threadIdx.x] = s[threadIdx.x];",
         "k reads 4 bytes of s that the block hasn't written\n  address: offset 124 of shared "
         "memory, 124 bytes into the variable k::s\n"},
        {"a[threadIdx.x] = c[threadIdx.x] + 1;",
         "reads 4 bytes of a 4096-byte allocation that nothing has written\n  address: 0x"},
        {"c[0] += 1;", "reads 4 bytes of a 4096-byte allocation that nothing has written"},
        {"atomicAdd(c, 1u);", "updates 4 bytes of a 4096-byte allocation that nothing has written"},
        {"unsigned v[8];\nfor (int i = 0; i < n; ++i) v[(i * 3) % 8] = i;\n"
         "a[threadIdx.x] = v[(threadIdx.x + n) % 8];",
         "that the thread hasn't written\n  address: offset "}};
    for (const auto& [body, what] : rows) {
        Initialised rig(init_kernel(body));
        const auto a = rig.words(64);
        const std::string found = rig.found({1}, {32}, a, a, rig.empty(4096), 5);
        CAPTURE(body);
        INFO(found);
        CHECK(found.find(what) != std::string::npos);
        CHECK(found.find("checked.cu:") != std::string::npos);
    }
}

TEST_CASE("init: shared memory of another block of the cluster") {
    const auto found = [](const std::string& body) {
        Initialised rig(
            "#include <cooperative_groups.h>\n"
            "struct Padded { char c; double d; };\n"
            "extern \"C\" __global__ void __cluster_dims__(2, 1, 1) k(unsigned* a) {\n"
            "auto cluster = cooperative_groups::this_cluster();\n"
            "const unsigned t = threadIdx.x, i = blockIdx.x * 32 + t;\n"
            "__shared__ unsigned s[64]; __shared__ Padded p[32];\n"
            "unsigned* const theirs = cluster.map_shared_rank(s, cluster.block_rank() ^ 1);\n"
            "Padded* const others = cluster.map_shared_rank(p, cluster.block_rank() ^ 1);\n"
            "(void)theirs; (void)others; (void)i;\n" +
            body + "\ncluster.sync();\n}\n");
        return rig.found({2}, {32}, rig.words(64));
    };
    const auto says = [](const std::string& text, std::string_view part) {
        CHECK_MESSAGE(text.find(part) != text.npos, text);
    };
    says(found("s[t] = t; cluster.sync(); a[i] = theirs[t + 1];"),
         "k reads 4 bytes of s of block (0,0,0) that nothing has written\n  address: offset ");
    says(found("if (t < 31) s[t] = t; cluster.sync(); atomicAdd(&theirs[t], 1u);"),
         "k updates 4 bytes of s of block (0,0,0) that nothing has written\n");
    CHECK(found("s[t] = t; cluster.sync(); a[i] = theirs[t] + atomicAdd(&theirs[31 - t], 1u);") ==
          "");
    CHECK(found("theirs[t] = t; cluster.sync(); a[i] = s[t];") == "");
    CHECK(found("theirs[t] = t; a[i] = theirs[t]; atomicExch(&theirs[t + 32], 1u);\n"
                "a[i] += theirs[t + 32];") == "");
    // A structure is copied with its padding, from there and to there.
    CHECK(
        found("p[t].c = 1; p[t].d = 2; cluster.sync(); const Padded q = others[t];\n"
              "cluster.sync(); others[t] = q; cluster.sync(); a[i] = p[t].c + (unsigned)p[t].d;") ==
        "");
}

TEST_CASE("init: an exchange whose result nothing uses writes only") {
    Initialised rig(
        init_kernel("__shared__ unsigned s;\n"
                    "if (threadIdx.x == 0) { atomicExch(&s, 3u); atomicExch(c, 4u); }\n"
                    "__syncthreads();\n"
                    "atomicAdd(&s, 1u); a[threadIdx.x] = s + c[0];"));
    const auto a = rig.words(64);
    CHECK(rig.found({1}, {32}, a, a, rig.empty(4096), 5) == "");

    Initialised used(
        init_kernel("a[0] = atomicExch(c, 4u) + 1;\n"
                    "a[1] = atomicCAS(c + 1, 0u, 4u);"));
    const auto b = used.words(64);
    const std::string found = used.found({1}, {1}, b, b, used.empty(4096), 5);
    INFO(found);
    CHECK(used.findings.size() == 2);
    CHECK(found.find("updates 4 bytes of a 4096-byte allocation that nothing has written") !=
          std::string::npos);
}

TEST_CASE("init: padding that is only copied is no finding") {
    Initialised rig(
        init_kernel("Padded* const p = (Padded*)c; Padded* const q = p + 64;\n"
                    "p[threadIdx.x].c = 'x'; p[threadIdx.x].d = 2;\n"
                    "unsigned long long* from = (unsigned long long*)&p[threadIdx.x];\n"
                    "unsigned long long* to = (unsigned long long*)&q[threadIdx.x];\n"
                    "to[0] = from[0]; to[1] = from[1];\n__syncthreads();\n"
                    "a[threadIdx.x] = q[threadIdx.x].c + (int)q[threadIdx.x].d;"));
    const auto a = rig.words(64);
    const auto c = rig.empty(4096);
    CHECK(rig.found({1}, {32}, a, a, c, 5) == "");
    // The copy's padding is as unwritten as the original's.
    CHECK(rig.memory.written()->unwritten(c, 32 * 16) == 32 * 7);
    CHECK(rig.memory.written()->unwritten(c + 64 * 16, 32 * 16) == 32 * 7);
}

TEST_CASE("init: the bytes of padding that are copied one by one are no finding") {
    // Compilers copy padding that is as aligned as its structure as a vector of bytes.
    Initialised rig(
        "struct Item { int value; char kind; };\n"
        "extern \"C\" __global__ void k(unsigned* a, Item* b, Item* c, int n) {\n"
        "c[threadIdx.x].value = 3; c[threadIdx.x].kind = 'x';\n__syncwarp();\n"
        "const Item item = c[(threadIdx.x + n) % 32];\nb[threadIdx.x] = item;\n__syncwarp();\n"
        "a[threadIdx.x] = b[threadIdx.x ^ 1].value + item.kind;\n}\n");
    const auto a = rig.words(64);
    const auto b = rig.empty(32 * 8);
    CHECK(rig.found({1}, {32}, a, b, rig.empty(32 * 8), 5) == "");
    CHECK(rig.memory.written()->unwritten(b, 32 * 8) == 32 * 3);
}

TEST_CASE("init: padding of which no byte is written is no finding either, single bytes are") {
    Initialised rig(
        "struct Best { double key; int value; };\n"
        "extern \"C\" __global__ void k(unsigned* a, Best* b, Best* c, int n) {\n"
        "for (int i = 0; i < n; ++i) { c[i].key = (i * 5) % 7; c[i].value = i; }\n"
        "Best best = c[0];\nfor (int i = 1; i < n; ++i) if (c[i].key > best.key) best = c[i];\n"
        "b[0] = best;\na[0] = b[0].value;\n}\n");
    const auto a = rig.words(64);
    const auto b = rig.empty(16);
    CHECK(rig.found({1}, {1}, a, b, rig.empty(256), 8) == "");
    CHECK(rig.memory.written()->unwritten(b, 16) == 4);

    Initialised bytes(
        "extern \"C\" __global__ void k(unsigned char* a, unsigned char* b, int n) {\n"
        "a[threadIdx.x] = b[threadIdx.x];\n}\n");
    const auto from = bytes.empty(64);
    bytes.memory.note_write(from, 31);
    const std::string found = bytes.found({1}, {32}, bytes.empty(64), from, 5);
    INFO(found);
    CHECK(found.find("reads 1 byte of a 64-byte allocation that nothing has written") !=
          std::string::npos);
}

TEST_CASE("init: structures with padding may be copied in every way") {
    const std::pair<const char*, const char*> types[] = {
        {"struct T { int a; char b; };", "t.a = i; t.b = i;"},
        {"struct T { char a; double b; };", "t.a = i; t.b = i;"},
        {"struct T { double a; int b; };", "t.a = i; t.b = i;"},
        {"struct T { short c; char d; int a; char b; };", "t.c = t.d = t.a = i; t.b = i;"},
        {"struct alignas(16) T { int a; char c; double b; };", "t.a = i; t.b = t.c = i;"},
        {"struct alignas(16) T { double a; int b; };", "t.a = i; t.b = i;"},
        {"struct T { char x; struct { double y; short z; } s[2]; int a; char b; };",
         "t.x = t.a = t.b = i; t.s[0] = {1.0, 2}; t.s[1].y = i; t.s[1].z = i;"},
        {"struct T { char c; int more[40]; char a; double b; };",
         "t.c = t.a = t.b = i; for (int& one : t.more) one = i;"}};
    const char* const ways[] = {
        "b[t] = c[t];",
        "__shared__ T s[32]; s[t] = c[t]; __syncwarp(); b[t] = s[(t + n) % 32];",
        "T one; set(one, 3); if (t % 3 != 0) one = c[t]; b[t] = one;",
        "for (int i = t; i < 32; i += 8) {\n"
        "T one; set(one, i); if (i % 3 != 0) one = c[i]; if (t < 8) b[i] = one; }\n",
        "T best = c[0]; for (int i = 1; i < 20 + t % n; ++i) if ((int)c[i].a % 7 > (int)best.a % "
        "7) "
        "best = c[i];\n"
        "b[t] = best;",
        "T before = c[t]; for (int i = 1; i < n; ++i) {\n"
        "T now = c[(t + i) % 32]; b[t] = before; before = now; }",
        "T mine[4]; for (int i = 0; i < 4; ++i) mine[i] = c[(t + i) % 32];\n"
        "T swapped = mine[n % 4]; mine[n % 4] = mine[(n + 1) % 4]; mine[(n + 1) % 4] = swapped;\n"
        "b[t] = mine[(n + t) % 4];",
        "b[t] = pick(c, t);",
        "T one = c[t]; b[t] = one; a[t] = one.a;",
        "memcpy(b + t, c + t, sizeof(T));",
        "T one = c[t]; if (pick(c, t).b == one.b) one = c[31 - t]; one.a += 1; b[t] = one;"};
    for (const auto& [type, set] : types) {
        for (const char* const way : ways) {
            // NVRTC packs the padding that this loop carries by cvt and prmt, which use it.
            const std::string_view packed = "struct alignas(16) T { double a; int b; };";
            if (type == packed && std::string_view(way).starts_with("T before")) continue;
            std::string source = std::string(type) + "\n__device__ void set(T& t, int i) { " + set +
                                 " }\n"
                                 "__device__ __noinline__ T pick(const T* from, int i) {\n"
                                 "return from[i]; }\n"
                                 "extern \"C\" __global__ void k(int* a, T* b, T* c, int n) {\n"
                                 "const int t = threadIdx.x;\nset(c[t], t); __syncwarp();\n" +
                                 way + "\n__syncwarp();\n" + "a[t] = (int)(b[t].a + b[t].b);\n}\n";
            Initialised rig(source);
            CAPTURE(source);
            CHECK(rig.found({1}, {32}, rig.words(32), rig.empty(32 * 256), rig.empty(32 * 256),
                            5) == "");
        }
    }
}

TEST_CASE("init: a register that has held padding and then a number stores the number") {
    Initialised rig(
        init_kernel("unsigned long long* from = (unsigned long long*)c;\n"
                    "unsigned long long* to = (unsigned long long*)b;\n"
                    "for (int i = 0; i < n; ++i) {\n"
                    "unsigned long long word = 0x1234;\n"
                    "if (i % 3 == 0) word = from[i];\nto[i] = word;\n}\n"
                    "for (int i = 0; i < n; ++i)\n"
                    "if (i % 3 != 0) a[i] = b[2 * i] + b[2 * i + 1];"));
    const auto a = rig.words(64);
    const auto b = rig.empty(64);
    const auto c = rig.empty(64);
    for (unsigned k = 0; k < 8; ++k)
        rig.memory.note_write(c + 8 * k, 4);
    CHECK(rig.found({1}, {1}, a, b, c, 8) == "");
    CHECK(rig.memory.written()->unwritten(b, 64) == 4 * 3);
}

TEST_CASE("init: unwritten bytes that a copy has passed on are found where they are used") {
    Initialised rig(
        init_kernel("unsigned long long* w = (unsigned long long*)c;\n"
                    "w[1] = w[0];\n__syncthreads();\n"
                    "a[0] = c[3] + 1;  // the upper half of w[1]"));
    const auto a = rig.words(64);
    const auto c = rig.empty(64);
    rig.memory.note_write(c, 4);
    const std::string found = rig.found({1}, {1}, a, a, c, 5);
    INFO(found);
    CHECK(rig.findings.size() == 1);
    CHECK(found.find(
              "reads 4 bytes of a 64-byte allocation that nothing has written\n  address: 0x") !=
          std::string::npos);
    CHECK(found.find("checked.cu:6") != std::string::npos);
}

TEST_CASE("init: local arrays of functions start unwritten in every call") {
    Initialised rig(
        "__device__ __noinline__ unsigned pick(int n, bool write) {\n"
        "unsigned v[4];\nif (write) for (int i = 0; i < 4; ++i) v[i] = i + n;\n"
        "return v[n & 3];\n}\n"
        "extern \"C\" __global__ void k(unsigned* a, unsigned* b, unsigned* c, int n) {\n"
        "a[0] = pick(n, true);\nif (n == 6) a[1] = pick(n, a[0] == 0);\n}\n");
    const auto a = rig.words(64);
    CHECK(rig.found({1}, {32}, a, a, a, 5) == "");
}

}  // namespace lode::emulator::exec
