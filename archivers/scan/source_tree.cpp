// Lists folders and images.
#include "archivers/scan/source_tree.h"
#include "archivers/nintendo/romfs.h"
#include <algorithm>
#include <filesystem>
#include <set>

namespace dmsh {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kMaxFolderDepth = 128;

class Tree {
  public:
    Result<void> add_root(const std::string& root, const std::string& prefix) {
        std::error_code ec;
        const auto status = fs::status(root, ec);
        if (ec || !fs::exists(status))
            return Error{"does not exist", root};
        if (fs::is_directory(status)) {
            seen_.clear(); // a root given twice is read twice: the later one overrides
            add_folder(root, prefix);
            return {};
        }
        const std::string name = fs::path(root).filename().string();
        auto blob = map_file(root);
        if (!blob) {
            errors_.push_back(blob.error());
            return {};
        }
        if (is_romfs(blob->bytes))
            add_image(name, prefix, *blob);
        else
            add_single(name, prefix, root, blob->size());
        return {};
    }

    SourceTree take() {
        SourceTree t;
        t.errors = std::move(errors_);
        for (auto& [origin, file] : files_)
            t.files.push_back(std::move(file));
        return t;
    }

  private:
    // A file given by itself is no update of another: where its name is taken it goes by the path given.
    void add_single(const std::string& name, const std::string& prefix, const std::string& path, uint64_t size) {
        std::error_code ec;
        if (!singles_.insert(fs::canonical(path, ec).string()).second)
            return;
        put({files_.contains(prefix + name) ? prefix + path : prefix + name, path, {}, size});
    }

    void put(SourceFile file) {
        std::string key = file.origin;
        files_[std::move(key)] = std::move(file);
    }

    // A folder that cannot be read costs a line, not its neighbours. Links are followed, each folder once.
    void add_folder(const fs::path& folder, const std::string& prefix, unsigned depth = 0) {
        std::error_code ec;
        const fs::path real = fs::canonical(folder, ec);
        if (!ec && !seen_.insert(real.string()).second)
            return;
        if (depth > kMaxFolderDepth) {
            errors_.push_back({"folders nest more than 128 deep", folder.string()});
            return;
        }
        fs::directory_iterator it(folder, ec), end;
        for (; !ec && it != end; it.increment(ec)) {
            const std::string name = it->path().filename().string();
            std::error_code entry;
            const auto status = it->status(entry);
            if (fs::is_directory(status)) {
                add_folder(it->path(), prefix + name + "/", depth + 1);
            } else if (fs::is_regular_file(status)) {
                const uint64_t size = it->file_size(entry);
                put({prefix + name, it->path().string(), {}, entry ? 0 : size});
            } else {
                errors_.push_back({entry ? entry.message() : "is neither file nor folder", prefix + name});
            }
        }
        if (ec)
            errors_.push_back({"folder cannot be read: " + ec.message(), folder.string()});
    }

    void add_image(const std::string& name, const std::string& prefix, const Blob& image) {
        const auto listing = list_romfs(image.bytes);
        if (!listing) {
            errors_.push_back({listing.error().message + " (its shaders are left out)", name});
            return;
        }
        for (const Error& e : listing->errors)
            errors_.push_back({e.message + " (its shaders are left out)", name + "/" + e.origin});
        for (const RomfsFile& f : listing->files)
            put({prefix + f.path, "", image.clamp(f.offset, f.size), f.size});
    }

    std::map<std::string, SourceFile> files_;
    std::set<std::string> seen_;    // folders of the root being listed
    std::set<std::string> singles_; // files given by themselves
    std::vector<Error> errors_;
};

} // namespace

Result<std::optional<Blob>> open_source(const std::vector<SourceFile>& files, const std::string& origin) {
    const auto it = std::lower_bound(files.begin(), files.end(), origin,
                                     [](const SourceFile& f, const std::string& o) { return f.origin < o; });
    if (it == files.end() || it->origin != origin)
        return std::optional<Blob>();
    auto blob = it->open();
    if (!blob)
        return blob.error();
    return std::optional(*std::move(blob));
}

Result<SourceTree> list_sources(const ScanOptions& options) {
    Tree tree;
    const std::pair<const std::vector<std::string>*, const char*> groups[] = {
        {&options.paths, ""}, {&options.exefs, "exefs/"}, {&options.nro, "nro/"}};
    bool any = false;
    for (const auto& [roots, prefix] : groups)
        for (const std::string& root : *roots) {
            any = true;
            if (const auto ok = tree.add_root(root, prefix); !ok)
                return ok.error();
        }
    if (!any)
        return Error{"no path to scan"};
    return tree.take();
}

} // namespace dmsh
