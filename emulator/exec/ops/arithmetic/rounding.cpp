// Arithmetic that rounds to zero, down or up, or saturates, according to flags. Each op sets the
// host's rounding mode; this file is compiled with -frounding-math.
#include "emulator/exec/ops/arithmetic/rows.hpp"
#include "emulator/exec/ops/matrix/panel.hpp"
#include "emulator/isa/real.hpp"

#include <cfenv>

namespace lode::emulator::exec {

namespace {

class RoundingMode {
public:
    explicit RoundingMode(u32 round) : old_(std::fegetround()) {
        constexpr int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
        std::fesetround(modes[round]);
    }
    ~RoundingMode() { std::fesetround(old_); }
    RoundingMode(const RoundingMode&) = delete;
    RoundingMode& operator=(const RoundingMode&) = delete;

private:
    int old_;
};

// Calls through these pointers can't be moved across the change of mode. `magnified` is f's result
// times the magnifier, for results that may be tiny.
template <class T, int sources, auto f, auto magnified>
const Op* rounded(WarpContext& c, const Op* op) {
    const T* a = source<T>(c, op->r[1]);
    const T* b = source<T>(c, op->r[sources > 1 ? 2 : 1]);
    const T* e = source<T>(c, op->r[sources > 2 ? 3 : 1]);
    const bool flush = op->flags.as<RealFlags>().flush && sizeof(T) == 4;
    alignas(32) T x[lanes];
    alignas(32) T y[lanes];
    alignas(32) T z[lanes];
    alignas(32) T result[lanes];
    for (u32 i = 0; i < lanes; ++i) {
        x[i] = a[i];
        y[i] = b[i];
        z[i] = e[i];
        if constexpr (sizeof(T) == 4) {
            if (flush) {
                x[i] = flushed(x[i]);
                y[i] = flushed(y[i]);
                z[i] = flushed(z[i]);
            }
        }
    }
    {
        const RoundingMode mode(op->flags.as<RealFlags>().round);
        asm volatile("" ::: "memory");
        for (u32 i = 0; i < lanes; ++i) {
            result[i] = f(x[i], y[i], z[i]);
            if constexpr (sizeof(T) == 4) {
                if (flush && may_be_tiny(result[i]))
                    result[i] = flushed_tiny(result[i], magnified(x[i], y[i], z[i]));
            }
        }
        asm volatile("" ::: "memory");
    }
    assign(c, destination<T>(c, op->r[0]), [&](u32 i) {
        T value = canonical(result[i]);
        if constexpr (sizeof(T) == 4) {
            if (flush) value = flushed(value);
        }
        return op->flags.as<RealFlags>().saturate ? saturated(value) : value;
    });
    return op + 1;
}

constexpr Handler rounding_table[] = {
#include "emulator/isa/rows/rounding.def"
};

}  // namespace

std::span<const Handler> rounding_handlers() {
    return rounding_table;
}

void add_double_product(const LeftMatrix& a, const RightPanel& b, u32 rounding,
                        SumPanel& sum) noexcept {
    const RoundingMode mode(rounding);
    asm volatile("" ::: "memory");
    for (u32 row = 0; row < a.rows; ++row) {
        for (u32 column = 0; column < panel_columns; ++column) {
            f64& to = sum.reals[row * panel_columns + column];
            for (u32 k = 0; k < a.depth; ++k) {
                to = __builtin_fma(a.reals[row * a.depth + k], b.reals[k * panel_columns + column],
                                   to);
            }
        }
    }
    asm volatile("" ::: "memory");
}

}  // namespace lode::emulator::exec
