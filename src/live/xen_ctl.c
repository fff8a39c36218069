/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls Xen's control interface through libxenctrl, loaded at run time. */
#include "live/xen_ctl.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/count.h"

/* libxenctrl's name contains Xen's version. The functions used here are the same in all these
 * versions. */
#define MINOR_NEWEST 29
#define MINOR_OLDEST 8 /* libxenforeignmemory came with 4.7 */

#define DOMID_XEN 0x7ff2u /* public/xen.h: owner of the hypervisor's own frames */
#define VIRQ_TBUF 4	  /* public/xen.h */
/* Linux's uapi xen/evtchn.h, which cannot be included alone: takes struct bind_virq. */
#define BIND_VIRQ _IOC(_IOC_NONE, 'E', 0, sizeof(struct bind_virq))
struct bind_virq {
	unsigned int virq;
};

/* public/sysctl.h, XEN_SYSCTL_tbuf_op. The interface's version also changes with other operations.
 * This operation is unchanged since Xen 3.3. */
#define SYSCTL_TBUF_OP	     2u
#define TBUF_OP_GET_INFO     0u
#define SYSCTL_VERSION_FIRST 0x15u /* of Xen 4.17; tried first */
#define SYSCTL_VERSION_MIN   0x08u
#define SYSCTL_VERSION_MAX   0x3fu
#define SYSCTL_BYTES	     1024 /* more than any version's struct xen_sysctl */

struct sysctl {
	uint32_t cmd, version;
	union {
		struct {
			uint32_t cmd;
			struct {
				_Alignas(8) uint64_t bitmap;
				uint32_t n_bits;
			} cpu_mask;
			uint32_t event_mask;
			_Alignas(8) uint64_t frame;
			uint32_t bytes;
		} tbuf;
		uint8_t whole[SYSCTL_BYTES];
	} op;
};
_Static_assert(offsetof(struct sysctl, op.tbuf.frame) == 8 + 32, "the layout of public/sysctl.h");

/* xentoollog.h: receives the library's messages. They are dropped, because errors come from
 * errno. */
struct logger {
	void (*message)(struct logger *, int level, int errno_value, const char *context,
			const char *format, va_list args);
	void (*progress)(struct logger *, const char *context, const char *doing, int percent,
			 unsigned long done, unsigned long total);
	void (*destroy)(struct logger *);
};

/* xenctrl.h, xenforeignmemory.h. */
struct functions {
	void *(*open)(struct logger *logger, struct logger *builders, unsigned int flags);
	int (*close)(void *xc);
	int (*sysctl)(void *xc, void *sysctl);
	int (*set_size)(void *xc, unsigned long pages);
	int (*set_events)(void *xc, uint32_t mask);
	int (*set_cpus)(void *xc, uint8_t *map);
	int (*enable)(void *xc, unsigned long pages, unsigned long *frame, unsigned long *bytes);
	int (*disable)(void *xc);
	int (*map_bytes)(void *xc);
	uint8_t *(*map_alloc)(void *xc);
	void *(*memory_open)(struct logger *logger, unsigned int flags);
	int (*memory_close)(void *memory);
	void *(*memory_map)(void *memory, uint32_t domain, int prot, size_t pages,
			    const unsigned long *frames, int *errors);
	int (*memory_unmap)(void *memory, void *at, size_t pages);
};

static const struct {
	const char *name;
	size_t at;
} symbols[] = {
	{ "xc_interface_open", offsetof(struct functions, open) },
	{ "xc_interface_close", offsetof(struct functions, close) },
	{ "xc_sysctl", offsetof(struct functions, sysctl) },
	{ "xc_tbuf_set_size", offsetof(struct functions, set_size) },
	{ "xc_tbuf_set_evt_mask", offsetof(struct functions, set_events) },
	{ "xc_tbuf_set_cpu_mask", offsetof(struct functions, set_cpus) },
	{ "xc_tbuf_enable", offsetof(struct functions, enable) },
	{ "xc_tbuf_disable", offsetof(struct functions, disable) },
	{ "xc_get_cpumap_size", offsetof(struct functions, map_bytes) },
	{ "xc_cpumap_alloc", offsetof(struct functions, map_alloc) },
	{ "xenforeignmemory_open", offsetof(struct functions, memory_open) },
	{ "xenforeignmemory_close", offsetof(struct functions, memory_close) },
	{ "xenforeignmemory_map", offsetof(struct functions, memory_map) },
	{ "xenforeignmemory_unmap", offsetof(struct functions, memory_unmap) },
};
#define N_SYMBOLS (sizeof(symbols) / sizeof(symbols[0]))

struct rs_xen_ctl {
	struct functions call;
	char library[32];
	void *handle, *xc, *memory;
	uint32_t version; /* of sysctls */
	int event_fd;	  /* for the signal; -1: not bound */
	struct logger logger;
};

static void no_message(struct logger *logger, int level, int errno_value, const char *context,
		       const char *format, va_list args)
{
	(void)logger, (void)level, (void)errno_value, (void)context, (void)format, (void)args;
}

static void no_progress(struct logger *logger, const char *context, const char *doing, int percent,
			unsigned long done, unsigned long total)
{
	(void)logger, (void)context, (void)doing, (void)percent, (void)done, (void)total;
}

static void not_destroyed(struct logger *logger)
{
	(void)logger;
}

/* ---- the library ---------------------------------------------------------------------------- */

static struct rs_error *load(struct rs_xen_ctl *ctl)
{
	for (int minor = MINOR_NEWEST; !ctl->handle && minor >= MINOR_OLDEST; minor--) {
		snprintf(ctl->library, sizeof(ctl->library), "libxenctrl.so.4.%d", minor);
		ctl->handle = dlopen(ctl->library, RTLD_NOW | RTLD_LOCAL);
	}
	if (!ctl->handle)
		return rs_error_create(RS_ABSENT, "no libxenctrl.so.4.N for this Xen; it is part "
						  "of Xen's tools (Debian: libxenmisc4.17)");
	for (size_t i = 0; i < N_SYMBOLS; i++) {
		/* libxenforeignmemory is loaded with it, so its symbols are found here, too. */
		void *symbol = dlsym(ctl->handle, symbols[i].name);

		if (!symbol)
			return rs_error_create(RS_ABSENT, "%s has no %s", ctl->library,
					       symbols[i].name);
		memcpy((uint8_t *)&ctl->call + symbols[i].at, &symbol, sizeof(symbol));
	}
	return NULL;
}

/* Finds the version of sysctls that this hypervisor accepts. It refuses others with EACCES. */
static struct rs_error *find_version(struct rs_xen_ctl *ctl)
{
	struct sysctl sysctl;
	uint32_t version = SYSCTL_VERSION_FIRST;

	for (uint32_t next = SYSCTL_VERSION_MIN; version <= SYSCTL_VERSION_MAX; version = next++) {
		memset(&sysctl, 0, sizeof(sysctl));
		sysctl.cmd = SYSCTL_TBUF_OP;
		sysctl.version = version;
		sysctl.op.tbuf.cmd = TBUF_OP_GET_INFO;
		if (!ctl->call.sysctl(ctl->xc, &sysctl)) {
			ctl->version = version;
			return NULL;
		}
		if (errno != EACCES)
			break;
	}
	if (errno == ENOSYS || errno == EOPNOTSUPP)
		return rs_error_create(RS_ABSENT, "this Xen was built without its trace "
						  "(CONFIG_TRACEBUFFER)");
	if (errno == EPERM || errno == EACCES)
		return rs_error_create(RS_ABSENT, "Xen does not let this domain trace: only dom0 "
						  "may");
	return rs_error_errno(errno, "cannot query Xen's trace");
}

struct rs_error *rs_xen_ctl_open(struct rs_xen_ctl **out)
{
	struct rs_xen_ctl *ctl;
	struct rs_error *err;

	if (access("/proc/xen", F_OK) && access("/sys/hypervisor/type", F_OK))
		return rs_error_create(RS_ABSENT, "this machine does not run on Xen");
	ctl = calloc(1, sizeof(*ctl));
	if (!ctl)
		return rs_error_no_memory();
	ctl->event_fd = -1;
	ctl->logger = (struct logger){ no_message, no_progress, not_destroyed };
	err = load(ctl);
	if (!err) {
		ctl->xc = ctl->call.open(&ctl->logger, &ctl->logger, 0);
		if (!ctl->xc)
			err = rs_error_create(
				RS_ABSENT,
				"/dev/xen/privcmd: %s (root, in dom0, with the module "
				"xen-privcmd)",
				strerror(errno));
	}
	if (!err)
		err = find_version(ctl);
	if (!err) {
		ctl->memory = ctl->call.memory_open(&ctl->logger, 0);
		if (!ctl->memory)
			err = rs_error_errno(errno, "mapping of Xen's memory");
	}
	if (err)
		rs_xen_ctl_close(ctl);
	else
		*out = ctl;
	return err;
}

void rs_xen_ctl_close(struct rs_xen_ctl *ctl)
{
	if (!ctl)
		return;
	if (ctl->event_fd >= 0)
		close(ctl->event_fd);
	if (ctl->memory)
		ctl->call.memory_close(ctl->memory);
	if (ctl->xc)
		ctl->call.close(ctl->xc);
	if (ctl->handle)
		dlclose(ctl->handle);
	free(ctl);
}

const char *rs_xen_ctl_library(const struct rs_xen_ctl *ctl)
{
	return ctl->library;
}

/* ---- the trace ------------------------------------------------------------------------------ */

struct rs_error *rs_xen_ctl_info(struct rs_xen_ctl *ctl, struct rs_xen_trace_info *info)
{
	struct sysctl sysctl = { .cmd = SYSCTL_TBUF_OP, .version = ctl->version };

	sysctl.op.tbuf.cmd = TBUF_OP_GET_INFO;
	if (ctl->call.sysctl(ctl->xc, &sysctl))
		return rs_error_errno(errno, "cannot query Xen's trace");
	*info = (struct rs_xen_trace_info){ .event_mask = sysctl.op.tbuf.event_mask,
					    .frame = sysctl.op.tbuf.frame,
					    .info_bytes = sysctl.op.tbuf.frame
								  ? sysctl.op.tbuf.bytes
								  : 0 };
	return NULL;
}

struct rs_error *rs_xen_ctl_make_buffers(struct rs_xen_ctl *ctl, uint32_t pages)
{
	if (!ctl->call.set_size(ctl->xc, pages))
		return NULL;
	return rs_error_errno(errno, "cannot create Xen's trace buffers of %s for each CPU",
			      RS_COUNT_OF(pages, "page"));
}

struct rs_error *rs_xen_ctl_set_events(struct rs_xen_ctl *ctl, uint32_t mask)
{
	if (!ctl->call.set_events(ctl->xc, mask))
		return NULL;
	return rs_error_errno(errno, "cannot set Xen's event mask to 0x%08x", mask);
}

struct rs_error *rs_xen_ctl_set_cpus(struct rs_xen_ctl *ctl, const uint64_t *bits, uint32_t n)
{
	struct rs_error *err = NULL;
	int bytes = ctl->call.map_bytes(ctl->xc);
	uint8_t *map = ctl->call.map_alloc(ctl->xc);
	bool any = false;

	if (!map || bytes <= 0) {
		free(map);
		return rs_error_errno(errno, "cannot query Xen's physical CPUs");
	}
	for (uint32_t cpu = 0; cpu < n && cpu / 8 < (uint32_t)bytes; cpu++) {
		if (!(bits[cpu / 64] >> cpu % 64 & 1))
			continue;
		map[cpu / 8] |= (uint8_t)(1u << cpu % 8);
		any = true;
	}
	if (!any)
		err = rs_error_create(RS_USAGE, "this machine has none of these physical CPUs");
	else if (ctl->call.set_cpus(ctl->xc, map))
		err = rs_error_errno(errno, "cannot set Xen's CPU mask");
	free(map);
	return err;
}

struct rs_error *rs_xen_ctl_trace(struct rs_xen_ctl *ctl, bool on)
{
	unsigned long frame, bytes;

	/* Existing buffers keep their size, regardless of the request. */
	if (!(on ? ctl->call.enable(ctl->xc, 1, &frame, &bytes) : ctl->call.disable(ctl->xc)))
		return NULL;
	return rs_error_errno(errno, "turning Xen's tracing %s", on ? "on" : "off");
}

/* ---- memory and signals --------------------------------------------------------------------- */

struct rs_error *rs_xen_ctl_map(struct rs_xen_ctl *ctl, const uint32_t *frames, uint32_t n,
				bool writable, void **mem)
{
	unsigned long *wide = calloc(n, sizeof(*wide)); /* xen_pfn_t */
	void *at;

	if (!wide)
		return rs_error_no_memory();
	for (uint32_t i = 0; i < n; i++)
		wide[i] = frames[i];
	at = ctl->call.memory_map(ctl->memory, DOMID_XEN, PROT_READ | (writable ? PROT_WRITE : 0),
				  n, wide, NULL);
	free(wide);
	if (!at)
		return rs_error_errno(errno, "mapping %s of Xen's", RS_COUNT_OF(n, "page"));
	*mem = at;
	return NULL;
}

void rs_xen_ctl_unmap(struct rs_xen_ctl *ctl, void *mem, uint32_t n)
{
	ctl->call.memory_unmap(ctl->memory, mem, n);
}

struct rs_error *rs_xen_ctl_claim(struct rs_xen_ctl *ctl)
{
	struct bind_virq bind = { .virq = VIRQ_TBUF };

	ctl->event_fd = open("/dev/xen/evtchn", O_RDWR | O_CLOEXEC);
	if (ctl->event_fd < 0)
		return rs_error_create(
			RS_ABSENT,
			"cannot open /dev/xen/evtchn: %s (is the module xen-evtchn loaded?)",
			strerror(errno));
	if (ioctl(ctl->event_fd, BIND_VIRQ, &bind) >= 0)
		return NULL;
	if (errno == EEXIST)
		return rs_error_create(RS_USAGE,
				       "another program reads Xen's trace buffers (xentrace, or "
				       "another ringside): only one can; end it first");
	return rs_error_errno(errno, "cannot bind Xen's signal for its trace");
}
