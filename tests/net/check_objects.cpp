// Objects whose creator, and therefore directory, is killed.
#include <stdexcept>
#include <string>
#include <vector>

#include "job_check.hpp"
#include "net/archive.hpp"
#include "net/component.hpp"
#include "net/error.hpp"
#include "net/locality.hpp"

namespace {

using namespace plx;

struct account {
  int calls = 0;
  int add() { return ++calls; }
  int get() const { return calls; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(calls);
  }
};

struct {
  std::vector<global<account>> own, given;  // made by this locality, and by the one before it
  global<account> there;                    // on the victim
} accounts;

void give(const global<account>& c) { accounts.given.push_back(c); }

void expect(bool right, const std::string& what) {
  if (!right) throw std::logic_error(what);
}

/// The next locality that is not `victim`.
locality_id neighbour(locality_id victim) {
  locality_id l = find_here();
  do l = (l + 1) % locality_count();
  while (l == victim);
  return l;
}

}  // namespace

void make_accounts(locality_id victim) {
  if (find_here() == victim) return;
  accounts.there = new_<account>(victim).get();
  for (int i = 0; i < 20; ++i) {
    const auto c = new_<account>(victim).get();
    accounts.own.push_back(c);
    if (i % 2 == 0) async<&give>(neighbour(victim), c).get();  // which then takes it to be on the victim
    migrate(c, i % 4 < 2 ? find_here() : neighbour(victim)).get();
    if (i % 2 != 0) async<&give>(neighbour(victim), c).get();
  }
}

void use_accounts(locality_id victim) {
  std::vector<future<int>> calls;
  for (const auto* some : {&accounts.own, &accounts.given})
    for (const auto& c : *some) {
      post<&account::add>(c);
      calls.push_back(async<&account::add>(c));
    }
  for (auto& f : calls) expect(f.get() > 0, "a call of an object was not made");
  try {
    async<&account::add>(accounts.there).get();
    expect(false, "a call of an object on the lost locality was answered");
  } catch (const locality_lost& e) {
    expect(e.which() == victim, "another locality is lost");
  }
}

void check_accounts(locality_id victim) {
  expect(accounts.own.size() == 20 && accounts.given.size() == 20, "objects are missing");
  for (const auto& c : accounts.own) {
    expect(async<&account::get>(c).get() == 4, "a call of an object was lost, or made twice");
    migrate(c, neighbour(victim)).get();
    expect(async<&account::get>(c).get() == 4 && locate(c).get() == neighbour(victim), "an object has not moved");
  }
  accounts = {};
}
