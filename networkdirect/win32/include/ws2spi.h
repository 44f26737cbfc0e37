// The catalogue of Winsock providers, where NetworkDirect providers are registered: a text file here, named by the
// environment variable FABRICBENCH_PROVIDERS (otherwise the user's own; see ../README.md).
#pragma once

#include "winsock2.h"

EXTERN_C_START

int WSCEnumProtocols(LPINT protocols, LPWSAPROTOCOL_INFOW entries, LPDWORD entries_bytes, LPINT error);
int WSCGetProviderPath(const GUID* provider, LPWSTR path, LPINT path_chars, LPINT error);
int WSCInstallProvider(const GUID* provider, LPCWSTR path, const WSAPROTOCOL_INFOW* entries, DWORD count, LPINT error);
int WSCDeinstallProvider(const GUID* provider, LPINT error);

EXTERN_C_END
