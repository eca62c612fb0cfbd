// PTX for targets before sm_20: .f32 flushes subnormal numbers, and mad without a rounding mode is
// a fused multiply-add. On an H200 (driver 580.159), 20,000 random operands gave the same bits in
// all of these pairs.
#include "tests/unit/emulator/exec/support.hpp"

#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <string_view>

namespace lode::emulator::exec {

using testing::Rig;

namespace {

constexpr unsigned count = 4096;

std::vector<unsigned> operands() {
    std::minstd_rand random(7);
    const auto word = [&] { return static_cast<unsigned>(random() << 16 ^ random()); };
    constexpr unsigned exponents[] = {0,   0,   1,   2,   24,  63,  64, 100,
                                      126, 127, 128, 190, 253, 254, 255};
    std::vector<unsigned> bits(3 * count);
    for (unsigned& one : bits) {
        const unsigned exponent = exponents[random() % std::size(exponents)];
        one = (word() & 0x807fffff) | exponent << 23;
        if (random() % 16 == 0) one &= 0xff800000;  // Zeros, powers of two, infinities.
    }
    return bits;
}

/// %f4 of an instruction for each triple of operands %f1 to %f3.
std::vector<unsigned> run(const std::string& head, const std::string& body,
                          const std::vector<unsigned>& bits) {
    Rig rig;
    const auto module = rig.load(head + R"(
.address_size 64
.entry k(.param .u64 from, .param .u64 to)
{
    .reg .u64 %a<6>;
    .reg .u32 %r<6>;
    .reg .f32 %f<6>;
    .reg .pred %p<3>;
    ld.param.u64 %a1, [from];
    ld.param.u64 %a2, [to];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %a3, %r1, 12;
    add.u64 %a3, %a3, %a1;
    mul.wide.u32 %a4, %r1, 4;
    add.u64 %a4, %a4, %a2;
    ld.global.f32 %f1, [%a3];
    ld.global.f32 %f2, [%a3+4];
    ld.global.f32 %f3, [%a3+8];
    )" + body + "\n    st.global.f32 [%a4], %f4;\n    exit;\n}\n");
    std::vector<unsigned> all;
    constexpr unsigned threads = 512;
    for (unsigned first = 0; first < count; first += threads) {
        const auto from = rig.put(
            std::vector<unsigned>(bits.begin() + 3 * first, bits.begin() + 3 * (first + threads)));
        const auto to = rig.put(std::vector<unsigned>(threads));
        const LaunchOutcome outcome = rig.run(*module, "k", {1}, {threads}, from, to);
        REQUIRE(outcome.report == "");
        const auto part = rig.get<unsigned>(to, threads);
        all.insert(all.end(), part.begin(), part.end());
    }
    return all;
}

const std::string old_head = ".version 3.0\n.target sm_10";
const std::string new_head = ".version 3.1\n.target sm_20";

float flushed(unsigned bits) {
    return std::bit_cast<float>((bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits);
}

}  // namespace

TEST_CASE("old targets: mad.f32 is a fused multiply-add without subnormal numbers") {
    const auto bits = operands();
    const auto sums = run(old_head, "mad.f32 %f4, %f1, %f2, %f3;", bits);
    unsigned tiny = 0;
    for (unsigned i = 0; i < count; ++i) {
        const float a = flushed(bits[3 * i]);
        const float b = flushed(bits[3 * i + 1]);
        const float c = flushed(bits[3 * i + 2]);
        const float sum = std::fma(a, b, c);
        CAPTURE(bits[3 * i]);
        CAPTURE(bits[3 * i + 1]);
        CAPTURE(bits[3 * i + 2]);
        if (std::isnan(sum)) {
            CHECK(sums[i] == 0x7fffffff);
        } else if (std::fpclassify(sum) == FP_SUBNORMAL) {
            ++tiny;
            CHECK((sums[i] & 0x7fffffff) == 0);
        } else {
            CHECK(sums[i] == std::bit_cast<unsigned>(sum));
        }
    }
    CHECK(tiny > 0);
}

TEST_CASE("old targets: instructions on .f32 flush subnormal numbers") {
    const auto bits = operands();
    constexpr std::string_view pairs[][2] = {
        {"mad.f32 %f4, %f1, %f2, %f3;", "fma.rn.ftz.f32 %f4, %f1, %f2, %f3;"},
        {"mad.sat.f32 %f4, %f1, %f2, %f3;", "fma.rn.ftz.sat.f32 %f4, %f1, %f2, %f3;"},
        {"add.f32 %f4, %f1, %f2;", "add.ftz.f32 %f4, %f1, %f2;"},
        {"add.rz.f32 %f4, %f1, %f2;", "add.rz.ftz.f32 %f4, %f1, %f2;"},
        {"sub.f32 %f4, %f1, %f2;", "sub.ftz.f32 %f4, %f1, %f2;"},
        {"mul.f32 %f4, %f1, %f2;", "mul.ftz.f32 %f4, %f1, %f2;"},
        {"mul.sat.f32 %f4, %f1, %f2;", "mul.ftz.sat.f32 %f4, %f1, %f2;"},
        {"min.f32 %f4, %f1, %f2;", "min.ftz.f32 %f4, %f1, %f2;"},
        {"max.f32 %f4, %f1, %f2;", "max.ftz.f32 %f4, %f1, %f2;"},
        {"abs.f32 %f4, %f1;", "abs.ftz.f32 %f4, %f1;"},
        {"neg.f32 %f4, %f1;", "neg.ftz.f32 %f4, %f1;"},
        {"div.full.f32 %f4, %f1, %f2;", "div.full.ftz.f32 %f4, %f1, %f2;"},
        {"div.approx.f32 %f4, %f1, %f2;", "div.approx.ftz.f32 %f4, %f1, %f2;"},
        {"rcp.approx.f32 %f4, %f1;", "rcp.approx.ftz.f32 %f4, %f1;"},
        {"sqrt.approx.f32 %f4, %f1;", "sqrt.approx.ftz.f32 %f4, %f1;"},
        {"rsqrt.approx.f32 %f4, %f1;", "rsqrt.approx.ftz.f32 %f4, %f1;"},
        {"lg2.approx.f32 %f4, %f1;", "lg2.approx.ftz.f32 %f4, %f1;"},
        {"set.lt.f32.f32 %f4, %f1, %f2;", "set.lt.ftz.f32.f32 %f4, %f1, %f2;"},
        {"setp.gt.f32 %p2, %f1, %f2;\nselp.f32 %f4, %f1, %f2, %p2;",
         "setp.gt.ftz.f32 %p2, %f1, %f2;\nselp.f32 %f4, %f1, %f2, %p2;"},
        {"cvt.rmi.f32.f32 %f4, %f1;", "cvt.rmi.ftz.f32.f32 %f4, %f1;"},
        {"cvt.sat.f32.f32 %f4, %f1;", "cvt.ftz.sat.f32.f32 %f4, %f1;"},
        {"slct.f32.f32 %f4, %f1, %f2, %f3;", "slct.ftz.f32.f32 %f4, %f1, %f2, %f3;"}};
    for (const auto& [old_text, new_text] : pairs) {
        CAPTURE(old_text);
        const auto old_results = run(old_head, std::string(old_text), bits);
        CHECK(old_results == run(new_head, std::string(new_text), bits));
        std::string plain(new_text);
        plain.erase(plain.find(".ftz"), 4);
        CHECK(old_results != run(new_head, plain, bits));
    }
    // Moves change nothing.
    CHECK(run(old_head, "mov.f32 %f4, %f1;", bits) == run(new_head, "mov.f32 %f4, %f1;", bits));
}

TEST_CASE(
    "old targets: mad.f32 for sm_20 and PTX before 3.2 is fma.rn and keeps subnormal numbers") {
    const auto bits = operands();
    CHECK(run(new_head, "mad.f32 %f4, %f1, %f2, %f3;", bits) ==
          run(new_head, "fma.rn.f32 %f4, %f1, %f2, %f3;", bits));
}

}  // namespace lode::emulator::exec
