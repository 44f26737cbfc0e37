// GUIDs. A name defined by DEFINE_GUID is a constant of each source that sees it: nothing needs to be linked, with
// or without initguid.h. Two such names are compared by value, never by address.
#pragma once

#include <string.h>

#include "minwindef.h"

#ifndef GUID_DEFINED
#define GUID_DEFINED
typedef struct _GUID {
  ULONG Data1;
  USHORT Data2;
  USHORT Data3;
  UCHAR Data4[8];
} GUID;
#endif

typedef GUID *LPGUID, IID, *LPIID, CLSID, *LPCLSID, FMTID;
typedef const GUID* LPCGUID;

#ifdef __cplusplus
typedef const GUID& REFGUID;
typedef const IID& REFIID;
typedef const CLSID& REFCLSID;
typedef const FMTID& REFFMTID;
#else
typedef const GUID* REFGUID;
typedef const IID* REFIID;
typedef const CLSID* REFCLSID;
typedef const FMTID* REFFMTID;
#endif

#ifdef __cplusplus
#define FABRICBENCH_GUID inline constexpr GUID
#else
#define FABRICBENCH_GUID static const GUID __attribute__((__unused__))
#endif
#define DEFINE_GUID(name, l, w1, w2, b1, b2, b3, b4, b5, b6, b7, b8) FABRICBENCH_GUID name = {l, w1, w2, {b1, b2, b3, b4, b5, b6, b7, b8}}
#define DEFINE_OLEGUID(name, l, w1, w2) DEFINE_GUID(name, l, w1, w2, 0xC0, 0, 0, 0, 0, 0, 0, 0x46)

FABRICBENCH_GUID GUID_NULL = {0, 0, 0, {0, 0, 0, 0, 0, 0, 0, 0}};
#define IID_NULL GUID_NULL
#define CLSID_NULL GUID_NULL

#ifdef __cplusplus
inline int InlineIsEqualGUID(REFGUID a, REFGUID b) { return memcmp(&a, &b, sizeof(GUID)) == 0; }
inline int IsEqualGUID(REFGUID a, REFGUID b) { return memcmp(&a, &b, sizeof(GUID)) == 0; }
inline bool operator==(REFGUID a, REFGUID b) { return memcmp(&a, &b, sizeof(GUID)) == 0; }
inline bool operator!=(REFGUID a, REFGUID b) { return memcmp(&a, &b, sizeof(GUID)) != 0; }
#else
#define InlineIsEqualGUID(a, b) (memcmp(a, b, sizeof(GUID)) == 0)
#define IsEqualGUID(a, b) (memcmp(a, b, sizeof(GUID)) == 0)
#endif
#define IsEqualIID(a, b) IsEqualGUID(a, b)
#define IsEqualCLSID(a, b) IsEqualGUID(a, b)
