/* SPDX-License-Identifier: BSD-2-Clause */
/* What libbpf says in its log, for the error of a load that fails. Per thread. */
#ifndef RS_KVM_BPF_SAID_H
#define RS_KVM_BPF_SAID_H

#include <bpf/libbpf.h>
#include <ringside/error.h>

/* Begins to keep the first warning of libbpf's. Returns what printed until now, for
 * libbpf_set_print(). */
libbpf_print_fn_t rs_bpf_listen(void);

/* Returns an error of an errno, with that warning. */
struct rs_error *rs_bpf_failed(int errno_value, const char *what);

#endif
