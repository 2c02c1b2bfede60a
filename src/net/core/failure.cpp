#include "net/core/failure.hpp"

#include <algorithm>
#include <vector>

#include "net/error.hpp"

namespace plx {

locality_lost::locality_lost(locality_id which, const std::string& why)
    : std::runtime_error("locality " + std::to_string(which) + " is lost: " + why),
      which_(which),
      first_(which),
      before_(std::char_traits<char>::length(what()) - why.size()),
      before_first_(before_) {}

locality_lost::locality_lost(locality_id which, const locality_lost& because)
    : std::runtime_error("locality " + std::to_string(which) + " is lost: it failed: " + because.first().what()),
      which_(which),
      first_(because.first_),
      before_(std::char_traits<char>::length("locality  is lost: ") + std::to_string(which).size()),
      before_first_(std::char_traits<char>::length(what()) - because.first().why().size()) {}

locality_lost locality_lost::first() const {
  return first_ == which_ ? *this : locality_lost(first_, what() + before_first_);
}

remote_error::remote_error(locality_id where, const std::string& text)
    : std::runtime_error("on locality " + std::to_string(where) + ": " + text),
      where_(where),
      before_(std::char_traits<char>::length(what()) - text.size()) {}

}  // namespace plx

namespace plx::net::detail {

failure failure_of(const std::exception_ptr& e) {
  try {
    std::rethrow_exception(e);
  } catch (const remote_error& x) {
    return {failure::remote, x.where(), x.where(), x.text()};
  } catch (const locality_lost& x) {
    const locality_lost first = x.first();
    return {failure::lost, x.which(), first.which(), first.why()};
  } catch (const std::exception& x) {
    return {failure::thrown, no_locality, no_locality, x.what()};
  } catch (...) {
    return {failure::thrown, no_locality, no_locality, "an exception that is not a std::exception"};
  }
}

std::exception_ptr exception_of(const failure& f, locality_id from) {
  switch (f.kind) {
    case failure::remote:
      return std::make_exception_ptr(remote_error(f.who, f.text));
    case failure::lost:
      return exception_of_loss(f.who, {f.first, false, f.text});
    default:
      return std::make_exception_ptr(remote_error(from, f.text));
  }
}

}  // namespace plx::net::detail

namespace plx::net {

namespace {
locality_lost loss_with(locality_id which, const loss_cause& c) {
  return c.first == which ? locality_lost(which, c.why) : locality_lost(which, locality_lost(c.first, c.why));
}
}  // namespace

std::exception_ptr exception_of_loss(locality_id which, const loss_cause& c) {
  return std::make_exception_ptr(loss_with(which, c));
}

std::string text_of_loss(locality_id which, const loss_cause& c) { return loss_with(which, c).why(); }

locality_id reporter_of(std::span<const loss_cause> causes) {
  const auto none = static_cast<locality_id>(causes.size());
  locality_id failed = none;
  std::vector<char> is_first(causes.size());
  for (const loss_cause& c : causes) {
    if (c.first >= none) continue;
    is_first[c.first] = 1;
    if (c.has_failed) failed = std::min(failed, c.first);
  }
  if (failed != none) return failed;
  const auto other = std::find(is_first.begin(), is_first.end(), 0);
  return other == is_first.end() ? no_locality : static_cast<locality_id>(other - is_first.begin());
}

}  // namespace plx::net
