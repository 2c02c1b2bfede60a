#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "gpu/testing/operation_table.hpp"
#include "gpu/testing/trial.hpp"

namespace plx::gpu::testing {
namespace {

// Differ both as doubles and as integers: a quiet NaN, and a large negative number.
constexpr std::uint64_t reference_poison = 0x7ffbadc0ffee0d15u, trial_poison = 0xfe3761c5a9d70b43u;

void poison(std::byte* at, std::size_t bytes, std::uint64_t word) {
  for (std::size_t i = 0; i < bytes; ++i) at[i] = reinterpret_cast<const std::byte*>(&word)[i % sizeof word];
}
bool is_poison(const std::byte* at, std::size_t bytes, std::uint64_t word, std::size_t* where = nullptr) {
  for (std::size_t i = 0; i < bytes; ++i)
    if (at[i] != reinterpret_cast<const std::byte*>(&word)[i % sizeof word]) {
      if (where != nullptr) *where = i;
      return false;
    }
  return true;
}

/// An array between two guards, on the host.
struct image {
  array_use use;
  std::size_t count, element, guard;
  bool real;
  std::unique_ptr<std::byte[]> memory;  // with space for alignment to 256
  std::byte* begin;                     // start of the first guard
  void* on_device = nullptr;            // start of the first guard on the device

  [[nodiscard]] std::size_t bytes() const { return count * element; }
  [[nodiscard]] std::size_t all() const { return bytes() + 2 * guard; }
  [[nodiscard]] std::byte* data() const { return begin + guard; }
};

class images : public operation_data {
 public:
  images(std::uint64_t word, std::size_t guard, trial* on) : word_(word), guard_(guard), on_(on) {}
  std::vector<image> all;

 protected:
  void* place(const void* values, std::size_t n, std::size_t element, bool real, array_use use) override {
    image m{use, n, element, guard_, real, nullptr, nullptr};
    m.memory = std::make_unique<std::byte[]>(m.all() + 256);
    void* at = m.memory.get();
    std::size_t room = m.all() + 256;
    m.begin = static_cast<std::byte*>(std::align(256, m.all(), at, room));
    poison(m.begin, m.all(), word_);
    if (values != nullptr) std::memcpy(m.data(), values, m.bytes());
    std::byte* to = m.begin;
    if (on_ != nullptr) {
      m.on_device = on_->allocate(m.all());
      on_->copy(m.on_device, m.begin, m.all());
      to = static_cast<std::byte*>(m.on_device);
    }
    all.push_back(std::move(m));
    return to + guard_;
  }

 private:
  std::uint64_t word_;
  std::size_t guard_;
  trial* on_;
};

std::string label(const image& m, std::size_t number) {
  constexpr const char* uses[] = {"input", "in_out", "output", "scratch", "addresses"};
  return fmt::format("array {} ({}, {} of {} bytes)", number, uses[static_cast<int>(m.use)], m.count, m.element);
}

std::string check_guards(const image& m, std::uint64_t word, const std::string& who) {
  std::size_t at = 0;
  if (!is_poison(m.begin, m.guard, word, &at))
    return fmt::format("{}: something was written {} bytes before it; ", who, m.guard - at);
  if (!is_poison(m.data() + m.bytes(), m.guard, word, &at))
    return fmt::format("{}: something was written {} bytes after its end; ", who, at);
  return "";
}

std::string shown(const image& m, std::size_t i) {
  if (m.real) {
    double x;
    std::memcpy(&x, m.data() + i * sizeof x, sizeof x);
    return fmt::format("{}", x);
  }
  std::string hex;
  for (std::size_t k = std::min<std::size_t>(m.element, 16); k-- > 0;)
    hex += fmt::format("{:02x}", static_cast<unsigned>(m.data()[i * m.element + k]));
  return "0x" + hex;
}

double value(const image& m, std::size_t i) {
  double x;
  std::memcpy(&x, m.data() + i * sizeof x, sizeof x);
  return x;
}

std::string compare(const image& expected, const image& m, double bound, const std::string& who) {
  double scale = 0;
  if (m.real && bound > 0)
    for (std::size_t i = 0; i < m.count; ++i)
      if (std::isfinite(value(expected, i))) scale = std::max(scale, std::fabs(value(expected, i)));
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = 0; i < m.count; ++i) {
    if (std::memcmp(expected.data() + i * m.element, m.data() + i * m.element, m.element) == 0) continue;
    if (m.real && bound > 0 && std::fabs(value(m, i) - value(expected, i)) <= bound * scale) continue;
    if (wrong++ == 0) first = i;
  }
  if (wrong == 0) return "";
  if (is_poison(m.data() + first * m.element, m.element, trial_poison) && first * m.element % 8 == 0)
    return fmt::format("{}: value {} was not written ({} values are wrong); ", who, first, wrong);
  return fmt::format("{}: value {} is {}, expected {} ({} values are wrong); ", who, first, shown(m, first),
                     shown(expected, first), wrong);
}

}  // namespace

std::string check_row(const operation_row& r, const backend& b, const check_options& o) {
  const std::size_t aligned = (o.guard_bytes + 255) / 256 * 256;
  images expected(reference_poison, std::max<std::size_t>(aligned, 256), nullptr);
  std::vector<std::byte> items;
  r.make(expected, items);
  for (std::size_t i = 0; i < items.size(); i += r.op->item_bytes) r.op->cpu(items.data() + i);

  trial on(b);
  images here(trial_poison, aligned, &on);
  r.make(here, items);
  on.launch(*r.op, items);
  for (const image& m : here.all) on.copy(m.begin, m.on_device, m.all());
  on.synchronize();

  std::string text;
  images before(trial_poison, aligned, nullptr);  // the inputs before the launch
  r.make(before, items);
  for (std::size_t i = 0; i < here.all.size(); ++i) {
    const image &m = here.all[i], &wanted = expected.all[i];
    text += check_guards(wanted, reference_poison, label(wanted, i) + " of the reference");
    text += check_guards(m, trial_poison, label(m, i));
    if (m.use == array_use::input) {
      if (std::memcmp(before.all[i].data(), m.data(), m.bytes()) != 0) text += label(m, i) + ": was changed; ";
    } else if (m.use != array_use::scratch && m.use != array_use::addresses) {
      text += compare(wanted, m, r.error_bound, label(m, i));
    }
  }
  return text;
}

}  // namespace plx::gpu::testing
