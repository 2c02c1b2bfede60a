// All pairs of localities send each other heads and pieces of many sizes at once. Received messages are compared byte
// for byte with the expected ones, and each must arrive once. The receiver refuses one of them, which the sender does
// not notice.
#include <fmt/core.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "transport_check.hpp"

namespace {

using plx::locality_id;

// The byte at `i` of part `part` of message `number` from `from`.
std::byte byte_of(locality_id from, std::uint32_t number, std::uint32_t part, std::size_t i) {
  const std::uint64_t x = (std::uint64_t{from} << 40 | std::uint64_t{number} << 20 | part) + i * 0x9e3779b97f4a7c15u;
  return static_cast<std::byte>(x >> 29 ^ x >> 47 ^ x);
}

std::vector<std::byte> bytes_of(locality_id from, std::uint32_t number, std::uint32_t part, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = byte_of(from, number, part, i);
  return bytes;
}

bool same(locality_id from, std::uint32_t number, std::uint32_t part, std::span<const std::byte> found,
          std::size_t begin = 0) {
  for (std::size_t i = begin; i < found.size(); ++i)
    if (found[i] != byte_of(from, number, part, i)) return false;
  return true;
}

struct plan {
  std::size_t head;
  std::vector<std::size_t> pieces;
  bool refused = false;  // by the receiver
};

// The same list for every pair. Heads of four bytes and more begin with the message number.
std::vector<plan> plans(std::size_t max_head) {
  std::vector<plan> all;
  for (const std::size_t head : {0, 1, 3}) all.push_back({head, {}});
  for (std::size_t head = 4; head <= max_head; head = head * 3 + 1) all.push_back({head, {}});
  for (const std::size_t size : {63, 64, 65, 4095, 4096, 8192, 65535, 65536}) all.push_back({size, {}});
  all.push_back({max_head, {}});
  for (std::size_t size = 1; size <= std::size_t{16} << 20; size = size * 5 + 3) all.push_back({40, {size}});
  all.push_back({40, {std::size_t{16} << 20}});
  all.push_back({40, {70'000, 0, 5, std::size_t{1} << 20}, true});
  all.push_back({max_head, {1}});
  all.push_back({max_head, {std::size_t{1} << 20, 5}});
  all.push_back({4, {0, 1, 4096, 0, 100'000, 3, std::size_t{2} << 20}});
  all.push_back({4, std::vector<std::size_t>(300, 5000)});
  return all;
}

struct sent_message : plx::net::outgoing {
  std::vector<std::byte> bytes;
  std::vector<std::vector<std::byte>> parts;
  std::vector<plx::net::piece> names;
  int times = 0;
  bool well = false;
};

struct checker final : plx::net::receiver {
  struct coming {
    std::uint32_t number;
    std::vector<std::vector<std::byte>> parts;
  };
  std::vector<plan> all;
  std::vector<std::vector<int>> came;  // [from][number]
  unsigned missing = 0, wrong = 0, losses = 0;
  unsigned asked = 0;  // whether there is room for a message

  void complain(locality_id from, std::uint32_t number, const char* what) {
    ++wrong;
    fmt::print("message {} from {}: {}\n", number, from, what);
  }

  // The number of a message; that of a short head follows from its size.
  std::uint32_t number_of(std::span<const std::byte> head) const {
    std::uint32_t number = 0;
    if (head.size() >= sizeof number)
      std::memcpy(&number, head.data(), sizeof number);
    else
      for (number = 0; number < all.size() && all[number].head != head.size();) ++number;
    return number;
  }

  bool check_head(locality_id from, std::uint32_t number, std::span<const std::byte> head) {
    if (number >= all.size() || all[number].head != head.size()) return complain(from, number, "wrong size"), false;
    if (!same(from, number, 1000, head, head.size() >= 4 ? 4 : 0)) return complain(from, number, "wrong head"), false;
    return true;
  }

  void tick(locality_id from, std::uint32_t number) {
    if (++came[from][number] != 1) return complain(from, number, "arrived twice");
    --missing;
  }

  void arrived(locality_id from, std::span<const std::byte> head) noexcept override {
    const std::uint32_t number = number_of(head);
    if (!check_head(from, number, head)) return;
    if (!all[number].pieces.empty()) return complain(from, number, "arrived without its pieces");
    tick(from, number);
  }
  // Most messages have to wait.
  bool has_room(std::span<const std::byte>, std::uint64_t, bool others_wait) noexcept override {
    return !others_wait && ++asked % 3 == 0;
  }
  void* announced(locality_id from, std::span<const std::byte> head,
                  std::span<plx::net::place> places) noexcept override {
    const std::uint32_t number = number_of(head);
    if (!check_head(from, number, head)) return nullptr;
    if (all[number].refused) return tick(from, number), nullptr;
    auto c = std::make_unique<coming>();
    c->number = number;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (i >= all[number].pieces.size() || places[i].size_bytes != all[number].pieces[i])
        return complain(from, number, "wrong pieces"), nullptr;
      places[i].data = c->parts.emplace_back(places[i].size_bytes).data();
    }
    return c.release();
  }
  void pieces_arrived(locality_id from, void* announced, bool ok) noexcept override {
    const std::unique_ptr<coming> c(static_cast<coming*>(announced));
    if (!ok) return complain(from, c->number, "its pieces failed");
    for (std::uint32_t i = 0; i < c->parts.size(); ++i)
      if (!same(from, c->number, i, c->parts[i])) return complain(from, c->number, "wrong contents of a piece");
    tick(from, c->number);
  }
  void pieces_lost(locality_id from, void* announced) noexcept override {
    complain(from, static_cast<coming*>(announced)->number, "its pieces are lost");
  }
  void lost(locality_id peer, std::string_view why) noexcept override {
    ++losses;
    fmt::print("lost {}: {}\n", peer, why);
  }
};

std::unique_ptr<sent_message> message(locality_id from, std::uint32_t number, const plan& p) {
  auto m = std::make_unique<sent_message>();
  m->bytes = bytes_of(from, number, 1000, p.head);
  if (p.head >= sizeof number) std::memcpy(m->bytes.data(), &number, sizeof number);
  for (std::uint32_t i = 0; i < p.pieces.size(); ++i) {
    const auto& part = m->parts.emplace_back(bytes_of(from, number, i, p.pieces[i]));
    m->names.push_back({part.data(), part.size()});
  }
  m->head = m->bytes;
  m->pieces = m->names;
  m->sent = [](plx::net::outgoing* o, bool ok) noexcept {
    auto* s = static_cast<sent_message*>(o);
    ++s->times;
    s->well = ok;
    s->bytes.assign(s->bytes.size(), std::byte{0xee});  // the transport must no longer read it
    for (auto& part : s->parts) part.assign(part.size(), std::byte{0xee});
  };
  return m;
}

}  // namespace

int check_pairs(plx::net::bootstrap& job, plx::net::transport& carrier) {
  static checker c;  // all memory stays valid until the transport has stopped
  c.all = plans(carrier.max_head_bytes());
  c.came.assign(job.size(), std::vector<int>(c.all.size()));
  c.missing = (job.size() - 1) * static_cast<unsigned>(c.all.size());
  carrier.start(c);
  static std::vector<std::unique_ptr<sent_message>> out;
  for (std::uint32_t number = 0; number < c.all.size(); ++number)
    for (locality_id i = 1; i < job.size(); ++i) {
      out.push_back(message(job.here(), number, c.all[number]));
      carrier.send((job.here() + i) % job.size(), *out.back());
      if (number % 3 == 0) carrier.progress();
    }
  const double end = plx::monotonic_seconds() + 300;
  while ((c.missing != 0 || carrier.pending()) && c.wrong == 0 && c.losses == 0 && plx::monotonic_seconds() < end)
    carrier.progress();
  for (const auto& m : out)
    if (m->times != 1 || !m->well) ++c.wrong;
  fmt::print("locality {}: {} messages from each of {}, {} missing, {} wrong, {} lost, {} sent by rings\n", job.here(),
             c.all.size(), job.size() - 1, c.missing, c.wrong, c.losses, carrier.near().sent);
  return c.missing == 0 && c.wrong == 0 && c.losses == 0 ? 0 : 1;
}
