/* SPDX-License-Identifier: BSD-2-Clause */
/* Looks up the names of domains in xenstore. */
#include "live/xen_names.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

/* xenstore.h: use only the socket. Through the kernel, a request without a daemon would wait
 * forever. */
#define OPEN_SOCKETONLY (1ul << 1)

struct rs_xen_names {
	void *library, *store;
	void *(*open)(unsigned long flags);
	void (*close)(void *store);
	void *(*read)(void *store, uint32_t transaction, const char *path, unsigned int *len);
	char name[RS_XEN_NAME_MAX];
};

static bool load(struct rs_xen_names *names)
{
	static const char *const files[] = { "libxenstore.so.4", "libxenstore.so.3.0" };

	for (size_t i = 0; !names->library && i < sizeof(files) / sizeof(files[0]); i++)
		names->library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
	if (!names->library)
		return false;
	*(void **)&names->open = dlsym(names->library, "xs_open");
	*(void **)&names->close = dlsym(names->library, "xs_close");
	*(void **)&names->read = dlsym(names->library, "xs_read");
	return names->open && names->close && names->read;
}

struct rs_error *rs_xen_names_open(struct rs_xen_names **out)
{
	struct rs_xen_names *names = calloc(1, sizeof(*names));
	struct rs_error *err = NULL;

	if (!names)
		return rs_error_no_memory();
	if (!load(names))
		err = rs_error_create(RS_ABSENT,
				      "no libxenstore.so.4, which is needed for domains' names");
	if (!err) {
		names->store = names->open(OPEN_SOCKETONLY);
		if (!names->store)
			err = rs_error_create(RS_ABSENT,
					      "xenstored does not answer: domains are shown "
					      "by their numbers");
	}
	if (err)
		rs_xen_names_close(names);
	else
		*out = names;
	return err;
}

void rs_xen_names_close(struct rs_xen_names *names)
{
	if (!names)
		return;
	if (names->store)
		names->close(names->store);
	if (names->library)
		dlclose(names->library);
	free(names);
}

const char *rs_xen_names_find(struct rs_xen_names *names, uint32_t dom)
{
	unsigned int len = 0;
	char path[48], *text;
	bool good;

	snprintf(path, sizeof(path), "/local/domain/%u/name", dom);
	text = names->read(names->store, 0, path, &len);
	if (!text)
		return NULL;
	good = len > 0;
	snprintf(names->name, sizeof(names->name), "%s", text);
	rs_utf8_mend(names->name, strlen(names->name));
	free(text);
	return good ? names->name : NULL;
}
