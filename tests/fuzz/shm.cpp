#include "shm.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "net/collectives.hpp"
#include "net/core/node.hpp"
#include "net/group/groups.hpp"
#include "net/parcels/frame.hpp"
#include "net/transport/near_rings.hpp"
#include "rt/runtime.hpp"
#include "rt/thread.hpp"
#include "script.hpp"

namespace fuzz {

using namespace plx;
using net::collective::address;
using net::detail::most_shm_bytes;
using net::detail::shm_line;
using net::detail::shm_ring;
using net::detail::shm_segment;

namespace {

// Locality 0 is under test; the last one never sends; each other one is the neighbour of one input. Their number is
// below the number of neighbours that are polled at once.
constexpr locality_id here = 0, first_peer = 1, silent = 14, localities = 15;

/// The types of steps: the first byte of each, modulo 8.
enum step : std::uint8_t {
  message,  ///< group, call, rank, step, kind, size of the contents; then as many of these bytes as are left
  stamped,  ///< a stamp (u16) of that size, one line of contents, and how far the writer advances
  line,     ///< at any position: line, stamp (u64), contents
  call,     ///< group, kind, root
  taken,    ///< the read position that the neighbour reports (u64)
  asleep,   ///< whether the neighbour reports that it sleeps
  polls,    ///< the number of polls
  awaited   ///< a task waits for the last call during the following steps
};

// A transport whose peers only write to rings: it checks what else is sent to them.
class rings_transport final : public net::transport {
 public:
  explicit rings_transport(shm_segment mine, std::vector<net::detail::near_rings::owner> others) {
    rings_.open(std::move(mine), here, localities, std::move(others));
  }
  [[nodiscard]] std::string_view name() const noexcept override { return "empty"; }
  [[nodiscard]] bool must_be_asked() const noexcept override { return false; }
  [[nodiscard]] std::size_t max_head_bytes() const noexcept override { return 8192; }
  void start(net::receiver& r) override { receiver_ = &r; }
  void send(locality_id to, net::outgoing& m) noexcept override {
    PLX_ASSERT(to != here && to < localities, to);
    net::frame_reader f(m.head);
    while (f.next()) {
    }
    PLX_ASSERT(f.valid(), f.problem());
    m.sent(&m, true);
  }
  bool send_raw(locality_id to, std::span<const std::byte> first, std::span<const std::byte> rest) noexcept override {
    return rings_.send_raw(to, first, rest) != net::detail::near_rings::sending::left;
  }
  std::size_t receive_awaited(locality_id from, std::span<const std::byte> awaited,
                              net::raw_message& into) noexcept override {
    return rings_.receive_awaited(*receiver_, from, awaited, into);
  }
  void receive_of(locality_id from) noexcept override { rings_.receive_of(*receiver_, from); }
  bool progress() noexcept override {
    locality_id invalid = no_locality;
    const bool any = rings_.receive(*receiver_, invalid);
    if (invalid != no_locality) receiver_->lost(invalid, "it wrote an invalid message");
    return any;
  }
  [[nodiscard]] net::near_counts near() const noexcept override { return rings_.counted(); }
  [[nodiscard]] bool pending() const noexcept override { return false; }
  bool stop(double) noexcept override { return true; }

 private:
  net::detail::near_rings rings_;
  net::receiver* receiver_ = nullptr;
};

/// A call in progress, and its outcome.
struct open_call {
  std::function<bool()> ready;
  std::function<void()> wait;  // called in a task, once
  bool waited_for = false, ended = false, completed = false;
};
using open_call_ptr = std::shared_ptr<open_call>;

template <class T>
open_call_ptr kept(future<T> f) {
  auto shared = std::make_shared<future<T>>(std::move(f));
  auto c = std::make_shared<open_call>();
  c->ready = [shared] { return shared->is_ready(); };
  c->wait = [shared, &c = *c] {
    try {
      static_cast<void>(shared->get());
      c.completed = true;
    } catch (const std::exception&) {
    }
    c.ended = true;
  };
  return c;
}

open_call_ptr make_call(const communicator& c, unsigned which, unsigned root) {
  const auto plus = [](const auto& a, const auto& b) { return a + b; };
  root %= c.size();
  switch (which % 12) {
    case 0:
      return kept(c.barrier());
    case 1:
      return kept(c.broadcast(std::uint64_t{7}, root));
    case 2:
      return kept(c.broadcast(std::string("seven"), root));
    case 3:
      return kept(c.reduce(1.5, plus, root));
    case 4:
      return kept(c.all_reduce(std::uint32_t{3}, plus));
    case 5:
      return kept(c.all_reduce(std::string("ab"), plus));
    case 6:
      return kept(c.gather(std::vector<int>{1, 2}, root));
    case 7:
      return kept(c.all_gather(std::uint64_t{5}));
    case 8:
      return kept(c.scatter(std::vector<std::uint16_t>(c.size(), 4), root));
    case 9:
      return kept(c.all_to_all(std::vector<std::string>(c.size(), "to all")));
    case 10:
      return kept(c.inclusive_scan(std::uint64_t{2}, plus));
    default:
      return kept(c.exclusive_scan(std::string("x"), plus));
  }
}

}  // namespace

struct shm_target::world {
  std::vector<std::vector<shm_line>> memory;  // by locality
  std::unique_ptr<runtime> rt = std::make_unique<runtime>(runtime_options{.workers = 1, .deterministic = true});
  std::unique_ptr<net::node> of;
  locality_id next = first_peer;  // the neighbour of the next input

  world() : memory(localities) {
    std::vector<net::detail::near_rings::owner> others;
    for (locality_id i = 0; i < localities; ++i) {
      memory[i] = std::vector<shm_line>(shm_segment::bytes_for(localities) / sizeof(shm_line));
      if (i != here) others.push_back({i, i, true, segment(i)});
    }
    of = std::make_unique<net::node>(*rt, std::make_unique<rings_transport>(segment(here), std::move(others)), here,
                                     unsigned{localities});
  }
  ~world() {
    of->stop(0);
    rt.reset();
  }
  shm_segment segment(locality_id i) {
    return shm_segment::at(reinterpret_cast<std::byte*>(memory[i].data()), localities);
  }
};

namespace {

// One input: its neighbour, its communicators, and its calls.
class play {
 public:
  play(net::node& n, shm_segment mine, shm_segment theirs, locality_id peer, script s)
      : node_(n),
        in_(mine.ring_of(peer)),
        theirs_(std::move(theirs)),
        peer_(peer),
        script_(s),
        groups_{communicator("two", {here, peer}), communicator("three", {here, peer, silent})},
        ids_{n.get<net::collective::groups>().named("two", {here, peer}).id(),
             n.get<net::collective::groups>().named("three", {here, peer, silent}).id()} {}

  void steps() {
    while (script_.any() && !node_.is_lost(peer_)) take_step();
    look(4);
  }
  /// Ends all calls: those that still wait for the neighbour fail because it is lost.
  void end() {
    node_.give_up(peer_, "the input has ended");
    for (int i = 0; !all_ready(); ++i) {
      PLX_ASSERT(i < 10'000 && "a call with a lost locality does not end");
      this_thread::yield();
    }
    for (const auto& c : calls_) {
      if (!c->waited_for) c->wait();
      completed += c->completed ? 1 : 0;
    }
  }
  [[nodiscard]] unsigned calls() const { return static_cast<unsigned>(calls_.size()); }
  unsigned completed = 0;

 private:
  bool all_ready() const {
    return std::all_of(calls_.begin(), calls_.end(),
                       [](const auto& c) { return c->waited_for ? c->ended : c->ready(); });
  }
  static void look(unsigned times) {
    for (unsigned i = 0; i < times; ++i) this_thread::yield();
  }
  void take_step() {
    switch (script_.byte() % 8) {
      case message:
        return write_message();
      case stamped:
        return write_stamped();
      case line:
        return write_line();
      case call: {
        const std::uint8_t group = script_.byte() % 2, which = script_.byte();
        ++made_[group];
        return calls_.push_back(make_call(groups_[group], which, script_.byte()));
      }
      case taken:
        return theirs_.ring_of(here).taken->store(script_.number<std::uint64_t>());
      case asleep:
        return theirs_.asleep().store(script_.byte());
      case polls:
        return look(script_.byte() % 16 + 1u);
      default:
        if (calls_.empty() || std::exchange(calls_.back()->waited_for, true)) return;
        // In a task of its own, because the call may become ready under the lock of the thread that reads messages.
        return post([last = calls_.back()] { last->wait(); });
    }
  }
  address where() {
    const std::uint8_t group = script_.byte(), call = script_.byte();
    address a;
    a.group = group < 2 ? ids_[group] : group * 0x9e3779b97f4a7c15u;
    // Close to the next call; or far away, once beyond the limit and once within it.
    a.call = made_[group % 2] + static_cast<std::uint64_t>(std::int64_t{static_cast<std::int8_t>(call)});
    if (call == 0x7f) a.call = 5000;
    if (call == 0x7e) a.call = std::uint64_t{1} << 62;
    a.rank = script_.byte();
    a.step = script_.byte();
    a.what = static_cast<net::collective::kind>(script_.byte());
    return a;
  }
  void write_message() {
    std::array<std::byte, most_shm_bytes> bytes;
    bytes.fill(std::byte{0x5a});
    const address a = where();
    std::memcpy(bytes.data(), &a, sizeof a);
    const std::size_t size = std::min(script_.byte() * std::size_t{2}, most_shm_bytes - sizeof a);
    script_.bytes(bytes.data() + sizeof a, size);
    put(std::span(bytes).first(sizeof a + size));
  }
  // Writes as a correct writer does, but at any position of the reader.
  void put(std::span<const std::byte> message) {
    const std::size_t n = shm_ring::lines_of(message.size());
    for (std::size_t i = 0; i < n; ++i) {
      const auto part = message.subspan(i * shm_line::room);
      std::memcpy(in_.line(at_ + i).bytes.data(), part.data(), std::min(part.size(), shm_line::room));
    }
    in_.line(at_).stamp.store(shm_ring::stamp(at_, message.size() | shm_ring::raw_bit));
    at_ += n;
  }
  void write_stamped() {
    const auto size = script_.number<std::uint16_t>();
    shm_line& l = in_.line(at_);
    script_.bytes(l.bytes.data(), shm_line::room);
    l.stamp.store(shm_ring::stamp(at_, size));
    at_ += script_.byte() % 16;
  }
  void write_line() {
    shm_line& l = in_.line(script_.byte());
    l.stamp.store(script_.number<std::uint64_t>());
    script_.bytes(l.bytes.data(), shm_line::room);
  }

  net::node& node_;
  const shm_ring in_;         // written by the neighbour
  const shm_segment theirs_;  // written by this locality
  const locality_id peer_;
  script script_;
  const communicator groups_[2];
  const std::uint64_t ids_[2];
  std::uint64_t made_[2] = {0, 0};  // calls made, by group
  std::uint64_t at_ = 0;            // lines written
  std::vector<open_call_ptr> calls_;
};

}  // namespace

shm_target::shm_target() = default;
shm_target::~shm_target() = default;

void shm_target::take(const std::uint8_t* data, std::size_t size) {
  if (world_ == nullptr || world_->next == silent) world_ = nullptr, world_ = std::make_unique<world>();
  world& w = *world_;
  const locality_id peer = w.next++;
  net::node& n = *w.of;
  const std::uint64_t refused = n.port().counts().refused, taken = n.carrier().near().received;
  last_ = {};
  w.rt->run([&] {
    play p(n, w.segment(here), w.segment(peer), peer, script(data, size));
    p.steps();
    last_.ended_it = n.is_lost(peer);
    p.end();
    last_.calls = p.calls(), last_.completed = p.completed;
  });
  last_.refused = n.port().counts().refused - refused;
  last_.taken = n.carrier().near().received - taken;
}

// ---------------------------------------------------------------------------------------------------- a ring alone

unsigned play_ring(const std::uint8_t* data, std::size_t size) {
  using net::detail::shm_reader;
  constexpr std::size_t n_lines = 16;
  std::vector<shm_line> lines(n_lines);  // exactly that many, so that accesses beyond them are detected
  std::atomic<std::uint64_t> taken{0};
  const shm_ring ring{&taken, lines};
  net::detail::shm_writer writer(ring);
  shm_reader reader(ring);
  std::array<std::byte, most_shm_bytes> message;
  std::size_t bytes = 0;
  std::uint64_t at = 0;  // the next line to read, as far as this thread knows
  unsigned read = 0;
  for (script s(data, size); s.any();) {
    const std::uint8_t what = s.byte();
    switch (what % 6) {
      case 0: {  // a message, as a correct writer puts it
        const std::size_t n = 1 + s.number<std::uint16_t>() % most_shm_bytes;
        std::array<std::byte, most_shm_bytes> contents{};
        s.bytes(contents.data(), std::min<std::size_t>(n, what));
        const std::size_t first = std::min<std::size_t>(n, what % shm_line::room);
        writer.put(std::span(contents).first(first), std::span(contents).first(n).subspan(first));
        break;
      }
      case 1:  // a stamp for the next line, of any size
        ring.line(at).stamp.store(shm_ring::stamp(at, s.number<std::uint16_t>()));
        break;
      case 2: {  // a line
        shm_line& l = lines[s.byte() % n_lines];
        l.stamp.store(s.number<std::uint64_t>());
        s.bytes(l.bytes.data(), what % (shm_line::room + 1));
        break;
      }
      case 3:
        taken.store(what < 128 ? s.number<std::uint64_t>() : taken.load() + s.byte());
        break;
      case 4: {
        const bool any = reader.any();
        const auto found = reader.next(message, bytes);
        PLX_ASSERT_EQ(any, found != shm_reader::found::nothing);
        if (found == shm_reader::found::invalid) return read;
        if (found == shm_reader::found::nothing) break;
        PLX_ASSERT(bytes > 0 && bytes <= most_shm_bytes, bytes);
        at += shm_ring::lines_of(bytes);
        ++read;
        break;
      }
      default:
        for (shm_line& l : lines) l.stamp.store(l.stamp.load() + s.byte());
    }
  }
  return read;
}

// -------------------------------------------------------------------------------------------------------------- seeds

namespace {

using net::collective::kind;

struct input {
  std::vector<std::uint8_t> bytes;
  input& operator()(std::initializer_list<unsigned> more) {
    for (const unsigned b : more) bytes.push_back(static_cast<std::uint8_t>(b));
    return *this;
  }
  /// A message of the neighbour in the group of two, for the last call, with `size` equal bytes.
  input& answer(kind what, unsigned step, unsigned size, unsigned group = 0) {
    (*this)({message, group, 0xff, 1, step, static_cast<unsigned>(what), size / 2});
    bytes.insert(bytes.end(), size, 1);
    return *this;
  }
  void save(const std::string& path) const {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
};

}  // namespace

void write_shm_seeds(const char* folder) {
  const std::string at = std::string(folder) + "/";
  input()({call, 0, 0, 0}).answer(kind::barrier, 0, 0)({polls, 4}).save(at + "barrier");
  input()({call, 0, 4, 0}).answer(kind::all_reduce, 0, 4)({polls, 4}).save(at + "all_reduce");
  input()({call, 0, 1, 1}).answer(kind::broadcast, 0, 8)({polls, 4}).save(at + "broadcast");
  input()({call, 0, 6, 0}).answer(kind::gather, 0, 16)({polls, 4}).save(at + "gather");
  input()({call, 0, 7, 0}).answer(kind::all_gather, 0, 8)({polls, 4}).save(at + "all_gather");
  input()({call, 0, 8, 1}).answer(kind::scatter, 0, 2)({polls, 4}).save(at + "scatter");
  input()({call, 0, 9, 0}).answer(kind::all_to_all, 0, 14)({polls, 4}).save(at + "all_to_all");
  input()({call, 0, 5, 0}).answer(kind::all_reduce, 0, 60)({awaited, polls, 4}).save(at + "long_text");
  input()({call, 1, 10, 0}).answer(kind::inclusive_scan, 0, 8, 1)({polls, 4}).save(at + "of_three");
  input early = input().answer(kind::broadcast, 0, 8)({polls, 2, call, 0, 1, 1, polls, 2});
  early.bytes[2] = 0;  // of the next call
  early.save(at + "early");
  input()({call, 0, 4, 0}).answer(kind::barrier, 0, 4)({polls, 4}).save(at + "another_call");
  input()({message, 9, 0, 1, 0, 1, 0, polls, 4}).save(at + "unknown_group");
  input()({message, 0, 0, 2, 0, 1, 0, polls, 4}).save(at + "of_another");
  input()({message, 0, 0, 1, 0, 99, 0, polls, 4}).save(at + "no_call");
  input()({message, 0, 0x7e, 1, 0, 1, 0, polls, 4}).save(at + "too_far");
  input()({stamped, 0, 0, polls, 4}).save(at + "no_bytes");
  input()({stamped, 0xff, 0xff, polls, 4}).save(at + "too_many_bytes");
  input()({call, 0, 4, 0, line, 5, 6, 0, 0, 0, 0, 0, 0, 1, polls, 4}).save(at + "a_later_line");
  input()({taken, 255, 255, 255, 255, 255, 255, 255, 255, call, 0, 4, 0, asleep, 1, call, 0, 4, 0}).save(at + "taken");
  input full;
  for (int i = 0; i < 60; ++i) full({call, 0, 9, 0});
  full.save(at + "no_room");
}

}  // namespace fuzz
