// Copies of bytes into and out of arrays, row after row (deprecated). Compiled twice: see
// LODE_PER_THREAD_STREAM.
#include "emulator/toolkit/cudart/arrays.hpp"

#include <algorithm>

using namespace lode::emulator::cudart;

#ifdef LODE_PER_THREAD_STREAM
#define LODE_LINEAR linear_copies_of_thread
#else
#define LODE_LINEAR linear_copies
#endif

namespace LODE_LINEAR {
namespace {

/// The rest of an array from a byte on.
struct Place {
    size_t row = 0;     ///< Bytes of a row.
    size_t height = 0;  ///< Rows.
    size_t x = 0;
    size_t y = 0;

    [[nodiscard]] size_t rest_of_row() const noexcept { return row - x; }
    /// Whether there are that many bytes.
    [[nodiscard]] bool has(size_t bytes) const noexcept {
        return x < row && y < height && bytes <= (height - y) * row - x;
    }
    void advance(size_t bytes) noexcept {
        y += (x + bytes) / row;
        x = (x + bytes) % row;
    }
};

cudaError_t place_in(cudaArray_const_t array, size_t x, size_t y, Place& place) noexcept {
    CUDA_ARRAY3D_DESCRIPTOR description{};
    std::size_t element = 0;
    CUresult state = cuArray3DGetDescriptor(&description, native(array));
    if (state == CUDA_SUCCESS) state = element_bytes(native(array), element);
    place = {description.Width * element, std::max<size_t>(description.Height, 1), x, y};
    return error_of(state);
}

/// Calls the body with the largest boxes of which `count` bytes consist:
/// cudaError_t body(const Place& from, size_t done, size_t width, size_t rows).
template <class Body>
cudaError_t each_box(cudaArray_const_t array, size_t x, size_t y, size_t count, Body&& body) {
    return run([&]() -> cudaError_t {
        Place place;
        if (const cudaError_t wrong = place_in(array, x, y, place); wrong != cudaSuccess)
            return wrong;
        if (!place.has(count)) return cudaErrorInvalidValue;
        for (size_t done = 0; done < count;) {
            const size_t left = count - done;
            const size_t rows = place.x == 0 ? left / place.row : 0;
            const size_t width = rows != 0 ? place.row : std::min(left, place.rest_of_row());
            const size_t height = std::max<size_t>(rows, 1);
            const cudaError_t wrong = body(place, done, width, height);
            if (wrong != cudaSuccess) return wrong;
            place.advance(width * height);
            done += width * height;
        }
        return cudaSuccess;
    });
}

const char* bytes_at(const void* memory, size_t offset) noexcept {
    return static_cast<const char*>(memory) + offset;
}

}  // namespace
}  // namespace LODE_LINEAR

using namespace LODE_LINEAR;

LODE_RUNTIME cudaMemcpyToArray(cudaArray_t dst, size_t wOffset, size_t hOffset, const void* src,
                               size_t count, cudaMemcpyKind kind) {
    return each_box(dst, wOffset, hOffset, count,
                    [&](const Place& at, size_t done, size_t width, size_t rows) {
                        return cudaMemcpy2DToArray(dst, at.x, at.y, bytes_at(src, done), width,
                                                   width, rows, kind);
                    });
}

LODE_RUNTIME cudaMemcpyToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                    const void* src, size_t count, cudaMemcpyKind kind,
                                    cudaStream_t stream) {
    return each_box(dst, wOffset, hOffset, count,
                    [&](const Place& at, size_t done, size_t width, size_t rows) {
                        return cudaMemcpy2DToArrayAsync(dst, at.x, at.y, bytes_at(src, done), width,
                                                        width, rows, kind, stream);
                    });
}

LODE_RUNTIME cudaMemcpyFromArray(void* dst, cudaArray_const_t src, size_t wOffset, size_t hOffset,
                                 size_t count, cudaMemcpyKind kind) {
    return each_box(src, wOffset, hOffset, count,
                    [&](const Place& at, size_t done, size_t width, size_t rows) {
                        return cudaMemcpy2DFromArray(const_cast<char*>(bytes_at(dst, done)), width,
                                                     src, at.x, at.y, width, rows, kind);
                    });
}

LODE_RUNTIME cudaMemcpyFromArrayAsync(void* dst, cudaArray_const_t src, size_t wOffset,
                                      size_t hOffset, size_t count, cudaMemcpyKind kind,
                                      cudaStream_t stream) {
    return each_box(
        src, wOffset, hOffset, count, [&](const Place& at, size_t done, size_t width, size_t rows) {
            return cudaMemcpy2DFromArrayAsync(const_cast<char*>(bytes_at(dst, done)), width, src,
                                              at.x, at.y, width, rows, kind, stream);
        });
}

LODE_RUNTIME cudaMemcpyArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
                                    cudaArray_const_t src, size_t wOffsetSrc, size_t hOffsetSrc,
                                    size_t count, cudaMemcpyKind kind) {
    return run([&]() -> cudaError_t {
        Place to;
        Place from;
        cudaError_t wrong = place_in(dst, wOffsetDst, hOffsetDst, to);
        if (wrong == cudaSuccess) wrong = place_in(src, wOffsetSrc, hOffsetSrc, from);
        if (wrong != cudaSuccess) return wrong;
        if (!to.has(count) || !from.has(count)) return cudaErrorInvalidValue;
        for (size_t left = count; left != 0;) {
            const size_t width = std::min({left, to.rest_of_row(), from.rest_of_row()});
            wrong = cudaMemcpy2DArrayToArray(dst, to.x, to.y, src, from.x, from.y, width, 1, kind);
            if (wrong != cudaSuccess) return wrong;
            to.advance(width);
            from.advance(width);
            left -= width;
        }
        return cudaSuccess;
    });
}
