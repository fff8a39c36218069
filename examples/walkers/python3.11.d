/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stack of CPython 3.11 in a guest, for
 *
 *	ringside replay profile --walker python3.11:PROGRAM --symfs DIR REC
 *
 * where PROGRAM is the interpreter, or the library libpython3.11.so, with DWARF or with its debug
 * file (Debian: python3.11-dbg).
 *
 * _PyEval_EvalFrameDefault() executes functions of Python. One call of it executes a chain of them,
 * because a Python function calls another one without a call in C. Each call has a _PyCFrame on the
 * native stack:
 *
 *	cframe.current_frame -> previous -> previous	_PyInterpreterFrame, innermost first
 *	cframe.previous -> current_frame		its caller, where the chain ends
 *
 * For details see CPython's sources: Include/internal/pycore_frame.h, Objects/locations.md
 * (co_linetable).
 */
#pragma D option quiet

inline int UNIT_BYTES = 2;		/* of co_code */
inline int ENTRY_NO_COLUMNS = 13;	/* codes of co_linetable */
inline int ENTRY_LONG = 14;
inline int ENTRY_NONE = 15;

walker::_PyEval_EvalFrameDefault:frame
{
	/* The thread, by its TID in the guest. */
	this->runtime = (struct pyruntimestate *)symbol("_PyRuntime");
	this->ts = (struct _ts *)NULL;
	walk (this->runtime->interpreters.head->threads.head, this->ts ? NULL : it->next, 64) {
		if (it->native_thread_id == tid)
			this->ts = it;
	}
	if (!this->ts)
		noframe("the thread does not run Python");

	/* The _PyCFrame of this call. The innermost call may not have set its own yet. */
	this->c = (struct _PyCFrame *)framevar("cframe");
	this->is_linked = 0;
	walk (this->ts ? this->ts->cframe : NULL, this->is_linked ? NULL : it->previous, 64) {
		if (it == this->c)
			this->is_linked = 1;
	}
	if (!this->is_linked && args.nth)
		noframe("its _PyCFrame is not in the thread's list");

	walk (this->is_linked ? this->c->current_frame : NULL,
	      it->previous == this->c->previous->current_frame ? NULL : it->previous, 64) {
		this->code = it->f_code;
		this->unit = (int)(((uint64_t)it->prev_instr -
			(uint64_t)&this->code->co_code_adaptive[0]) / UNIT_BYTES);

		/*
		 * The line of that instruction. An entry of the table begins with a byte that has
		 * bit 7 set, a code, and the number of units that it covers; a line's difference
		 * may follow, in bytes of 6 bits, the lowest of which is the sign.
		 */
		this->table = (PyBytesObject *)this->code->co_linetable;
		this->bytes = (uint64_t)&this->table->ob_sval[0];
		this->n = (int)this->table->ob_base.ob_size;
		this->line = this->code->co_firstlineno;
		this->shown = this->line;
		this->end = 0;		/* the unit after the entry */
		this->shift = -1;	/* of the difference that is being read; -1: none */
		this->value = 0;
		walk (this->n, this->end > this->unit && this->shift < 0 ? 0 : it - 1, 1024) {
			this->b = *(uint8_t *)(this->bytes + this->n - it);
			if (this->b & 0x80) {
				this->kind = (this->b >> 3) & 15;
				this->end += (this->b & 7) + 1;
				this->value = 0;
				this->shift = this->kind == ENTRY_LONG ||
					this->kind == ENTRY_NO_COLUMNS ? 0 : -1;
				if (this->kind >= 10 && this->kind <= 12)
					this->line += this->kind - 10;
				this->shown = this->kind == ENTRY_NONE ? 0 : this->line;
			} else if (this->shift >= 0) {
				this->value |= (this->b & 63) << this->shift;
				this->shift = this->b & 64 ? this->shift + 6 : -1;
				if (this->shift < 0) {
					this->line += this->value & 1 ? -(this->value >> 1)
								      : this->value >> 1;
					this->shown = this->line;
				}
			}
		}

		if (this->end <= this->unit)
			this->shown = 0;	/* the table is longer than this program's limit */

		/*
		 * The characters are after PyASCIIObject, or after PyCompactUnicodeObject if not
		 * all of them are ASCII. A character has `kind` bytes.
		 */
		this->a = (PyASCIIObject *)this->code->co_qualname;
		this->name = copyinutf(this->a->state.ascii ? (uint64_t)(this->a + 1)
				: (uint64_t)((PyCompactUnicodeObject *)this->code->co_qualname + 1),
			this->a->length, this->a->state.kind);
		this->a = (PyASCIIObject *)this->code->co_filename;
		this->file = copyinutf(this->a->state.ascii ? (uint64_t)(this->a + 1)
				: (uint64_t)((PyCompactUnicodeObject *)this->code->co_filename + 1),
			this->a->length, this->a->state.kind);
		frame(this->name, this->file, this->shown);
		this->more = it->previous != this->c->previous->current_frame;
	}
	if (this->more)
		noframe("more than 64 functions");
}
