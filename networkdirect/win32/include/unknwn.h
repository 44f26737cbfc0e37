// IUnknown and IClassFactory, the two interfaces that a provider's library begins with.
#pragma once

#include "basetyps.h"

DEFINE_OLEGUID(IID_IUnknown, 0x00000000, 0x0000, 0x0000);
DEFINE_OLEGUID(IID_IClassFactory, 0x00000001, 0x0000, 0x0000);

#undef INTERFACE
#define INTERFACE IUnknown
DECLARE_INTERFACE(IUnknown) {
  STDMETHOD(QueryInterface)(THIS_ REFIID riid, void** ppvObject) PURE;
  STDMETHOD_(ULONG, AddRef)(THIS) PURE;
  STDMETHOD_(ULONG, Release)(THIS) PURE;
};
#undef INTERFACE
typedef IUnknown* LPUNKNOWN;

#define INTERFACE IClassFactory
DECLARE_INTERFACE_(IClassFactory, IUnknown) {
#ifndef __cplusplus
  STDMETHOD(QueryInterface)(THIS_ REFIID riid, void** ppvObject) PURE;
  STDMETHOD_(ULONG, AddRef)(THIS) PURE;
  STDMETHOD_(ULONG, Release)(THIS) PURE;
#endif
  STDMETHOD(CreateInstance)(THIS_ IUnknown * pUnkOuter, REFIID riid, void** ppvObject) PURE;
  STDMETHOD(LockServer)(THIS_ BOOL fLock) PURE;
};
#undef INTERFACE
typedef IClassFactory* LPCLASSFACTORY;

// What a provider's library exports: visible without a list of exports, however the library is compiled.
EXTERN_C DECLSPEC_EXPORT HRESULT DllGetClassObject(REFCLSID rclsid, REFIID riid, LPVOID* ppv);
EXTERN_C DECLSPEC_EXPORT HRESULT DllCanUnloadNow(void);

typedef HRESULT (*LPFNGETCLASSOBJECT)(REFCLSID, REFIID, LPVOID*);
typedef HRESULT (*LPFNCANUNLOADNOW)(void);
