#include "emulator/driver/images/arrays.hpp"

#include "emulator/driver/driver.hpp"
#include "emulator/driver/memory/copies.hpp"

#include <utility>

namespace lode::emulator::driver {

Array::Array(std::shared_ptr<Context> context, const CUDA_ARRAY3D_DESCRIPTOR& descriptor,
             ImageShape shape, Component component, ImageLevel level, bool is_level)
    : context_(std::move(context)),
      descriptor_(descriptor),
      shape_(shape),
      component_(component),
      level_(level),
      is_level_(is_level) {}

Array::~Array() {
    // After the end of its context the memory is gone already.
    if (context_->is_open()) driver().allocations.free(level_.address, {MemoryKind::device});
}

ImageObject::ImageObject(std::shared_ptr<Context> context, Image image,
                         const CUDA_RESOURCE_DESC& its_resource,
                         const CUDA_TEXTURE_DESC& its_texture,
                         const std::optional<CUDA_RESOURCE_VIEW_DESC>& its_view)
    : resource(its_resource),
      texture(its_texture),
      view(its_view),
      is_surface(image.is_surface),
      context_(std::move(context)) {
    Images::all().add(handle(), std::make_shared<const Image>(std::move(image)));
}

ImageObject::~ImageObject() {
    Images::all().remove(handle());
}

std::optional<Component> component_of(CUarray_format format) noexcept {
    constexpr std::pair<CUarray_format, Component> rows[] = {
        {CU_AD_FORMAT_UNSIGNED_INT8, Component::uint8},
        {CU_AD_FORMAT_UNSIGNED_INT16, Component::uint16},
        {CU_AD_FORMAT_UNSIGNED_INT32, Component::uint32},
        {CU_AD_FORMAT_SIGNED_INT8, Component::int8},
        {CU_AD_FORMAT_SIGNED_INT16, Component::int16},
        {CU_AD_FORMAT_SIGNED_INT32, Component::int32},
        {CU_AD_FORMAT_HALF, Component::half},
        {CU_AD_FORMAT_FLOAT, Component::single}};
    for (const auto& [native, component] : rows) {
        if (native == format) return component;
    }
    return std::nullopt;
}

CUresult locate(const ArrayBox& box, ImageLevel& level, std::byte*& at) {
    const auto array = driver().arrays.find(box.array);
    if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    level = array->level();
    const bool is_inside = (CheckedSize(box.x) + box.width).at_most(array->row_bytes()) &&
                           (CheckedSize(box.y) + box.height).at_most(level.height) &&
                           (CheckedSize(box.z) + box.depth).at_most(level.depth) &&
                           box.x % array->texel_bytes() == 0 &&
                           box.width % array->texel_bytes() == 0;
    if (!is_inside) return CUDA_ERROR_INVALID_VALUE;
    at = reinterpret_cast<std::byte*>(level.address + box.z * level.slice + box.y * level.pitch +
                                      box.x);
    return CUDA_SUCCESS;
}

void end_images(const Context& context, void (*leak)(const Context& context, const char* what)) {
    Driver& state = driver();
    const auto ours = [&](const auto& object) { return &object.context() == &context; };
    for (std::size_t n = state.images.remove_if(ours).size(); n > 0; --n)
        leak(context, "a texture or surface object");
    // Their memory is reported with the context's other allocations.
    static_cast<void>(state.mipmapped_arrays.remove_if(ours));
    static_cast<void>(state.arrays.remove_if(ours));
}

}  // namespace lode::emulator::driver
