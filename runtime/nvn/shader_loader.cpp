// Implements loading by key.
#include "runtime/nvn/shader_loader.h"
#include "runtime/abi/program_key.h"
#include "runtime/nvn/report.h"

namespace dmsh::nvn {

void ShaderLoader::add(LibraryPack pack) {
    const std::lock_guard hold(lock_);
    packs_.push_back(std::move(pack));
}

void ShaderLoader::request(uint64_t key, Stage stage, uint64_t code) {
    const std::lock_guard hold(lock_);
    auto& entry = entries_[key];
    if (entry)
        return;
    entry = std::make_unique<Entry>();
    entry->stage = stage;
    entry->code = code;
    queue_.push_back(key);
    if (!worker_.joinable()) {
        stop_ = false;
        worker_ = std::thread([this] { work(); });
    }
    changed_.notify_all();
}

void ShaderLoader::work() {
    std::unique_lock hold(lock_);
    for (;;) {
        changed_.wait(hold, [this] { return stop_ || !queue_.empty(); });
        if (stop_)
            return;
        const uint64_t key = queue_.front();
        queue_.pop_front();
        Entry& entry = *entries_[key];
        if (entry.state != State::waiting)
            continue; // a draw came first
        load(hold, key, entry);
        background_.fetch_add(1, std::memory_order_relaxed);
    }
}

void ShaderLoader::load(std::unique_lock<std::mutex>& hold, uint64_t key, Entry& entry) {
    entry.state = State::loading;
    hold.unlock();
    std::shared_ptr<Shader> shader = read(key, entry.stage, entry.code);
    hold.lock();
    if (shader)
        shader->id = next_id_++;
    entry.shader = std::move(shader);
    entry.state = State::done;
    changed_.notify_all();
}

std::shared_ptr<const Shader> ShaderLoader::take(uint64_t key) {
    std::unique_lock hold(lock_);
    const auto it = entries_.find(key);
    if (it == entries_.end())
        return nullptr;
    Entry& entry = *it->second;
    if (entry.state == State::waiting)
        load(hold, key, entry);
    changed_.wait(hold, [&] { return entry.state == State::done; });
    return entry.shader;
}

void ShaderLoader::reset() {
    {
        const std::lock_guard hold(lock_);
        stop_ = true;
        changed_.notify_all();
    }
    if (worker_.joinable())
        worker_.join();
    const std::lock_guard hold(lock_);
    entries_.clear();
    queue_.clear();
    packs_.clear();
    next_id_ = 1;
    background_ = missing_ = 0;
}

// Packs do not change while the worker runs: they are added before programs are made.
std::shared_ptr<Shader> ShaderLoader::read(uint64_t key, Stage stage, uint64_t code) {
    for (const LibraryPack& pack : packs_) {
        const uint32_t index = pack.find(key);
        if (index == LibraryPack::kNotFound)
            continue;
        auto reflection = pack.reflection(index);
        auto slice = pack.slice(index);
        if (!reflection || !slice) {
            report(Report::damaged_pack, "%s",
                   (!reflection ? reflection.error() : slice.error()).text().c_str());
            return nullptr;
        }
        if (reflection->interface.stage != stage) {
            report(Report::damaged_pack, "%s is a %s shader, the program uses it as %s",
                   key_text(key).c_str(), stage_name(reflection->interface.stage).data(),
                   stage_name(stage).data());
            return nullptr;
        }
        auto shader = std::make_shared<Shader>();
        shader->key = key;
        shader->reflection = std::move(*reflection);
        shader->slice = std::move(*slice);
        return shader;
    }
    std::string packs;
    for (const LibraryPack& pack : packs_) {
        packs.append(" ").append(pack.name());
        packs.append(" (").append(std::to_string(pack.size())).append(" programs)");
    }
    missing_.fetch_add(1, std::memory_order_relaxed);
    report(Report::missing_shader, "%s %s, code at 0x%llx, searched:%s", key_text(key).c_str(),
           stage_name(stage).data(), static_cast<unsigned long long>(code),
           packs.empty() ? " no pack" : packs.c_str());
    return nullptr;
}

} // namespace dmsh::nvn
