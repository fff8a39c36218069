/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stack of MuJS, an interpreter of JavaScript, in a guest, for
 *
 *	ringside replay profile --walker mujs:PROGRAM --symfs DIR REC
 *
 * where PROGRAM is the program that contains MuJS, or its library, with DWARF.
 *
 * jsR_run() executes one function of JavaScript, and calls itself, through others, for the next
 * one. MuJS keeps a trace for its exceptions:
 *
 *	J->trace[0 .. J->tracetop]	outermost first; trace[0] is not a function
 *
 * Functions of C that JavaScript calls are in it with the file "native"; they have separate frames
 * on the native stack. An entry is added before jsR_run() is called, so frames are counted from the
 * outermost one.
 */
#pragma D option quiet

walker::jsR_run:frame
/!args.whole/
{
	noframe("the native stack is cut, and the trace is counted from its outermost frame");
}

walker::jsR_run:frame
/args.whole/
{
	this->J = (struct js_State *)framevar("J");
	this->left = args.frames - args.nth;
	this->found = 0;
	walk (1, it < this->J->tracetop && !this->found ? it + 1 : 0, 64) {
		this->t = &this->J->trace[it];
		this->file = copyinstr((uint64_t)this->t->file);
		if (this->file != "native") {
			this->left--;
			if (!this->left)
				this->found = it;
		}
	}
	if (this->found) {
		this->name = copyinstr((uint64_t)this->t->name);
		frame(this->name == "" ? "(anonymous)" : this->name, this->file, this->t->line);
	} else
		noframe("the trace has fewer functions than the native stack");
}
