/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A KVM session into a recorder: its rings, a line for each thread, and what the session itself has
 * to say (kvm:session::open, thread, close).
 *
 *	attach -> gate opens -> look, now and then -> gate is shut -> the recorder is closed
 *
 * One thread calls. Session and recorder stay the caller's; the session must outlive the recorder,
 * which reads its rings to the end.
 */
#ifndef RS_LIVE_RECORD_KVM_H
#define RS_LIVE_RECORD_KVM_H

#include "kvm/kvm.h"
#include <ringside/recorder.h>

struct rs_kvm_recording;

/* The session has events, and its gate was never open. host: the recorder's clock. */
struct rs_error *rs_kvm_recording_create(struct rs_kvm_session *session,
					 struct rs_recorder *recorder, const struct rs_clock *host,
					 struct rs_kvm_recording **recording);
/* After the recorder's close. NULL is nothing. */
void rs_kvm_recording_destroy(struct rs_kvm_recording *recording);

/* Its rings become the recorder's, which must be closed before the recording is destroyed, whether
 * or not this succeeds. */
struct rs_error *rs_kvm_recording_attach(struct rs_kvm_recording *recording);

/* Opens or shuts the gate, and says so, with each thread's schedstat. */
struct rs_error *rs_kvm_recording_gate(struct rs_kvm_recording *recording, bool open);

/* Records the threads that came since the last call. Called now and then. */
struct rs_error *rs_kvm_recording_look(struct rs_kvm_recording *recording);

/* Tells each thread again, with its schedstat, for a trace that is written from memory: what was
 * told when it began may have been dropped. */
struct rs_error *rs_kvm_recording_tell(struct rs_kvm_recording *recording);

/* How many threads were seen; dropped: exits of others, for which there was no place. */
uint32_t rs_kvm_recording_threads(const struct rs_kvm_recording *recording, uint64_t *dropped);

#endif
