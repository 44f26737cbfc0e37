// How a COM interface is declared so that C and C++ read the same lines. In C++ it is a structure of pure virtual
// functions, in C one with a pointer to a table of functions (lpVtbl); both have the same layout, because the
// interface has no virtual destructor and begins with the slots of its base.
#pragma once

#include "guiddef.h"
#include "winerror.h"

#define STDMETHODCALLTYPE
#define STDMETHODVCALLTYPE
#define STDAPICALLTYPE
#define STDAPI EXTERN_C HRESULT
#define STDAPI_(type) EXTERN_C type
#define STDMETHODIMP HRESULT
#define STDMETHODIMP_(type) type
#define IFACEMETHODIMP HRESULT
#define IFACEMETHODIMP_(type) type
#define BEGIN_INTERFACE
#define END_INTERFACE

#ifdef __cplusplus
#define STDMETHOD(method) virtual HRESULT STDMETHODCALLTYPE method
#define STDMETHOD_(type, method) virtual type STDMETHODCALLTYPE method
#define IFACEMETHOD(method) STDMETHOD(method)
#define IFACEMETHOD_(type, method) STDMETHOD_(type, method)
#define PURE = 0
#define THIS_
#define THIS void
#define DECLARE_INTERFACE(name) struct name
#define DECLARE_INTERFACE_(name, base) struct name : public base
#else
#define STDMETHOD(method) HRESULT(STDMETHODCALLTYPE* method)
#define STDMETHOD_(type, method) type(STDMETHODCALLTYPE* method)
#define IFACEMETHOD(method) STDMETHOD(method)
#define IFACEMETHOD_(type, method) STDMETHOD_(type, method)
#define PURE
#define THIS_ INTERFACE *This,
#define THIS INTERFACE* This
#ifdef CONST_VTABLE
#define CONST_VTBL const
#else
#define CONST_VTBL
#endif
#define DECLARE_INTERFACE(name)           \
  typedef struct name {                   \
    CONST_VTBL struct name##Vtbl* lpVtbl; \
  } name;                                 \
  typedef struct name##Vtbl name##Vtbl;   \
  struct name##Vtbl
#define DECLARE_INTERFACE_(name, base) DECLARE_INTERFACE(name)
#endif
#define DECLARE_INTERFACE_IID(name, iid) DECLARE_INTERFACE(name)
#define DECLARE_INTERFACE_IID_(name, base, iid) DECLARE_INTERFACE_(name, base)
