// cuStreamGetAttribute, cuStreamSetAttribute, cuStreamCopyAttributes.
#include "emulator/driver/gate.hpp"
#include "emulator/driver/launch/launch_attributes.hpp"
#include "emulator/driver/stream/streams.hpp"

#include <algorithm>

namespace lode::emulator::driver {
namespace {

CUresult set_attribute(const char* symbol, CUstream handle, DefaultStream null_means,
                       CUstreamAttrID id, const CUstreamAttrValue* value) {
    return enter_stream(symbol, handle, null_means, [&](const StreamUse& use) -> CUresult {
        if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
        if (const CUresult state = check_stream_attribute(use.context->device(), id, *value);
            state != CUDA_SUCCESS)
            return state;
        CUstreamAttrValue kept = *value;
        if (id == CU_LAUNCH_ATTRIBUTE_PRIORITY)
            kept.priority = std::clamp(kept.priority, greatest_priority, least_priority);
        use.stream->set_attribute(id, kept);
        return CUDA_SUCCESS;
    });
}

CUresult get_attribute(const char* symbol, CUstream handle, DefaultStream null_means,
                       CUstreamAttrID id, CUstreamAttrValue* value) {
    return enter_stream(symbol, handle, null_means, [&](const StreamUse& use) -> CUresult {
        if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
        const auto found = use.stream->attribute(id);
        if (!found) return CUDA_ERROR_INVALID_VALUE;
        *value = *found;
        return CUDA_SUCCESS;
    });
}

CUresult copy_attributes(const char* symbol, CUstream to, CUstream from, DefaultStream null_means) {
    return enter(symbol, [&]() -> CUresult {
        StreamUse target;
        StreamUse source;
        if (const CUresult state = resolve_stream(to, null_means, target); state != CUDA_SUCCESS)
            return state;
        if (const CUresult state = resolve_stream(from, null_means, source); state != CUDA_SUCCESS)
            return state;
        if (target.context != source.context) return CUDA_ERROR_INVALID_VALUE;
        for (const CUstreamAttrID id : Stream::attribute_ids) {
            if (const auto value = source.stream->attribute(id))
                target.stream->set_attribute(id, *value);
        }
        return CUDA_SUCCESS;
    });
}

}  // namespace

LODE_ENTRY_TWINS(cuStreamSetAttribute, _ptsz,
                 (CUstream hStream, CUstreamAttrID attr, const CUstreamAttrValue* value),
                 { return set_attribute(__func__, hStream, default_stream, attr, value); })

LODE_ENTRY_TWINS(cuStreamGetAttribute, _ptsz,
                 (CUstream hStream, CUstreamAttrID attr, CUstreamAttrValue* value_out),
                 { return get_attribute(__func__, hStream, default_stream, attr, value_out); })

LODE_ENTRY_TWINS(cuStreamCopyAttributes, _ptsz, (CUstream dst, CUstream src),
                 { return copy_attributes(__func__, dst, src, default_stream); })

}  // namespace lode::emulator::driver
