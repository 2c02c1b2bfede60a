#include "net/agas/checkpoint/image.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/text.hpp"
#include "net/checkpoint.hpp"
#include "rt/for_loop.hpp"

namespace plx {
namespace net::checkpoint {
namespace {

std::string text_of(const std::exception_ptr& e) {
  try {
    std::rethrow_exception(e);
  } catch (const std::exception& x) {
    return x.what();
  } catch (...) {
    return "an exception of an unknown type";
  }
}

net::detail::pinned pin_here(const handle& h, const object_type& type, const void*& object) {
  net::detail::reference& r = net::detail::reference_of(h);
  agas& a = *r.home.load(std::memory_order_acquire);
  const auto got = a.pin(r.id, type, nullptr, false, {a.home().here(), 0});
  if (got.what != net::detail::access::here) return {};
  object = got.object;
  return {a, *got.record};
}

/// f(i) for each, in parallel; the first exception by index.
template <class F>
void each_of(std::size_t n, F f) {
  std::vector<std::exception_ptr> failures(n);
  for_loop(std::size_t{0}, n, [&](std::size_t i) {
    try {
      f(i);
    } catch (...) {
      failures[i] = std::current_exception();
    }
  });
  for (const auto& e : failures)
    if (e != nullptr) std::rethrow_exception(e);
}

/// Throws checkpoint_error if two items have one key.
template <class Items>
void check_keys(const Items& items) {
  std::vector<std::string_view> keys;
  for (const auto& i : items) keys.push_back(i.key);
  std::sort(keys.begin(), keys.end());
  const auto twice = std::adjacent_find(keys.begin(), keys.end());
  if (twice != keys.end())
    throw checkpoint_error(fmt::format("locality {}: two objects have the key '{}'", find_here(), *twice));
}

std::string types_text(std::span<const stored_type* const> types) {
  std::string text;
  for (const stored_type* t : types) text += fmt::format("{}'{}'", text.empty() ? "" : ", ", t->name);
  return text.empty() ? "no type" : text;
}

/// Names the first two types that have one name; empty if there are none.
std::string same_names(std::span<const stored_type* const> types) {
  for (std::size_t i = 0; i < types.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (types[k] != types[i] && types[k]->name == types[i]->name)
        return fmt::format("two types to be restored have the name '{}': rename one", types[i]->name);
  return {};
}

/// The object of an entry. Throws checkpoint_error.
std::shared_ptr<void> read_object(const entry& e, std::span<const std::byte> bytes, const stored_type& type,
                                  const std::string& origin) {
  std::string why = "its data are not those of this class: has serialize() changed?";
  try {
    if (auto object = type.read(bytes)) return object;
  } catch (...) {
    why = text_of(std::current_exception());
  }
  throw checkpoint_error(fmt::format("{}: cannot read '{}' as a '{}': {}", origin, e.key, e.type, why));
}

}  // namespace

void refuse_handles(std::size_t found) {
  if (found != 0)
    throw checkpoint_error("it contains handles of other objects, which a checkpoint cannot store: store their keys");
}

image pack(const checkpoint_set& from) {
  const auto& items = from.items_;
  const std::size_t n = items.size();
  check_keys(items);
  image made;
  made.entries.resize(n);
  std::vector<net::detail::pinned> pins(n);
  std::vector<const void*> values(n);
  for (std::size_t i = 0; i < n; ++i) {
    values[i] = items[i].elements;
    if (!items[i].object) continue;
    pins[i] = pin_here(items[i].object, *items[i].type->object, values[i]);
    if (values[i] == nullptr)
      throw checkpoint_error(fmt::format(
          "locality {}: '{}' is not on this locality, or is moving: each object is added where it is, and stays there",
          find_here(), items[i].key));
  }
  const auto write = [&](std::size_t i, std::span<std::byte> to) {
    const auto& item = items[i];
    try {
      return item.type->write(values[i], item.count, to);
    } catch (...) {
      throw checkpoint_error(fmt::format("locality {}: cannot store '{}', a '{}': {}", find_here(), item.key,
                                         item.type->name, text_of(std::current_exception())));
    }
  };
  each_of(n, [&](std::size_t i) {
    const auto& item = items[i];
    made.entries[i] = {item.key, std::string(item.type->name), item.first, item.total, write(i, {}), 0};
  });
  std::vector<std::size_t> begins(n + 1, 0);
  for (std::size_t i = 0; i < n; ++i) begins[i + 1] = begins[i] + made.entries[i].size_bytes;
  made.data = buffer<std::byte>(begins[n]);
  each_of(n, [&](std::size_t i) {
    const std::size_t size = made.entries[i].size_bytes;
    if (write(i, std::span(made.data.data() + begins[i], size)) != size)
      throw checkpoint_error(
          fmt::format("locality {}: '{}' was changed while it was stored", find_here(), items[i].key));
  });
  return made;
}

// Four sums, so that the processor's multiplications overlap. A step is bijective in the sum and in the word.
std::uint64_t checksum_of(std::span<const std::byte> bytes) noexcept {
  constexpr std::uint64_t prime = 0x9e3779b97f4a7c15;
  const auto add = [](std::uint64_t& sum, std::uint64_t word) {
    sum = (sum ^ word) * prime;
    sum ^= sum >> 29;
  };
  std::uint64_t sums[4] = {1, 2, 3, 4}, words[4];
  std::size_t at = 0;
  for (; at + sizeof words <= bytes.size(); at += sizeof words) {
    std::memcpy(words, bytes.data() + at, sizeof words);
    for (int k = 0; k < 4; ++k) add(sums[k], words[k]);
  }
  std::uint64_t all = bytes.size();
  for (const std::uint64_t s : sums) add(all, s);
  for (; at < bytes.size(); ++at) add(all, static_cast<std::uint64_t>(bytes[at]));
  return all;
}

void agree(const communicator& all, const std::string& problem) {
  const std::string first =
      all.all_reduce(problem, [](const std::string& a, const std::string& b) { return a.empty() ? b : a; }).get();
  if (!first.empty()) throw checkpoint_error(first);
}

restored_objects restore(const communicator& all, std::vector<image> images, std::span<const stored_type* const> types,
                         std::string problem) {
  struct source {
    const entry* about;
    std::span<const std::byte> bytes;
    const image* from;
    const stored_type* type;
    std::shared_ptr<void> object;
  };
  std::vector<source> sources;
  restored_objects made(all);
  if (problem.empty()) problem = same_names(types);
  for (const image& from : images) {
    std::size_t at = 0;
    for (const entry& e : from.entries) {
      const std::span bytes(from.data.data() + at, e.size_bytes);
      at += e.size_bytes;
      const auto same = [&](const stored_type* t) { return t->name == e.type; };
      const auto type = std::find_if(types.begin(), types.end(), same);
      if (!e.is_object())
        made.parts_.push_back({e, bytes, from.data});
      else if (type != types.end())
        sources.push_back({&e, bytes, &from, *type, nullptr});
      else if (problem.empty())
        problem = fmt::format("{}: '{}' is a '{}'; the program restores {} only", from.origin, e.key, e.type,
                              types_text(types));
    }
  }
  if (problem.empty()) {
    try {
      each_of(sources.size(), [&](std::size_t i) {
        source& s = sources[i];
        s.object = read_object(*s.about, s.bytes, *s.type, s.from->origin);
      });
    } catch (...) {
      problem = text_of(std::current_exception());
    }
  }
  agree(all, problem);
  agas& a = node_here().get<agas>();
  const locality_id here = a.home().here();
  for (source& s : sources) {
    const std::uint64_t stamp = a.next_stamp();
    const gid id = a.enter(*s.type->object, std::move(s.object), here, stamp);
    made.objects_.emplace_back(s.about->key, handle_access::adopt<handle>(a.adopt(id, stamp, here)));
  }
  return made;
}

}  // namespace net::checkpoint

void checkpoint_set::put(item i) {
  if (i.elements == nullptr && i.total == net::checkpoint::not_a_part && !i.object)
    throw std::invalid_argument(fmt::format("checkpoint_set: the handle of '{}' is empty", i.key));
  items_.push_back(std::move(i));
}

// The hash of a key gives the member that all handles with this key are sent to, and all requests.
std::vector<net::handle> restored_objects::find_all(const std::vector<std::string>& keys) const {
  const unsigned n = all_.size();
  const auto home = [n](const std::string& key) { return static_cast<unsigned>(fnv1a(key) % n); };
  std::vector<std::vector<std::pair<std::string, net::handle>>> objects(n);
  for (const auto& each : objects_) objects[home(each.first)].push_back(each);
  std::vector<std::vector<std::string>> requests(n);
  for (const std::string& key : keys) requests[home(key)].push_back(key);
  auto asked = all_.all_to_all(requests);
  std::vector<std::pair<std::string, net::handle>> known;
  for (auto& from : all_.all_to_all(objects).get()) known.insert(known.end(), from.begin(), from.end());
  const auto before = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::sort(known.begin(), known.end(), before);
  std::vector<std::vector<std::pair<std::uint32_t, net::handle>>> replies(n);  // how many objects have the key
  const auto requested = asked.get();
  for (unsigned r = 0; r < n; ++r)
    for (const std::string& key : requested[r]) {
      const auto [first, last] = std::equal_range(known.begin(), known.end(), std::pair(key, net::handle()), before);
      const auto count = static_cast<std::uint32_t>(last - first);
      replies[r].emplace_back(count, count == 0 ? net::handle() : first->second);
    }
  const auto received = all_.all_to_all(replies).get();
  std::vector<net::handle> found;
  std::vector<std::size_t> next(n, 0);
  for (const std::string& key : keys) {
    const unsigned from = home(key);
    if (next[from] >= received[from].size()) throw std::runtime_error("a member did not reply to all requested keys");
    const auto& [count, object] = received[from][next[from]++];
    if (count > 1)
      throw checkpoint_error(fmt::format("{} of the checkpoint have the key '{}'", plural(count, "object"), key));
    found.push_back(object);
  }
  return found;
}

void restored_objects::refuse_type(const std::string& key) {
  throw checkpoint_error(fmt::format("the object '{}' of the checkpoint has another type than the one requested", key));
}

std::shared_ptr<void> restored_objects::read_part(const part& p, const net::checkpoint::stored_type& type,
                                                  std::string& problem) {
  if (p.about.type != type.name) {
    problem = fmt::format("the elements of the vector '{}' are '{}', not '{}'", p.about.key, p.about.type, type.name);
    return nullptr;
  }
  std::string why = "its data are not those of this type: has serialize() changed?";
  try {
    if (auto values = type.read(p.bytes)) return values;
  } catch (...) {
    why = net::checkpoint::text_of(std::current_exception());
  }
  problem = fmt::format("the elements of the vector '{}' cannot be read: {}", p.about.key, why);
  return nullptr;
}

std::uint64_t restored_objects::agreed_size(const std::string& key, std::uint64_t count, std::uint64_t total,
                                            const std::string& problem) const {
  net::checkpoint::agree(all_, problem);
  const auto is_part = [&](const part& p) { return p.about.key == key; };
  const std::uint64_t parts = static_cast<std::uint64_t>(std::count_if(parts_.begin(), parts_.end(), is_part));
  using numbers = std::array<std::uint64_t, 3>;
  const auto combine = [](const numbers& a, const numbers& b) {
    return numbers{a[0] + b[0], a[1] + b[1], std::max(a[2], b[2])};
  };
  const auto [found_parts, found, size] = all_.all_reduce(numbers{parts, count, total}, combine).get();
  if (found_parts == 0) throw checkpoint_error(fmt::format("the checkpoint has no vector '{}'", key));
  if (found != size)
    throw checkpoint_error(fmt::format(
        "the vector '{}' has {} of its {} elements in the checkpoint: did all members add it?", key, found, size));
  return size;
}

}  // namespace plx
