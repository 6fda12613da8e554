// Copies one level between block-linear storage and rows, a 4-byte word of a row per invocation; docs/textures.md
// has the address rule. Rows on the linear side start at multiples of 4 bytes.
#version 450
layout(local_size_x = 64) in;

layout(push_constant) uniform Push {
    uint storage_at, rows_at; // word indices of the level and of the first row
    uint row_bytes;           // texels of a row, without padding
    uint rows, slices;
    uint row_words, slice_words; // linear side: from one row, one slice to the next
    uint columns;                // GOB columns of the level
    uint block_height, block_depth; // GOBs, slices
    uint order;                  // 0 Tegra X1, 1 Switch 2: the order of the 16-byte pieces of a GOB
    uint to_storage;             // 0: rows from storage, 1: storage from rows
} p;
layout(set = 0, binding = 0) buffer Storage { uint storage[]; };
layout(set = 0, binding = 1) buffer Rows { uint rows[]; };

// Byte offset of byte x, row y in a GOB.
uint gob_offset(uint x, uint y) {
    const uint right = x >> 5, column = x >> 4 & 1, pair = y & 1;
    return p.order == 0 ? right << 8 | y >> 1 << 6 | column << 5 | pair << 4 | x & 15
                        : right << 8 | y >> 2 << 7 | column << 6 | (y >> 1 & 1) << 5 | pair << 4 | x & 15;
}

void main() {
    const uint words = (p.row_bytes + 3) >> 2;
    const uint id = gl_GlobalInvocationID.x + gl_GlobalInvocationID.y * gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    const uint x = id % words * 4, y = id / words % p.rows, z = id / words / p.rows;
    if (z >= p.slices)
        return;
    const uint block_bytes = 512 * p.block_height * p.block_depth, block_rows = 8 * p.block_height;
    const uint row_of_blocks = p.columns * block_bytes;
    const uint slice_group = (p.rows + block_rows - 1) / block_rows * row_of_blocks;
    const uint at = z / p.block_depth * slice_group + y / block_rows * row_of_blocks + (x >> 6) * block_bytes +
                    z % p.block_depth * 512 * p.block_height + (y >> 3) % p.block_height * 512 +
                    gob_offset(x & 63, y & 7);
    const uint word = p.storage_at + (at >> 2), row_word = p.rows_at + z * p.slice_words + y * p.row_words + (x >> 2);
    if (p.to_storage == 0) {
        rows[row_word] = storage[word];
    } else if (x + 4 <= p.row_bytes) {
        storage[word] = rows[row_word];
    } else { // what lies behind the row's end is padding and stays as it is
        const uint mask = (1u << (p.row_bytes - x) * 8) - 1;
        storage[word] = storage[word] & ~mask | rows[row_word] & mask;
    }
}
