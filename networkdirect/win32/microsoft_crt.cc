// The wide printing functions, which print narrow, and the other extensions of Microsoft's C library.
#include "microsoft_crt.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include <locale.h>

#include "networkdirect/win32/kernel.h"

// From here on the system's own are meant.
#undef printf
#undef fprintf
#undef vprintf
#undef vfprintf
#undef sprintf
#undef vsprintf
#undef snprintf
#undef vsnprintf

namespace fb::win32 {

namespace {

enum class Width { plain, narrow, wide, word64, pointer, other };

/// How long the argument of a conversion is, as far as that differs here.
struct Length {
  Width width = Width::plain;
  // What glibc reads the same.
  std::string same = {};
};

template <typename Char>
Length take_length(const Char*& at) {
  const auto starts = [&at](std::string_view word) {
    for (std::size_t i = 0; i < word.size(); ++i) {
      if (at[i] != static_cast<Char>(word[i])) return false;
    }
    at += word.size();
    return true;
  };
  if (starts("I64") || starts("ll")) return {Width::word64};
  if (starts("I32")) return {};
  if (starts("I")) return {Width::pointer};
  if (starts("hh")) return {Width::other, "hh"};
  if (starts("h")) return {Width::narrow, "h"};
  if (starts("l") || starts("w")) return {Width::wide};
  for (const std::string_view word : {"L", "z", "t", "j"}) {
    if (starts(word)) return {Width::other, std::string(word)};
  }
  return {};
}

/// `wide`: of a wide format, in which text is wide where nothing else is said. Capitals stand for the other kind of text.
std::string conversion(const Length& length, char kind, bool wide) {
  if (kind == 's' || kind == 'c' || kind == 'S' || kind == 'C') {
    const bool capital = kind == 'S' || kind == 'C';
    const bool is_wide = length.width == Width::wide || (length.width != Width::narrow && wide != capital);
    return (is_wide ? "l" : "") + std::string(1, kind == 's' || kind == 'S' ? 's' : 'c');
  }
  switch (length.width) {
    case Width::word64:
      return std::string("ll") + kind;
    case Width::pointer:
      return std::string("z") + kind;
    case Width::narrow:
    case Width::other:
      return length.same + kind;
    case Width::plain:
    case Width::wide:
      break;
  }
  return {kind};
}

/// The format as this system's printf reads it.
template <typename Char>
std::basic_string<Char> translated(const Char* format) {
  constexpr bool kWide = std::is_same_v<Char, wchar_t>;
  std::basic_string<Char> out;
  while (*format != 0) {
    out += *format;
    if (*format++ != '%') continue;
    while (*format != 0 && *format < 128 && std::strchr("-+ #0123456789.*'$", static_cast<char>(*format)) != nullptr) out += *format++;
    const Length length = take_length(format);
    if (*format == 0) break;
    if (*format > 0 && *format < 128) {
      for (const char c : conversion(length, static_cast<char>(*format), kWide)) out += static_cast<Char>(c);
    } else {
      out += *format;
    }
    ++format;
  }
  return out;
}

std::string translate(const wchar_t* format) { return to_narrow(translated(format).c_str()); }
std::string translate(const char* format) { return translated(format); }

/// Wide text becomes UTF-8 inside, whatever locale the program has chosen.
class Utf8Locale {
 public:
  Utf8Locale() : locale_(newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
    if (locale_ != nullptr) before_ = uselocale(locale_);
  }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;
  ~Utf8Locale() {
    if (locale_ == nullptr) return;
    uselocale(before_);
    freelocale(locale_);
  }

 private:
  locale_t locale_;
  locale_t before_ = nullptr;
};

int copy_or_empty(auto* to, std::size_t size, const auto* from, std::size_t length) {
  if (to == nullptr || size == 0) return EINVAL;
  to[0] = 0;
  if (from == nullptr) return EINVAL;
  if (length >= size) return ERANGE;
  std::copy(from, from + length, to);
  to[length] = 0;
  return 0;
}

constexpr std::size_t kNoCount = _TRUNCATE - 1;

/// What the _s functions put where: all of `text` (null: it could not be made), or the part that `count` permits.
template <typename Char>
int put_text(Char* to, std::size_t size, std::size_t count, const std::basic_string<Char>* text) {
  if (to != nullptr && size != 0) to[0] = 0;
  if (to == nullptr || size == 0 || text == nullptr) {
    errno = EINVAL;
    return -1;
  }
  const std::size_t most = count == _TRUNCATE ? size - 1 : count;
  const std::size_t length = std::min(text->size(), most);
  if (length >= size) {
    errno = ERANGE;
    return -1;
  }
  std::copy_n(text->begin(), length, to);
  to[length] = 0;
  return length == text->size() ? static_cast<int>(length) : -1;
}

// `count` may be _TRUNCATE: as much as fits.
template <typename Char>
int copy_part(Char* to, std::size_t size, const Char* from, std::size_t count) {
  if (from == nullptr || to == nullptr || size == 0) return copy_or_empty(to, size, from, 0);
  std::size_t length = 0;
  while (length < count && (count != _TRUNCATE || length + 1 < size) && from[length] != 0) ++length;
  return copy_or_empty(to, size, from, length);
}

template <typename Char>
int append_part(Char* to, std::size_t size, const Char* from, std::size_t count) {
  std::size_t present = 0;
  while (to != nullptr && present < size && to[present] != 0) ++present;
  const int error = present == size ? EINVAL : copy_part(to + present, size - present, from, count);
  if (error != 0 && to != nullptr && size != 0) to[0] = 0;
  return error;
}

}  // namespace

}  // namespace fb::win32

using namespace fb::win32;

int fabricbench_vfwprintf(FILE* stream, const wchar_t* format, va_list arguments) {
  const std::string narrow = translate(format);
  const Utf8Locale locale;
  return vfprintf(stream, narrow.c_str(), arguments);
}

int fabricbench_vwprintf(const wchar_t* format, va_list arguments) { return fabricbench_vfwprintf(stdout, format, arguments); }

int fabricbench_wprintf(const wchar_t* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int written = fabricbench_vfwprintf(stdout, format, arguments);
  va_end(arguments);
  return written;
}

int fabricbench_fwprintf(FILE* stream, const wchar_t* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int written = fabricbench_vfwprintf(stream, format, arguments);
  va_end(arguments);
  return written;
}

int fabricbench_vswprintf(wchar_t* to, size_t chars, const wchar_t* format, va_list arguments) {
  const std::string narrow = translate(format);
  char* text = nullptr;
  int length = -1;
  {
    const Utf8Locale locale;
    length = vasprintf(&text, narrow.c_str(), arguments);
  }
  if (length < 0 || to == nullptr || chars == 0) {
    if (length >= 0) std::free(text);
    return -1;
  }
  const std::wstring wide = to_wide(text);
  std::free(text);
  const std::size_t fits = std::min(wide.size(), chars - 1);
  std::copy_n(wide.begin(), fits, to);
  to[fits] = 0;
  return fits == wide.size() ? static_cast<int>(fits) : -1;
}

int fabricbench_swprintf(wchar_t* to, size_t chars, const wchar_t* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int written = fabricbench_vswprintf(to, chars, format, arguments);
  va_end(arguments);
  return written;
}

int fabricbench_vfprintf(FILE* stream, const char* format, va_list arguments) {
  const std::string ours = translate(format);
  const Utf8Locale locale;
  return vfprintf(stream, ours.c_str(), arguments);
}

int fabricbench_vprintf(const char* format, va_list arguments) { return fabricbench_vfprintf(stdout, format, arguments); }

int fabricbench_printf(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int written = fabricbench_vfprintf(stdout, format, arguments);
  va_end(arguments);
  return written;
}

int fabricbench_fprintf(FILE* stream, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int written = fabricbench_vfprintf(stream, format, arguments);
  va_end(arguments);
  return written;
}

int fabricbench_vsnprintf(char* to, size_t chars, const char* format, va_list arguments) {
  const std::string ours = translate(format);
  const Utf8Locale locale;
  return vsnprintf(to, chars, ours.c_str(), arguments);
}

int fabricbench_snprintf(char* to, size_t chars, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int written = fabricbench_vsnprintf(to, chars, format, arguments);
  va_end(arguments);
  return written;
}

int fabricbench_vsprintf(char* to, const char* format, va_list arguments) {
  const std::string ours = translate(format);
  const Utf8Locale locale;
  return vsprintf(to, ours.c_str(), arguments);
}

int fabricbench_sprintf(char* to, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int written = fabricbench_vsprintf(to, format, arguments);
  va_end(arguments);
  return written;
}

int _vsnprintf_s(char* to, size_t chars, size_t count, const char* format, va_list arguments) {
  if (to == nullptr || chars == 0 || format == nullptr) return put_text<char>(to, chars, count, nullptr);
  const std::string ours = translate(format);
  char* text = nullptr;
  int length = -1;
  {
    const Utf8Locale locale;
    length = vasprintf(&text, ours.c_str(), arguments);
  }
  if (length < 0) return put_text<char>(to, chars, count, nullptr);
  const std::string whole(text, static_cast<std::size_t>(length));
  std::free(text);
  return put_text(to, chars, count, &whole);
}

int _vsnwprintf_s(wchar_t* to, size_t chars, size_t count, const wchar_t* format, va_list arguments) {
  if (to == nullptr || chars == 0 || format == nullptr) return put_text<wchar_t>(to, chars, count, nullptr);
  const std::string ours = translate(format);
  char* text = nullptr;
  int length = -1;
  {
    const Utf8Locale locale;
    length = vasprintf(&text, ours.c_str(), arguments);
  }
  if (length < 0) return put_text<wchar_t>(to, chars, count, nullptr);
  const std::wstring whole = to_wide(text);
  std::free(text);
  return put_text(to, chars, count, &whole);
}

// A count that no text reaches: what does not fit is an error.
int vsprintf_s(char* to, size_t chars, const char* format, va_list arguments) {
  return _vsnprintf_s(to, chars, kNoCount, format, arguments);
}
int vswprintf_s(wchar_t* to, size_t chars, const wchar_t* format, va_list arguments) {
  return _vsnwprintf_s(to, chars, kNoCount, format, arguments);
}

int sprintf_s(char* to, size_t chars, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int written = vsprintf_s(to, chars, format, arguments);
  va_end(arguments);
  return written;
}

int swprintf_s(wchar_t* to, size_t chars, const wchar_t* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int written = vswprintf_s(to, chars, format, arguments);
  va_end(arguments);
  return written;
}

int _snprintf_s(char* to, size_t chars, size_t count, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int written = _vsnprintf_s(to, chars, count, format, arguments);
  va_end(arguments);
  return written;
}

int _snwprintf_s(wchar_t* to, size_t chars, size_t count, const wchar_t* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int written = _vsnwprintf_s(to, chars, count, format, arguments);
  va_end(arguments);
  return written;
}

int fabricbench_fputws(const wchar_t* text, FILE* stream) { return std::fputs(to_narrow(text).c_str(), stream); }

FILE* _wfopen(const wchar_t* name, const wchar_t* mode) { return std::fopen(to_narrow(name).c_str(), to_narrow(mode).c_str()); }

FILE* _wfreopen(const wchar_t* name, const wchar_t* mode, FILE* stream) {
  return std::freopen(to_narrow(name).c_str(), to_narrow(mode).c_str(), stream);
}

errno_t _wfopen_s(FILE** stream, const wchar_t* name, const wchar_t* mode) {
  *stream = _wfopen(name, mode);
  return *stream == nullptr ? errno : 0;
}

errno_t fopen_s(FILE** stream, const char* name, const char* mode) {
  *stream = std::fopen(name, mode);
  return *stream == nullptr ? errno : 0;
}

// Everything but the standard streams: here they are written out, and stay usable.
int _fcloseall() { return std::fflush(nullptr); }

int _wtoi(const wchar_t* text) { return static_cast<int>(std::wcstol(text, nullptr, 10)); }
LONG _wtol(const wchar_t* text) { return static_cast<LONG>(std::wcstol(text, nullptr, 10)); }
INT64 _wtoi64(const wchar_t* text) { return std::wcstol(text, nullptr, 10); }
double _wtof(const wchar_t* text) { return std::wcstod(text, nullptr); }

errno_t wcscpy_s(wchar_t* to, size_t chars, const wchar_t* from) {
  return copy_or_empty(to, chars, from, from == nullptr ? 0 : std::wcslen(from));
}

errno_t strcpy_s(char* to, size_t chars, const char* from) {
  return copy_or_empty(to, chars, from, from == nullptr ? 0 : std::strlen(from));
}

errno_t wcscat_s(wchar_t* to, size_t chars, const wchar_t* from) {
  const std::size_t present = to == nullptr ? 0 : wcsnlen(to, chars);
  const errno_t error = present == chars ? EINVAL : wcscpy_s(to + present, chars - present, from);
  if (error != 0 && to != nullptr && chars != 0) to[0] = 0;
  return error;
}

errno_t strcat_s(char* to, size_t chars, const char* from) {
  const std::size_t present = to == nullptr ? 0 : strnlen(to, chars);
  const errno_t error = present == chars ? EINVAL : strcpy_s(to + present, chars - present, from);
  if (error != 0 && to != nullptr && chars != 0) to[0] = 0;
  return error;
}

errno_t wcsncpy_s(wchar_t* to, size_t chars, const wchar_t* from, size_t count) { return copy_part(to, chars, from, count); }
errno_t strncpy_s(char* to, size_t chars, const char* from, size_t count) { return copy_part(to, chars, from, count); }

errno_t wcsncat_s(wchar_t* to, size_t chars, const wchar_t* from, size_t count) { return append_part(to, chars, from, count); }
errno_t strncat_s(char* to, size_t chars, const char* from, size_t count) { return append_part(to, chars, from, count); }

errno_t memmove_s(void* to, size_t to_bytes, const void* from, size_t count) {
  if (count == 0) return 0;
  if (to == nullptr || from == nullptr) return EINVAL;
  if (count > to_bytes) return ERANGE;
  std::memmove(to, from, count);
  return 0;
}

errno_t memcpy_s(void* to, size_t to_bytes, const void* from, size_t count) {
  if (count == 0) return 0;
  if (to == nullptr) return EINVAL;
  if (from == nullptr || count > to_bytes) {
    std::memset(to, 0, to_bytes);
    return from == nullptr ? EINVAL : ERANGE;
  }
  std::memcpy(to, from, count);
  return 0;
}
