#include "jit/remote/zstd_body.hpp"

#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <zstd.h>

namespace LODE_NAMESPACE::cache {

Result<Bytes> decompress_body(std::span<const std::byte> body, std::size_t limit) {
    const std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream(ZSTD_createDStream(),
                                                                            &ZSTD_freeDStream);
    if (!stream) return fail(Errc::file_failed, "zstd is out of memory.");
    Bytes plain;
    // A piece of its own: a body of a million empty frames would clear as many pieces of `plain`.
    Bytes piece(std::min(ZSTD_DStreamOutSize(), limit));
    ZSTD_inBuffer in{body.data(), body.size(), 0};
    for (std::size_t hint = 1; hint != 0 || in.pos < in.size;) {
        ZSTD_outBuffer out{piece.data(), std::min(piece.size(), limit - plain.size()), 0};
        const std::size_t read_before = in.pos;
        hint = ZSTD_decompressStream(stream.get(), &out, &in);
        plain.insert(plain.end(), piece.begin(),
                     piece.begin() + static_cast<std::ptrdiff_t>(out.pos));
        if (ZSTD_isError(hint) != 0U)
            return fail(Errc::file_failed, "The server's zstd stream is damaged.");
        const bool made_progress = out.pos > 0 || in.pos > read_before;
        if (!made_progress && (hint != 0 || in.pos < in.size)) {
            return fail(Errc::file_failed,
                        plain.size() == limit
                            ? fmt::format("The server's answer is longer than {} bytes.", limit)
                            : "The server's zstd stream is incomplete.");
        }
    }
    return plain;
}

}  // namespace LODE_NAMESPACE::cache
