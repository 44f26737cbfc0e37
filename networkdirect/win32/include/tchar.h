// Text that is wide or narrow by a switch: UNICODE (or _UNICODE) makes it wide, as with Microsoft's headers. A wide _tmain
// needs fb_networkdirect_win32_main, whose main() converts the arguments.
#pragma once

#if defined(_UNICODE) && !defined(UNICODE)
#define UNICODE
#elif defined(UNICODE) && !defined(_UNICODE)
#define _UNICODE
#endif
#include "microsoft_crt.h"

typedef TCHAR _TCHAR;
typedef TCHAR _TSCHAR;
#define _T(text) FABRICBENCH_TEXT(text)
#define _TEXT(text) FABRICBENCH_TEXT(text)

#ifdef UNICODE
#define _tmain wmain
#define _tprintf fabricbench_wprintf
#define _ftprintf fabricbench_fwprintf
#define _vtprintf fabricbench_vwprintf
#define _vftprintf fabricbench_vfwprintf
#define _stprintf_s swprintf_s
#define _vstprintf_s vswprintf_s
#define _sntprintf_s _snwprintf_s
#define _vsntprintf_s _vsnwprintf_s
#define _sntprintf fabricbench_swprintf
#define _putts _putws
#define _fputts fabricbench_fputws
#define _tcslen wcslen
#define _tcscmp wcscmp
#define _tcsncmp wcsncmp
#define _tcsicmp wcscasecmp
#define _tcsnicmp wcsncasecmp
#define _tcscpy wcscpy
#define _tcscpy_s wcscpy_s
#define _tcscat_s wcscat_s
#define _tcsncpy_s wcsncpy_s
#define _tcschr wcschr
#define _tcsrchr wcsrchr
#define _tcsstr wcsstr
#define _tcsdup wcsdup
#define _tcstol wcstol
#define _tcstoul wcstoul
#define _tcstoui64 wcstoull
#define _tcstod wcstod
#define _ttoi _wtoi
#define _ttol _wtol
#define _ttoi64 _wtoi64
#define _tstoi _wtoi
#define _tstol _wtol
#define _istdigit iswdigit
#define _istspace iswspace
#define _totlower towlower
#define _totupper towupper
#define _tfopen _wfopen
#define _tfopen_s _wfopen_s
#define _tfreopen _wfreopen
#define _tgetenv _wgetenv
#else
#include <ctype.h>
#define _tmain main
#define _tprintf printf
#define _ftprintf fprintf
#define _vtprintf vprintf
#define _vftprintf vfprintf
#define _stprintf_s sprintf_s
#define _vstprintf_s vsprintf_s
#define _sntprintf_s _snprintf_s
#define _vsntprintf_s _vsnprintf_s
#define _sntprintf snprintf
#define _putts puts
#define _fputts fputs
#define _tcslen strlen
#define _tcscmp strcmp
#define _tcsncmp strncmp
#define _tcsicmp strcasecmp
#define _tcsnicmp strncasecmp
#define _tcscpy strcpy
#define _tcscpy_s strcpy_s
#define _tcscat_s strcat_s
#define _tcsncpy_s strncpy_s
#define _tcschr strchr
#define _tcsrchr strrchr
#define _tcsstr strstr
#define _tcsdup strdup
#define _tcstol strtol
#define _tcstoul strtoul
#define _tcstoui64 strtoull
#define _tcstod strtod
#define _ttoi atoi
#define _ttol atol
#define _ttoi64 atoll
#define _tstoi atoi
#define _tstol atol
#define _istdigit isdigit
#define _istspace isspace
#define _totlower tolower
#define _totupper toupper
#define _tfopen fopen
#define _tfopen_s fopen_s
#define _tfreopen freopen
#define _tgetenv getenv
#endif
