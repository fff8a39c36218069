/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stack of Lua 5.4 in a guest, for
 *
 *	ringside replay profile --walker lua5.4:PROGRAM --symfs DIR REC
 *
 * where PROGRAM is the interpreter, or the library liblua5.4.so, with DWARF.
 *
 * luaV_execute() executes functions of Lua. One call of it executes a chain of them, because a Lua
 * function calls another one without a call in C. The chain is in a list:
 *
 *	ci -> previous -> previous	struct CallInfo, innermost first
 *
 * and begins at the entry with CIST_FRESH. Entries beyond it are functions of C, and further calls
 * of luaV_execute(), which have separate frames on the native stack.
 *
 * Functions of Lua have no names; a variable or a field that holds one does. This program names a
 * function by the place of its definition, as debug.traceback() does without a better name.
 *
 * For details see Lua's sources: lstate.h (CallInfo), lobject.h (Proto), ldebug.c
 * (luaG_getfuncline()).
 */
#pragma D option quiet

inline int CIST_C = 1 << 1;
inline int CIST_FRESH = 1 << 2;
inline int INSTRUCTION_BYTES = 4;

uint64_t last_L, last_ci;	/* where the last frame's functions end */
int skew;

walker::luaV_execute:frame
{
	/*
	 * The compiler may no longer have L in any register. A coroutine, like the program's main
	 * thread, runs in a call of luaD_rawrunprotected(), which has the same L.
	 */
	this->L = (struct lua_State *)(hasframevar("L") ? framevar("L")
							: framevar("L", "luaD_rawrunprotected"));
	if ((uint64_t)this->L != last_L || args.nth == 0) {
		last_ci = (uint64_t)this->L->ci;
		skew = 0;
		/*
		 * When luaV_execute() is called, or returns, the list may have one function more or
		 * less that was called from C. In the main thread this is detected if the native
		 * stack is complete.
		 */
		if (this->L->l_G->mainthread == this->L && args.whole) {
			skew = (int)args.nth - (int)args.frames;
			this->calls = 0;
			walk (this->L->ci, it->previous, 400) {
				skew += (it->callstatus & CIST_FRESH) != 0;
				this->calls++;
			}
			if (this->calls == 400)
				noframe("more than 400 calls");
		}
	}
	last_L = (uint64_t)this->L;
	if (skew < -1 || skew > 1)
		noframe("its list of calls differs from the native stack");

	/* Calls in progress: they have no frame yet. */
	this->done = 0;
	walk (skew == 1 ? (struct CallInfo *)last_ci : NULL,
	      this->done ? NULL : it->previous, 200) {
		this->done = (it->callstatus & CIST_FRESH) != 0;
		last_ci = (uint64_t)it->previous;
	}

	this->done = 0;
	walk (skew == -1 ? NULL : (struct CallInfo *)last_ci, this->done ? NULL : it->previous, 200) {
		last_ci = (uint64_t)it->previous;
		if ((it->callstatus & CIST_C) == 0) {
			this->done = (it->callstatus & CIST_FRESH) != 0;
			this->proto = ((struct LClosure *)it->func->val.value_.gc)->p;
			/* The current or calling instruction: savedpc points after it. */
			this->pc = (int)(((uint64_t)it->u.l.savedpc -
					  (uint64_t)this->proto->code) / INSTRUCTION_BYTES) - 1;
			if (this->pc < 0)
				this->pc = 0;

			/* abslineinfo[] has some instructions' lines, lineinfo[] the differences. */
			this->line = this->proto->linedefined;
			this->base = -1;
			walk (this->proto->sizeabslineinfo, this->base < 0 ? it - 1 : 0, 128) {
				this->abs = (struct AbsLineInfo *)((uint64_t)this->proto->abslineinfo +
					(it - 1) * sizeof (struct AbsLineInfo));
				if (this->abs->pc <= this->pc) {
					this->base = this->abs->pc;
					this->line = this->abs->line;
				}
			}
			this->left = this->pc - this->base;
			walk (this->left, it - 1, 256) {
				this->line += *(int8_t *)((uint64_t)this->proto->lineinfo +
					this->pc - it + 1);
				this->left--;
			}

			/* "@" is before the name of a file. */
			this->file = copyinstr((uint64_t)&this->proto->source->contents[0]);
			this->file = substr(this->file, 1);
			frame(strjoin("function <", strjoin(this->file, strjoin(":",
				strjoin(lltostr(this->proto->linedefined), ">")))),
			      this->file, this->left ? 0 : this->line);
		}
	}
	if (skew == -1)
		skew = 0;	/* the next frame is that of the list's first function */
	else if (!this->done)
		noframe("more than 200 functions");
	if (skew == 1)
		skew = 0;
}
