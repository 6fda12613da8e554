// A triangle over the viewport, one instance per layer.
#version 450
#extension GL_ARB_shader_viewport_layer_array : require
void main() {
    gl_Position = vec4(vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1) * 4.0 - 1.0, 0.0, 1.0);
    gl_Layer = gl_InstanceIndex;
}
