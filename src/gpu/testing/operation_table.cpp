#include "gpu/testing/operation_table.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include "base/text.hpp"
#include "gpu/backend.hpp"
#include "gpu/testing/operations.hpp"

namespace plx::gpu::testing {

namespace {

/// A device of a backend with a stream: memory and launches; errors are thrown. Thread safety: none.
class trial {
 public:
  /// Opens the first device. Errors: throws gpu::error, as all functions here.
  explicit trial(const backend& b);
  ~trial();
  trial(const trial&) = delete;
  trial& operator=(const trial&) = delete;

  void* allocate(std::size_t bytes, memory_kind kind = memory_kind::device);
  void copy(void* to, const void* from, std::size_t bytes);
  void launch(const any_operation& op, const std::vector<std::byte>& items);
  void synchronize();
  /// Seconds between begin and end of the work that `put()` submits, on the device's clock.
  template <class F>
  double seconds_of(F&& put) {
    start();
    put();
    return stop();
  }
  /// Captures the work that `put()` submits as a graph.
  template <class F>
  native_graph capture(F&& put) {
    expect(b_.begin_capture(device_, stream_));
    put();
    return end_capture();
  }
  void launch(native_graph g) { expect(b_.launch_graph(device_, g, stream_)); }
  [[nodiscard]] const device_info& info() const noexcept { return info_; }

 private:
  struct memory {
    void* at;
    memory_kind kind;
  };
  void expect(const outcome& o) const;
  void start();
  double stop();
  native_graph end_capture();
  static const void* stage(const gpu::launch& where, const void* items, std::size_t bytes);

  const backend& b_;
  native_device device_ = nullptr;
  native_stream stream_ = nullptr;
  native_event begin_ = nullptr, end_ = nullptr;
  device_info info_;
  const char* kernel_ = "";
  std::vector<memory> memory_;
  std::vector<native_graph> graphs_;
};

trial::trial(const backend& b) : b_(b) {
  expect(b_.open(b_, 0, device_));
  try {
    expect(b_.describe(device_, info_));
    expect(b_.make_stream(device_, stream_));
    expect(b_.make_event(device_, true, begin_));
    expect(b_.make_event(device_, true, end_));
  } catch (...) {
    b_.close(device_);
    throw;
  }
}

trial::~trial() {
  static_cast<void>(b_.synchronize(device_, stream_));
  for (const native_graph g : graphs_) b_.free_graph(device_, g);
  b_.free_event(device_, begin_);
  b_.free_event(device_, end_);
  b_.free_stream(device_, stream_);
  for (const memory& m : memory_) b_.release(device_, m.kind, m.at);
  b_.close(device_);
}

void trial::expect(const outcome& o) const {
  if (!o) throw make_error(b_, o, kernel_, info_.name);
}

void* trial::allocate(std::size_t bytes, memory_kind kind) {
  void* p = nullptr;
  expect(b_.allocate(device_, kind, bytes > 0 ? bytes : 1, p));
  memory_.push_back({p, kind});
  return p;
}

void trial::copy(void* to, const void* from, std::size_t bytes) { expect(b_.copy(device_, stream_, to, from, bytes)); }

// Kept until destruction: graphs may read it.
const void* trial::stage(const gpu::launch& where, const void* items, std::size_t bytes) {
  void* p = static_cast<trial*>(where.owner)->allocate(bytes, memory_kind::pinned);
  std::memcpy(p, items, bytes);
  return p;
}

void trial::launch(const any_operation& op, const std::vector<std::byte>& items) {
  kernel_ = op.name;
  const auto n = static_cast<unsigned>(items.size() / op.item_bytes);
  expect(b_.launch(device_, op, {stream_, stage, this}, items.data(), n, nullptr));
}

void trial::synchronize() { expect(b_.synchronize(device_, stream_)); }

void trial::start() { expect(b_.record(device_, begin_, stream_)); }

double trial::stop() {
  expect(b_.record(device_, end_, stream_));
  synchronize();
  double seconds = 0;
  expect(b_.elapsed(device_, begin_, end_, seconds));
  return seconds;
}

native_graph trial::end_capture() {
  native_graph g = nullptr;
  expect(b_.end_capture(device_, stream_, g));
  graphs_.push_back(g);
  return g;
}

}  // namespace

// ----------------------------------------------------------------------------------------------------------- check

namespace {

// Differ both as doubles and as integers: a quiet NaN, and a large negative number.
constexpr std::uint64_t reference_poison = 0x7ffbadc0ffee0d15u, trial_poison = 0xfe3761c5a9d70b43u;

/// Byte i of memory that is filled with word again and again.
std::byte poison_byte(std::uint64_t word, std::size_t i) {
  return reinterpret_cast<const std::byte*>(&word)[i % sizeof word];
}
void poison(std::byte* at, std::size_t bytes, std::uint64_t word) {
  for (std::size_t i = 0; i < bytes; ++i) at[i] = poison_byte(word, i);
}
/// Whether [first, last) of what poison() has filled is as it was; else `where` is the first byte that is not.
bool is_poison(const std::byte* filled, std::size_t first, std::size_t last, std::uint64_t word, std::size_t& where) {
  for (where = first; where < last; ++where)
    if (filled[where] != poison_byte(word, where)) return false;
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
  std::vector<std::byte> given;         // of an input

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
    image m{use, n, element, guard_, real, nullptr, nullptr, nullptr, {}};
    m.memory = std::make_unique<std::byte[]>(m.all() + 256);
    void* at = m.memory.get();
    std::size_t room = m.all() + 256;
    m.begin = static_cast<std::byte*>(std::align(256, m.all(), at, room));
    poison(m.begin, m.all(), word_);
    if (values != nullptr) std::memcpy(m.data(), values, m.bytes());
    if (use == array_use::input) m.given.assign(m.data(), m.data() + m.bytes());
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
  const std::size_t end = m.guard + m.bytes();
  if (!is_poison(m.begin, 0, m.guard, word, at))
    return fmt::format("{}: something was written {} bytes before it; ", who, m.guard - at);
  if (!is_poison(m.begin, end, m.all(), word, at))
    return fmt::format("{}: something was written {} bytes after its end; ", who, at - end);
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
  const std::size_t at = m.guard + first * m.element;
  std::size_t written = 0;
  if (is_poison(m.begin, at, at + m.element, trial_poison, written))
    return fmt::format("{}: value {} was not written ({} wrong); ", who, first, plural(wrong, "value"));
  return fmt::format("{}: value {} is {}, expected {} ({} wrong); ", who, first, shown(m, first),
                     shown(expected, first), plural(wrong, "value"));
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
  for (std::size_t i = 0; i < here.all.size(); ++i) {
    const image &m = here.all[i], &wanted = expected.all[i];
    text += check_guards(wanted, reference_poison, label(wanted, i) + " of the reference");
    text += check_guards(m, trial_poison, label(m, i));
    if (m.use == array_use::input) {
      if (!std::equal(m.given.begin(), m.given.end(), m.data())) text += label(m, i) + ": was changed; ";
    } else if (m.use != array_use::scratch && m.use != array_use::addresses) {
      text += compare(wanted, m, r.error_bound, label(m, i));
    }
  }
  return text;
}

// ----------------------------------------------------------------------------------------------------------- times

namespace {

/// Arrays on the device, with no guards.
class arrays : public operation_data {
 public:
  explicit arrays(trial& on) : on_(on) {}

 protected:
  void* place(const void* values, std::size_t n, std::size_t element, bool, array_use) override {
    void* p = on_.allocate(n * element);
    if (values != nullptr && n > 0) {
      on_.copy(p, values, n * element);
      on_.synchronize();
    }
    return p;
  }

 private:
  trial& on_;
};

// Seconds per repetition of the work that put() submits.
template <class F>
double median_seconds(trial& on, F&& put) {
  constexpr double wanted_s = 2e-3;
  constexpr int turns = 5, in_graph = 20;
  put();
  const double once = on.seconds_of(put);
  if (once > 0.1) return once;
  const native_graph g = on.capture([&] {
    for (int i = 0; i < in_graph; ++i) put();
  });
  const int launches = std::clamp(static_cast<int>(wanted_s / (once * in_graph)), 1, 50);
  on.launch(g);
  std::vector<double> all;
  for (int t = 0; t < turns; ++t) {
    const double s = on.seconds_of([&] {
      for (int i = 0; i < launches; ++i) on.launch(g);
    });
    all.push_back(s / (launches * in_graph));
  }
  std::sort(all.begin(), all.end());
  return all[turns / 2];
}

}  // namespace

row_time time_row(const operation_row& r, const backend& b) {
  trial on(b);
  arrays data(on);
  std::vector<std::byte> items;
  row_time t;
  t.cost = r.make(data, items);
  t.seconds = median_seconds(on, [&] { on.launch(*r.op, items); });
  return t;
}

device_limits measure_limits(const backend& b) {
  trial on(b);
  const bool is_device = b.name != "cpu";
  device_limits most;
  const std::size_t bytes = std::size_t{is_device ? 1024u : 64u} << 20;
  void *from = on.allocate(bytes), *to = on.allocate(bytes);
  most.bytes_per_s = 2.0 * static_cast<double>(bytes) / median_seconds(on, [&] { on.copy(to, from, bytes); });

  const std::uint32_t n = 2048 * std::max(on.info().multiprocessors, 1u) * (is_device ? 4 : 1), rounds = 2048;
  const add_multiply_item item{static_cast<double*>(on.allocate(n * sizeof(double))), 0.999, 1e-3, n, rounds};
  std::vector<std::byte> items(sizeof item);
  std::memcpy(items.data(), &item, sizeof item);
  most.flops_per_s =
      2.0 * add_multiply_chains * rounds * n / median_seconds(on, [&] { on.launch(add_multiply, items); });
  return most;
}

std::string row_time_title() {
  return fmt::format("{:<44} {:>10} {:>9} {:>7} {:>10} {:>7}", "operation", "us", "GB/s", "% copy", "GFLOP/s",
                     "% fp64");
}

std::string row_time_line(const operation_row& r, const row_time& t, const device_limits& most) {
  const double bytes = t.cost.bytes / t.seconds, flops = t.cost.flops / t.seconds;
  std::string text = fmt::format("{:<44} {:>10.2f} {:>9.1f} {:>7.1f}", r.name, 1e6 * t.seconds, 1e-9 * bytes,
                                 100 * bytes / most.bytes_per_s);
  if (t.cost.flops == 0) return text + fmt::format(" {:>10} {:>7}", "-", "-");
  return text + fmt::format(" {:>10.1f} {:>7.1f}", 1e-9 * flops, 100 * flops / most.flops_per_s);
}

}  // namespace plx::gpu::testing
