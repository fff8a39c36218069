/* SPDX-License-Identifier: BSD-2-Clause */
/* Adds libbpf's first warning to the error of a failed load. Each thread stores its own warning. */
#ifndef RS_KVM_BPF_LOG_H
#define RS_KVM_BPF_LOG_H

#include <bpf/libbpf.h>
#include <ringside/error.h>

/* Clears the stored warning, and installs a print function that stores the next one. Returns the
 * previous print function, which the caller restores by libbpf_set_print(). */
libbpf_print_fn_t rs_bpf_log_begin(void);

/* Returns an error with the text of an errno and the stored warning. */
struct rs_error *rs_bpf_log_error(int errno_value, const char *what);

#endif
