// Result<T> and Error: how every fallible function below the runtime's NVN entry points answers.
#pragma once
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace dmsh {

// What went wrong and where. `origin` is the file and, inside it, the container chain ("a.sarc.zs/b.bnsh"); it may be
// empty and filled in by a caller that knows it. `offset` counts bytes from the start of the innermost container.
struct Error {
    std::string message;
    std::string origin = {};
    std::optional<uint64_t> offset = std::nullopt;
    std::string key = {};
    uint16_t code = 0; // a LossCode (compiler/lift/losses.def) where the compiler refuses a shader; 0 = not said

    // "origin+0xoffset [key]: message", leaving out what is not known.
    std::string text() const {
        std::string s = origin;
        if (offset) {
            char buf[32];
            snprintf(buf, sizeof buf, "+0x%llx", static_cast<unsigned long long>(*offset));
            s += buf;
        }
        if (!key.empty())
            s += (s.empty() ? "[" : " [") + key + "]";
        return s.empty() ? message : s + ": " + message;
    }
};

// A value or an Error. Test with `if (!r)`, read with `*r`, `r->`, `r.error()`.
template <class T> class [[nodiscard]] Result {
  public:
    Result(T value) : v_(std::move(value)) {}
    Result(Error error) : v_(std::move(error)) {}
    explicit operator bool() const { return std::holds_alternative<T>(v_); }
    T& operator*() & { return std::get<T>(v_); }
    const T& operator*() const& { return std::get<T>(v_); }
    T&& operator*() && { return std::get<T>(std::move(v_)); }
    T* operator->() { return &std::get<T>(v_); }
    const T* operator->() const { return &std::get<T>(v_); }
    Error& error() { return std::get<Error>(v_); }
    const Error& error() const { return std::get<Error>(v_); }

  private:
    std::variant<T, Error> v_;
};

template <> class [[nodiscard]] Result<void> {
  public:
    Result() = default;
    Result(Error error) : e_(std::move(error)) {}
    explicit operator bool() const { return !e_; }
    Error& error() { return *e_; }
    const Error& error() const { return *e_; }

  private:
    std::optional<Error> e_;
};

} // namespace dmsh
