// Sums query results, writes counter reports and decides render conditions, in order with the GPU's other work.
#version 450
layout(local_size_x = 1) in;

layout(push_constant) uniform Push {
    uint op;          // 0 accumulate, 1 report, 2 condition
    uint from, to;    // word indices in their buffers
    uint count;       // accumulate: results to add
    uint stride;      // accumulate: words from one result to the next
    uint equal;       // condition: 1 = the values are equal
    uint tick_scale;  // report: ticks of the guest's clock per tick of the device's, times 65536
    uint stamp;       // report: word index of the raw timestamp in `queries`
} p;
layout(set = 0, binding = 0) buffer Queries { uint queries[]; };
layout(set = 0, binding = 1) buffer Accumulators { uint accumulators[]; };
layout(set = 0, binding = 2) buffer Guest { uint guest[]; };

uvec2 add(uvec2 a, uvec2 b) {
    uint carry;
    const uint low = uaddCarry(a.x, b.x, carry);
    return uvec2(low, a.y + b.y + carry);
}

void main() {
    if (p.op == 0) {
        uvec2 sum = uvec2(accumulators[p.to], accumulators[p.to + 1]);
        for (uint i = 0; i < p.count; ++i)
            sum = add(sum, uvec2(queries[p.from + i * p.stride], queries[p.from + i * p.stride + 1]));
        accumulators[p.to] = sum.x;
        accumulators[p.to + 1] = sum.y;
    } else if (p.op == 1) {
        const uvec2 raw = uvec2(queries[p.stamp], queries[p.stamp + 1]);
        uint h0, l0, h1, l1; // raw * scale, the middle 64 of 96 bits
        umulExtended(raw.x, p.tick_scale, h0, l0);
        umulExtended(raw.y, p.tick_scale, h1, l1);
        const uvec2 upper = add(uvec2(h0, 0), uvec2(l1, h1));
        const uvec2 ticks = uvec2(l0 >> 16 | upper.x << 16, upper.x >> 16 | upper.y << 16);
        guest[p.to] = accumulators[p.from];
        guest[p.to + 1] = accumulators[p.from + 1];
        guest[p.to + 2] = ticks.x;
        guest[p.to + 3] = ticks.y;
    } else {
        const bool same = guest[p.from] == guest[p.from + 4] && guest[p.from + 1] == guest[p.from + 5];
        queries[p.to] = same == (p.equal != 0) ? 1u : 0u;
    }
}
