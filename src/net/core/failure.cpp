#include "net/core/failure.hpp"

#include "net/error.hpp"

namespace plx {

locality_lost::locality_lost(locality_id which, const std::string& why)
    : std::runtime_error("locality " + std::to_string(which) + " is lost: " + why),
      which_(which),
      before_(std::char_traits<char>::length(what()) - why.size()) {}

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
    return {failure::remote, x.where(), x.text()};
  } catch (const locality_lost& x) {
    return {failure::lost, x.which(), x.why()};
  } catch (const std::exception& x) {
    return {failure::thrown, no_locality, x.what()};
  } catch (...) {
    return {failure::thrown, no_locality, "an exception that is not a std::exception"};
  }
}

std::exception_ptr exception_of(const failure& f, locality_id from) {
  switch (f.kind) {
    case failure::remote:
      return std::make_exception_ptr(remote_error(f.who, f.text));
    case failure::lost:
      return std::make_exception_ptr(locality_lost(f.who, f.text));
    default:
      return std::make_exception_ptr(remote_error(from, f.text));
  }
}

}  // namespace plx::net::detail
