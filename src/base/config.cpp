#include "base/config.hpp"

#include <algorithm>

#include "base/config_detail.hpp"

namespace plx {

using namespace config_detail;

namespace {

template <class T>
constexpr element_type type_of = std::is_same_v<T, bool>     ? element_type::boolean
                                 : std::is_integral_v<T>     ? element_type::integer
                                 : std::is_same_v<T, double> ? element_type::number
                                                             : element_type::string;

template <class T>
element to_element(const T& v) {
  return element(std::in_place_index<static_cast<std::size_t>(type_of<T>)>, v);
}
template <class T>
T from_element(const element& e) {
  return static_cast<T>(std::get<static_cast<std::size_t>(type_of<T>)>(e));
}

template <class T>
struct span_target final : target {
  span_target(T* first, std::size_t count) : values(first), n(count) {}
  std::vector<element> get() const override {
    std::vector<element> all;
    for (std::size_t i = 0; i < n; ++i) all.push_back(to_element(values[i]));
    return all;
  }
  void set(const std::vector<element>& all) override {
    PLX_ASSERT_EQ(all.size(), n);
    for (std::size_t i = 0; i < n; ++i) values[i] = from_element<T>(all[i]);
  }
  T* values;
  std::size_t n;
};

template <class T>
struct vector_target final : target {
  explicit vector_target(std::vector<T>& v) : values(v) {}
  std::vector<element> get() const override {
    std::vector<element> all;
    for (const T& v : values) all.push_back(to_element(v));
    return all;
  }
  void set(const std::vector<element>& all) override {
    values.clear();
    for (const element& e : all) values.push_back(from_element<T>(e));
  }
  std::vector<T>& values;
};

template <class T>
entry make_entry(std::string_view key, config_info info, shape form, std::size_t length,
                 std::unique_ptr<target> bound) {
  entry e;
  e.key = key;
  e.info = std::move(info);
  e.type = type_of<T>;
  e.fits_int = std::is_same_v<T, int>;
  e.form = form;
  e.length = length;
  e.initial = bound->get();
  e.bound = std::move(bound);
  return e;
}

template <class T>
entry scalar_entry(std::string_view key, T& value, config_info info) {
  return make_entry<T>(key, std::move(info), shape::scalar, 1, std::make_unique<span_target<T>>(&value, 1));
}
template <class T>
entry array_entry(std::string_view key, T* values, std::size_t n, config_info info) {
  return make_entry<T>(key, std::move(info), shape::fixed, n, std::make_unique<span_target<T>>(values, n));
}
template <class T>
entry vector_entry(std::string_view key, std::vector<T>& values, config_info info) {
  return make_entry<T>(key, std::move(info), shape::any_length, 0, std::make_unique<vector_target<T>>(values));
}

}  // namespace

entry* config_table::state::find(std::string_view key) {
  const auto e = std::find_if(entries.begin(), entries.end(), [&](const entry& x) { return x.key == key; });
  return e == entries.end() ? nullptr : &*e;
}

entry& config_table::state::insert(entry e) {
  PLX_ASSERT(find(e.key) == nullptr, e.key);
  for (const element& v : e.initial)
    check(e, v).value();  // a default outside its own range is a programming error:
                          // abort
  return entries.emplace_back(std::move(e));
}

config_table::config_table() : state_(std::make_unique<state>()) {}
config_table::~config_table() = default;
config_table::config_table(config_table&&) noexcept = default;
config_table& config_table::operator=(config_table&&) noexcept = default;

void config_table::section(std::string_view name, std::string_view title) {
  state_->sections.push_back({std::string(name), std::string(title)});
}

void config_table::add(std::string_view key, bool& v, config_info i) {
  state_->insert(scalar_entry(key, v, std::move(i)));
}
void config_table::add(std::string_view key, int& v, config_info i) {
  state_->insert(scalar_entry(key, v, std::move(i)));
}
void config_table::add(std::string_view key, std::int64_t& v, config_info i) {
  state_->insert(scalar_entry(key, v, std::move(i)));
}
void config_table::add(std::string_view key, double& v, config_info i) {
  state_->insert(scalar_entry(key, v, std::move(i)));
}
void config_table::add(std::string_view key, std::string& v, config_info i) {
  state_->insert(scalar_entry(key, v, std::move(i)));
}
void config_table::add(std::string_view key, std::vector<int>& v, config_info i) {
  state_->insert(vector_entry(key, v, std::move(i)));
}
void config_table::add(std::string_view key, std::vector<std::int64_t>& v, config_info i) {
  state_->insert(vector_entry(key, v, std::move(i)));
}
void config_table::add(std::string_view key, std::vector<double>& v, config_info i) {
  state_->insert(vector_entry(key, v, std::move(i)));
}
void config_table::add(std::string_view key, std::vector<std::string>& v, config_info i) {
  state_->insert(vector_entry(key, v, std::move(i)));
}
void config_table::add_elements(std::string_view key, bool* v, std::size_t n, config_info i) {
  state_->insert(array_entry(key, v, n, std::move(i)));
}
void config_table::add_elements(std::string_view key, int* v, std::size_t n, config_info i) {
  state_->insert(array_entry(key, v, n, std::move(i)));
}
void config_table::add_elements(std::string_view key, std::int64_t* v, std::size_t n, config_info i) {
  state_->insert(array_entry(key, v, n, std::move(i)));
}
void config_table::add_elements(std::string_view key, double* v, std::size_t n, config_info i) {
  state_->insert(array_entry(key, v, n, std::move(i)));
}
void config_table::add_elements(std::string_view key, std::string* v, std::size_t n, config_info i) {
  state_->insert(array_entry(key, v, n, std::move(i)));
}

bool config_table::knows(std::string_view key) const { return state_->find(key) != nullptr; }

const std::string& config_table::source(std::string_view key) const {
  const entry* e = state_->find(key);
  PLX_ASSERT(e != nullptr, key);
  return e->source;
}

std::vector<std::string> config_table::keys() const {
  std::vector<std::string> all;
  for (const entry& e : state_->entries) all.push_back(e.key);
  return all;
}

}  // namespace plx
