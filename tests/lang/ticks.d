/* In the events' time, which ends at 16.351970 ms: 16 of 1 ms, 3 of 200 Hz, 1 of profile. */
tick-1ms { a++; }
tick-200 { b++; }
profile-10msec { c++; this->at = timestamp; printf("profile at %d\n", this->at); }
vmm:vm::destroy { printf("%d %d %d\n", a, b, c); }
