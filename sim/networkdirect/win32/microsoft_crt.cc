// The wide printing functions, which print narrow, and the other extensions of Microsoft's C library.
#include "microsoft_crt.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <locale.h>

#include "sim/networkdirect/win32/kernel.h"

namespace fb::win32 {

namespace {

enum class Width { plain, narrow, wide, word64, pointer, other };

/// One conversion of a wide format, as far as it differs here: how long its argument is.
struct Length {
  Width width = Width::plain;
  // What glibc reads the same.
  std::wstring same;
};

Length take_length(const wchar_t*& at) {
  const auto starts = [&at](const wchar_t* word) {
    const std::size_t length = std::wcslen(word);
    if (std::wcsncmp(at, word, length) != 0) return false;
    at += length;
    return true;
  };
  if (starts(L"I64") || starts(L"ll")) return {Width::word64, {}};
  if (starts(L"I32")) return {};
  if (starts(L"I")) return {Width::pointer, {}};
  if (starts(L"hh")) return {Width::other, L"hh"};
  if (starts(L"h")) return {Width::narrow, L"h"};
  if (starts(L"l") || starts(L"w")) return {Width::wide, {}};
  for (const wchar_t* word : {L"L", L"z", L"t", L"j"}) {
    if (starts(word)) return {Width::other, word};
  }
  return {};
}

std::wstring conversion(const Length& length, wchar_t kind) {
  const bool text = kind == L's' || kind == L'c';
  if (text) return (length.width == Width::narrow ? std::wstring() : std::wstring(L"l")) + kind;
  // Capitals stand for the other kind of text.
  if (kind == L'S') return length.width == Width::wide ? L"ls" : L"s";
  if (kind == L'C') return length.width == Width::wide ? L"lc" : L"c";
  switch (length.width) {
    case Width::word64: return std::wstring(L"ll") + kind;
    case Width::pointer: return std::wstring(L"z") + kind;
    case Width::narrow:
    case Width::other: return length.same + kind;
    case Width::plain:
    case Width::wide: break;
  }
  return std::wstring(1, kind);
}

std::string translate(const wchar_t* format) {
  std::wstring out;
  while (*format != 0) {
    out += *format;
    if (*format++ != L'%') continue;
    while (*format != 0 && std::wcschr(L"-+ #0123456789.*'$", *format) != nullptr) out += *format++;
    const Length length = take_length(format);
    if (*format == 0) break;
    out += conversion(length, *format++);
  }
  return to_narrow(out.c_str());
}

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

// `count` may be _TRUNCATE: as much as fits.
template <typename Char>
int copy_part(Char* to, std::size_t size, const Char* from, std::size_t count) {
  if (from == nullptr || to == nullptr || size == 0) return copy_or_empty(to, size, from, 0);
  std::size_t length = 0;
  while (length < count && (count != _TRUNCATE || length + 1 < size) && from[length] != 0) ++length;
  return copy_or_empty(to, size, from, length);
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
