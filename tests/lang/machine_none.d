/* There is no guest behind a trace: its memory and registers are asked for in vain. In a replay they
 * are there: tests/replay. */
BEGIN { trace(*(int *)copyin(4096, 8)); }
BEGIN { trace(*(int *)copyinphys(4097, 8)); }
BEGIN { trace(copyinstr(4098)); }
BEGIN { this->to = alloca(8); copyinto(4099, 8, this->to); }
BEGIN { trace(uregs[R_RIP]); }
BEGIN { trace(reg("cr3")); }
BEGIN { printf("%d\n", curthread != 0); }
