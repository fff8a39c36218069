// SPDX-License-Identifier: BSD-2-Clause
/*
 * smash(n) for the Lua of walkers.test: damages the call list of its own interpreter in the nth
 * way, spends time in C under a Lua function, and ends the program.
 */
#include <unistd.h>

#include "lstate.h"
#include "lauxlib.h"
#include "lualib.h"

#define WORK 20000000

static int smash(lua_State *L)
{
	CallInfo *caller = L->ci->previous;
	volatile int n = 0;

	switch (luaL_checkinteger(L, 1)) {
	case 1:
		caller->callstatus &= (unsigned short)~CIST_FRESH;
		caller->previous = caller; /* an endless list */
		break;
	case 2:
		caller->func = (StkId)0x12345678; /* an unmapped address */
		break;
	case 3:
		clLvalue(s2v(caller->func))->p->source = (TString *)UINTPTR_MAX;
		break;
	case 4:
		clLvalue(s2v(caller->func))->p->sizeabslineinfo = 1 << 30;
		clLvalue(s2v(caller->func))->p->abslineinfo = (AbsLineInfo *)0x1000;
		break;
	}
	while (n < WORK)
		n++;
	_exit(0);
}

int main(int argc, char **argv)
{
	lua_State *L = luaL_newstate();

	luaL_openlibs(L);
	lua_register(L, "smash", smash);
	lua_pushstring(L, argc > 1 ? argv[1] : "");
	lua_setglobal(L, "kind");
	return luaL_dostring(L, "local function f(n) local r = smash(n) return r end\n"
				"local r = f(tonumber(kind))");
}
