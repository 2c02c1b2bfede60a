#include "messages.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/assert.hpp"
#include "net/action.hpp"
#include "net/archive.hpp"
#include "net/core/node.hpp"
#include "net/parcels/frame.hpp"
#include "net/sim/sim_scheduler.hpp"
#include "rt/core/scheduler.hpp"

#if __has_include(<cereal/cereal.hpp>)
#include <cereal/types/map.hpp>
#include <cereal/types/memory.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/variant.hpp>
#include <cereal/types/vector.hpp>
#define FUZZ_CEREAL 1
#endif

namespace fuzz {

using namespace plx;
using namespace plx::net;

// ---------------------------------------------------------------- actions with arguments of all types, which they read

struct orbit {
  std::string name;
  std::vector<double> points;
  std::vector<std::vector<int>> links;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(name, points, links);
  }
};
std::uint64_t weight(const std::string& s) { return fnv1a(s); }
std::uint64_t weight(const orbit& o) {
  std::uint64_t n = weight(o.name);
  for (const double p : o.points) n += p != p;
  for (const auto& l : o.links) n += std::accumulate(l.begin(), l.end(), 0u);
  return n;
}

std::uint64_t add(int a, std::uint64_t b) { return static_cast<unsigned>(a) + b; }
std::string again(const std::string& s) { return s + s; }
std::vector<double> reversed(std::vector<double> v) {
  std::reverse(v.begin(), v.end());
  return v;
}
buffer<std::uint16_t> flipped(buffer<std::uint16_t> b) {
  for (auto& x : b) x = static_cast<std::uint16_t>(~x);
  return b;
}
std::uint64_t count_words(const std::vector<std::vector<std::string>>& pages, const std::vector<bool>& wanted) {
  std::uint64_t n = 0;
  for (const auto& p : pages)
    for (const auto& w : p) n += weight(w);
  for (const bool w : wanted) n += w;
  return n;
}
std::uint64_t nested(const std::tuple<std::optional<std::string>, std::array<std::pair<int, std::string>, 2>>& t) {
  std::uint64_t n = std::get<0>(t) ? weight(*std::get<0>(t)) : 0;
  for (const auto& [i, s] : std::get<1>(t)) n += static_cast<unsigned>(i) + weight(s);
  return n;
}
orbit shifted(orbit o) {
  for (double& p : o.points) p += 1;
  return o;
}
std::uint64_t two_large(const std::vector<int>& a, int between, const std::vector<orbit>& b) {
  std::uint64_t n = std::accumulate(a.begin(), a.end(), static_cast<unsigned>(between));
  for (const orbit& o : b) n += weight(o);
  return n;
}
std::uint64_t signals(const std::array<bool, 4>& now, const std::vector<std::pair<bool, char>>& then, sender from) {
  std::uint64_t n = from.who;
  for (const bool b : now) n = 2 * n + (b ? 1 : 0);
  for (const auto& [b, c] : then) n += b ? 1 : static_cast<unsigned char>(c);
  return n;
}
void fails(int how) {
  if (how != 0) throw std::runtime_error("as requested");
}
#ifdef FUZZ_CEREAL
using tree = std::map<std::string, std::variant<int, std::string, std::vector<double>>>;
struct leaves {
  tree all;
  std::unique_ptr<orbit> one;
  std::vector<std::shared_ptr<int>> many;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(all, one, many);
  }
};
std::uint64_t shaken(const leaves& l) {
  std::uint64_t n = l.one != nullptr ? weight(*l.one) : 0;
  for (const auto& [key, value] : l.all) n += weight(key) + value.index();
  for (const auto& p : l.many) n += p != nullptr ? static_cast<unsigned>(*p) : 0;
  return n;
}
#endif

namespace {

constexpr locality_id here = 0, peer = 1;

std::vector<const action_entry*> actions() {
  return {
      &net::detail::entry_of<&add>(),     &net::detail::entry_of<&again>(),       &net::detail::entry_of<&reversed>(),
      &net::detail::entry_of<&flipped>(), &net::detail::entry_of<&count_words>(), &net::detail::entry_of<&nested>(),
      &net::detail::entry_of<&shifted>(), &net::detail::entry_of<&two_large>(),   &net::detail::entry_of<&fails>(),
#ifdef FUZZ_CEREAL
      &net::detail::entry_of<&shaken>(),
#else
      nullptr,
#endif
      &net::detail::entry_of<&signals>(),
  };
}

// The transport of locality 0, without peers: it checks what is sent, and delivers the input.
class fed_transport final : public transport {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "fed"; }
  [[nodiscard]] bool must_be_asked() const noexcept override { return false; }
  [[nodiscard]] std::size_t max_head_bytes() const noexcept override { return 8192; }
  void start(receiver& r) override { receiver_ = &r; }
  // Answers must be well-formed for any input.
  void send(locality_id to, outgoing& m) noexcept override {
    PLX_ASSERT_EQ(to, peer);
    frame_reader f(m.head);
    while (f.next()) PLX_ASSERT_EQ(f.header().action, 0);
    PLX_ASSERT(f.valid(), f.problem());
    m.sent(&m, true);
  }
  bool progress() noexcept override {
    if (!std::exchange(fed_, false)) return false;
    if (places_.empty()) {
      receiver_->arrived(peer, head_);
    } else if (void* a = receiver_->announced(peer, head_, places_)) {
      for (const place& p : places_) {
        PLX_ASSERT(!come_ || p.data != nullptr || p.size_bytes == 0);
        if (come_ && p.size_bytes != 0) std::memset(p.data, 0x5a, p.size_bytes);
      }
      if (lost_) receiver_->pieces_lost(peer, a);
      receiver_->pieces_arrived(peer, a, come_);
    }
    return true;
  }
  [[nodiscard]] bool pending() const noexcept override { return false; }
  bool stop(double) noexcept override { return true; }

  void feed(std::span<const std::byte> head, std::vector<place> places, bool come, bool lost) {
    head_ = head;
    places_ = std::move(places);
    come_ = come;
    lost_ = lost;
    fed_ = true;
  }

 private:
  receiver* receiver_ = nullptr;
  std::span<const std::byte> head_;
  std::vector<place> places_;
  bool come_ = false, lost_ = false, fed_ = false;
};

runtime_options options_of(sim_scheduler& s) {
  runtime_options o;
  o.workers = 1;
  o.deterministic = true;
  o.conducted_by = s.conductor_of(0);
  return o;
}

}  // namespace

struct message_target::world {
  sim_scheduler scene{1, 1, 1000, sim_scheduler::never};
  runtime rt{options_of(scene)};
  fed_transport* fed = nullptr;
  node of{rt, made(), here, 2};
  const std::vector<const action_entry*> called = actions();

  ~world() { of.stop(0); }
  std::unique_ptr<transport> made() {
    auto t = std::make_unique<fed_transport>();
    fed = t.get();
    return t;
  }
  template <class R>
  std::uint64_t waits() {
    auto* call = plx::detail::make_state<net::detail::waiting_call<R>>();
    const auto nobody_reads_it = plx::detail::adopt_state<R>(call);
    return of.replies().add(*call, peer);
  }
  std::uint64_t call(std::uint64_t which) {
    switch (which) {
      case 1:
        return waits<std::uint64_t>();
      case 2:
        return waits<std::string>();
      case 3:
        return waits<std::vector<double>>();
      case 4:
        return waits<buffer<std::uint16_t>>();
      case 5:
        return waits<orbit>();
      case 6:
        return waits<void>();
#ifdef FUZZ_CEREAL
      case 7:
        return waits<leaves>();
#endif
      default:
        return which;
    }
  }
  // Replaces the input's numbers of actions and calls by those of this program; other actions do not occur.
  void translate(std::span<std::byte> frame) {
    for (std::size_t at = sizeof(frame_header); at + sizeof(parcel_header) <= frame.size();) {
      parcel_header h;
      std::memcpy(&h, frame.data() + at, sizeof h);
      if (h.action == 0)
        h.reply = call(h.reply);
      else
        h.action = h.action <= called.size() && called[h.action - 1] != nullptr
                       ? called[h.action - 1]->index
                       : static_cast<std::uint16_t>(0xf000 | (h.action & 0xfff));
      // An exception in a posted action ends the program on purpose, so this one is never posted.
      if (h.action == net::detail::entry_of<&fails>().index) h.reply |= 1;
      std::memcpy(frame.data() + at, &h, sizeof h);
      at += sizeof h + h.size;
    }
  }
};

message_target::message_target() : world_(std::make_unique<world>()) {}
message_target::~message_target() = default;
std::uint64_t message_target::refused() const { return world_->of.port().counts().refused; }

void message_target::take(const std::uint8_t* data, std::size_t size) {
  world& w = *world_;
  if (size == 0) return;
  const unsigned pieces = data[0] & 3;
  if (size < 1 + 2 * pieces) return;
  std::vector<place> places;
  for (unsigned i = 0; i < pieces; ++i)
    places.push_back({nullptr, static_cast<std::size_t>(data[1 + 2 * i] | data[2 + 2 * i] << 8)});
  const std::size_t n = size - 1 - 2 * pieces;
  const std::unique_ptr<std::byte[]> head(new std::byte[n]);  // exactly n, so that reads beyond it are detected
  if (n != 0) std::memcpy(head.get(), data + 1 + 2 * pieces, n);
  w.translate({head.get(), n});
  w.fed->feed({head.get(), n}, std::move(places), (data[0] & 4) == 0, (data[0] & 12) == 12);
  w.scene.open();
  w.rt.run([] {});
  for (reply_target* t : w.of.replies().take_all(peer)) t->fail(std::make_exception_ptr(0));
  PLX_ASSERT_EQ(w.rt.get_scheduler().suspended_tasks(), 0);
}

// ------------------------------------------------------------------------------------------------------ decoding alone

namespace {

template <class T>
bool decode_as(net::wire_reader& r, std::span<place> places) {
  T value{};
  try {
    net::read(r, value);
  } catch (const std::exception&) {
    return false;
  }
  // If the value is complete, each piece has memory.
  if (r.complete())
    for (const place& p : places) {
      PLX_ASSERT(p.data != nullptr || p.size_bytes == 0);
      if (p.size_bytes != 0) std::memset(p.data, 0x5a, p.size_bytes);
    }
  return r.complete();
}

bool decode_answer(std::uint64_t kind, net::wire_reader& r, std::span<place> places) {
  switch (kind) {
    case 1:
      return decode_as<std::uint64_t>(r, places);
    case 2:
      return decode_as<std::string>(r, places);
    case 3:
      return decode_as<std::vector<double>>(r, places);
    case 4:
      return decode_as<buffer<std::uint16_t>>(r, places);
    case 5:
      return decode_as<orbit>(r, places);
    case 7:
#ifdef FUZZ_CEREAL
      return decode_as<leaves>(r, places);
#endif
    default:
      return r.complete();
  }
}

bool decode_parcel(const parcel_header& h, net::wire_reader& r, std::span<place> places) {
  static const auto called = actions();
  if (h.action == 0) return decode_answer(h.reply, r, places);
  if (h.action > called.size() || called[h.action - 1] == nullptr) return false;
  parcel_task* t = called[h.action - 1]->decode(r, {nullptr, peer, 0, h.reply, h.action});
  if (t == nullptr) return false;
  PLX_ASSERT(r.complete());
  for (const place& p : places)
    if (p.size_bytes != 0) std::memset(p.data, 0x5a, p.size_bytes);
  t->drop(t);
  return true;
}

}  // namespace

bool decode_message(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return false;
  const unsigned pieces = data[0] & 3;
  if (size < 1 + 2 * pieces) return false;
  std::vector<place> places;
  for (unsigned i = 0; i < pieces; ++i)
    places.push_back({nullptr, static_cast<std::size_t>(data[1 + 2 * i] | data[2 + 2 * i] << 8)});
  const std::size_t n = size - 1 - 2 * pieces;
  const std::unique_ptr<std::byte[]> head(new std::byte[n]);
  if (n != 0) std::memcpy(head.get(), data + 1 + 2 * pieces, n);
  frame_reader f({head.get(), n});
  bool sound = true;
  for (; f.next(); sound &= pieces == 0 || f.parcels() == 1) {
    for (place& p : places) p.data = nullptr;
    net::wire_reader r(f.payload(), places);
    sound &= decode_parcel(f.header(), r, places);
  }
  return sound && f.valid();
}

// -------------------------------------------------------------------------------------------------------------- seeds

namespace {

struct input {
  std::vector<std::uint8_t> bytes;
  void raw(const void* data, std::size_t n) {
    const auto* b = static_cast<const std::uint8_t*>(data);
    bytes.insert(bytes.end(), b, b + n);
  }
  void save(const std::string& path) const {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
};

template <class... T>
input parcel(std::uint16_t action, std::uint64_t reply, std::uint16_t flags, const T&... values) {
  std::vector<std::byte> memory(1 << 16);
  std::vector<piece> pieces;
  wire_writer w(memory, &pieces);
  (net::write(w, values), ...);
  input i;
  i.bytes.push_back(static_cast<std::uint8_t>(pieces.size()));
  for (const piece& p : pieces) {
    const auto n = static_cast<std::uint16_t>(p.size_bytes);
    i.raw(&n, sizeof n);
  }
  frame_header f;
  f.parcels = 1;
  parcel_header h;
  h.size = static_cast<std::uint32_t>(w.used());
  h.action = action;
  h.flags = flags;
  h.reply = reply;
  i.raw(&f, sizeof f);
  i.raw(&h, sizeof h);
  i.raw(memory.data(), w.used());
  return i;
}

}  // namespace

void write_seeds(const char* folder) {
  const std::string at = std::string(folder) + "/";
  const orbit o{"earth", {1, 2, 3}, {{1}, {2, 3}}};
  const std::vector<double> large(600, 0.5);
  const std::tuple<std::optional<std::string>, std::array<std::pair<int, std::string>, 2>> t{"x",
                                                                                             {{{1, "a"}, {2, "b"}}}};
  parcel(1, 9, 0, 1, std::uint64_t{2}).save(at + "add");
  parcel(1, 0, 0, 1, std::uint64_t{2}).save(at + "add_posted");
  parcel(2, 9, 0, std::string("twice")).save(at + "again");
  parcel(3, 9, 0, std::vector<double>{1, 2, 3}).save(at + "reversed");
  parcel(3, 9, 0, large).save(at + "reversed_large");
  parcel(4, 9, 0, buffer<std::uint16_t>(3000)).save(at + "flipped_large");
  parcel(5, 9, 0, std::vector<std::vector<std::string>>{{"a", "b"}, {"c"}}, std::vector<bool>{true, false})
      .save(at + "count_words");
  parcel(6, 9, 0, t).save(at + "nested");
  parcel(7, 9, 0, o).save(at + "shifted");
  parcel(7, 9, 0, orbit{"far", large, {{4}}}).save(at + "shifted_large");
  parcel(8, 9, 0, std::vector<int>(2000, 1), 7, std::vector<orbit>{o, {"b", large, {}}}).save(at + "two_large");
  parcel(9, 9, 0, 1).save(at + "fails");
  parcel(200, 9, 0, 1).save(at + "unknown_action");
  parcel(0, 1, 0, std::uint64_t{7}).save(at + "answer_number");
  parcel(0, 2, 0, std::string("text")).save(at + "answer_string");
  parcel(0, 3, 0, large).save(at + "answer_large");
  parcel(0, 4, 0, buffer<std::uint16_t>(3000)).save(at + "answer_buffer");
  parcel(0, 5, 0, o).save(at + "answer_orbit");
  parcel(0, 6, 0).save(at + "answer_void");
  parcel(0, 1, failed_call, std::string("it failed")).save(at + "answer_failed");
  parcel(0, 999, 0, 1).save(at + "answer_without_receiver");
  input whole = parcel(2, 9, in_piece);  // a head that was too long
  whole.bytes[0] = 1;
  const std::uint8_t size[2] = {100, 0};
  whole.bytes.insert(whole.bytes.begin() + 1, size, size + 2);
  whole.save(at + "in_piece");
#ifdef FUZZ_CEREAL
  leaves l;
  l.all = {{"a", 1}, {"b", "text"}, {"c", std::vector<double>{1, 2}}};
  l.one = std::make_unique<orbit>(o);
  l.many = {std::make_shared<int>(3), nullptr};
  l.many.push_back(l.many[0]);
  parcel(10, 9, 0, l).save(at + "shaken");
  parcel(0, 7, 0, l).save(at + "answer_leaves");
#endif
  const std::vector<std::pair<bool, char>> then = {{true, 'a'}, {false, 'b'}};
  parcel(11, 9, 0, std::array<bool, 4>{true, false, true, true}, then, sender{peer}).save(at + "signals");
  parcel(11, 9, 0, std::array<char, 4>{1, 0, 7, 1}, then, sender{peer}).save(at + "signals_neither");
  parcel(11, 9, 0, std::array<bool, 4>{}, then, sender{here}).save(at + "signals_of_another");
  input two = parcel(1, 9, 0, 1, std::uint64_t{2});
  const input second = parcel(2, 9, 0, std::string("second"));
  two.bytes[5] = 2;  // number of parcels in the frame's header
  two.bytes.insert(two.bytes.end(), second.bytes.begin() + 1 + sizeof(frame_header), second.bytes.end());
  two.save(at + "two_parcels");
}

}  // namespace fuzz
