// Small shaders in final IR, made by hand for the tests of AIR emission.
#pragma once
#include "compiler/lift/intrinsics.h"
#include "compiler/lift/shader_module.h"
#include <functional>

namespace dmsh::test {

// Builds void @main() { body } with typed pointers; `body` inserts through the builder, the return is added.
inline ShaderModule make_shader(Stage stage,
                                const std::function<void(llvm::IRBuilder<>&, ShaderInterface&)>& body) {
    ShaderModule s;
    s.context = std::make_unique<llvm::LLVMContext>();
    s.context->setOpaquePointers(false);
    s.module = std::make_unique<llvm::Module>("test", *s.context);
    s.interface.stage = stage;
    s.input.stage = stage;
    auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(*s.context), false);
    s.main = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "main", *s.module);
    llvm::IRBuilder<> b(llvm::BasicBlock::Create(*s.context, "entry", s.main));
    body(b, s.interface);
    b.CreateRetVoid();
    return s;
}

inline llvm::Value* f32(llvm::IRBuilder<>& b, float v) {
    return llvm::ConstantFP::get(b.getFloatTy(), v);
}
inline llvm::Value* bits(llvm::IRBuilder<>& b, llvm::Value* v) {
    return b.CreateBitCast(v, b.getInt32Ty());
}
inline llvm::Value* real(llvm::IRBuilder<>& b, llvm::Value* v) {
    return b.CreateBitCast(v, b.getFloatTy());
}

// A vertex shader: position = attribute 0 scaled by c3[0], locn0 = attribute 1, instance-dependent w.
inline ShaderModule vertex_shader() {
    return make_shader(Stage::vertex, [](llvm::IRBuilder<>& b, ShaderInterface& face) {
        Binding u;
        u.kind = BindingKind::uniform;
        u.bank = 3;
        face.bindings.push_back(u);
        face.inputs = {{.location = 0, .components = 15}, {.location = 1, .components = 3}};
        face.outputs = {{.location = 0, .components = 3}};
        const auto load = [&](uint32_t a) {
            return call(b, Intrinsic::attr_load, {b.getInt32(a), b.getInt32(0)});
        };
        const auto store = [&](uint32_t a, llvm::Value* v) {
            call(b, Intrinsic::attr_store, {b.getInt32(a), v, b.getInt32(0)});
        };
        llvm::Value* scale = real(b, call(b, Intrinsic::ubo_load, {b.getInt32(0), b.getInt32(16)}));
        for (uint32_t i = 0; i < 3; ++i)
            store(0x70 + 4 * i, bits(b, b.CreateFMul(real(b, load(0x80 + 4 * i)), scale)));
        store(0x80, load(0x90));
        store(0x84, load(0x94));
        store(0x6c, bits(b, b.CreateUIToFP(load(0x2f8), b.getFloatTy())));
    });
}

// A fragment shader: a combined texture at locn0, discarded below 0.5 alpha, one float and one unsigned
// target.
inline ShaderModule fragment_shader() {
    return make_shader(Stage::fragment, [](llvm::IRBuilder<>& b, ShaderInterface& face) {
        Binding t;
        t.kind = BindingKind::texture;
        t.slot = 2;
        t.sampled = true;
        face.bindings.push_back(t);
        face.inputs = {{.location = 0, .components = 3, .interpolation = 2}};
        face.colours = {{.target = 0, .components = 15},
                        {.target = 1, .components = 1, .numeric = Numeric::uint}};
        face.demotes = true;
        const auto interp = [&](uint32_t a) {
            return call(b, Intrinsic::attr_interp, {b.getInt32(a), b.getInt32(0), b.getInt32(0)});
        };
        TexDesc d;
        llvm::Value *zero = f32(b, 0), *none = b.getInt32(0);
        llvm::Value* texel = call(b, Intrinsic::btex_sample,
                                  {none, none, none, none, b.getInt32(d.pack()), interp(0x80), interp(0x84),
                                   zero, none, zero, zero, none});
        llvm::Value* alpha = b.CreateExtractElement(texel, 3);
        llvm::Function* f = b.GetInsertBlock()->getParent();
        auto* kill = llvm::BasicBlock::Create(f->getContext(), "kill", f);
        auto* rest = llvm::BasicBlock::Create(f->getContext(), "rest", f);
        b.CreateCondBr(b.CreateFCmpOLT(alpha, f32(b, 0.5f)), kill, rest);
        b.SetInsertPoint(kill);
        call(b, Intrinsic::demote, {});
        b.CreateBr(rest);
        b.SetInsertPoint(rest);
        for (uint32_t i = 0; i < 4; ++i)
            call(b, Intrinsic::frag_colour, {none, b.getInt32(i), bits(b, b.CreateExtractElement(texel, i))});
        call(b, Intrinsic::frag_colour, {b.getInt32(1), none, b.getInt32(7)});
    });
}

// A kernel: storage, shared memory, barrier, atomics, lanes.
inline ShaderModule kernel_shader() {
    return make_shader(Stage::compute, [](llvm::IRBuilder<>& b, ShaderInterface& face) {
        Binding s;
        s.kind = BindingKind::storage;
        s.written = s.atomic = true;
        face.bindings.push_back(s);
        face.local_size = {64, 1, 1};
        face.shared_bytes = 256;
        face.writes_memory = true;
        const auto special = [&](SpecialRegister r) {
            return call(b, Intrinsic::special, {b.getInt32(static_cast<uint32_t>(r))});
        };
        llvm::Value *none = b.getInt32(0), *tid = special(SpecialRegister::tid_x);
        llvm::Value* offset =
            b.CreateShl(b.CreateAdd(tid, b.CreateMul(special(SpecialRegister::ctaid_x), b.getInt32(64))), 2);
        llvm::Value* word = call(b, Intrinsic::ssbo_load_32, {none, offset});
        call(b, Intrinsic::shared_store_32, {b.CreateShl(tid, 2), word});
        call(b, Intrinsic::barrier, {});
        llvm::Value* other =
            call(b, Intrinsic::shared_load_32, {b.CreateXor(b.CreateShl(tid, 2), b.getInt32(4))});
        llvm::Value* lane = call(b, Intrinsic::shfl, {b.getInt32(3), other, b.getInt32(1), b.getInt32(0x1f)});
        const auto atomic = [&](AtomicOp op, llvm::Value* v) {
            return call(b, Intrinsic::ssbo_atomic_32,
                        {none, none, b.getInt32(static_cast<uint32_t>(op)), v, none});
        };
        atomic(AtomicOp::add, lane);
        atomic(AtomicOp::inc, b.getInt32(100));
        atomic(AtomicOp::fadd_ftz, bits(b, f32(b, 1)));
        llvm::Value* votes = call(b, Intrinsic::ballot, {b.CreateICmpUGT(lane, b.getInt32(3))});
        call(b, Intrinsic::ssbo_store_32, {none, offset, b.CreateAdd(votes, lane)});
        call(b, Intrinsic::ssbo_store_8, {none, offset, b.CreateTrunc(lane, b.getInt8Ty())});
    });
}

} // namespace dmsh::test
