// Reads MGFX effects. Layout: reference/containers/misc.md, section 10.
#include "archivers/nvn/mgfx.h"
#include "archivers/nvn/check_stage.h"
#include "archivers/nvn/glslc_output.h"
#include "archivers/nvn/readers.h"

namespace dmsh {
namespace {

constexpr unsigned kMaxDepth = 16;            // parameters in parameters
constexpr uint64_t kMaxParameters = 1u << 16; // of an effect
constexpr uint32_t kDxbcMagic = 0x43425844;   // "DXBC": an effect may keep DirectX bytecode beside or alone
constexpr unsigned kNone = 255;               // a pass without this stage
constexpr uint64_t kBlendBytes = 18, kDepthStencilBytes = 25, kRasterizerBytes = 12;
// In executables effects that come to nothing cost up to a millisecond each: no more than can honestly be
// there.
constexpr uint64_t kEmbeddedTries = 64, kBytesPerEmbeddedTry = 0x4000;
enum ParameterType : uint8_t { kVoid = 0, kBool = 1, kInt32 = 2, kSingle = 3, kString = 4 };

// Reads forward; past the end everything is 0 and ok() is false.
class Cursor {
  public:
    explicit Cursor(Bytes b) : b_(b) {}
    uint64_t at() const { return at_; }
    bool ok() const { return ok_; }
    void skip(uint64_t n) {
        ok_ = ok_ && b_.has(at_, n);
        at_ = ok_ ? at_ + n : b_.size();
    }
    uint8_t u8() {
        const uint8_t v = b_.u8(at_);
        skip(1);
        return v;
    }
    uint32_t u32() {
        const uint32_t v = b_.u32(at_);
        skip(4);
        return v;
    }
    // A length in 7-bit groups, then so many bytes.
    void text() {
        uint64_t length = 0;
        for (unsigned shift = 0; shift < 35; shift += 7) {
            const uint8_t byte = u8();
            length |= uint64_t{byte & 0x7fu} << shift;
            if (byte < 0x80)
                return skip(length);
        }
        ok_ = false;
    }

  private:
    Bytes b_;
    uint64_t at_ = 0;
    bool ok_ = true;
};

struct Bytecode {
    bool vertex = false;
    uint64_t at = 0, length = 0;
};

class Effect {
  public:
    // `embedded`: among other bytes, so the first shader must show what the four bytes alone do not.
    Effect(const Blob& in, uint64_t where, bool embedded, Output& out)
        : in_(in), where_(where), embedded_(embedded), out_(out), c_(in.bytes) {}

    Result<uint64_t> read() {
        c_.skip(4);
        version_ = c_.u8();
        c_.skip(1); // profile
        if (version_ != 5 && version_ != 8)
            return bad("version " + std::to_string(version_) + " is not read");
        if (version_ == 8)
            c_.skip(4); // effect key
        constant_buffers();
        shaders();
        if (embedded_ && (shaders_.empty() || in_.bytes.u32(shaders_[0].at + 4) != kControlMagic))
            return bad("its first shader has no control section");
        if (const auto ok = parameters(0); !ok)
            return ok.error();
        techniques();
        if (!c_.ok())
            return bad("it leaves the file");
        if (const auto ok = give(); !ok)
            return ok.error();
        return c_.at();
    }

  private:
    Error bad(const std::string& what) const { return {"MGFX effect: " + what, {}, where_}; }
    bool v8() const { return version_ == 8; }

    void constant_buffers() {
        for (unsigned n = c_.u8(); n && c_.ok(); --n) {
            if (v8())
                c_.text();
            c_.skip(2); // size
            c_.skip(3 * uint64_t{c_.u8()});
        }
    }

    void shaders() {
        for (unsigned n = c_.u8(); n && c_.ok(); --n) {
            Bytecode code;
            code.vertex = c_.u8();
            code.length = c_.u32();
            code.at = c_.at();
            c_.skip(code.length);
            shaders_.push_back(code);
            for (unsigned samplers = c_.u8(); samplers && c_.ok(); --samplers) {
                c_.skip(3);  // type, texture slot, sampler slot
                if (c_.u8()) // addresses, border colour (not in version 5), filter, anisotropy, mip level,
                             // bias
                    c_.skip(v8() ? 20 : 16);
                if (v8())
                    c_.text();
                c_.skip(1); // parameter
            }
            c_.skip(c_.u8()); // constant buffers
            if (v8())
                for (unsigned attributes = c_.u8(); attributes && c_.ok(); --attributes) {
                    c_.text();
                    c_.skip(4);
                }
        }
    }

    Result<void> parameters(unsigned depth) {
        if (depth > kMaxDepth)
            return bad("parameters nest more than 16 deep");
        for (unsigned n = c_.u8(); n && c_.ok(); --n) {
            if (++parameters_ > kMaxParameters)
                return bad("more than 65536 parameters");
            c_.skip(1); // class
            const uint8_t type = c_.u8();
            c_.text();
            c_.text();
            c_.skip(1); // annotations: a count without items
            const uint64_t rows = c_.u8(), columns = c_.u8();
            const uint64_t before = parameters_;
            for (int list = 0; list < 2; ++list) // elements, members
                if (const auto ok = parameters(depth + 1); !ok)
                    return ok;
            if (parameters_ != before)
                continue;
            if (type == kString)
                return bad("a string parameter with a value is not read");
            if (type == kBool || type == kInt32 || type == kSingle)
                c_.skip(rows * columns * 4);
        }
        return {};
    }

    void techniques() {
        for (unsigned n = c_.u8(); n && c_.ok(); --n) {
            c_.text();
            c_.skip(1);
            for (unsigned passes = c_.u8(); passes && c_.ok(); --passes) {
                c_.text();
                c_.skip(1);
                const unsigned vertex = c_.u8(), pixel = c_.u8();
                if (vertex != kNone && pixel != kNone)
                    pairs_.push_back({vertex, pixel});
                for (const uint64_t block : {kBlendBytes, kDepthStencilBytes, kRasterizerBytes})
                    if (c_.u8())
                        c_.skip(block);
            }
        }
    }

    // Only once the whole effect is known to hold: one that is refused gives nothing.
    Result<void> give() {
        for (const auto& [vertex, pixel] : pairs_)
            if (vertex >= shaders_.size() || pixel >= shaders_.size())
                return bad("a pass names a shader that is not there");
        std::vector<std::optional<FoundShader>> found(shaders_.size());
        for (size_t i = 0; i < shaders_.size(); ++i) {
            const Bytecode& s = shaders_[i];
            const uint32_t first = in_.bytes.clamp(s.at, s.length).u32(0);
            if (first == kDxbcMagic)
                continue;
            if (version_ == 5) {
                if (const auto ok = whole_output(i); !ok)
                    return ok;
                continue;
            }
            auto shader = pair(s);
            if (!shader)
                return bad("shader " + std::to_string(i) + ": " + shader.error().message);
            found[i] = *std::move(shader);
        }
        for (const auto& [vertex, pixel] : pairs_) {
            if (!found[vertex] || !found[pixel])
                continue;
            const uint32_t program = out_.new_program(Evidence::listed);
            for (const unsigned i : {vertex, pixel}) {
                found[i]->program = program;
                if (const auto ok = out_.shader(*found[i]); !ok)
                    return ok;
            }
        }
        for (auto& shader : found)
            if (shader && !shader->program)
                if (const auto ok = out_.shader(*std::move(shader)); !ok)
                    return ok;
        return {};
    }

    // Version 5: a whole GLSLC output of one stage, exactly as long as the bytecode.
    Result<void> whole_output(size_t i) {
        const Bytecode& s = shaders_[i];
        const auto output = in_.slice(s.at, s.length);
        const auto length = read_glslc(*output, where_ + s.at, out_);
        if (!length)
            return bad("shader " + std::to_string(i) + ": " + length.error().message);
        if (*length != s.length)
            return bad("shader " + std::to_string(i) + " is longer than its GLSLC output");
        return {};
    }

    // Version 8: control section and code area, each behind its length.
    Result<FoundShader> pair(const Bytecode& s) {
        const Blob all = in_.clamp(s.at, s.length);
        const uint64_t control_length = all.bytes.u32(0);
        const auto control = all.slice(4, control_length);
        const uint64_t code_length = all.bytes.u32(4 + control_length);
        const auto code = all.slice(8 + control_length, code_length);
        if (!control || !code || control_length + code_length + 8 != s.length)
            return Error{"its lengths do not agree"};
        auto shader = check_stage(*control, *code, std::nullopt);
        if (!shader)
            return shader;
        if (shader->stage != (s.vertex ? Stage::vertex : Stage::fragment))
            return Error{"the effect calls it " + std::string(s.vertex ? "vertex" : "fragment")};
        shader->offset = where_ + s.at + 4;
        shader->cover = true; // the engine combines stages of different effects
        return shader;
    }

    const Blob& in_;
    uint64_t where_;
    bool embedded_;
    Output& out_;
    Cursor c_;
    unsigned version_ = 0;
    uint64_t parameters_ = 0;
    std::vector<Bytecode> shaders_;
    std::vector<std::pair<unsigned, unsigned>> pairs_; // vertex and pixel shader of a pass
};

bool probe_mgfx(Bytes b) {
    return b.u32(0) == kMgfxMagic;
}

// A loose effect: version 8 ends with the file, version 5 may have zeros behind it.
Result<void> read_loose(const Blob& in, Output& out) {
    const auto length = read_mgfx(in, 0, out);
    if (!length)
        return length.error();
    if (!in.bytes.all_zero(*length, in.size() - *length))
        return Error{"MGFX effect does not end where the file does", {}, *length};
    return {};
}

// What four bytes in an executable must have behind them to be an effect.
bool looks_like_embedded_mgfx(Bytes b) {
    if (b.u32(0) != kMgfxMagic || b.u8(4) != 8)
        return false;
    const Bytes near = b.clamp(0, 0x1000); // constant buffers come first and are small
    const auto control = near.find_u32(kControlMagic, 10);
    return control && *control >= 9 && near.u32(*control - 4) >= kControlBytesMin;
}

} // namespace

Result<uint64_t> read_mgfx(const Blob& in, uint64_t where, Output& out) {
    return Effect(in, where, false, out).read();
}

std::vector<ReadRange> read_embedded_mgfx(const Blob& segment, uint64_t address, Output& out) {
    const Bytes b = segment.bytes;
    std::vector<ReadRange> read;
    uint64_t tries = kEmbeddedTries + b.size() / kBytesPerEmbeddedTry;
    for (auto at = b.find_u32(kMgfxMagic, 0); at;) {
        uint64_t next = *at + 4;
        const Blob rest = segment.clamp(*at);
        if (looks_like_embedded_mgfx(rest.bytes) && tries-- > 0)
            if (const auto length = Effect(rest, address + *at, true, out).read()) {
                next = *at + *length;
                read.push_back({*at, next});
            }
        at = tries ? b.find_u32(kMgfxMagic, next) : std::nullopt;
    }
    return read;
}

constexpr Reader kMgfxReader = {
    "mgfx",
    probe_mgfx,
    read_loose,
    {"MonoGame effect (.mgfxo)", "`MGFX`; in executables only version 8 with a control section",
     "archivers/nvn/mgfx.cpp",
     "versions 5 and 8 to their end; passes that name two stages; effects in executables",
     "other versions; string parameters with values"}};

} // namespace dmsh
