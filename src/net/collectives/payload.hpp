// The bytes of one value on its way between localities: few in place, many in memory that copies share. Handles in the
// value (net/global.hpp) are handles of the payload, wherever it is, until it has gone: what they name lives until the
// value has been read.
//
// Thread safety: copies may be used by several threads while nobody writes. Cost: up to in_place_bytes nothing but the
// copy; else one allocation. Example: net/collectives/payload_test.cpp
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>

#include "net/buffer.hpp"
#include "net/global.hpp"
#include "net/wire.hpp"

namespace plx {
template <>
inline constexpr bool is_bitwise<std::byte> = true;
}  // namespace plx

namespace plx::net {

class payload;
template <>
struct wire_codec<payload>;

class payload {
 public:
  static constexpr std::size_t in_place_bytes = 48;

  payload() noexcept = default;
  /// So many bytes, not initialised where they are many.
  explicit payload(std::size_t size_bytes) : size_(size_bytes) {
    if (size_ > in_place_bytes) there_ = buffer<std::byte>(size_);
  }
  explicit payload(std::span<const std::byte> bytes) : payload(bytes.size()) {
    if (!bytes.empty()) std::memcpy(data(), bytes.data(), bytes.size());
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::byte* data() noexcept { return size_ > in_place_bytes ? there_.data() : here_.data(); }
  [[nodiscard]] const std::byte* data() const noexcept { return size_ > in_place_bytes ? there_.data() : here_.data(); }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data(), size_}; }
  /// A copy whose bytes are its own.
  [[nodiscard]] payload clone() const {
    payload p(bytes());
    p.handles_ = handles_;
    return p;
  }
  /// How many handles it has.
  [[nodiscard]] std::size_t handle_count() const noexcept { return handles_ == nullptr ? 0 : handles_->size(); }
  /// Adds those of `from` from the i-th on. Requires: this one has not been copied yet.
  void add_handles(const payload& from, std::size_t i, std::size_t n) {
    for (const std::size_t end = i + n; i < end; ++i) own_handles().add(from.handles_->at(i));
  }

  /// The value as its bytes, pieces included.
  template <class T>
  static payload of(const T& value) {
    if constexpr (is_bitwise<T>) {
      payload p(sizeof(T));
      std::memcpy(p.data(), &value, sizeof(T));
      return p;
    } else {
      payload p;
      {
        detail::held_handles counted;
        wire_writer counting({}, nullptr, nullptr, &counted);
        net::write(counting, value);
        p = payload(counting.used());
      }
      auto handles = std::make_shared<detail::held_handles>();
      wire_writer w({p.data(), p.size()}, nullptr, nullptr, handles.get());
      net::write(w, value);
      if (handles->size() != 0) p.handles_ = std::move(handles);
      return p;
    }
  }
  /// The value again. Throws std::runtime_error when the bytes are not those of a T.
  template <class T>
  [[nodiscard]] T as() const {
    T value{};
    static const detail::held_handles none;
    wire_reader r(bytes(), {}, handles_ == nullptr ? &none : handles_.get());
    net::read(r, value);
    if (!r.complete())
      throw std::runtime_error(
          "what another locality sent is no value of the expected type: do all call with the same types?");
    return value;
  }

 private:
  friend struct wire_codec<payload>;
  detail::held_handles& own_handles() {
    if (handles_ == nullptr) handles_ = std::make_shared<detail::held_handles>();
    return *handles_;
  }

  std::size_t size_ = 0;
  std::array<std::byte, in_place_bytes> here_{};
  buffer<std::byte> there_;
  std::shared_ptr<detail::held_handles> handles_;  // null: there are none
};

template <>
struct wire_codec<payload> {
  // In the number of bytes: handles follow, their number first.
  static constexpr std::uint64_t with_handles = std::uint64_t{1} << 63;

  static void write(wire_writer& w, const payload& p) {
    const std::uint64_t handles = p.handle_count();
    const std::uint64_t n = p.size() | (handles != 0 ? with_handles : 0);
    w.bytes(&n, sizeof n);
    w.contiguous(p.data(), p.size());
    if (handles == 0) return;
    net::write(w, handles);
    for (std::size_t i = 0; i < handles; ++i) detail::write_handle(w, p.handles_->at(i));
  }
  static void read(wire_reader& r, payload& p) {
    const std::uint64_t n = r.count(0), size = n & ~with_handles;
    if (!r.has_contiguous(size)) return r.fail();
    p = payload(static_cast<std::size_t>(size));
    r.contiguous(p.data(), p.size());
    if ((n & with_handles) == 0) return;
    for (std::size_t handles = r.count(sizeof(gid)); handles > 0 && !r.failed(); --handles) {
      detail::reference* h = detail::read_handle(r, nullptr);
      if (h == nullptr) return r.fail();
      p.own_handles().adopt(h);
    }
  }
};

}  // namespace plx::net
