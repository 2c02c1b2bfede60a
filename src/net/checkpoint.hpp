// Checkpoints of global objects and partitioned vectors: on disk, and in memory, twice.
//
//   plx::checkpoint_set mine;                               // on every member of a communicator
//   for (auto& [name, block] : blocks) mine.add(name, block);  // plx::global<T> of this locality
//   plx::save_checkpoint(world, "run/saved", mine);
//
//   auto back = plx::restore_checkpoint<block_type>(world, "run/saved");  // later, with any number of members
//   for (auto& [name, block] : back.local<block_type>()) ...              // the objects made on this member
//   auto next = back.find<block_type>({"block 7"});                       // of any member
//
//   plx::memory_checkpoint copies("blocks");                // each member keeps its objects and those of a partner
//   copies.store(world, mine);
//   auto back = copies.restore<block_type>(survivors);      // after the loss of a locality; also with replace_lost()
//
// All functions but constructors, add() and local() are collective calls: all members make the same ones in the same
// order, and they suspend the calling task. Keys are unique in a checkpoint. While it is stored, no call changes the
// objects and nothing resizes the vectors: call it between two steps. Restored objects are new ones: earlier handles
// refer to the earlier objects. Objects that contain handles cannot be stored; they contain the keys of the others.
//
// Errors: checkpoint_error with one line, the same on all members; locality_lost. Thread safety: one task per member
// and object. Cost: docs/net.md#checkpoints. Example: net/agas/checkpoint/test/checkpoint_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "net/agas/checkpoint/image.hpp"

namespace plx {

template <class T>
class partitioned_vector;

/// A checkpoint cannot be stored or restored; the same text on all members. After a failed call the previous checkpoint
/// is whole; if only the folder could not be synced after the manifest was renamed, the previous one or the new one.
/// Nothing is restored.
class checkpoint_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The objects and parts of vectors that a member stores.
class checkpoint_set {
 public:
  /// An object, which is on this locality when the checkpoint is stored. Requires: T has what migrate() requires, and a
  /// name of its own: two types of anonymous namespaces may have the same, and are not distinguished.
  /// Throws std::invalid_argument for an empty handle.
  template <class T>
  void add(std::string key, const global<T>& object) {
    put({std::move(key), &net::checkpoint::object_stored<T>(), object, nullptr, 1, 0, net::checkpoint::not_a_part});
  }
  /// This member's part of a vector, which lives, with this size, until the checkpoint has been stored. All members of
  /// the vector add it.
  template <class T>
  void add(std::string key, partitioned_vector<T>& v) {
    const auto part = v.local();
    put({std::move(key), &net::checkpoint::elements_stored<T>(), {}, part.data(), part.size(), v.first(), v.size()});
  }
  [[nodiscard]] std::size_t size() const noexcept { return items_.size(); }  ///< objects and parts

 private:
  friend net::checkpoint::image net::checkpoint::pack(const checkpoint_set&);
  struct item {
    std::string key;
    const net::checkpoint::stored_type* type;
    net::handle object;    // empty: a part of a vector
    const void* elements;  // of a part
    std::uint64_t count, first, total;
  };
  void put(item i);

  std::vector<item> items_;
};

/// The result of a restoration; a value.
class restored_objects {
 public:
  /// The objects of type T that were made on this member, with their keys, in the order of add(). Not collective.
  template <class T>
  [[nodiscard]] std::vector<std::pair<std::string, global<T>>> local() const {
    std::vector<std::pair<std::string, global<T>>> all;
    for (const auto& [key, object] : objects_)
      if (object.id().type == net::detail::object_type_tag<T>) all.emplace_back(key, typed<T>(object));
    return all;
  }
  /// The objects of any members with these keys; each member passes its own keys. Empty handles for keys without an
  /// object. Throws checkpoint_error on the member that passed the key, if its object is no T, or two objects have it.
  /// Cost: three all_to_all calls; each key is sent twice.
  template <class T>
  [[nodiscard]] std::vector<global<T>> find(const std::vector<std::string>& keys) const {
    const std::vector<net::handle> found = find_all(keys);
    std::vector<global<T>> all;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (found[i] && found[i].id().type != net::detail::object_type_tag<T>) refuse_type(keys[i]);
      all.push_back(typed<T>(found[i]));
    }
    return all;
  }
  /// Resizes the vector to the stored one and sets its elements. Requires: its members are those of the restoration.
  template <class T>
  void read(const std::string& key, partitioned_vector<T>& v) const {
    std::string problem;
    std::uint64_t count = 0, total = 0;
    std::vector<std::pair<std::uint64_t, std::shared_ptr<std::vector<T>>>> mine;
    for (const part& p : parts_) {
      if (p.about.key != key) continue;
      auto values =
          std::static_pointer_cast<std::vector<T>>(read_part(p, net::checkpoint::elements_stored<T>(), problem));
      if (values == nullptr) break;
      count += values->size(), total = p.about.total;
      mine.emplace_back(p.about.first, std::move(values));
    }
    v.resize(agreed_size(key, count, total, problem)).get();
    for (const auto& [first, values] : mine) v.set(first, *values).get();
    v.fence().get();
  }
  /// The members of the restoration.
  [[nodiscard]] const communicator& members() const noexcept { return all_; }

 private:
  friend restored_objects net::checkpoint::restore(const communicator&, std::vector<net::checkpoint::image>,
                                                   std::span<const net::checkpoint::stored_type* const>, std::string);
  struct part {
    net::checkpoint::entry about;
    std::span<const std::byte> bytes;
    buffer<std::byte> memory;  // of the bytes
  };
  explicit restored_objects(communicator all) noexcept : all_(std::move(all)) {}
  template <class T>
  static global<T> typed(const net::handle& h) {
    return net::handle_access::adopt<global<T>>(net::detail::keep(net::handle_access::reference_of(h)));
  }
  [[nodiscard]] std::vector<net::handle> find_all(const std::vector<std::string>& keys) const;
  [[noreturn]] static void refuse_type(const std::string& key);
  static std::shared_ptr<void> read_part(const part& p, const net::checkpoint::stored_type& type, std::string& problem);
  [[nodiscard]] std::uint64_t agreed_size(const std::string& key, std::uint64_t count, std::uint64_t total,
                                          const std::string& problem) const;

  communicator all_;
  std::vector<std::pair<std::string, net::handle>> objects_;
  std::vector<part> parts_;
};

namespace net::checkpoint {

/// restore_checkpoint() with the types in a list, in which no name may be twice.
restored_objects restore_files(const communicator& all, const std::string& folder,
                               std::span<const stored_type* const> types);

class kept_images;  // net/agas/checkpoint/memory_checkpoint.cpp

}  // namespace net::checkpoint

/// Writes a checkpoint to a folder, which all members see: a file for each member, then one that names them all. A
/// crash at any time leaves the previous checkpoint or this one, whole; the files of the previous one are removed at
/// the end. The folder is created; one job writes to it at a time.
void save_checkpoint(const communicator& all, const std::string& folder, const checkpoint_set& mine);

/// Reads a checkpoint and makes its objects. T: the types of all its objects; another one in the files is an error.
/// With as many members as stored it, each has what it stored; otherwise the entries, in the order of ranks, are
/// divided evenly by their number. All data are verified before anything is made.
template <class... T>
[[nodiscard]] restored_objects restore_checkpoint(const communicator& all, const std::string& folder) {
  const std::vector<const net::checkpoint::stored_type*> types{&net::checkpoint::object_stored<T>()...};
  return net::checkpoint::restore_files(all, folder, types);
}

/// A checkpoint in the memory of the members. Each keeps what it stored, and a copy of what its partner stored: rank r
/// of n keeps a copy at rank (r + distance) % n. With one member there is no copy.
class memory_checkpoint {
 public:
  /// Not collective, but all members do it before store(), with the same arguments. `distance`: at least the number of
  /// localities per host, if the loss of a host is to be survived. Throws std::logic_error if a checkpoint with this
  /// name exists, std::invalid_argument if the distance is 0.
  explicit memory_checkpoint(const std::string& name, unsigned distance = 1);
  ~memory_checkpoint();
  memory_checkpoint(const memory_checkpoint&) = delete;
  memory_checkpoint& operator=(const memory_checkpoint&) = delete;

  /// Replaces the checkpoint. If a locality is lost meanwhile (locality_lost), restore() finds the previous checkpoint
  /// or this one, whole. Memory: twice the data; four times while it is stored.
  void store(const communicator& all, const checkpoint_set& mine);
  /// Makes the objects of all members that stored the newest whole checkpoint. `all`: surviving members of store(), and
  /// any other localities. Those of them that keep nothing of the checkpoint, such as spares that were taken
  /// (replace_lost()), replace the lost members, in the order of both: the objects of a lost member are made there,
  /// and those of further lost members on their partners. The checkpoint remains; until the next store() there is one
  /// copy only of what was kept by the lost member, and of its own objects if they were made on its partner. Errors:
  /// checkpoint_error if a member and its partner are lost, or nothing has been stored.
  template <class... T>
  [[nodiscard]] restored_objects restore(const communicator& all) const {
    const std::vector<const net::checkpoint::stored_type*> types{&net::checkpoint::object_stored<T>()...};
    return restore_types(all, types);
  }
  /// Bytes that this member keeps, of its own data and of its partner's.
  [[nodiscard]] std::uint64_t kept_bytes() const noexcept;

 private:
  [[nodiscard]] restored_objects restore_types(const communicator& all,
                                               std::span<const net::checkpoint::stored_type* const> types) const;

  std::string name_;
  unsigned distance_;
  std::shared_ptr<net::checkpoint::kept_images> kept_;
};

}  // namespace plx
