// Reads configuration into the bound members: TOML files and single assignments.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "base/config_detail.hpp"
#include "base/file.hpp"
#include "base/text.hpp"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnull-dereference"
#pragma GCC diagnostic ignored "-Wshadow"
#endif
// Compiled in here: programs that link this archive need no toml++ library.
#undef TOML_HEADER_ONLY
#undef TOML_SHARED_LIB
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

namespace plx {

using namespace config_detail;

namespace {

struct problem {
  toml::source_position where;
  std::string message;
};

struct assignment {
  entry* to;
  std::vector<element> values;
  toml::source_position where;
};

struct named_assignment {
  named_entry* to;
  std::vector<named_number> values;
  toml::source_position where;
};

/// The assignments of a document, collected completely before any member changes.
struct reading {
  std::vector<assignment> assignments;
  std::vector<named_assignment> named;
  std::vector<std::pair<list_entry*, toml::source_position>> lists;  // with staged items
  std::vector<problem> problems;
};

std::string found_text(const toml::node& n) {
  switch (n.type()) {
    case toml::node_type::string:
      return "the string " + text_of(element(**n.as_string()));
    case toml::node_type::integer:
      return "the integer " + text_of(element(**n.as_integer()));
    case toml::node_type::floating_point:
      return "the number " + text_of(element(**n.as_floating_point()));
    case toml::node_type::boolean:
      return **n.as_boolean() ? "the boolean true" : "the boolean false";
    case toml::node_type::array:
      return fmt::format("an array of {}", n.as_array()->size());
    case toml::node_type::table:
      return "a section";
    default:
      return "a date or time";
  }
}

/// The element, if the node has the wanted type; an integer is also accepted as a number.
std::optional<element> element_from(const toml::node& n, element_type wanted) {
  if (wanted == element_type::boolean && n.is_boolean()) return element(**n.as_boolean());
  if (wanted == element_type::integer && n.is_integer()) return element(**n.as_integer());
  if (wanted == element_type::number && n.is_floating_point()) return element(**n.as_floating_point());
  if (wanted == element_type::number && n.is_integer()) return element(static_cast<double>(**n.as_integer()));
  if (wanted == element_type::string && n.is_string()) return element(**n.as_string());
  return std::nullopt;
}

std::string type_with_article(const entry& e) {
  const std::string type = type_text(e);
  return (type[0] == 'a' || type[0] == 'i' ? "an " : "a ") + type;
}

void read_element(entry& e, const toml::node& n, assignment& into, reading& all) {
  auto value = element_from(n, e.type);
  if (!value && e.info.takes_number)
    if (auto number = element_from(n, element_type::number)) value = element(text_of(*number));
  if (!value) {
    const char* inside = e.form == shape::scalar ? "" : " in it";
    all.problems.push_back({n.source().begin, fmt::format("'{}' expects {}, found {}{}", e.key, type_with_article(e),
                                                          found_text(n), inside)});
  } else if (auto good = check(e, *value); !good) {
    all.problems.push_back({n.source().begin, good.error().message});
  } else {
    into.values.push_back(std::move(*value));
  }
}

void read_value(entry& e, const toml::node& n, reading& all) {
  assignment a{&e, {}, n.source().begin};
  const std::size_t problems = all.problems.size();
  const toml::array* array = n.as_array();
  if (e.form == shape::scalar) {
    read_element(e, n, a, all);
  } else if (array == nullptr || (e.form == shape::fixed && array->size() != e.length)) {
    all.problems.push_back(
        {n.source().begin, fmt::format("'{}' expects {}, found {}", e.key, type_with_article(e), found_text(n))});
  } else {
    for (const toml::node& item : *array) read_element(e, item, a, all);
  }
  if (all.problems.size() == problems) all.assignments.push_back(std::move(a));
}

/// Sets the members after all of a document has been found right. `source_at` names the source of a line.
template <class F>
void carry_out(reading& all, F&& source_at) {
  for (assignment& a : all.assignments) {
    a.to->bound->set(a.values);
    a.to->source = source_at(a.where);
  }
  for (named_assignment& a : all.named) {
    for (named_number& n : a.values) {
      const auto same = std::find_if(a.to->values->begin(), a.to->values->end(),
                                     [&](const named_number& other) { return other.name == n.name; });
      same == a.to->values->end() ? a.to->values->push_back(n) : void(*same = n);
    }
    a.to->source = source_at(a.where);
  }
  for (auto& [list, where] : all.lists) {
    list->list->commit();
    list->source = source_at(where);
  }
}

void read_names(named_entry& e, const toml::table& table, reading& all) {
  named_assignment a{&e, {}, table.source().begin};
  for (auto&& [name, node] : table) {
    const auto value = element_from(node, element_type::number);
    const std::string key = e.key + "." + std::string(name.str());
    if (!value) {
      all.problems.push_back(
          {node.source().begin, fmt::format("'{}' expects a number, found {}", key, found_text(node))});
      continue;
    }
    named_number n{std::string(name.str()), std::get<double>(*value)};
    if (auto good = check(e, n); !good)
      all.problems.push_back({name.source().begin, good.error().message});
    else
      a.values.push_back(std::move(n));
  }
  all.named.push_back(std::move(a));
}

class reader {
 public:
  reader(access::state& s, reading& all) : s_(s), all_(all) {
    const auto add_sections = [this](const std::string& key) {
      for (std::size_t dot = key.find('.'); dot != std::string::npos; dot = key.find('.', dot + 1))
        sections_.insert(key.substr(0, dot));
    };
    for (const entry& e : s.entries) {
      keys_.push_back(e.key);
      add_sections(e.key);
    }
    for (const named_entry& e : s.named) add_sections(e.key + ".");
    for (const list_entry& l : s.lists) {
      keys_.push_back(l.key);
      add_sections(l.key);
    }
  }

  void read(const toml::table& table, const std::string& prefix) {
    for (auto&& [name, node] : table) {
      const std::string key = prefix + std::string(name.str());
      if (entry* e = s_.find(key))
        read_value(*e, node, all_);
      else if (named_entry* names = find(s_.named, key); names != nullptr && node.is_table())
        read_names(*names, *node.as_table(), all_);
      else if (list_entry* l = find(s_.lists, key))
        read_list(*l, node);
      else if (sections_.count(key) > 0)
        read_section(key, node);
      else
        unknown(key, name.source().begin, node.is_table());
    }
  }

  /// Reads a named number or a list of sections; false if the key is neither.
  bool read_single(const std::string& key, const toml::node& node) {
    if (list_entry* l = find(s_.lists, key)) return read_list(*l, node), true;
    const std::size_t dot = std::min(key.rfind('.'), key.size());
    named_entry* names = find(s_.named, key.substr(0, dot));
    if (names == nullptr || dot + 1 >= key.size()) return false;
    toml::table one;
    one.insert(key.substr(dot + 1), node);
    read_names(*names, one, all_);
    return true;
  }

 private:
  void read_list(list_entry& l, const toml::node& node) {
    l.list->discard();
    const toml::array* array = node.as_array();
    const auto is_table = [](const toml::node& item) { return item.is_table(); };
    if (array == nullptr || !std::all_of(array->begin(), array->end(), is_table)) {
      all_.problems.push_back(
          {node.source().begin,
           fmt::format("'{0}' is a list of sections: expected [[{0}]], found {1}", l.key, found_text(node))});
      return;
    }
    for (const toml::node& item : *array) {
      reading of_item;
      reader(access::state_of(l.list->stage()), of_item).read(*item.as_table(), l.key + ".");
      carry_out(of_item, [](const toml::source_position&) { return std::string(); });
      all_.problems.insert(all_.problems.end(), of_item.problems.begin(), of_item.problems.end());
    }
    all_.lists.emplace_back(&l, node.source().begin);
  }

  template <class Entry>
  static Entry* find(std::vector<Entry>& all, const std::string& key) {
    const auto e = std::find_if(all.begin(), all.end(), [&](const Entry& x) { return x.key == key; });
    return e == all.end() ? nullptr : &*e;
  }

  void read_section(const std::string& key, const toml::node& node) {
    if (const toml::table* inner = node.as_table()) return read(*inner, key + ".");
    all_.problems.push_back(
        {node.source().begin, fmt::format("'{}' is a section with keys of its own, found {}", key, found_text(node))});
  }

  void unknown(const std::string& key, toml::source_position where, bool is_section) {
    const std::vector<std::string> sections(sections_.begin(), sections_.end());
    std::string hint = did_you_mean(key, is_section ? sections : keys_);
    if (hint.empty()) hint = what_is_known(key, sections);
    all_.problems.push_back({where, fmt::format("unknown {} '{}'{}", is_section ? "section" : "key", key, hint)});
  }

  std::string what_is_known(const std::string& key, const std::vector<std::string>& sections) const {
    const std::string section = key.substr(0, key.rfind('.') + 1);
    std::string list;
    for (const std::string& k : keys_) {
      if (!section.empty() && k.starts_with(section)) (list += list.empty() ? "" : ", ") += k.substr(section.size());
    }
    if (!list.empty()) return fmt::format("; [{}] has {}", section.substr(0, section.size() - 1), list);
    for (const std::string& s : sections) (list += list.empty() ? "" : ", ") += s;
    return "; sections are " + list;
  }

  access::state& s_;
  reading& all_;
  std::vector<std::string> keys_;
  std::set<std::string> sections_;
};

/// The message on one line: toml++ spreads its explanations over several.
std::string one_line(std::string_view text) {
  std::string line(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

result<toml::table> parse(std::string_view text, const std::string& name) {
  try {
    return toml::parse(text, name);
  } catch (const toml::parse_error& e) {
    const toml::source_position at = e.source().begin;
    return error{fmt::format("{}:{}:{}: {}", name, at.line, at.column, one_line(e.description()))};
  }
}

const problem& first_of(const std::vector<problem>& problems) {
  return *std::min_element(problems.begin(), problems.end(), [](const problem& a, const problem& b) {
    return std::tie(a.where.line, a.where.column) < std::tie(b.where.line, b.where.column);
  });
}

}  // namespace

result<void> config_table::load_file(const std::string& path) {
  auto text = read_file(path);
  if (!text) return text.error();
  return load_text(*text, path);
}

result<void> config_table::load_text(std::string_view text, const std::string& name) {
  auto document = parse(text, name);
  if (!document) return document.error();
  reading all;
  reader(*state_, all).read(*document, "");
  if (!all.problems.empty()) {
    const problem& p = first_of(all.problems);
    return error{fmt::format("{}:{}:{}: {}", name, p.where.line, p.where.column, p.message)};
  }
  carry_out(all, [&](const toml::source_position& where) { return fmt::format("{}:{}", name, where.line); });
  return {};
}

namespace {

/// The text parsed as a TOML document "value = ..."; nothing if it is not exactly one value.
std::optional<toml::table> parse_value(std::string_view text) {
  auto document = parse(fmt::format("value = {}", text), "value");
  if (!document || document->size() != 1) return std::nullopt;
  return std::move(document).value();
}

}  // namespace

result<void> config_table::set(std::string_view text, std::string_view source) {
  const auto wrong = [&](const std::string& what) {
    return error{one_line(fmt::format("{} {}: {}", source, text, what))};
  };
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return wrong("expected key=value");
  const std::string key(trimmed(text.substr(0, equals)));
  const std::string_view value = trimmed(text.substr(equals + 1));
  entry* e = state_->find(key);
  auto document = parse_value(value);
  if (e == nullptr) {  // a named number, a list of sections, or unknown
    reading all;
    const bool known = document && reader(*state_, all).read_single(key, *document->get("value"));
    if (!known) return wrong(fmt::format("unknown key '{}'{}", key, did_you_mean(key, keys())));
    if (!all.problems.empty()) return wrong(all.problems.front().message);
    carry_out(all, [&](const toml::source_position&) { return std::string(source); });
    return {};
  }
  const toml::node* found = document ? document->get("value") : nullptr;
  if (e->form == shape::scalar && e->type == element_type::string && (found == nullptr || !found->is_string())) {
    toml::table quoted;
    quoted.insert("value", std::string(value));
    document = std::move(quoted);
  }
  if (!document) return wrong(fmt::format("'{}' expects {}, found '{}'", key, type_with_article(*e), value));
  reading all;
  read_value(*e, *document->get("value"), all);
  if (!all.problems.empty()) return wrong(all.problems.front().message);
  e->bound->set(all.assignments.front().values);
  e->source = source;
  return {};
}

result<std::string> peek_string(const std::string& path, std::string_view key) {
  auto text = read_file(path);
  if (!text) return text.error();
  return peek_string_in_text(*text, path, key);
}

result<std::string> peek_string_in_text(std::string_view text, const std::string& name, std::string_view key) {
  auto document = parse(text, name);
  if (!document) return document.error();
  const auto node = document->at_path(key);
  if (!node) return std::string();
  if (const auto* s = node.as_string()) return s->get();
  const toml::source_position at = node.node()->source().begin;
  return error{fmt::format("{}:{}:{}: '{}' expects a string, found {}", name, at.line, at.column, key,
                           found_text(*node.node()))};
}

}  // namespace plx
