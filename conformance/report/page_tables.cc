#include "conformance/report/page_tables.h"

#include <array>

namespace fb::conformance {

namespace {

using Json = nlohmann::ordered_json;

/// Values as short as a number into the table stand where they are.
constexpr std::size_t kShortText = 4;

/// wait, layer, from, to, label, packet, fields, struck, gap
constexpr std::size_t kColumns = 9;
constexpr bool grows(std::size_t column) { return column == 5 || column == 6; }

}  // namespace

PageTables::PageTables() {
  texts_.of("");
  fields_.of("[]");
}

std::uint32_t PageTables::text(const std::string& value) { return texts_.of(value); }
std::uint32_t PageTables::shape(const std::vector<std::uint32_t>& names) { return shapes_.of(names); }

std::uint32_t PageTables::fields(const Ladder& ladder, const std::vector<std::uint32_t>& set) {
  if (set.empty()) return 0;
  std::vector<std::uint32_t> names;
  Json json = Json::array({0});
  for (std::size_t i = 0; i + 1 < set.size(); i += 2) {
    names.push_back(text(ladder.texts[set[i]]));
    const std::string& value = ladder.texts[set[i + 1]];
    if (value.size() <= kShortText) {
      json.push_back(value);
    } else {
      json.push_back(text(value));
    }
  }
  json[0] = shape(names);
  return fields_.of(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Json PageTables::ladder_json(const Ladder& ladder) {
  Json lanes = Json::array();
  for (const std::uint32_t lane : ladder.lanes) lanes.push_back(text(ladder.texts[lane]));
  Json rows = Json::array();
  for (const Ladder::Row& row : ladder.rows) {
    const std::array<std::int64_t, kColumns> numbers = {row.wait_ns,
                                                        text(ladder.texts[row.layer]),
                                                        row.from,
                                                        row.to,
                                                        text(ladder.texts[row.label]),
                                                        static_cast<std::int64_t>(row.packet),
                                                        fields(ladder, ladder.fields[row.fields]),
                                                        text(ladder.texts[row.struck]),
                                                        static_cast<std::int64_t>(row.gap)};
    std::size_t count = numbers.size();
    while (count > 5 && numbers[count - 1] == 0) --count;
    rows.push_back(std::vector<std::int64_t>(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(count)));
  }
  Json json{{"lanes", std::move(lanes)}, {"rows", std::move(rows)}};
  if (ladder.rest > 0) json["rest"] = ladder.rest;
  return json;
}

void PageTables::finish(Json& page) {
  page["text"] = std::move(texts_.values);
  page["shapes"] = std::move(shapes_.values);
  Json fields = Json::array();
  for (const std::string& one : fields_.values) fields.push_back(Json::parse(one));
  page["fields"] = std::move(fields);
}

namespace {

void put_rows_by_columns(Json& exchange) {
  std::array<std::vector<std::int64_t>, kColumns> columns;
  std::array<std::int64_t, kColumns> before = {};
  for (Json& ladder : exchange["ladders"]) {
    if (ladder.is_null()) continue;
    Json& rows = ladder["rows"];
    for (const Json& row : rows) {
      for (std::size_t i = 0; i < kColumns; ++i) {
        const std::int64_t value = i < row.size() ? row[i].get<std::int64_t>() : 0;
        columns[i].push_back(grows(i) ? value - before[i] : value);
        before[i] = value;
      }
    }
    rows = rows.size();
  }
  Json& all = exchange["columns"] = Json::array();
  for (std::size_t i = 0; i < kColumns; ++i) all.push_back({{"steps", grows(i)}, {"values", std::move(columns[i])}});
}

void put_fields_by_shape(Json& exchange) {
  Json shapes = Json::array(), values = Json::array();
  for (const Json& names : exchange["shapes"]) values.push_back(std::vector<Json>(names.size(), Json::array()));
  for (const Json& fields : exchange["fields"]) {
    shapes.push_back(fields.empty() ? Json(-1) : fields[0]);
    for (std::size_t i = 1; i < fields.size(); ++i) values[fields[0].get<std::size_t>()][i - 1].push_back(fields[i]);
  }
  exchange["fields"] = {{"shapes", std::move(shapes)}, {"values", std::move(values)}};
}

}  // namespace

void put_by_columns(Json& exchange) {
  put_rows_by_columns(exchange);
  put_fields_by_shape(exchange);
}

}  // namespace fb::conformance
