/* A trace has no guest: its memory and registers cannot be read. In a replay they can:
 * tests/replay. */
BEGIN { trace(*(int *)copyin(4096, 8)); }
BEGIN { trace(*(int *)copyinphys(4097, 8)); }
BEGIN { trace(copyinstr(4098)); }
BEGIN { this->to = alloca(8); copyinto(4099, 8, this->to); }
BEGIN { trace(uregs[R_RIP]); }
BEGIN { trace(reg("cr3")); }
BEGIN { printf("%d\n", curthread != 0); }
BEGIN { frame("main", "x.lua", 1); }
BEGIN { noframe("no reason"); }
BEGIN { trace(framevar("L")); }
BEGIN { trace(hasframevar("L", "main")); }
BEGIN { trace(symbol("_PyRuntime")); }
BEGIN { trace(copyinutf(4100, 8, 2)); }
