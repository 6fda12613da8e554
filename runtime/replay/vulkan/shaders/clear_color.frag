// Writes the pushed words as the colour of target 0; T is the target's kind of component.
#version 450
layout(push_constant) uniform Push { uvec4 words; } p;
#if defined(SIGNED)
layout(location = 0) out ivec4 color;
void main() { color = ivec4(p.words); }
#elif defined(UNSIGNED)
layout(location = 0) out uvec4 color;
void main() { color = p.words; }
#else
layout(location = 0) out vec4 color;
void main() { color = uintBitsToFloat(p.words); }
#endif
