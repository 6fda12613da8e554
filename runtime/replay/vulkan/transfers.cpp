// Copies of the Vulkan backend: buffers, buffers and textures, textures.
#include "runtime/replay/vulkan/backend_impl.h"
#include "runtime/replay/vulkan/depth_planes.h"
#include "runtime/replay/vulkan/formats.h"
#include "runtime/replay/vulkan/subresource.h"
#include <algorithm>
#include <cstring>

namespace dmsh::replay::vulkan {

using nvn::Host;
using nvn::Report;
using nvn::report;

void VulkanBackend::copy_buffer(uint64_t source, uint64_t destination, uint64_t size) {
    use(Use::transfer);
    PoolMemory::Place from, to;
    if (!memory_.find(source, size, from) || !memory_.find(destination, size, to))
        return;
    const VkCommandBuffer c = device_->commands();
    if (from.buffer == to.buffer && source < destination + size && destination < source + size) {
        const Piece between = device_->piece(size, 16); // Vulkan's copies may not overlap
        if (!between.buffer)
            return;
        const VkBufferCopy out{from.offset, between.offset, size}, in{between.offset, to.offset, size};
        vkCmdCopyBuffer(c, from.buffer, between.buffer, 1, &out);
        device_->full_barrier();
        vkCmdCopyBuffer(c, between.buffer, to.buffer, 1, &in);
    } else {
        const VkBufferCopy copy{from.offset, to.offset, size};
        vkCmdCopyBuffer(c, from.buffer, to.buffer, 1, &copy);
    }
    memory_.note_write(destination, size);
}

void VulkanBackend::fill_buffer(uint64_t address, uint64_t size, uint32_t value) {
    use(Use::transfer);
    PoolMemory::Place to;
    if (!memory_.find(address, size, to))
        return;
    if (to.offset % 4) {
        report(Report::bad_argument, "buffer clear at 0x%llx", static_cast<unsigned long long>(address));
        return;
    }
    if (size >= 4)
        vkCmdFillBuffer(device_->commands(), to.buffer, to.offset, size / 4 * 4, value);
    if (const uint64_t rest = size % 4) {
        const Piece p = device_->piece(4, 4);
        if (!p.buffer)
            return;
        std::memcpy(p.map, &value, 4);
        const VkBufferCopy copy{p.offset, to.offset + size - rest, rest};
        vkCmdCopyBuffer(device_->commands(), p.buffer, to.buffer, 1, &copy);
    }
    memory_.note_write(address, size);
}

void VulkanBackend::update_buffer(uint64_t address, const uint8_t* data, uint32_t size) {
    use(Use::transfer);
    PoolMemory::Place to;
    const Piece p = device_->piece(size, 16);
    if (!p.buffer || !memory_.find(address, size, to))
        return;
    std::memcpy(p.map, data, size);
    const VkBufferCopy copy{p.offset, to.offset, size};
    vkCmdCopyBuffer(device_->commands(), p.buffer, to.buffer, 1, &copy);
    memory_.note_update(address, size, p.map);
}

bool subresource(const Image& image, const nvn::BoundTexture& bound, const NVNcopyRegion& r,
                 VkImageSubresourceLayers& sub, VkOffset3D& offset, VkExtent3D& extent) {
    const nvn::ResolvedView v = nvn::resolve_view(bound);
    const nvn::TextureDesc& t = image.texture;
    const uint32_t w = std::max(1u, t.width >> v.base_level);
    const uint32_t h = image.type == VK_IMAGE_TYPE_1D ? 1 : std::max(1u, t.height >> v.base_level);
    const uint32_t d = image.type == VK_IMAGE_TYPE_3D ? std::max(1u, t.depth >> v.base_level) : 1;
    // A 1D array's layers are y; other arrays' are z.
    const bool rows = t.target == NVN_TEXTURE_TARGET_1D_ARRAY;
    const bool volume = image.type == VK_IMAGE_TYPE_3D;
    const int64_t first = volume ? 0
                          : rows ? r.yoffset
                                 : r.zoffset,
                  layers = volume ? 1
                           : rows ? r.height
                                  : r.depth;
    const int64_t base = volume ? 0 : v.base_layer;
    offset = {r.xoffset, rows ? 0 : r.yoffset, volume ? r.zoffset + static_cast<int32_t>(v.base_layer) : 0};
    const int64_t ew = r.width, eh = rows ? 1 : r.height, ed = volume ? r.depth : 1;
    if (r.xoffset < 0 || r.yoffset < 0 || r.zoffset < 0 || ew <= 0 || eh <= 0 || ed <= 0 || layers <= 0 ||
        offset.x + ew > w || offset.y + eh > h || offset.z + ed > d || base + first + layers > image.layers) {
        report(Report::bad_argument, "copy region %d,%d,%d %dx%dx%d", r.xoffset, r.yoffset, r.zoffset,
               r.width, r.height, r.depth);
        return false;
    }
    extent = {static_cast<uint32_t>(ew), static_cast<uint32_t>(eh), static_cast<uint32_t>(ed)};
    sub = {aspects(t.format), v.base_level, static_cast<uint32_t>(base + first),
           static_cast<uint32_t>(layers)};
    return true;
}

void VulkanBackend::copy_rows(VkBuffer from, uint64_t from_offset, VkBuffer to, uint64_t to_offset,
                              const CopyShape& s, bool from_guest) {
    rows_.clear();
    const uint64_t tight = uint64_t{s.columns} * s.bytes;
    for (uint32_t z = 0; z < s.slices; ++z)
        for (uint32_t y = 0; y < s.rows; ++y) {
            const uint64_t guest = z * s.slice + y * s.row, packed = (uint64_t{z} * s.rows + y) * tight;
            rows_.push_back({from_offset + (from_guest ? guest : packed),
                             to_offset + (from_guest ? packed : guest), tight});
        }
    vkCmdCopyBuffer(device_->commands(), from, to, static_cast<uint32_t>(rows_.size()), rows_.data());
}

// Planes are split and joined on the CPU, which waits for the GPU on the way out.
void VulkanBackend::copy_depth_stencil(const BufferTextureCopy& copy, Image& image, VkBufferImageCopy region,
                                       const CopyShape& s) {
    const uint64_t tight = uint64_t{s.columns} * s.bytes;
    bytes_.assign(tight * s.rows * s.slices, 0);
    const auto each_row = [&](auto&& row) {
        for (uint32_t z = 0; z < s.slices; ++z)
            for (uint32_t y = 0; y < s.rows; ++y)
                row(copy.buffer + z * s.slice + y * s.row,
                    bytes_.data() + (uint64_t{z} * s.rows + y) * tight);
    };
    if (!copy.to_buffer) {
        each_row([&](uint64_t guest, uint8_t* packed) {
            read_memory(guest, packed, static_cast<uint32_t>(tight));
        });
        device_->full_barrier();
        if (upload_planes(*device_, image.image, image.texture.format, bytes_.data(), region))
            image.gpu_written = true;
        return;
    }
    DepthPlanes planes;
    if (!download_planes(*device_, image.image, region, planes))
        return;
    wait(flush(), ~uint64_t{0});
    planes.pack(image.texture.format, bytes_.data());
    each_row([&](uint64_t guest, const uint8_t* packed) {
        std::memcpy(reinterpret_cast<void*>(guest), packed, tight);
    });
}

void VulkanBackend::copy_decoded(const BufferTextureCopy& copy, Image& image, VkBufferImageCopy region,
                                 const CopyShape& s) {
    if (copy.to_buffer) {
        report(Report::unsupported, "copy out of %s, which is decoded in software",
               nvn::format_name(image.texture.format));
        return;
    }
    const uint64_t tight = uint64_t{s.columns} * s.bytes;
    const uint32_t w = region.imageExtent.width, h = region.imageExtent.height;
    const uint64_t texels = uint64_t{w} * h * decoded_bytes(image.decoded);
    bytes_.assign(tight * s.rows * s.slices, 0);
    for (uint32_t z = 0; z < s.slices; ++z)
        for (uint32_t y = 0; y < s.rows; ++y)
            read_memory(copy.buffer + z * s.slice + y * s.row,
                        bytes_.data() + (uint64_t{z} * s.rows + y) * tight, static_cast<uint32_t>(tight));
    const Piece p = device_->piece(texels * s.slices, 16);
    if (!p.buffer)
        return;
    for (uint32_t z = 0; z < s.slices; ++z)
        decode_blocks(image.texture.format, bytes_.data() + z * tight * s.rows, w, h, p.map + z * texels);
    region.bufferOffset = p.offset;
    device_->full_barrier();
    vkCmdCopyBufferToImage(device_->commands(), p.buffer, image.image, VK_IMAGE_LAYOUT_GENERAL, 1, &region);
    image.gpu_written = true;
}

void VulkanBackend::copy_buffer_texture(const BufferTextureCopy& copy) {
    use(Use::transfer);
    Image* image = textures_.find(copy.texture.texture);
    if (!image)
        return;
    const nvn::FormatInfo f = nvn::format_info(copy.texture.texture.format);
    VkBufferImageCopy region{};
    if (!subresource(*image, copy.texture, copy.region, region.imageSubresource, region.imageOffset,
                     region.imageExtent))
        return;
    if (copy.texture.texture.samples > 1) {
        report(Report::unsupported, "copy between a buffer and a multisampled texture");
        return;
    }
    CopyShape s;
    s.bytes = f.bytes;
    s.columns = (region.imageExtent.width + f.block_width - 1) / f.block_width;
    s.rows = (region.imageExtent.height + f.block_height - 1) / f.block_height;
    const uint64_t tight = uint64_t{s.columns} * f.bytes;
    s.row = copy.row_stride ? static_cast<uint64_t>(copy.row_stride) : tight;
    s.slice = copy.image_stride ? static_cast<uint64_t>(copy.image_stride) : s.row * s.rows;
    s.slices = std::max(region.imageExtent.depth, region.imageSubresource.layerCount);
    const uint64_t size = s.slice * (s.slices - 1) + s.row * (s.rows - 1) + tight;
    PoolMemory::Place place;
    if (s.row > (uint64_t{1} << 31) || s.slice > (uint64_t{1} << 40) || s.row < tight ||
        s.slice < s.row * (s.rows - 1) + tight) {
        report(Report::bad_argument, "copy strides %lld, %lld", static_cast<long long>(copy.row_stride),
               static_cast<long long>(copy.image_stride));
        return;
    }
    if (!Host::get().pool_at(copy.buffer, size) || !memory_.find(copy.buffer, size, place)) {
        report(Report::bad_address, "copy buffer at 0x%llx", static_cast<unsigned long long>(copy.buffer));
        return;
    }
    if (packed_depth(copy.texture.texture.format)) {
        copy_depth_stencil(copy, *image, region, s);
        return;
    }
    if (image->decoded != DecodedTexel::none) {
        copy_decoded(copy, *image, region, s);
        return;
    }
    const VkCommandBuffer c = device_->commands();
    // Vulkan counts rows and slices in texels and wants aligned offsets; other strides go through tight
    // memory.
    const bool fits = s.row % f.bytes == 0 && s.slice % s.row == 0 && s.slice / s.row >= s.rows &&
                      place.offset % f.bytes == 0 && place.offset % 4 == 0;
    VkBuffer buffer = place.buffer;
    region.bufferOffset = place.offset;
    if (fits) {
        region.bufferRowLength = static_cast<uint32_t>(s.row / f.bytes) * f.block_width;
        region.bufferImageHeight = static_cast<uint32_t>(s.slice / s.row) * f.block_height;
    } else {
        const Piece p = device_->piece(tight * s.rows * s.slices, 48); // a multiple of all texel sizes
        if (!p.buffer)
            return;
        buffer = p.buffer;
        region.bufferOffset = p.offset;
    }
    device_->full_barrier();
    if (copy.to_buffer) {
        vkCmdCopyImageToBuffer(c, image->image, VK_IMAGE_LAYOUT_GENERAL, buffer, 1, &region);
        if (!fits) {
            device_->full_barrier();
            copy_rows(buffer, region.bufferOffset, place.buffer, place.offset, s, false);
        }
        memory_.note_write(copy.buffer, size);
    } else {
        if (!fits) {
            copy_rows(place.buffer, place.offset, buffer, region.bufferOffset, s, true);
            device_->full_barrier();
        }
        vkCmdCopyBufferToImage(c, buffer, image->image, VK_IMAGE_LAYOUT_GENERAL, 1, &region);
        image->gpu_written = true;
    }
}

void VulkanBackend::copy_texture(const TextureCopy& copy) {
    use(Use::transfer);
    Image* from = textures_.find(copy.source.texture);
    Image* to = textures_.find(copy.destination.texture);
    VkImageSubresourceLayers a, b;
    VkOffset3D at_a, at_b;
    VkExtent3D size_a, size_b;
    if (!from || !to || !subresource(*from, copy.source, copy.source_region, a, at_a, size_a) ||
        !subresource(*to, copy.destination, copy.destination_region, b, at_b, size_b))
        return;
    device_->full_barrier();
    to->gpu_written = true;
    const VkCommandBuffer c = device_->commands();
    const nvn::FormatInfo fa = nvn::format_info(from->texture.format),
                          fb = nvn::format_info(to->texture.format);
    const bool compressed = fa.block_width > 1 || fb.block_width > 1;
    constexpr uint32_t kMirror =
        NVN_COPY_FLAGS_MIRROR_X_BIT | NVN_COPY_FLAGS_MIRROR_Y_BIT | NVN_COPY_FLAGS_MIRROR_Z_BIT;
    const auto blocks = [](uint32_t texels, uint32_t block) { return (texels + block - 1) / block; };
    const bool equal = blocks(size_a.width, fa.block_width) == blocks(size_b.width, fb.block_width) &&
                       blocks(size_a.height, fa.block_height) == blocks(size_b.height, fb.block_height) &&
                       size_a.depth * a.layerCount == size_b.depth * b.layerCount;
    // Compressed blocks are copied as they are, between formats of one block size too.
    if (equal && !(copy.flags & kMirror) && from->texture.samples == to->texture.samples &&
        (from->format == to->format || (compressed && fa.bytes == fb.bytes))) {
        const VkImageCopy region{
            a, at_a, b, at_b, {size_a.width, size_a.height, std::max(size_a.depth, size_b.depth)}};
        vkCmdCopyImage(c, from->image, VK_IMAGE_LAYOUT_GENERAL, to->image, VK_IMAGE_LAYOUT_GENERAL, 1,
                       &region);
        return;
    }
    VkFormatProperties pa, pb;
    vkGetPhysicalDeviceFormatProperties(device_->physical(), from->format, &pa);
    vkGetPhysicalDeviceFormatProperties(device_->physical(), to->format, &pb);
    const bool color = a.aspectMask == VK_IMAGE_ASPECT_COLOR_BIT;
    const bool numbers_agree = integer_format(from->texture.format) == integer_format(to->texture.format);
    if (!(pa.optimalTilingFeatures & VK_FORMAT_FEATURE_BLIT_SRC_BIT) ||
        !(pb.optimalTilingFeatures & VK_FORMAT_FEATURE_BLIT_DST_BIT) || !numbers_agree ||
        (!color && from->format != to->format) || a.layerCount != b.layerCount || from->texture.samples > 1 ||
        to->texture.samples > 1) {
        report(Report::unsupported, "scaled or converting copy from %s (%u samples) to %s (%u samples)",
               nvn::format_name(copy.source.texture.format), copy.source.texture.samples,
               nvn::format_name(copy.destination.texture.format), copy.destination.texture.samples);
        return;
    }
    const auto far_corner = [](VkOffset3D o, VkExtent3D e) {
        return VkOffset3D{o.x + static_cast<int32_t>(e.width), o.y + static_cast<int32_t>(e.height),
                          o.z + static_cast<int32_t>(e.depth)};
    };
    VkImageBlit blit{a, {at_a, far_corner(at_a, size_a)}, b, {at_b, far_corner(at_b, size_b)}};
    if (copy.flags & NVN_COPY_FLAGS_MIRROR_X_BIT)
        std::swap(blit.dstOffsets[0].x, blit.dstOffsets[1].x);
    if (copy.flags & NVN_COPY_FLAGS_MIRROR_Y_BIT)
        std::swap(blit.dstOffsets[0].y, blit.dstOffsets[1].y);
    if (copy.flags & NVN_COPY_FLAGS_MIRROR_Z_BIT)
        std::swap(blit.dstOffsets[0].z, blit.dstOffsets[1].z);
    const bool linear =
        (copy.flags & NVN_COPY_FLAGS_LINEAR_FILTER_BIT) && color && !integer_format(from->texture.format);
    vkCmdBlitImage(c, from->image, VK_IMAGE_LAYOUT_GENERAL, to->image, VK_IMAGE_LAYOUT_GENERAL, 1, &blit,
                   linear ? VK_FILTER_LINEAR : VK_FILTER_NEAREST);
}

} // namespace dmsh::replay::vulkan
