#pragma D option aggsize=4096
profile:::tick-10us { @[timestamp] = quantize(1); }
END { trunc(@); printf("over\n"); }
