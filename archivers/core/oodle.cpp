// Starts, feeds and ends the children that decode Oodle streams.
#include "archivers/core/oodle.h"
#include "archivers/core/oodle_protocol.h"
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace dmsh {
namespace {

using Clock = std::chrono::steady_clock;

// Moves `size` bytes one way before `deadline`, with a look for the other end's death.
template <class Step>
bool transfer(int socket, short event, uint64_t size, Clock::time_point deadline, Step step) {
    for (uint64_t done = 0; done < size;) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
        pollfd p = {socket, event, 0};
        const int ready = left > 0 ? poll(&p, 1, static_cast<int>(left)) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return false;
        const ssize_t n = step(done);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n <= 0)
            return false;
        done += static_cast<uint64_t>(n);
    }
    return true;
}

bool send_all(int socket, const void* data, uint64_t size, Clock::time_point deadline) {
    return transfer(socket, POLLOUT, size, deadline, [&](uint64_t at) {
        return send(socket, static_cast<const char*>(data) + at, size - at, MSG_NOSIGNAL | MSG_DONTWAIT);
    });
}

bool receive_all(int socket, void* data, uint64_t size, Clock::time_point deadline) {
    return transfer(socket, POLLIN, size, deadline, [&](uint64_t at) {
        return recv(socket, static_cast<char*>(data) + at, size - at, MSG_DONTWAIT);
    });
}

std::string host_beside_us() {
    std::error_code ec;
    return (std::filesystem::read_symlink("/proc/self/exe", ec).parent_path() / "dmsh-oodle-host").string();
}

} // namespace

Result<std::unique_ptr<Oodle>> Oodle::start(const std::string& library, const std::string& host,
                                            OodleLimits limits) {
    std::error_code ec;
    std::unique_ptr<Oodle> o(new Oodle);
    o->library_ = std::filesystem::absolute(library, ec).string();
    o->host_ = host.empty() ? host_beside_us() : host;
    o->limits_ = limits;
    auto child = o->spawn();
    if (!child)
        return child.error();
    o->idle_.push_back(*child);
    return o;
}

Oodle::~Oodle() {
    for (const Child c : idle_)
        end(c);
}

Result<Oodle::Child> Oodle::spawn() const {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return Error{std::string("Oodle: no socket: ") + std::strerror(errno)};
    const std::string memory = std::to_string(limits_.memory), seconds = std::to_string(limits_.seconds);
    const char* arguments[] = {host_.c_str(), library_.c_str(), memory.c_str(), seconds.c_str(), nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
    Child child;
    const int failed = posix_spawn(&child.pid, host_.c_str(), &actions, nullptr,
                                   const_cast<char* const*>(arguments), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    child.socket = ends[0];
    if (failed) {
        close(ends[0]);
        return Error{std::string("Oodle: cannot be started: ") + std::strerror(failed), host_};
    }
    uint32_t word = 0;
    if (!receive_all(child.socket, &word, sizeof word, Clock::now() + std::chrono::seconds(limits_.seconds)) ||
        word != kOodleReady) {
        end(child);
        return Error{"no library that exports OodleLZ_Decompress", library_};
    }
    return child;
}

void Oodle::end(Child child) {
    close(child.socket);
    kill(child.pid, SIGKILL);
    while (waitpid(child.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
}

bool Oodle::ask(const Child& child, Bytes in, uint8_t* out, uint64_t size, int64_t& answer) const {
    const auto deadline = Clock::now() + std::chrono::seconds(limits_.seconds);
    const OodleRequest request = {in.size(), size};
    OodleAnswer reply;
    if (!send_all(child.socket, &request, sizeof request, deadline) ||
        !send_all(child.socket, in.data(), in.size(), deadline) ||
        !receive_all(child.socket, &reply, sizeof reply, deadline))
        return false;
    answer = reply.decoded;
    return answer != static_cast<int64_t>(size) || receive_all(child.socket, out, size, deadline);
}

Result<Blob> Oodle::decode(Bytes in, uint64_t size, WorkBudget& budget) {
    if (const auto ok = budget.charge_expanded(size); !ok)
        return ok.error();
    Child child;
    {
        const std::lock_guard lock(mutex_);
        if (!idle_.empty()) {
            child = idle_.back();
            idle_.pop_back();
        }
    }
    if (child.pid < 0) {
        auto fresh = spawn();
        if (!fresh)
            return fresh.error();
        child = *fresh;
    }
    NewBlob out(size);
    int64_t answer = 0;
    if (!ask(child, in, out.data(), size, answer)) {
        end(child);
        return Error{"Oodle: the library crashed or took too long"};
    }
    {
        const std::lock_guard lock(mutex_);
        idle_.push_back(child);
    }
    if (answer != static_cast<int64_t>(size))
        return Error{"Oodle stream does not decode"};
    return std::move(out).finish();
}

} // namespace dmsh
