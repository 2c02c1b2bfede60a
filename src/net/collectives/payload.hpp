// The bytes of one value on its way between localities: few in place, many in memory that copies share.
//
// Thread safety: copies may be used by several threads while nobody writes. Cost: up to in_place_bytes nothing but the
// copy; else one allocation. Example: net/collectives/payload_test.cpp
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <stdexcept>

#include "net/buffer.hpp"
#include "net/wire.hpp"

namespace plx {
template <>
inline constexpr bool is_bitwise<std::byte> = true;
}  // namespace plx

namespace plx::net {

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
  /// A copy that shares nothing with this one.
  [[nodiscard]] payload clone() const { return payload(bytes()); }

  /// The value as its bytes, pieces included.
  template <class T>
  static payload of(const T& value) {
    if constexpr (is_bitwise<T>) {
      payload p(sizeof(T));
      std::memcpy(p.data(), &value, sizeof(T));
      return p;
    } else {
      wire_writer counting({});
      net::write(counting, value);
      payload p(counting.used());
      wire_writer w({p.data(), p.size()});
      net::write(w, value);
      return p;
    }
  }
  /// The value again. Throws std::runtime_error when the bytes are not those of a T.
  template <class T>
  [[nodiscard]] T as() const {
    T value{};
    wire_reader r(bytes());
    net::read(r, value);
    if (!r.complete())
      throw std::runtime_error(
          "what another locality sent is no value of the expected type: do all call with the same types?");
    return value;
  }

 private:
  std::size_t size_ = 0;
  std::array<std::byte, in_place_bytes> here_{};
  buffer<std::byte> there_;
};

template <>
struct wire_codec<payload> {
  static void write(wire_writer& w, const payload& p) {
    const std::uint64_t n = p.size();
    w.bytes(&n, sizeof n);
    w.contiguous(p.data(), p.size());
  }
  static void read(wire_reader& r, payload& p) {
    const std::size_t n = r.count(0);
    if (!r.has_contiguous(n)) return r.fail();
    p = payload(n);
    r.contiguous(p.data(), n);
  }
};

}  // namespace plx::net
