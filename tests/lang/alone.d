// args: -q -s {}
/* Ticks without a trace are of the machine's time, and end by exit(). */
// 
tick-1ms { n++; }
tick-1ms /n == 3/ { printf("three\n"); exit(0); }
