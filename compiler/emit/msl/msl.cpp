// SPIRV-Cross in a child process: what it throws becomes an error, what it crashes on does too, and a hang
// ends.
#include "compiler/emit/msl/msl.h"
#include "compiler/lift/losses.h"
#include "runtime/abi/entry_points.h"
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <poll.h>
#include <spirv_cross_c.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dmsh {
namespace {

constexpr uint32_t kMslVersion = 30100; // MSL 3.1
constexpr int kTimeoutSeconds = 30;
constexpr size_t kMaxTextBytes = 64 << 20;

Error refuse(std::string message) {
    Error e{"MSL: " + std::move(message)};
    e.code = static_cast<uint16_t>(LossCode::msl);
    return e;
}

SpvExecutionModel model_of(Stage s) {
    switch (s) {
    case Stage::vertex: return SpvExecutionModelVertex;
    case Stage::fragment: return SpvExecutionModelFragment;
    case Stage::geometry: return SpvExecutionModelGeometry;
    case Stage::tess_control: return SpvExecutionModelTessellationControl;
    case Stage::tess_evaluation: return SpvExecutionModelTessellationEvaluation;
    default: return SpvExecutionModelGLCompute;
    }
}

// The conversion itself. Runs in the child only. Returns the text, or the failure with `ok` false.
std::string convert(std::span<const uint32_t> words, const ShaderInterface& interface, bool ios, bool& ok) {
    ok = false;
    spvc_context context = nullptr;
    if (spvc_context_create(&context) != SPVC_SUCCESS)
        return "no SPIRV-Cross context";
    const auto problem = [&](const char* step) {
        const char* text = spvc_context_get_last_error_string(context);
        return std::string(step) + ": " + (text ? text : "failed");
    };
    spvc_parsed_ir ir = nullptr;
    if (spvc_context_parse_spirv(context, words.data(), words.size(), &ir) != SPVC_SUCCESS)
        return problem("parse");
    spvc_compiler compiler = nullptr;
    if (spvc_context_create_compiler(context, SPVC_BACKEND_MSL, ir, SPVC_CAPTURE_MODE_TAKE_OWNERSHIP,
                                     &compiler) != SPVC_SUCCESS)
        return problem("compiler");
    spvc_compiler_options options = nullptr;
    if (spvc_compiler_create_compiler_options(compiler, &options) != SPVC_SUCCESS)
        return problem("options");
    spvc_compiler_options_set_uint(options, SPVC_COMPILER_OPTION_MSL_VERSION, kMslVersion);
    spvc_compiler_options_set_uint(options, SPVC_COMPILER_OPTION_MSL_PLATFORM,
                                   ios ? SPVC_MSL_PLATFORM_IOS : SPVC_MSL_PLATFORM_MACOS);
    spvc_compiler_options_set_bool(options, SPVC_COMPILER_OPTION_MSL_ARGUMENT_BUFFERS, SPVC_TRUE);
    spvc_compiler_options_set_uint(options, SPVC_COMPILER_OPTION_MSL_ARGUMENT_BUFFERS_TIER, 1); // tier 2
    spvc_compiler_options_set_bool(options, SPVC_COMPILER_OPTION_MSL_TEXTURE_BUFFER_NATIVE, SPVC_TRUE);
    // NaN rules of FMNMX and exact arithmetic hold in every math mode (T-020, T-023).
    spvc_compiler_options_set_bool(options, SPVC_COMPILER_OPTION_MSL_INVARIANT_FP_MATH, SPVC_TRUE);
    if (ios)
        spvc_compiler_options_set_bool(options, SPVC_COMPILER_OPTION_MSL_IOS_USE_SIMDGROUP_FUNCTIONS,
                                       SPVC_TRUE);
    if (spvc_compiler_install_compiler_options(compiler, options) != SPVC_SUCCESS)
        return problem("install options");
    // One argument buffer per stage: set 0 is [[buffer(0)]], members take the reflection's [[id]]s.
    for (uint32_t i = 0; i < interface.bindings.size(); ++i) {
        const Binding& binding = interface.bindings[i];
        spvc_msl_resource_binding b;
        spvc_msl_resource_binding_init(&b);
        b.stage = model_of(interface.stage);
        b.desc_set = 0;
        b.binding = i;
        b.msl_buffer = b.msl_texture = binding.metal_id;
        b.msl_sampler = binding.kind == BindingKind::separate_sampler ||
                                binding.kind == BindingKind::sampler_in_bank ||
                                binding.kind == BindingKind::sampler_pool
                            ? binding.metal_id
                            : binding.metal_sampler_id;
        bool laid_out = false;
        for (const Binding& other : interface.bindings)
            laid_out |= other.metal_id != 0 || other.metal_sampler_id != 0;
        if (laid_out && spvc_compiler_msl_add_resource_binding(compiler, &b) != SPVC_SUCCESS)
            return problem("binding");
    }
    const char* text = nullptr;
    if (spvc_compiler_compile(compiler, &text) != SPVC_SUCCESS || !text)
        return problem("compile");
    ok = true;
    std::string out = text;
    spvc_context_destroy(context);
    return out;
}

bool write_all(int fd, const char* data, size_t size) {
    while (size) {
        const ssize_t n = write(fd, data, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        data += n;
        size -= static_cast<size_t>(n);
    }
    return true;
}

} // namespace

Result<std::string> spirv_to_msl(std::span<const uint32_t> words, const ShaderInterface& interface,
                                 bool ios) {
    if (interface.stage != Stage::vertex && interface.stage != Stage::fragment &&
        interface.stage != Stage::compute)
        return refuse("Metal has no " + std::string(stage_name(interface.stage)) + " functions");
    int pipes[2];
    if (pipe(pipes) != 0)
        return refuse(std::string("no pipe for the converter: ") + strerror(errno));
    const pid_t child = fork();
    if (child < 0) {
        close(pipes[0]);
        close(pipes[1]);
        return refuse(std::string("no process for the converter: ") + strerror(errno));
    }
    if (child == 0) {
        close(pipes[0]);
        const rlimit no_core{0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        const rlimit cpu{kTimeoutSeconds, kTimeoutSeconds};
        setrlimit(RLIMIT_CPU, &cpu);
        for (int s : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL})
            signal(s, SIG_DFL);
        bool ok = false;
        std::string text;
        try {
            text = convert(words, interface, ios, ok);
        } catch (const std::exception& e) {
            text = e.what();
        }
        const char head = ok ? 1 : 0;
        write_all(pipes[1], &head, 1) && write_all(pipes[1], text.data(), text.size());
        _exit(0);
    }
    close(pipes[1]);
    std::string data;
    bool timed_out = false, too_long = false;
    timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (;;) {
        timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        const long left_ms = kTimeoutSeconds * 1000L -
                             ((now.tv_sec - start.tv_sec) * 1000L + (now.tv_nsec - start.tv_nsec) / 1000000L);
        pollfd p{pipes[0], POLLIN, 0};
        const int ready = left_ms > 0 ? poll(&p, 1, static_cast<int>(left_ms)) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0) {
            timed_out = true;
            break;
        }
        char buffer[65536];
        const ssize_t n = read(pipes[0], buffer, sizeof buffer);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        data.append(buffer, static_cast<size_t>(n));
        if (data.size() > kMaxTextBytes) {
            too_long = true;
            break;
        }
    }
    close(pipes[0]);
    if (timed_out || too_long)
        kill(child, SIGKILL);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (timed_out)
        return refuse("the converter did not end within " + std::to_string(kTimeoutSeconds) + " s");
    if (too_long)
        return refuse("the converter wrote more than " + std::to_string(kMaxTextBytes >> 20) + " MiB");
    if (WIFSIGNALED(status))
        return refuse("the converter crashed (signal " + std::to_string(WTERMSIG(status)) + ")");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || data.empty())
        return refuse("the converter ended without an answer");
    if (data[0] != 1)
        return refuse(data.substr(1));
    return data.substr(1);
}

} // namespace dmsh
