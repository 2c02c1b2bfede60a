// Reads the numbers of an input of a fuzzer; zeros after its end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace fuzz {

class script {
 public:
  script(const std::uint8_t* data, std::size_t size) : at_(data), left_(size) {}
  [[nodiscard]] bool any() const { return left_ != 0; }
  template <class T>
  T number() {
    T n{};
    bytes(&n, sizeof n);
    return n;
  }
  std::uint8_t byte() { return number<std::uint8_t>(); }
  std::size_t bytes(void* to, std::size_t n) {
    n = std::min(n, left_);
    if (n != 0) std::memcpy(to, at_, n);
    at_ += n, left_ -= n;
    return n;
  }

 private:
  const std::uint8_t* at_;
  std::size_t left_;
};

}  // namespace fuzz
