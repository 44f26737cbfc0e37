#include "conformance/report/page_tables.h"

#include <array>

namespace fb::conformance {

namespace {

using Json = nlohmann::ordered_json;

/// Values as short as a number into the table stand where they are.
constexpr std::size_t kShortText = 4;

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
    const std::array<std::int64_t, 9> numbers = {row.wait_ns,
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

}  // namespace fb::conformance
