#include "conformance/report/page_tables.h"

#include <array>
#include <cctype>
#include <charconv>
#include <optional>

namespace fb::conformance {

namespace {

using Json = nlohmann::ordered_json;

/// Values as short as that stand where they are: in the table they would cost a number as well, and few come twice.
constexpr std::size_t kShortText = 12;

/// Values of fields with so many characters, digits among them, are left out of a label that has them: sequence numbers, identifiers.
constexpr std::size_t kLeftOutText = 4;
/// Stands for one in the label, with the digit of the field behind it.
constexpr char kHole = '\x01';

/// Where `word` stands in `text` by itself, or npos.
std::size_t find_word(std::string_view text, std::string_view word) {
  const auto part = [&](std::size_t at) { return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0; };
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    if ((at == 0 || !part(at - 1)) && !part(at + word.size())) return at;
  }
  return text.npos;
}

/// A label without what its fields have: few texts are left then. ladder.js puts the values back.
std::string with_holes(std::string label, const Ladder& ladder, const std::vector<std::uint32_t>& set) {
  for (std::size_t i = 0; i + 1 < set.size() && i / 2 < 10; i += 2) {
    const std::string& value = ladder.texts[set[i + 1]];
    if (value.size() < kLeftOutText || value.find_first_of("0123456789") == value.npos) continue;
    const std::size_t at = find_word(label, value);
    if (at != label.npos) label.replace(at, value.size(), {kHole, static_cast<char>('0' + i / 2)});
  }
  return label;
}

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
                                                        text(with_holes(ladder.texts[row.label], ladder, ladder.fields[row.fields])),
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

/// Of a whole number of up to 15 digits as it is written, which JavaScript keeps exactly.
std::optional<std::int64_t> plain_number(const Json& value) {
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  if (text.empty() || text.size() > 15 || (text[0] == '0' && text.size() > 1)) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text[0] == '-' || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// A column of numbers as steps from each to the next, where those are shorter: sequence numbers, identifiers.
Json with_steps(Json column) {
  std::vector<std::int64_t> steps;
  std::int64_t before = 0;
  std::size_t as_steps = 0, as_texts = 0;
  for (const Json& value : column) {
    const auto number = plain_number(value);
    if (!number) return column;
    steps.push_back(*number - before);
    before = *number;
    as_steps += std::to_string(steps.back()).size();
    as_texts += value.get_ref<const std::string&>().size();
  }
  if (as_steps >= as_texts) return column;
  return {{"steps", std::move(steps)}};
}

void put_fields_by_shape(Json& exchange) {
  Json shapes = Json::array(), values = Json::array();
  for (const Json& names : exchange["shapes"]) values.push_back(std::vector<Json>(names.size(), Json::array()));
  for (const Json& fields : exchange["fields"]) {
    shapes.push_back(fields.empty() ? Json(-1) : fields[0]);
    for (std::size_t i = 1; i < fields.size(); ++i) values[fields[0].get<std::size_t>()][i - 1].push_back(fields[i]);
  }
  for (Json& shape : values) {
    for (Json& column : shape) column = with_steps(std::move(column));
  }
  exchange["fields"] = {{"shapes", std::move(shapes)}, {"values", std::move(values)}};
}

}  // namespace

void put_by_columns(Json& exchange) {
  put_rows_by_columns(exchange);
  put_fields_by_shape(exchange);
}

}  // namespace fb::conformance
