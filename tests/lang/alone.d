// args: -q -s {}
/* Without a trace, ticks follow the machine's clock until exit(). */
// 
tick-1ms { n++; }
tick-1ms /n == 3/ { printf("three\n"); exit(0); }
