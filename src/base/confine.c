/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/confine.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOBODY 65534 /* where the system has no user of either name */

static const char *const users[] = { "ringside", "nobody" };

void rs_confine_prepare(struct rs_confine *c)
{
	c->drops = !geteuid();
	c->uid = c->gid = NOBODY;
	for (size_t i = 0; c->drops && i < sizeof(users) / sizeof(users[0]); i++) {
		const struct passwd *user = getpwnam(users[i]);

		if (!user || !user->pw_uid)
			continue;
		c->uid = user->pw_uid;
		c->gid = user->pw_gid;
		return;
	}
}

static int limit(__rlimit_resource_t resource, uint64_t most)
{
	struct rlimit now;

	if (getrlimit(resource, &now))
		return -1;
	if (now.rlim_max != RLIM_INFINITY && now.rlim_max < most)
		most = now.rlim_max;
	return setrlimit(resource, &(struct rlimit){ most, most });
}

/* A user namespace may have no other user (EINVAL): its root is an ordinary user of the machine. */
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
		uint32_t mask = (uint32_t)(kept >> 32 * i);

		data[i].permitted &= mask;
		data[i].effective &= mask;
		data[i].inheritable = 0;
	}
	return syscall(SYS_capset, &head, data) ? "capset" : NULL;
}

const char *rs_confine_enter(const struct rs_confine *c)
{
	const char *failed = NULL;

	if (c->address_bytes && limit(RLIMIT_AS, c->address_bytes))
		return "setrlimit(RLIMIT_AS)";
	if (c->file_bytes && limit(RLIMIT_FSIZE, c->file_bytes))
		return "setrlimit(RLIMIT_FSIZE)";
	if (c->descriptors && limit(RLIMIT_NOFILE, c->descriptors))
		return "setrlimit(RLIMIT_NOFILE)";
	if (limit(RLIMIT_CORE, 0))
		return "setrlimit(RLIMIT_CORE)";
	if (c->drops)
		failed = become_user(c);
	if (!failed)
		failed = rs_confine_capabilities(0);
	if (!failed && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		failed = "prctl(PR_SET_NO_NEW_PRIVS)";
	return failed;
}

/* As become_user(): where this root has no other user, its own user is the unprivileged one. */
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

int rs_confine_take_back(int fd)
{
	return geteuid() ? 0 : give_to(fd, geteuid(), getegid());
}
