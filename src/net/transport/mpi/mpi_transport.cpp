// Start, sending and receiving by MPI.

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>

#include "base/assert.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "net/transport/mpi/mpi_transport.hpp"
#include "probe/monitor/shared_library.hpp"

namespace plx::net::detail {

namespace {

bool find_handles(const probe::shared_library& file, mpi_library& library) {
#ifdef OPEN_MPI
  const auto find = [&](const char* name, auto& handle) {
    char* address = nullptr;
    if (!file.find(name, address)) return false;
    handle = static_cast<std::remove_reference_t<decltype(handle)>>(static_cast<void*>(address));
    return true;
  };
  return find("ompi_mpi_comm_world", library.world) && find("ompi_mpi_byte", library.byte) &&
         find("ompi_mpi_errors_return", library.errors_return);
#else
  library.world = MPI_COMM_WORLD;
  library.byte = MPI_BYTE;
  library.errors_return = MPI_ERRORS_RETURN;
  return &file != nullptr;
#endif
}

result<const mpi_library*> load() {
  static auto file = probe::shared_library::open({PLX_MPI_LIBRARY, "libmpi.so.40", "libmpi.so.12", "libmpi.so"});
  if (!file)
    return error{"cannot load MPI: " + file.error().message + "; install libopenmpi3, or another MPI and build again"};
  static mpi_library library;
#define PLX_FIND(name)                         \
  if (!file->find("MPI_" #name, library.name)) \
    return error{"this MPI has no MPI_" #name "; expected version 3 or newer"};
  PLX_MPI_FUNCTIONS(PLX_FIND)
#undef PLX_FIND
  if (!find_handles(*file, library)) return error{"the MPI that was loaded is not the one of the build; build again"};
  return &library;
}

}  // namespace

std::string mpi_library::text(int code) const {
  char words[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  Error_string(code, words, &length);
  return {words, static_cast<std::size_t>(length)};
}

result<const mpi_library*> load_mpi() {
  static const result<const mpi_library*> loaded = load();
  return loaded;
}

result<std::unique_ptr<mpi_bootstrap>> mpi_bootstrap::make() {
  const auto library = load_mpi();
  if (!library) return library.error();
  std::unique_ptr<mpi_bootstrap> b(new mpi_bootstrap(**library));
  if (auto r = b->open(); !r) return r.error();
  return b;
}

result<void> mpi_bootstrap::open() {
  int initialized = 0, level = MPI_THREAD_SINGLE;
  mpi_.Initialized(&initialized);
  if (initialized != 0) {
    mpi_.Query_thread(&level);
  } else {
    if (const int r = mpi_.Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level); r != MPI_SUCCESS)
      return error{fmt::format("MPI_Init_thread failed: {}", mpi_.text(r))};
    ours_ = true;
  }
  if (level < MPI_THREAD_SERIALIZED)
    return error{
        fmt::format("expected MPI_THREAD_SERIALIZED of MPI, found level {}; initialise MPI with it, or let Parallax "
                    "initialise MPI",
                    level)};
  mpi_.Comm_set_errhandler(mpi_.world, mpi_.errors_return);
  int rank = 0, size = 1;
  mpi_.Comm_rank(mpi_.world, &rank);
  mpi_.Comm_size(mpi_.world, &size);
  here_ = static_cast<locality_id>(rank);
  size_ = static_cast<unsigned>(size);
  for (MPI_Comm* each : {&start_, &heads_, &pieces_}) {
    if (const int r = mpi_.Comm_dup(mpi_.world, each); r != MPI_SUCCESS)
      return error{fmt::format("MPI_Comm_dup failed: {}", mpi_.text(r))};
    mpi_.Comm_set_errhandler(*each, mpi_.errors_return);
  }
  return {};
}

bool mpi_bootstrap::ends(MPI_Request& request, double until) const noexcept {
  int done = 0;
  for (unsigned turns = 0; mpi_.Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done == 0; ++turns) {
    if (monotonic_seconds() > until) return false;
    if (turns > 1000) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return done != 0;
}

error mpi_bootstrap::late(double deadline_s) const {
  return error{
      fmt::format("expected all {} localities at the start within {:g} s, but at least one is missing; check that "
                  "their processes run",
                  size_, deadline_s)};
}

result<std::vector<std::string>> mpi_bootstrap::exchange(std::string_view mine, double deadline_s) {
  struct gathering {
    std::string mine, all;
    int size_bytes = 0;
    std::vector<int> sizes, begins;
  };
  auto g = std::make_unique<gathering>();
  g->mine = mine;
  g->size_bytes = static_cast<int>(mine.size());
  g->sizes.resize(size_);
  g->begins.resize(size_);
  const double until = monotonic_seconds() + deadline_s;
  MPI_Request request;
  const bool sized = mpi_.Iallgather(&g->size_bytes, sizeof(int), mpi_.byte, g->sizes.data(), sizeof(int), mpi_.byte,
                                     start_, &request) == MPI_SUCCESS &&
                     ends(request, until);
  if (sized) {
    std::exclusive_scan(g->sizes.begin(), g->sizes.end(), g->begins.begin(), 0);
    g->all.resize(static_cast<std::size_t>(g->begins.back() + g->sizes.back()));
  }
  if (!sized ||
      mpi_.Iallgatherv(g->mine.data(), g->size_bytes, mpi_.byte, g->all.data(), g->sizes.data(), g->begins.data(),
                       mpi_.byte, start_, &request) != MPI_SUCCESS ||
      !ends(request, until)) {
    (void)g.release();  // MPI may still write there
    return late(deadline_s);
  }
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < size_; ++i)
    parts.push_back(g->all.substr(static_cast<std::size_t>(g->begins[i]), static_cast<std::size_t>(g->sizes[i])));
  return parts;
}

// MPI_Finalize has no deadline and waits for all processes: it is called only if all of them arrive here. Otherwise the
// process ends without it.
void mpi_bootstrap::leave(double deadline_s) noexcept {
  if (!std::exchange(ours_, false)) return;
  MPI_Request request;
  if (mpi_.Ibarrier(start_, &request) == MPI_SUCCESS && ends(request, monotonic_seconds() + deadline_s))
    mpi_.Finalize();
}

// Start and end of the transport, and lost peers.

result<std::unique_ptr<transport>> make_mpi_transport(bootstrap& b, double deadline_s) {
  if (b.name() != "mpi")
    return error{
        fmt::format("expected a start by MPI for the transport mpi, found {}; pass the same transport to "
                    "find_bootstrap()",
                    b.name())};
  auto t = std::make_unique<mpi_transport>(static_cast<mpi_bootstrap&>(b));
  if (auto r = t->open(deadline_s); !r) return r.error();
  return std::unique_ptr<transport>(std::move(t));
}

mpi_transport::mpi_transport(mpi_bootstrap& b) : bootstrap_(b), mpi_(b.mpi()), lost_(b.size()) {}

mpi_transport::~mpi_transport() {
  for (auto& u : given_up_) (void)u.release();  // MPI may still access them
}

result<void> mpi_transport::open(double deadline_s) {
  if (auto r = meet_others(bootstrap_, deadline_s); !r) return r;
  const auto addresses = bootstrap_.exchange(detector_->address(), deadline_s);
  if (!addresses) return addresses.error();
  return detector_->connect(*addresses, deadline_s);
}

void mpi_transport::start(receiver& r) {
  receiver_ = &r;
  heads_.resize(16);
  for (auto& p : heads_) listen(p);
}

bool mpi_transport::advance() noexcept {
  const bool received = receive_heads();
  return finish_some() || received;
}

void mpi_transport::handle_losses() noexcept {
  for (const loss& l : detector_->take_losses()) lose(l);
  finish_given_up();
}

void mpi_transport::lose(const loss& l) noexcept {
  for (int i = 0; i < 1000 && receive_heads();) ++i;  // what it sent before it was lost
  lost_[l.who] = 1;
  receiver_->lost(l.who, l.why);
  give_up(l.who);
}

// Unfinished operations with a lost peer may never complete. Until they do, MPI may access their memory; receives that
// have not been matched are cancelled.
void mpi_transport::give_up(locality_id who) noexcept {
  lost_[who] = 1;
  const auto gone =
      std::stable_partition(under_way_.begin(), under_way_.end(), [&](const auto& u) { return u->peer != who; });
  std::vector<std::unique_ptr<under_way>> ended(std::make_move_iterator(gone),
                                                std::make_move_iterator(under_way_.end()));
  under_way_.erase(gone, under_way_.end());
  for (auto& u : ended) {
    unfinished_.fetch_sub(1, std::memory_order_relaxed);
    if (u->message == nullptr)
      for (MPI_Request& r : u->requests) mpi_.Cancel(&r);
    if (finished(*u)) {
      hand_back(*u, false);
      continue;
    }
    if (u->announced != nullptr) receiver_->pieces_lost(u->peer, u->announced);
    given_up_.push_back(std::move(u));
  }
}

void mpi_transport::give_up_all() noexcept {
  for (locality_id i = 0; i < lost_.size(); ++i) give_up(i);
  for (auto& p : heads_) mpi_.Cancel(&p.request);
}

namespace {

constexpr int head_tag = 1, announcement_tag = 2, piece_tag = 3;
constexpr std::size_t most_piece_bytes = std::size_t{1} << 46;  // more than any memory
constexpr std::size_t most_bytes = std::size_t{1} << 30;        // of one MPI message, whose count is an int

std::size_t messages_of(std::size_t bytes) { return std::max<std::size_t>(1, (bytes + most_bytes - 1) / most_bytes); }

void append(std::vector<std::byte>& to, const auto& object) {
  const auto bytes = std::as_bytes(std::span(&object, 1));
  to.insert(to.end(), bytes.begin(), bytes.end());
}

std::uint64_t take_number(std::span<const std::byte>& from) {
  std::uint64_t n = 0;
  if (from.size() < sizeof n) return n;
  std::memcpy(&n, from.data(), sizeof n);
  from = from.subspan(sizeof n);
  return n;
}

}  // namespace

void mpi_transport::issue(outgoing& m) noexcept {
  if (lost_[m.destination] != 0) return m.sent(&m, false);
  auto u = std::make_unique<under_way>();
  u->peer = m.destination;
  u->message = &m;
  if (m.pieces.empty())
    send_bytes(*u, m.head, head_tag, bootstrap_.heads());
  else
    issue_pieces(m, *u);
  if (finished(*u)) return m.sent(&m, u->ok);
  unfinished_.fetch_add(1, std::memory_order_relaxed);
  under_way_.push_back(std::move(u));
}

// MPI preserves the order of messages between two processes, and both count the pieces alike: they need no number.
void mpi_transport::issue_pieces(outgoing& m, under_way& u) noexcept {
  append(u.bytes, std::uint64_t{m.pieces.size()});
  for (const piece& p : m.pieces) append(u.bytes, std::uint64_t{p.size_bytes});
  u.bytes.insert(u.bytes.end(), m.head.begin(), m.head.end());
  send_bytes(u, u.bytes, announcement_tag, bootstrap_.heads());
  for (const piece& p : m.pieces) {
    std::span<const std::byte> rest{static_cast<const std::byte*>(p.data), p.size_bytes};
    for (std::size_t i = messages_of(p.size_bytes); i != 0; --i) {
      const auto part = rest.first(std::min(rest.size(), most_bytes));
      send_bytes(u, part, piece_tag, bootstrap_.pieces());
      rest = rest.subspan(part.size());
    }
  }
}

void mpi_transport::send_bytes(under_way& u, std::span<const std::byte> bytes, int tag, MPI_Comm where) noexcept {
  MPI_Request request;
  const int r = mpi_.Isend(bytes.data(), static_cast<int>(bytes.size()), mpi_.byte, static_cast<int>(u.peer), tag,
                           where, &request);
  if (r == MPI_SUCCESS) return u.requests.push_back(request);
  u.ok = false;
  detector_->report_lost(u.peer, "MPI cannot send to it: " + mpi_.text(r));
}

void mpi_transport::receive_bytes(under_way& u, void* to, std::size_t bytes) noexcept {
  MPI_Request request;
  const int r = mpi_.Irecv(to, static_cast<int>(bytes), mpi_.byte, static_cast<int>(u.peer), piece_tag,
                           bootstrap_.pieces(), &request);
  if (r == MPI_SUCCESS) return u.requests.push_back(request);
  u.ok = false;
  detector_->report_lost(u.peer, "MPI cannot receive from it: " + mpi_.text(r));
}

void mpi_transport::listen(place_for_head& p) noexcept {
  // An announcement also contains the sizes of its pieces.
  p.bytes.resize(max_head_bytes() + (1 + most_pieces) * sizeof(std::uint64_t));
  const int r = mpi_.Irecv(p.bytes.data(), static_cast<int>(p.bytes.size()), mpi_.byte, MPI_ANY_SOURCE, MPI_ANY_TAG,
                           bootstrap_.heads(), &p.request);
  PLX_ASSERT(r == MPI_SUCCESS, mpi_.text(r));
}

// MPI matches receives in the order in which they were posted.
bool mpi_transport::receive_heads() noexcept {
  bool any = false;
  for (std::size_t n = 0; n < heads_.size(); ++n) {
    place_for_head& p = heads_.front();
    int done = 0;
    MPI_Status status;
    if (mpi_.Test(&p.request, &done, &status) != MPI_SUCCESS || done == 0) break;
    any = true;
    int bytes = 0;
    mpi_.Get_count(&status, mpi_.byte, &bytes);
    const auto from = static_cast<locality_id>(status.MPI_SOURCE);
    const auto came = std::span<const std::byte>(p.bytes).first(static_cast<std::size_t>(bytes));
    if (lost_[from] == 0) {
      if (status.MPI_TAG == head_tag) receiver_->arrived(from, came);
      if (status.MPI_TAG == announcement_tag) take_announcement(from, came);
    }
    listen(p);
    heads_.push_back(std::move(p));
    heads_.pop_front();
  }
  return any;
}

void mpi_transport::take_announcement(locality_id from, std::span<const std::byte> bytes) noexcept {
  const auto pieces = take_number(bytes);
  if (pieces == 0 || pieces > most_pieces || bytes.size() < pieces * sizeof(std::uint64_t))
    return refuse(from, "an announcement of pieces is invalid");
  std::vector<place> places(pieces);
  std::size_t largest = 0;
  for (place& p : places) {
    p.size_bytes = take_number(bytes);
    largest = std::max(largest, p.size_bytes);
    if (p.size_bytes > most_piece_bytes) return refuse(from, "an announced piece has an invalid size");
  }
  auto u = std::make_unique<under_way>();
  u->peer = from;
  u->announced = receiver_->announced(from, bytes, places);
  if (u->announced == nullptr) u->bytes.resize(std::min(largest, most_bytes));  // the pieces arrive nevertheless
  for (const place& p : places)
    for (std::size_t i = 0; i < messages_of(p.size_bytes); ++i) {
      const std::size_t begin = i * most_bytes;
      void* to = u->announced != nullptr ? static_cast<std::byte*>(p.data) + begin : u->bytes.data();
      receive_bytes(*u, to, std::min(p.size_bytes - begin, most_bytes));
    }
  unfinished_.fetch_add(1, std::memory_order_relaxed);
  under_way_.push_back(std::move(u));
}

// The pieces of a refused message arrive nevertheless, in unknown number: nothing from that peer can be interpreted.
void mpi_transport::refuse(locality_id from, const char* why) noexcept {
  log_warning("a message from locality {} was refused: {}", from, why);
  refused_.fetch_add(1, std::memory_order_relaxed);
  detector_->report_lost(from, std::string("it sends invalid messages: ") + why);
}

bool mpi_transport::finished(under_way& u) noexcept {
  while (!u.requests.empty()) {
    int done = 0;
    const int r = mpi_.Test(&u.requests.back(), &done, MPI_STATUS_IGNORE);
    if (r == MPI_SUCCESS && done == 0) return false;
    u.ok &= r == MPI_SUCCESS;
    u.requests.pop_back();
  }
  return true;
}

bool mpi_transport::finish_some() noexcept {
  bool any = false;
  for (std::size_t i = 0; i < under_way_.size();) {
    if (!finished(*under_way_[i])) {
      ++i;
      continue;
    }
    const auto u = std::move(under_way_[i]);
    under_way_[i] = std::move(under_way_.back());
    under_way_.pop_back();
    unfinished_.fetch_sub(1, std::memory_order_relaxed);
    hand_back(*u, u->ok);
    any = true;
  }
  return any;
}

void mpi_transport::finish_given_up() noexcept {
  std::erase_if(given_up_, [this](const auto& u) { return finished(*u) && (hand_back(*u, false), true); });
}

void mpi_transport::hand_back(under_way& u, bool ok) noexcept {
  if (u.message != nullptr) u.message->sent(u.message, ok);
  if (u.announced != nullptr) receiver_->pieces_arrived(u.peer, u.announced, ok);
}

}  // namespace plx::net::detail
