// Winsock 2 as far as NetworkDirect programs use it: addresses are the system's own structures and constants (AF_INET6
// has the number it has here), a SOCKET is a descriptor, so that socket(), bind(), send() and the like are the
// system's too.
#pragma once

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "windows.h"

EXTERN_C_START

typedef UINT_PTR SOCKET;
#define INVALID_SOCKET ((SOCKET) ~(SOCKET)0)
#define SOCKET_ERROR (-1)

typedef sa_family_t ADDRESS_FAMILY;
typedef struct sockaddr SOCKADDR, *PSOCKADDR, *LPSOCKADDR;
typedef struct sockaddr_in SOCKADDR_IN, *PSOCKADDR_IN, *LPSOCKADDR_IN;
typedef struct sockaddr_in6 SOCKADDR_IN6, *PSOCKADDR_IN6, *LPSOCKADDR_IN6;
typedef struct sockaddr_storage SOCKADDR_STORAGE, *PSOCKADDR_STORAGE, *LPSOCKADDR_STORAGE;
typedef struct in_addr IN_ADDR, *PIN_ADDR, *LPIN_ADDR;
typedef struct in6_addr IN6_ADDR, *PIN6_ADDR, *LPIN6_ADDR;
typedef union _SOCKADDR_INET {
  SOCKADDR_IN Ipv4;
  SOCKADDR_IN6 Ipv6;
  ADDRESS_FAMILY si_family;
} SOCKADDR_INET, *PSOCKADDR_INET;
typedef struct _SOCKET_ADDRESS {
  LPSOCKADDR lpSockaddr;
  INT iSockaddrLength;
} SOCKET_ADDRESS, *PSOCKET_ADDRESS, *LPSOCKET_ADDRESS;
typedef struct _SOCKET_ADDRESS_LIST {
  INT iAddressCount;
  SOCKET_ADDRESS Address[1];
} SOCKET_ADDRESS_LIST, *PSOCKET_ADDRESS_LIST, *LPSOCKET_ADDRESS_LIST;
#define SIZEOF_SOCKET_ADDRESS_LIST(count) (offsetof(SOCKET_ADDRESS_LIST, Address) + (count) * sizeof(SOCKET_ADDRESS))

#define WSADESCRIPTION_LEN 256
#define WSASYS_STATUS_LEN 128
typedef struct WSAData {
  WORD wVersion;
  WORD wHighVersion;
  unsigned short iMaxSockets;
  unsigned short iMaxUdpDg;
  char* lpVendorInfo;
  char szDescription[WSADESCRIPTION_LEN + 1];
  char szSystemStatus[WSASYS_STATUS_LEN + 1];
} WSADATA, *LPWSADATA;

typedef struct _WSABUF {
  ULONG len;
  CHAR* buf;
} WSABUF, *LPWSABUF;

typedef OVERLAPPED WSAOVERLAPPED;
typedef LPOVERLAPPED LPWSAOVERLAPPED;
typedef HANDLE WSAEVENT, *LPWSAEVENT;
#define WSA_INVALID_EVENT ((WSAEVENT)0)
#define WSA_INFINITE INFINITE
#define WSA_IO_PENDING ((int)ERROR_IO_PENDING)
#define WSA_IO_INCOMPLETE ((int)ERROR_IO_INCOMPLETE)
#define WSA_OPERATION_ABORTED ((int)ERROR_OPERATION_ABORTED)
#define WSA_INVALID_HANDLE ((int)ERROR_INVALID_HANDLE)
#define WSA_INVALID_PARAMETER ((int)ERROR_INVALID_PARAMETER)
#define WSA_NOT_ENOUGH_MEMORY ((int)ERROR_NOT_ENOUGH_MEMORY)
typedef void(CALLBACK* LPWSAOVERLAPPED_COMPLETION_ROUTINE)(DWORD error, DWORD bytes, LPWSAOVERLAPPED overlapped, DWORD flags);

// The catalogue's entries.
#define MAX_PROTOCOL_CHAIN 7
#define BASE_PROTOCOL 1
#define LAYERED_PROTOCOL 0
#define WSAPROTOCOL_LEN 255
typedef struct _WSAPROTOCOLCHAIN {
  int ChainLen;
  DWORD ChainEntries[MAX_PROTOCOL_CHAIN];
} WSAPROTOCOLCHAIN, *LPWSAPROTOCOLCHAIN;
typedef struct _WSAPROTOCOL_INFOW {
  DWORD dwServiceFlags1;
  DWORD dwServiceFlags2;
  DWORD dwServiceFlags3;
  DWORD dwServiceFlags4;
  DWORD dwProviderFlags;
  GUID ProviderId;
  DWORD dwCatalogEntryId;
  WSAPROTOCOLCHAIN ProtocolChain;
  int iVersion;
  int iAddressFamily;
  int iMaxSockAddr;
  int iMinSockAddr;
  int iSocketType;
  int iProtocol;
  int iProtocolMaxOffset;
  int iNetworkByteOrder;
  int iSecurityScheme;
  DWORD dwMessageSize;
  DWORD dwProviderReserved;
  WCHAR szProtocol[WSAPROTOCOL_LEN + 1];
} WSAPROTOCOL_INFOW, *LPWSAPROTOCOL_INFOW;
#ifdef UNICODE
typedef WSAPROTOCOL_INFOW WSAPROTOCOL_INFO, *LPWSAPROTOCOL_INFO;
#endif
#define PFL_MULTIPLE_PROTO_ENTRIES 0x00000001
#define PFL_RECOMMENDED_PROTO_ENTRY 0x00000002
#define PFL_HIDDEN 0x00000004
#define PFL_MATCHES_PROTOCOL_ZERO 0x00000008
#define PFL_NETWORKDIRECT_PROVIDER 0x00000010
#define XP1_CONNECTIONLESS 0x00000001
#define XP1_GUARANTEED_DELIVERY 0x00000002
#define XP1_GUARANTEED_ORDER 0x00000004
#define XP1_MESSAGE_ORIENTED 0x00000008
#define XP1_PSEUDO_STREAM 0x00000010
#define XP1_GRACEFUL_CLOSE 0x00000020
#define XP1_EXPEDITED_DATA 0x00000040
#define XP1_CONNECT_DATA 0x00000080
#define XP1_DISCONNECT_DATA 0x00000100
#define XP1_IFS_HANDLES 0x00020000
#define BIGENDIAN 0x0000
#define LITTLEENDIAN 0x0001
#define SECURITY_PROTOCOL_NONE 0x0000

#define WSA_FLAG_OVERLAPPED 0x01
#define WSA_FLAG_NO_HANDLE_INHERIT 0x80
#define IOC_UNIX 0x00000000u
#define IOC_WS2 0x08000000u
#define IOC_PROTOCOL 0x10000000u
#define IOC_VOID 0x20000000u
#define IOC_OUT 0x40000000u
#define IOC_IN 0x80000000u
#define IOC_INOUT (IOC_IN | IOC_OUT)
#define SIO_ROUTING_INTERFACE_QUERY (IOC_INOUT | IOC_WS2 | 20)
#define SIO_ADDRESS_LIST_QUERY (IOC_OUT | IOC_WS2 | 22)
#define SIO_ADDRESS_LIST_CHANGE (IOC_VOID | IOC_WS2 | 23)

typedef unsigned int GROUP_ID;
int WSAStartup(WORD version, LPWSADATA data);
int WSACleanup(void);
int WSAGetLastError(void);
void WSASetLastError(int error);
// Known to completion ports; otherwise a socket of the system.
SOCKET WSASocketW(int family, int type, int protocol, LPWSAPROTOCOL_INFOW info, GROUP_ID group, DWORD flags);
int closesocket(SOCKET socket);
// The three SIO_ codes above. SIO_ADDRESS_LIST_CHANGE stays pending until the socket is closed: changes of the system's
// addresses are not followed. SIO_ROUTING_INTERFACE_QUERY answers with the address that the system would send from.
int WSAIoctl(SOCKET socket, DWORD code, LPVOID in, DWORD in_bytes, LPVOID out, DWORD out_bytes, LPDWORD bytes, LPWSAOVERLAPPED overlapped,
             LPWSAOVERLAPPED_COMPLETION_ROUTINE routine);
BOOL WSAGetOverlappedResult(SOCKET socket, LPWSAOVERLAPPED overlapped, LPDWORD bytes, BOOL wait, LPDWORD flags);
WSAEVENT WSACreateEvent(void);
BOOL WSACloseEvent(WSAEVENT event);
BOOL WSASetEvent(WSAEVENT event);
BOOL WSAResetEvent(WSAEVENT event);
// "192.0.2.1", "192.0.2.1:4420", "2001:db8::1", "[2001:db8::1%2]:4420"; no names of hosts.
INT WSAStringToAddressW(LPWSTR text, INT family, LPWSAPROTOCOL_INFOW info, LPSOCKADDR address, LPINT address_bytes);
INT WSAStringToAddressA(LPSTR text, INT family, LPVOID info, LPSOCKADDR address, LPINT address_bytes);
INT WSAAddressToStringW(LPSOCKADDR address, DWORD address_bytes, LPWSAPROTOCOL_INFOW info, LPWSTR text, LPDWORD text_chars);
INT WSAAddressToStringA(LPSOCKADDR address, DWORD address_bytes, LPVOID info, LPSTR text, LPDWORD text_chars);
// Tells by `overlapped` of the next change that this process makes to the catalogue. The first call gives the handle.
INT WSAProviderConfigChange(LPHANDLE handle, LPWSAOVERLAPPED overlapped, LPWSAOVERLAPPED_COMPLETION_ROUTINE routine);

EXTERN_C_END

#define WSASocket WSASocketW
#define WSAStringToAddress FABRICBENCH_EITHER(WSAStringToAddress)
#define WSAAddressToString FABRICBENCH_EITHER(WSAAddressToString)
