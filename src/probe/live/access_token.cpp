#include "probe/live/access_token.hpp"

#include <random>

namespace plx::probe {

std::string random_hex() {
  std::random_device device;  // the operating system's generator, or the processor's
  std::string text;
  for (int i = 0; i < 32; ++i) text += "0123456789abcdef"[device() % 16];
  return text;
}

access_token::access_token() : text_(random_hex()) {}

bool access_token::equals(std::string_view other) const noexcept {
  if (other.size() != text_.size()) return false;  // the length is no secret
  unsigned difference = 0;
  for (std::size_t i = 0; i < text_.size(); ++i)
    difference |= static_cast<unsigned char>(text_[i]) ^ static_cast<unsigned char>(other[i]);
  return difference == 0;
}

}  // namespace plx::probe
