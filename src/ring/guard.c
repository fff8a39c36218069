/* SPDX-License-Identifier: BSD-2-Clause */
/* Survives SIGBUS on a mapped file that another process truncates. */
#include "ring/guard.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <ucontext.h>

/* Where this thread continues after a SIGBUS; NULL while it is not within rs_guard(). */
static __thread sigjmp_buf *volatile way_out;
static struct sigaction before;

static void on_bus_error(int number, siginfo_t *info, void *context)
{
	/* Restores the mask: a library between the kernel and this handler may have blocked more
	 * signals. */
	if (way_out) {
		pthread_sigmask(SIG_SETMASK, &((ucontext_t *)context)->uc_sigmask, NULL);
		siglongjmp(*way_out, 1);
	}
	if (before.sa_flags & SA_SIGINFO) {
		before.sa_sigaction(number, info, context);
	} else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
		before.sa_handler(number);
	} else {
		/* The access is repeated, and ends the process as without this handler. */
		signal(number, SIG_DFL);
	}
}

static void install(void)
{
	/* The signal is not blocked in the handler, because siglongjmp() restores no mask here. */
	struct sigaction action = { .sa_sigaction = on_bus_error,
				    .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK };

	sigemptyset(&action.sa_mask);
	sigaction(SIGBUS, &action, &before);
}

bool rs_guard(void (*access)(void *ctx), void *ctx)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	sigjmp_buf here;

	pthread_once(&once, install);
	if (sigsetjmp(here, 0)) {
		way_out = NULL;
		return false;
	}
	way_out = &here;
	access(ctx);
	way_out = NULL;
	return true;
}
