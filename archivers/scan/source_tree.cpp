// Lists folders and images.
#include "archivers/scan/source_tree.h"
#include "archivers/nintendo/romfs.h"
#include <filesystem>

namespace dmsh {
namespace {

namespace fs = std::filesystem;

class Tree {
  public:
    Result<void> add_root(const std::string& root, const std::string& prefix) {
        std::error_code ec;
        const auto status = fs::status(root, ec);
        if (ec || !fs::exists(status))
            return Error{"does not exist", root};
        if (fs::is_directory(status)) {
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
            put({prefix + name, root, {}, blob->size()});
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
    void put(SourceFile file) {
        std::string key = file.origin;
        files_[std::move(key)] = std::move(file);
    }

    void add_folder(const std::string& root, const std::string& prefix) {
        std::error_code ec;
        fs::recursive_directory_iterator it(root, fs::directory_options::none, ec), end;
        for (; !ec && it != end; it.increment(ec)) {
            std::error_code file_error;
            if (!it->is_regular_file(file_error))
                continue;
            const uint64_t size = it->file_size(file_error);
            const std::string origin = prefix + it->path().lexically_relative(root).generic_string();
            put({origin, it->path().string(), {}, file_error ? 0 : size});
        }
        if (ec)
            errors_.push_back({"folder cannot be read: " + ec.message(), root});
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
    std::vector<Error> errors_;
};

} // namespace

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
