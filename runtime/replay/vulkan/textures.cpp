// Makes, fills and stores host images.
#include "runtime/replay/vulkan/textures.h"
#include "runtime/nvn/states.h"
#include "runtime/replay/vulkan/depth_planes.h"
#include "runtime/replay/vulkan/formats.h"
#define XXH_INLINE_ALL
#include <algorithm>
#include <cstring>
#include <xxhash.h>

namespace dmsh::replay::vulkan {

using nvn::Host;
using nvn::Report;
using nvn::report;

namespace {

// What decides the image: formats that differ in sRGB alone, and samples of another swizzle, share one.
nvn::TextureDesc image_key(nvn::TextureDesc d) {
    d.swizzle = nvn::kIdentitySwizzle;
    d.stencil_mode = 0;
    constexpr std::pair<int, int> kTwins[] = {
        {NVN_FORMAT_RGBA8_SRGB, NVN_FORMAT_RGBA8},
        {NVN_FORMAT_RGBX8_SRGB, NVN_FORMAT_RGBX8},
        {NVN_FORMAT_BGRA8_SRGB, NVN_FORMAT_BGRA8},
        {NVN_FORMAT_BGRX8_SRGB, NVN_FORMAT_BGRX8},
        {NVN_FORMAT_RGB_DXT1_SRGB, NVN_FORMAT_RGB_DXT1},
        {NVN_FORMAT_RGBA_DXT1_SRGB, NVN_FORMAT_RGBA_DXT1},
        {NVN_FORMAT_RGBA_DXT3_SRGB, NVN_FORMAT_RGBA_DXT3},
        {NVN_FORMAT_RGBA_DXT5_SRGB, NVN_FORMAT_RGBA_DXT5},
        {NVN_FORMAT_BPTC_UNORM_SRGB, NVN_FORMAT_BPTC_UNORM},
    };
    for (const auto& [srgb, linear] : kTwins)
        if (d.format == srgb)
            d.format = static_cast<uint8_t>(linear);
    return d;
}

VkComponentSwizzle component(uint32_t nvn) {
    switch (nvn) {
    case NVN_TEXTURE_SWIZZLE_ZERO: return VK_COMPONENT_SWIZZLE_ZERO;
    case NVN_TEXTURE_SWIZZLE_ONE: return VK_COMPONENT_SWIZZLE_ONE;
    case NVN_TEXTURE_SWIZZLE_R: return VK_COMPONENT_SWIZZLE_R;
    case NVN_TEXTURE_SWIZZLE_G: return VK_COMPONENT_SWIZZLE_G;
    case NVN_TEXTURE_SWIZZLE_B: return VK_COMPONENT_SWIZZLE_B;
    default: return VK_COMPONENT_SWIZZLE_A;
    }
}

// Formats whose fourth component is ignored read one there.
bool without_alpha(int format) {
    return (format >= NVN_FORMAT_RGBX8 && format <= NVN_FORMAT_RGBX32I) || format == NVN_FORMAT_RGBX8_SRGB ||
           format == NVN_FORMAT_BGRX8 || format == NVN_FORMAT_BGRX8_SRGB;
}

// The format of a view: the texture's, or what its blocks decode to.
VkFormat seen_format(const Image& image, int format, bool linear = false) {
    switch (image.decoded) {
    case DecodedTexel::rgba8:
        return texture_format(format) == texture_format(format, true) || linear ? VK_FORMAT_R8G8B8A8_UNORM
                                                                                : VK_FORMAT_R8G8B8A8_SRGB;
    case DecodedTexel::r8: return VK_FORMAT_R8_UNORM;
    case DecodedTexel::r8_signed: return VK_FORMAT_R8_SNORM;
    case DecodedTexel::rg8: return VK_FORMAT_R8G8_UNORM;
    case DecodedTexel::rg8_signed: return VK_FORMAT_R8G8_SNORM;
    default: return texture_format(format, linear);
    }
}

VkImageViewType view_type(ImageDim dim, bool arrayed) {
    switch (dim) {
    case ImageDim::d1: return arrayed ? VK_IMAGE_VIEW_TYPE_1D_ARRAY : VK_IMAGE_VIEW_TYPE_1D;
    case ImageDim::d3: return VK_IMAGE_VIEW_TYPE_3D;
    case ImageDim::cube: return arrayed ? VK_IMAGE_VIEW_TYPE_CUBE_ARRAY : VK_IMAGE_VIEW_TYPE_CUBE;
    default: return arrayed ? VK_IMAGE_VIEW_TYPE_2D_ARRAY : VK_IMAGE_VIEW_TYPE_2D;
    }
}

VkImageType image_type(ImageDim dim) {
    return dim == ImageDim::d1 ? VK_IMAGE_TYPE_1D : dim == ImageDim::d3 ? VK_IMAGE_TYPE_3D : VK_IMAGE_TYPE_2D;
}

VkSamplerAddressMode address_mode(uint32_t nvn, bool mirror_clamp) {
    switch (nvn) {
    case NVN_WRAP_MODE_REPEAT: return VK_SAMPLER_ADDRESS_MODE_REPEAT;
    case NVN_WRAP_MODE_MIRRORED_REPEAT: return VK_SAMPLER_ADDRESS_MODE_MIRRORED_REPEAT;
    case NVN_WRAP_MODE_CLAMP_TO_BORDER: return VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER;
    case NVN_WRAP_MODE_MIRROR_CLAMP:
    case NVN_WRAP_MODE_MIRROR_CLAMP_TO_EDGE:
    case NVN_WRAP_MODE_MIRROR_CLAMP_TO_BORDER:
        return mirror_clamp ? VK_SAMPLER_ADDRESS_MODE_MIRROR_CLAMP_TO_EDGE
                            : VK_SAMPLER_ADDRESS_MODE_MIRRORED_REPEAT;
    default: return VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE;
    }
}

} // namespace

size_t Textures::Hash::operator()(const nvn::TextureDesc& d) const {
    return XXH3_64bits(&d, sizeof d);
}

Textures::~Textures() {
    for (auto& [key, image] : images_)
        if (image)
            destroy(*image);
    for (const auto& [desc, sampler] : samplers_)
        vkDestroySampler(device_.handle(), sampler, nullptr);
}

void Textures::destroy(Image& image) {
    for (const auto& [key, view] : image.views)
        vkDestroyImageView(device_.handle(), view, nullptr);
    vkDestroyImage(device_.handle(), image.image, nullptr);
    vkFreeMemory(device_.handle(), image.memory, nullptr);
}

void Textures::forget(uint64_t address, uint64_t bytes) {
    std::erase_if(images_, [&](auto& entry) {
        if (entry.first.address < address || entry.first.address >= address + bytes)
            return false;
        if (entry.second)
            destroy(*entry.second);
        ++forgotten_;
        return true;
    });
}

Image* Textures::create(const nvn::TextureDesc& key) {
    auto image = std::make_unique<Image>();
    const auto refuse = [&](const char* why) -> Image* {
        report(Report::unsupported, "texture %ux%ux%u %s target %u: %s", key.width, key.height, key.depth,
               nvn::format_name(key.format), key.target, why);
        if (image->image)
            vkDestroyImage(device_.handle(), image->image, nullptr);
        images_[key] = nullptr;
        return nullptr;
    };
    auto layout = nvn::layout_of(key);
    if (!layout)
        return refuse(layout.error().message.c_str());
    if (!Host::get().pool_at(key.address, layout->storage_bytes) &&
        (!Host::get().in_reservation(key.address) || !Host::get().in_reservation(key.address + layout->storage_bytes - 1)))
        return refuse("its storage is in no pool");
    image->texture = key;
    image->layout = *layout;
    image->format = texture_format(key.format);
    if (image->format == VK_FORMAT_UNDEFINED)
        return refuse("no such format in Vulkan");
    VkFormatProperties fp;
    vkGetPhysicalDeviceFormatProperties(device_.physical(), image->format, &fp);
    VkFormatFeatureFlags features = fp.optimalTilingFeatures;
    if (decoded_texel(key.format) != DecodedTexel::none &&
        (software_blocks_ || !(features & VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT))) {
        image->decoded = decoded_texel(key.format);
        image->format = seen_format(*image, key.format, true);
        vkGetPhysicalDeviceFormatProperties(device_.physical(), image->format, &fp);
        features = fp.optimalTilingFeatures &
                   ~static_cast<VkFormatFeatureFlags>(VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT);
    }
    if (!(features & (VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT | VK_FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT)))
        return refuse("the device lacks the format");
    VkImageCreateInfo ici{VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO};
    ici.imageType = key.target == NVN_TEXTURE_TARGET_3D ? VK_IMAGE_TYPE_3D
                    : key.target == NVN_TEXTURE_TARGET_1D || key.target == NVN_TEXTURE_TARGET_1D_ARRAY
                        ? VK_IMAGE_TYPE_1D
                        : VK_IMAGE_TYPE_2D;
    image->type = ici.imageType;
    image->layers = nvn::layer_count(key);
    const bool color = aspects(key.format) == VK_IMAGE_ASPECT_COLOR_BIT;
    ici.format = image->format;
    ici.extent = {key.width, ici.imageType == VK_IMAGE_TYPE_1D ? 1 : key.height,
                  ici.imageType == VK_IMAGE_TYPE_3D ? key.depth : 1};
    ici.mipLevels = key.levels;
    ici.arrayLayers = image->layers;
    ici.samples = static_cast<VkSampleCountFlagBits>(key.samples ? key.samples : 1);
    ici.usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    if (features & VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT)
        ici.usage |= VK_IMAGE_USAGE_SAMPLED_BIT;
    if (features & VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BIT)
        ici.usage |= VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT;
    if (features & VK_FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT)
        ici.usage |= VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT;
    image->storable = color && ici.samples == 1 && (features & VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT);
    if (image->storable)
        ici.usage |= VK_IMAGE_USAGE_STORAGE_BIT;
    if (color)
        ici.flags |= VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT | VK_IMAGE_CREATE_EXTENDED_USAGE_BIT;
    if (ici.imageType == VK_IMAGE_TYPE_2D && key.width == key.height && image->layers >= 6 &&
        ici.samples == 1)
        ici.flags |= VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT;
    if (ici.imageType == VK_IMAGE_TYPE_3D && color)
        ici.flags |= VK_IMAGE_CREATE_2D_ARRAY_COMPATIBLE_BIT;
    VkImageFormatProperties limits;
    if (vkGetPhysicalDeviceImageFormatProperties(device_.physical(), ici.format, ici.imageType, ici.tiling,
                                                 ici.usage, ici.flags, &limits) != VK_SUCCESS ||
        limits.maxExtent.width < ici.extent.width || limits.maxExtent.height < ici.extent.height ||
        limits.maxExtent.depth < ici.extent.depth || limits.maxMipLevels < ici.mipLevels ||
        limits.maxArrayLayers < ici.arrayLayers || !(limits.sampleCounts & ici.samples))
        return refuse("the device cannot make such an image");
    if (!ok(vkCreateImage(device_.handle(), &ici, nullptr, &image->image), "image"))
        return refuse("no image");
    VkMemoryRequirements need;
    vkGetImageMemoryRequirements(device_.handle(), image->image, &need);
    image->memory = device_.allocate(need, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
    if (!image->memory ||
        !ok(vkBindImageMemory(device_.handle(), image->image, image->memory, 0), "image memory"))
        return refuse("no memory");
    VkImageMemoryBarrier b{VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER};
    b.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
    b.oldLayout = VK_IMAGE_LAYOUT_UNDEFINED;
    b.newLayout = VK_IMAGE_LAYOUT_GENERAL;
    b.srcQueueFamilyIndex = b.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
    b.image = image->image;
    b.subresourceRange = {aspects(key.format), 0, VK_REMAINING_MIP_LEVELS, 0, VK_REMAINING_ARRAY_LAYERS};
    vkCmdPipelineBarrier(device_.commands(), VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT,
                         VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, nullptr, 0, nullptr, 1, &b);
    Image* raw = image.get();
    images_[key] = std::move(image);
    return raw;
}

bool Textures::needs_work(const nvn::TextureDesc& texture) {
    const auto it = images_.find(image_key(texture));
    if (it == images_.end())
        return true;
    return it->second && it->second->checked_batch != batch_;
}

Image* Textures::find(const nvn::TextureDesc& texture) {
    const nvn::TextureDesc key = image_key(texture);
    const auto it = images_.find(key);
    Image* image = it != images_.end() ? it->second.get() : create(key);
    if (!image || image->checked_batch == batch_)
        return image;
    image->checked_batch = batch_;
    const uint8_t* storage = read_storage(*image);
    if (!storage)
        return image; // its pool is gone: used as it is
    // The storage is the content whenever it changed since the last look, whoever wrote it.
    const uint64_t hash = XXH3_64bits(storage, static_cast<size_t>(image->layout.storage_bytes));
    if (!image->filled || hash != image->storage_hash) {
        image->storage_hash = hash;
        image->filled = true;
        image->gpu_written = false;
        fill(*image, storage);
    }
    return image;
}

// The texture's storage bytes, in place or gathered (valid until the next call); nullptr: the pool is gone.
const uint8_t* Textures::read_storage(const Image& image) {
    const uint64_t address = image.texture.address, bytes = image.layout.storage_bytes;
    if (Host::get().pool_at(address, bytes))
        return reinterpret_cast<const uint8_t*>(address);
    gathered_.resize(bytes);
    return Host::get().read_guest(address, gathered_.data(), bytes) ? gathered_.data() : nullptr;
}

void Textures::fill(Image& image, const uint8_t* bytes) {
    const nvn::TextureDesc& t = image.texture;
    const nvn::FormatInfo f = nvn::format_info(t.format);
    const VkImageAspectFlags aspect = aspects(t.format);
    if (t.samples > 1 || f.bytes == 0)
        return; // multisampled content never comes from storage
    device_.full_barrier();
    for (uint32_t layer = 0; layer < image.layers; ++layer)
        for (uint32_t level = 0; level < image.layout.level_count; ++level) {
            const nvn::LevelLayout& l = image.layout.levels[level];
            const uint64_t row = l.row_bytes, slice = row * l.height;
            const Piece staging = device_.piece(slice * l.depth, 256);
            if (!staging.buffer)
                return;
            const uint8_t* storage = bytes + layer * image.layout.layer_bytes + l.offset;
            if (image.layout.linear) {
                for (uint32_t y = 0; y < l.height; ++y)
                    std::memcpy(staging.map + y * row, storage + uint64_t{y} * image.layout.stride, row);
            } else {
                nvn::deswizzle(l, f.bytes, storage, l.bytes, {0, 0, 0, l.width, l.height, l.depth},
                               staging.map, row, slice, Host::get().gob_order);
            }
            VkBufferImageCopy copy{};
            copy.bufferOffset = staging.offset;
            VkBuffer from = staging.buffer;
            if (image.decoded != DecodedTexel::none) {
                const uint32_t w = std::max(1u, t.width >> level), h = std::max(1u, t.height >> level);
                const uint64_t texels = uint64_t{w} * h * decoded_bytes(image.decoded);
                const Piece plain = device_.piece(texels * l.depth, 256);
                if (!plain.buffer)
                    return;
                for (uint32_t z = 0; z < l.depth; ++z)
                    decode_blocks(t.format, staging.map + z * slice, w, h, plain.map + z * texels);
                from = plain.buffer;
                copy.bufferOffset = plain.offset;
            }
            copy.imageSubresource = {aspect, level, layer, 1};
            copy.imageExtent = {std::max(1u, t.width >> level),
                                image.type == VK_IMAGE_TYPE_1D ? 1 : std::max(1u, t.height >> level),
                                image.type == VK_IMAGE_TYPE_3D ? std::max(1u, t.depth >> level) : 1};
            if (packed_depth(t.format)) {
                if (!upload_planes(device_, image.image, t.format, staging.map, copy))
                    return;
                continue;
            }
            vkCmdCopyBufferToImage(device_.commands(), from, image.image, VK_IMAGE_LAYOUT_GENERAL, 1, &copy);
        }
    device_.full_barrier();
}

void Textures::store(const nvn::TextureDesc& texture) {
    const auto it = images_.find(image_key(texture));
    Image* image = it == images_.end() ? nullptr : it->second.get();
    if (!image || !image->gpu_written || texture.samples > 1)
        return;
    if (image->decoded != DecodedTexel::none) {
        report(Report::unsupported, "storing %s, which is decoded in software",
               nvn::format_name(texture.format));
        return;
    }
    const nvn::TextureDesc& t = image->texture;
    const VkImageAspectFlags aspect = aspects(t.format);
    const nvn::FormatInfo f = nvn::format_info(t.format);
    const uint8_t* before = read_storage(*image);
    if (!before)
        return; // its pool is gone
    // A page-mapped pool's pages are written back run by run at the end.
    const bool gathered = before == gathered_.data();
    uint8_t* bytes = gathered ? gathered_.data() : reinterpret_cast<uint8_t*>(t.address);
    // One level of one layer at a time, each behind its own wait: this is the slow road of ReadTexels.
    for (uint32_t layer = 0; layer < image->layers; ++layer)
        for (uint32_t level = 0; level < image->layout.level_count; ++level) {
            const nvn::LevelLayout& l = image->layout.levels[level];
            const uint64_t row = l.row_bytes, slice = row * l.height;
            const Piece out = device_.piece(slice * l.depth, 256);
            if (!out.buffer)
                return;
            device_.full_barrier();
            VkBufferImageCopy copy{};
            copy.bufferOffset = out.offset;
            copy.imageSubresource = {aspect, level, layer, 1};
            copy.imageExtent = {std::max(1u, t.width >> level),
                                image->type == VK_IMAGE_TYPE_1D ? 1 : std::max(1u, t.height >> level),
                                image->type == VK_IMAGE_TYPE_3D ? std::max(1u, t.depth >> level) : 1};
            DepthPlanes planes;
            if (packed_depth(t.format)) {
                if (!download_planes(device_, image->image, copy, planes))
                    return;
            } else {
                vkCmdCopyImageToBuffer(device_.commands(), image->image, VK_IMAGE_LAYOUT_GENERAL, out.buffer,
                                       1, &copy);
            }
            device_.full_barrier();
            if (!device_.wait(device_.flush(), ~uint64_t{0}))
                return;
            planes.pack(t.format, out.map);
            uint8_t* storage = bytes + layer * image->layout.layer_bytes + l.offset;
            if (image->layout.linear) {
                for (uint32_t y = 0; y < l.height; ++y)
                    std::memcpy(storage + uint64_t{y} * image->layout.stride, out.map + y * row, row);
            } else {
                nvn::swizzle(l, f.bytes, storage, l.bytes, {0, 0, 0, l.width, l.height, l.depth}, out.map,
                             row, slice, Host::get().gob_order);
            }
        }
    if (gathered) {
        Host::get().write_guest(t.address, bytes, image->layout.storage_bytes);
        bytes = const_cast<uint8_t*>(read_storage(*image)); // stores to holes are gone
    }
    image->gpu_written = false;
    image->storage_hash = XXH3_64bits(bytes, static_cast<size_t>(image->layout.storage_bytes));
}

VkImageView Textures::view(Image& image, const ViewKey& key) {
    for (const auto& [k, view] : image.views)
        if (k == key)
            return view;
    VkImageViewCreateInfo vci{VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO};
    vci.image = image.image;
    vci.viewType = key.type;
    vci.format = key.format;
    vci.components = {component(key.swizzle & 15), component(key.swizzle >> 4 & 15),
                      component(key.swizzle >> 8 & 15), component(key.swizzle >> 12 & 15)};
    vci.subresourceRange = {key.aspect, key.base_level, key.level_count, key.base_layer, key.layer_count};
    // A view inherits the image's usages; those that its own format lacks are taken away.
    VkFormatProperties fp;
    vkGetPhysicalDeviceFormatProperties(device_.physical(), key.format, &fp);
    VkImageViewUsageCreateInfo usage{VK_STRUCTURE_TYPE_IMAGE_VIEW_USAGE_CREATE_INFO};
    const auto add = [&](VkFormatFeatureFlags feature, VkImageUsageFlags use) {
        if (fp.optimalTilingFeatures & feature)
            usage.usage |= use;
    };
    add(VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT, VK_IMAGE_USAGE_SAMPLED_BIT);
    if (key.aspect == VK_IMAGE_ASPECT_COLOR_BIT) {
        add(VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BIT, VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT);
        if (image.storable)
            add(VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT, VK_IMAGE_USAGE_STORAGE_BIT);
    } else {
        add(VK_FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT, VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT);
    }
    if (!usage.usage)
        return VK_NULL_HANDLE;
    vci.pNext = &usage;
    VkImageView view = VK_NULL_HANDLE;
    if (!ok(vkCreateImageView(device_.handle(), &vci, nullptr, &view), "image view"))
        return VK_NULL_HANDLE;
    image.views.emplace_back(key, view);
    return view;
}

namespace {

// A view's dimension and layers for a binding's shape; false if the image cannot be seen so.
bool shape(const Image& image, const nvn::ResolvedView& v, const Binding& b, ViewKey& key) {
    if (image_type(b.dim) != image.type) {
        report(Report::bad_handle, "texture target %u bound where the shader reads dimension %u",
               image.texture.target, static_cast<unsigned>(b.dim));
        return false;
    }
    key.type = view_type(b.dim, b.arrayed);
    key.base_level = v.base_level;
    key.level_count = v.level_count;
    key.base_layer = image.type == VK_IMAGE_TYPE_3D ? 0 : v.base_layer;
    key.layer_count = 1;
    const uint32_t left = image.layers - key.base_layer;
    if (b.dim == ImageDim::cube) {
        const uint32_t faces = std::min(v.layer_count, left) / 6 * 6;
        key.layer_count = b.arrayed ? faces : 6;
        if (faces < 6 || image.texture.width != image.texture.height) {
            report(Report::bad_handle, "texture of %u layers bound as a cube", v.layer_count);
            return false;
        }
    } else if (b.arrayed) {
        key.layer_count = std::min(v.layer_count, left);
    }
    return true;
}

} // namespace

VkImageView Textures::sampled_view(Image& image, const nvn::BoundTexture& bound, const Binding& binding) {
    const nvn::ResolvedView v = nvn::resolve_view(bound);
    ViewKey key;
    if (!shape(image, v, binding, key))
        return VK_NULL_HANDLE;
    key.format = seen_format(image, v.format);
    key.aspect = aspects(image.texture.format);
    key.swizzle = v.swizzle;
    if (without_alpha(v.format)) {
        for (unsigned shift = 0; shift < 16; shift += 4)
            if ((key.swizzle >> shift & 15) == NVN_TEXTURE_SWIZZLE_A)
                key.swizzle =
                    static_cast<uint16_t>((key.swizzle & ~(15 << shift)) | NVN_TEXTURE_SWIZZLE_ONE << shift);
    }
    if (key.aspect & (VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT)) {
        key.format = image.format;
        if ((key.aspect & VK_IMAGE_ASPECT_DEPTH_BIT) && (key.aspect & VK_IMAGE_ASPECT_STENCIL_BIT))
            key.aspect = v.stencil_mode ? VK_IMAGE_ASPECT_STENCIL_BIT : VK_IMAGE_ASPECT_DEPTH_BIT;
    }
    return view(image, key);
}

VkImageView Textures::storage_view(Image& image, const nvn::BoundTexture& bound, const Binding& binding) {
    const nvn::ResolvedView v = nvn::resolve_view(bound);
    ViewKey key;
    if (!shape(image, v, binding, key))
        return VK_NULL_HANDLE;
    if (!image.storable) {
        report(Report::unsupported, "%s as a storage image", nvn::format_name(image.texture.format));
        return VK_NULL_HANDLE;
    }
    key.level_count = 1;
    key.format = binding.access == ImageAccess::formatted
                     ? texture_format(v.format, true)
                     : raw_format(1u << (static_cast<unsigned>(binding.access) - 1));
    return view(image, key);
}

VkImageView Textures::attachment_view(Image& image, const nvn::BoundTexture& bound) {
    const nvn::ResolvedView v = nvn::resolve_view(bound);
    ViewKey key;
    key.aspect = aspects(image.texture.format);
    key.format = key.aspect == VK_IMAGE_ASPECT_COLOR_BIT ? texture_format(v.format) : image.format;
    key.base_level = v.base_level;
    key.base_layer = v.base_layer; // of a volume: a slice is a layer of a 2D view
    key.layer_count = v.layer_count;
    key.type = image.type == VK_IMAGE_TYPE_1D ? VK_IMAGE_VIEW_TYPE_1D_ARRAY
               : key.layer_count > 1          ? VK_IMAGE_VIEW_TYPE_2D_ARRAY
                                              : VK_IMAGE_VIEW_TYPE_2D;
    return view(image, key);
}

VkSampler Textures::sampler(const nvn::SamplerDesc& desc) {
    for (const auto& [d, s] : samplers_)
        if (std::memcmp(&d, &desc, sizeof d) == 0)
            return s;
    namespace ns = nvn::sampler;
    const Capabilities& can = device_.can();
    VkSamplerCreateInfo sci{VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
    const uint32_t min = ns::Min::get(desc.modes);
    const bool mipmapped = min >= NVN_MIN_FILTER_NEAREST_MIPMAP_NEAREST;
    sci.magFilter = ns::Mag::get(desc.modes) ? VK_FILTER_LINEAR : VK_FILTER_NEAREST;
    sci.minFilter = min & 1 ? VK_FILTER_LINEAR : VK_FILTER_NEAREST;
    sci.mipmapMode = min >= NVN_MIN_FILTER_NEAREST_MIPMAP_LINEAR ? VK_SAMPLER_MIPMAP_MODE_LINEAR
                                                                 : VK_SAMPLER_MIPMAP_MODE_NEAREST;
    sci.addressModeU = address_mode(ns::WrapS::get(desc.modes), can.mirror_clamp);
    sci.addressModeV = address_mode(ns::WrapT::get(desc.modes), can.mirror_clamp);
    sci.addressModeW = address_mode(ns::WrapR::get(desc.modes), can.mirror_clamp);
    sci.mipLodBias = std::clamp(desc.lod_bias, -device_.properties().limits.maxSamplerLodBias,
                                device_.properties().limits.maxSamplerLodBias);
    // Without mipmaps only level 0 is read; 0.25 keeps the choice between the two filters.
    sci.minLod = mipmapped ? std::max(desc.min_lod, 0.0f) : 0.0f;
    sci.maxLod = mipmapped ? std::max(desc.max_lod, sci.minLod) : 0.25f;
    if (can.anisotropy && desc.max_anisotropy > 1.0f) {
        sci.anisotropyEnable = VK_TRUE;
        sci.maxAnisotropy = std::min(desc.max_anisotropy, device_.properties().limits.maxSamplerAnisotropy);
    }
    if (ns::CompareMode::get(desc.modes)) {
        sci.compareEnable = VK_TRUE;
        sci.compareOp = static_cast<VkCompareOp>((ns::CompareFunc::get(desc.modes) - 1) & 7);
    }
    VkSamplerReductionModeCreateInfo reduction{VK_STRUCTURE_TYPE_SAMPLER_REDUCTION_MODE_CREATE_INFO};
    if (const uint32_t r = ns::Reduction::get(desc.modes);
        r == NVN_SAMPLER_REDUCTION_MIN || r == NVN_SAMPLER_REDUCTION_MAX) {
        if (can.min_max_filter) {
            reduction.reductionMode = r == NVN_SAMPLER_REDUCTION_MIN ? VK_SAMPLER_REDUCTION_MODE_MIN
                                                                     : VK_SAMPLER_REDUCTION_MODE_MAX;
            sci.pNext = &reduction;
        } else {
            report(Report::unsupported, "minimum and maximum reduction");
        }
    }
    VkSamplerCustomBorderColorCreateInfoEXT border{
        VK_STRUCTURE_TYPE_SAMPLER_CUSTOM_BORDER_COLOR_CREATE_INFO_EXT};
    const bool black = desc.border[0] == 0 && desc.border[1] == 0 && desc.border[2] == 0;
    const bool white =
        desc.border[0] == 1 && desc.border[1] == 1 && desc.border[2] == 1 && desc.border[3] == 1;
    if (white) {
        sci.borderColor = VK_BORDER_COLOR_FLOAT_OPAQUE_WHITE;
    } else if (black && (desc.border[3] == 0 || desc.border[3] == 1)) {
        sci.borderColor = desc.border[3] == 0 ? VK_BORDER_COLOR_FLOAT_TRANSPARENT_BLACK
                                              : VK_BORDER_COLOR_FLOAT_OPAQUE_BLACK;
    } else if (can.custom_border) {
        std::memcpy(border.customBorderColor.float32, desc.border, 16);
        border.pNext = sci.pNext;
        sci.pNext = &border;
        sci.borderColor = VK_BORDER_COLOR_FLOAT_CUSTOM_EXT;
    } else {
        report(Report::unsupported, "border colour %g %g %g %g", static_cast<double>(desc.border[0]),
               static_cast<double>(desc.border[1]), static_cast<double>(desc.border[2]),
               static_cast<double>(desc.border[3]));
    }
    VkSampler sampler = VK_NULL_HANDLE;
    ok(vkCreateSampler(device_.handle(), &sci, nullptr, &sampler), "sampler");
    samplers_.emplace_back(desc, sampler);
    return sampler;
}

} // namespace dmsh::replay::vulkan
