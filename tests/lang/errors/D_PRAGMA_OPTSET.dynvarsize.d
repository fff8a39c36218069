#pragma D option dynvarsize=257m
BEGIN { exit(0); }
/* only the command line may set so much */
// at 1:1
