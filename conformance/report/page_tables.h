// What the exchanges of all cases share in a page: every text, every set of field names and every set of
// fields stands there once, and the rows of ladders are numbers.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "conformance/report/ladder.h"

namespace fb::conformance {

class PageTables {
 public:
  PageTables();

  /// {"lanes": [...], "rows": [[wait, layer, from, to, label, packet, fields, struck, gap] ...], "rest": n};
  /// zeros at the end of a row are left out.
  nlohmann::ordered_json ladder_json(const Ladder& ladder);
  /// Adds "text", "shapes" and "fields" to the page's data.
  void finish(nlohmann::ordered_json& page);

 private:
  std::uint32_t text(const std::string& value);
  std::uint32_t shape(const std::vector<std::uint32_t>& names);
  std::uint32_t fields(const Ladder& ladder, const std::vector<std::uint32_t>& set);

  template <class Key>
  struct Table {
    std::map<Key, std::uint32_t> places;
    std::vector<Key> values;
    std::uint32_t of(const Key& key) {
      const auto [found, added] = places.try_emplace(key, static_cast<std::uint32_t>(values.size()));
      if (added) values.push_back(key);
      return found->second;
    }
  };
  Table<std::string> texts_;
  Table<std::vector<std::uint32_t>> shapes_;
  Table<std::string> fields_;  // as JSON: ["shape", values ...]
};

/// What compresses better in another order. The rows of all "ladders" go into "columns", one after the other, and a ladder keeps
/// how many are its own; columns that mostly grow hold the step from the value before ("steps"). "fields" becomes the shape of
/// each, and the values of each shape by name; numbers may become {"steps": [...]}.
void put_by_columns(nlohmann::ordered_json& exchange);

}  // namespace fb::conformance
