// The statement on A4 pages. The fonts are those that every reader of PDF has, which have the letters of Western Europe.
#include <fmt/format.h>
#include <hpdf.h>

#include <memory>
#include <vector>

#include "conformance/report/statement.h"

namespace fb::conformance {

namespace {

constexpr float kWidth = 595, kHeight = 842, kMargin = 50, kText = kWidth - 2 * kMargin;

/// As the fonts have it: one byte a character. What they lack is a question mark.
std::string latin(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t size = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    const bool whole = i + size <= text.size();
    if (lead < 0x80)
      out += lead < 0x20 ? ' ' : static_cast<char>(lead);
    else if (size == 2 && whole && (lead == 0xC2 || lead == 0xC3))
      out += static_cast<char>((lead & 3) << 6 | (text[i + 1] & 0x3F));
    else
      out += '?';
    i += size;
  }
  return out;
}

class Document {
 public:
  Document() : pdf_(HPDF_New(&on_error, this), &HPDF_Free) {
    if (pdf_ == nullptr) return;
    HPDF_SetCompressionMode(pdf_.get(), HPDF_COMP_ALL);
    plain_ = HPDF_GetFont(pdf_.get(), "Helvetica", "WinAnsiEncoding");
    bold_ = HPDF_GetFont(pdf_.get(), "Helvetica-Bold", "WinAnsiEncoding");
  }
  bool good() const { return pdf_ != nullptr && error_ == 0; }
  unsigned long error() const { return error_; }

  void title(std::string_view text) { HPDF_SetInfoAttr(pdf_.get(), HPDF_INFO_TITLE, latin(text).c_str()); }
  void heading(std::string_view text, float size) {
    space(size);
    keep_together(size * 3);
    paragraph(text, size, bold_, 0, kText);
    space(4);
  }
  void paragraph(std::string_view text, float size = 10, bool bold = false) { paragraph(text, size, bold ? bold_ : plain_, 0, kText); }
  /// A name beside its value.
  void pair(std::string_view name, std::string_view value, float name_width = 130) {
    const std::vector<std::string> left = lines(name, 9, bold_, name_width - 8), right = lines(value, 9, plain_, kText - name_width);
    for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
      next_line(9);
      if (i < left.size()) put(left[i], 9, bold_, 0);
      if (i < right.size()) put(right[i], 9, plain_, name_width);
    }
    space(2);
  }
  /// What follows stands on one page, if it is no higher than that.
  void keep_together(float height) {
    if (page_ == nullptr || y_ - height < kMargin) new_page();
  }
  void space(float height) { y_ -= height; }

  std::string bytes() {
    HPDF_SaveToStream(pdf_.get());
    std::string out(HPDF_GetStreamSize(pdf_.get()), '\0');
    auto size = static_cast<HPDF_UINT32>(out.size());
    HPDF_ReadFromStream(pdf_.get(), reinterpret_cast<HPDF_BYTE*>(out.data()), &size);
    out.resize(size);
    return out;
  }

 private:
  static void on_error(HPDF_STATUS error, HPDF_STATUS, void* self) {
    if (auto* const document = static_cast<Document*>(self); document->error_ == 0) document->error_ = error;
  }

  float width(const std::string& text, float size, HPDF_Font font) {
    const auto* const bytes = reinterpret_cast<const HPDF_BYTE*>(text.data());
    return static_cast<float>(HPDF_Font_TextWidth(font, bytes, static_cast<HPDF_UINT>(text.size())).width) * size / 1000;
  }

  /// Words in lines of that width; a longer word is cut.
  std::vector<std::string> lines(std::string_view text, float size, HPDF_Font font, float most) {
    std::vector<std::string> all;
    std::string line, word;
    const auto end_word = [&] {
      while (!word.empty() && width(word, size, font) > most) {
        if (!line.empty()) all.push_back(std::exchange(line, {}));
        std::size_t fits = 1;
        while (fits < word.size() && width(word.substr(0, fits + 1), size, font) <= most) ++fits;
        all.push_back(word.substr(0, fits));
        word.erase(0, fits);
      }
      const std::string longer = line.empty() ? word : line + " " + word;
      if (line.empty() || width(longer, size, font) <= most) {
        line = longer;
      } else {
        all.push_back(std::exchange(line, word));
      }
      word.clear();
    };
    for (const char c : latin(text)) {
      if (c == ' ')
        end_word();
      else
        word += c;
    }
    end_word();
    if (!line.empty() || all.empty()) all.push_back(line);
    return all;
  }

  void paragraph(std::string_view text, float size, HPDF_Font font, float x, float most) {
    for (const std::string& line : lines(text, size, font, most)) {
      next_line(size);
      put(line, size, font, x);
    }
  }

  void next_line(float size) {
    if (page_ == nullptr || y_ - size * 1.3F < kMargin) new_page();
    y_ -= size * 1.3F;
  }

  void put(const std::string& line, float size, HPDF_Font font, float x) {
    HPDF_Page_BeginText(page_);
    HPDF_Page_SetFontAndSize(page_, font, size);
    HPDF_Page_TextOut(page_, kMargin + x, y_, line.c_str());
    HPDF_Page_EndText(page_);
  }

  void new_page() {
    page_ = HPDF_AddPage(pdf_.get());
    HPDF_Page_SetWidth(page_, kWidth);
    HPDF_Page_SetHeight(page_, kHeight);
    ++number_;
    y_ = kMargin - 20;
    put(std::to_string(number_), 8, plain_, kText - 10);
    y_ = kHeight - kMargin;
  }

  unsigned long error_ = 0;
  std::unique_ptr<std::remove_pointer_t<HPDF_Doc>, decltype(&HPDF_Free)> pdf_;
  HPDF_Font plain_ = nullptr, bold_ = nullptr;
  HPDF_Page page_ = nullptr;
  float y_ = 0;
  unsigned number_ = 0;
};

void add_facts(Document& document, std::string_view title, const Statement::Facts& facts) {
  if (facts.empty()) return;
  document.heading(title, 12);
  for (const auto& [name, value] : facts) document.pair(name, value);
}

void add_row(Document& document, const Statement::Row& row) {
  document.keep_together(50);
  document.pair(row.verdict, row.citation + " (" + row.level + ")", 80);
  document.pair("", row.text, 80);
  document.pair("", row.tests.empty() ? row.id : row.id + " (" + row.tests + ")", 80);
  if (!row.note.empty()) document.pair("", row.note, 80);
  document.space(4);
}

}  // namespace

Result<std::string> statement_pdf(const Statement& statement) {
  Document document;
  if (!document.good()) return Failure{Problem{"the PDF could not be made"}};
  document.title("Conformance statement: " + statement.title);
  document.heading("Conformance statement: " + statement.title, 16);
  document.paragraph(statement.outcome);
  add_facts(document, "What was tested", statement.run);
  add_facts(document, "What the product declares", statement.declared);
  add_facts(document, "Requirements by verdict", statement.counts);
  if (!statement.waived.empty()) document.heading("Waivers", 12);
  for (const Statement::Waived& one : statement.waived) {
    document.pair(one.name,
                  fmt::format("{}{}{}{}", one.reason, one.owner.empty() ? "" : "; " + one.owner,
                              one.expires.empty() ? "" : ", until " + one.expires, one.link.empty() ? "" : ", " + one.link),
                  180);
  }
  document.heading("Requirements", 12);
  for (const Statement::Row& row : statement.rows) add_row(document, row);
  add_facts(document, "Signature", statement.signing());
  std::string bytes = document.bytes();
  if (!document.good()) return Failure{Problem{fmt::format("the PDF could not be made (error {:04X}h)", document.error())}};
  return bytes;
}

}  // namespace fb::conformance
