// The system's addresses, with the members that Windows' have besides: in_addr.S_un and in6_addr.u. They lie where the system's own
// members lie, which keep their names.
#pragma once
#pragma GCC system_header

// The first structure of the system's header becomes another's; ours stands before it. bits/in.h, which comes next in there,
// ends that.
#define in_addr                           \
  in_addr {                               \
    __extension__ union {                 \
      in_addr_t s_addr;                   \
      union {                             \
        struct {                          \
          uint8_t s_b1, s_b2, s_b3, s_b4; \
        } S_un_b;                         \
        struct {                          \
          uint16_t s_w1, s_w2;            \
        } S_un_w;                         \
        uint32_t S_addr;                  \
      } S_un;                             \
    };                                    \
  };                                      \
  struct fabricbench_in_addr_of_the_system
#define __in6_u u
#define __u6_addr8 Byte
#define __u6_addr16 Word
#include_next <netinet/in.h>
#undef in_addr
