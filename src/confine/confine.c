/* SPDX-License-Identifier: BSD-2-Clause */
/* Drops a process's privileges: user, capabilities, resource limits. */
#include "confine/confine.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/sanitized.h"

#define NOBODY 65534 /* if the system has no user of either name */

/* The first of these users that the system has. */
static const char *const users[] = { "ringside", "nobody" };

/* System users are in this file; getpwnam() may query a directory service, and wait for it. */
static void find_user(struct rs_confine *c)
{
	FILE *file = fopen("/etc/passwd", "re");
	size_t best = sizeof(users) / sizeof(users[0]);
	const struct passwd *user;

	while (file && (user = fgetpwent(file))) {
		for (size_t i = 0; i < best; i++) {
			if (strcmp(user->pw_name, users[i]) || !user->pw_uid)
				continue;
			c->uid = user->pw_uid;
			c->gid = user->pw_gid;
			best = i;
		}
	}
	if (file)
		fclose(file);
}

void rs_confine_prepare(struct rs_confine *c)
{
	c->drops = !geteuid();
	c->uid = c->gid = NOBODY;
	if (c->drops)
		find_user(c);
}

/* A lower limit stays. */
static int limit(__rlimit_resource_t resource, uint64_t most)
{
	struct rlimit now;

	if (getrlimit(resource, &now))
		return -1;
	if (now.rlim_cur < most)
		most = now.rlim_cur;
	return setrlimit(resource, &(struct rlimit){ most, most });
}

/* A user namespace may have no other user (EINVAL); its root is an ordinary user of the machine. */
static const char *become_user(const struct rs_confine *c)
{
	if (setgroups(0, NULL) && errno != EPERM)
		return "setgroups";
	if (setresgid(c->gid, c->gid, c->gid) && errno != EINVAL)
		return "setresgid";
	if (setresuid(c->uid, c->uid, c->uid) && errno != EINVAL)
		return "setresuid";
	return NULL;
}

const char *rs_confine_capabilities(uint64_t kept)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
		return "prctl(PR_CAP_AMBIENT)";
	if (syscall(SYS_capget, &head, data))
		return "capget";
	for (uint32_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		data[i].permitted &= (uint32_t)(kept >> 32 * i);
		data[i].effective = data[i].permitted; /* a change of user clears it */
		data[i].inheritable = 0;
	}
	return syscall(SYS_capset, &head, data) ? "capset" : NULL;
}

static const char *set_limits(const struct rs_confine *c)
{
	if (c->address_bytes && limit(RLIMIT_AS, c->address_bytes))
		return "setrlimit(RLIMIT_AS)";
	/* A sanitizer needs more memory. */
	if (c->data_bytes && !RS_SANITIZED && limit(RLIMIT_DATA, c->data_bytes))
		return "setrlimit(RLIMIT_DATA)";
	if (c->file_bytes && limit(RLIMIT_FSIZE, c->file_bytes))
		return "setrlimit(RLIMIT_FSIZE)";
	if (c->descriptors && limit(RLIMIT_NOFILE, c->descriptors))
		return "setrlimit(RLIMIT_NOFILE)";
	return limit(RLIMIT_CORE, 0) ? "setrlimit(RLIMIT_CORE)" : NULL;
}

const char *rs_confine_enter(const struct rs_confine *c)
{
	const char *failed = set_limits(c);

	if (!failed && c->drops && c->capabilities && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0))
		failed = "prctl(PR_SET_KEEPCAPS)";
	if (!failed && c->drops)
		failed = become_user(c);
	if (!failed)
		failed = rs_confine_capabilities(c->capabilities);
	if (!failed && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		failed = "prctl(PR_SET_NO_NEW_PRIVS)";
	return failed;
}

/* As in become_user(): if this root has no other user, its own user is unprivileged. */
static int give_to(int fd, uid_t uid, gid_t gid)
{
	return fchown(fd, uid, gid) && errno != EINVAL ? -1 : 0;
}

int rs_confine_give(int fd)
{
	struct rs_confine user = { 0 };

	rs_confine_prepare(&user);
	return user.drops ? give_to(fd, user.uid, user.gid) : 0;
}

int rs_confine_reclaim(int fd)
{
	return geteuid() ? 0 : give_to(fd, geteuid(), getegid());
}
